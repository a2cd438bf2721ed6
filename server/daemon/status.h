/* status: one line about the state of the daemon, which `systemctl status` shows. Depends on the
 * counts of its parts. */
#ifndef SERVER_DAEMON_STATUS_H
#define SERVER_DAEMON_STATUS_H

#include <stddef.h>

struct parts;

/* "Ready: 120 keys, 3 clients, 1.5M of memory; ...", or what it is busy with: "Loading: 43%, about
 * 12 s left". Cut where the room ends. */
void status_write(const struct parts *parts, char *text, size_t size);

#endif
