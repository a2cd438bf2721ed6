/* import_state: functions that import.c (files and RDB) and import_aof.c share. */
#pragma once

#include "server/disk/import/import.h"

/* Sets import->why, unless an earlier reason is stored there. Returns false, so that the caller can
 * return the result. */
__attribute__((format(printf, 2, 3))) bool import_fail(struct import *import, const char *format,
                                                       ...);

/* Counts a key that is left out because of its type: "array", or "module" and the module's name.
 * Returns false if such a key must end the import. */
bool import_pass_over(struct import *import, const char *kind, const char *which, struct bytes key,
                      uint64_t at);

/* Makes text printable, and shortens it to fit. */
void import_show(char *to, size_t size, struct bytes text);

/* Runs the commands of an AOF of `size` bytes, from the byte `from` on. Ignores an incomplete end,
 * and sets import->torn. Returns false, with the error in import->why, if a command is malformed or
 * fails. */
bool import_aof(struct import *import, int fd, uint64_t from, uint64_t size);
