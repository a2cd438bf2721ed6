/* status: writes one line about the daemon's state, which `systemctl status` shows. Depends on
 * counts of the daemon's parts. */
#pragma once

#include <stddef.h>

struct parts;

/* Writes "Ready: 120 keys, 3 clients, 1.5M of memory; ...", with "Refusing writes, see the log" in
 * place of "Ready" if the journal can't be written. While the server loads its files at start, or
 * writes a file without a child, writes only the progress: "Loading: 43%, about 12 s left".
 * Truncates the text to `size`. */
void status_write(const struct parts *parts, char *text, size_t size);
