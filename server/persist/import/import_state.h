/* import_state: what import.c (files and RDB) and import_aof.c share. Nobody else includes it. */
#ifndef SERVER_PERSIST_IMPORT_IMPORT_STATE_H
#define SERVER_PERSIST_IMPORT_IMPORT_STATE_H

#include "server/persist/import/import.h"

/* False, so that a caller can return it; the first reason stays. */
__attribute__((format(printf, 2, 3))) bool import_fail(struct import *import, const char *format,
                                                       ...);

/* One key more of this kind ("stream", or "module" and which). False: the import is over. */
bool import_pass_over(struct import *import, const char *kind, const char *which, struct bytes key,
                      uint64_t at);

/* Printable, cut where it is too long. */
void import_show(char *to, size_t size, struct bytes text);

/* The commands of an AOF from this byte on. */
bool import_aof(struct import *import, int fd, uint64_t from, uint64_t size);

#endif
