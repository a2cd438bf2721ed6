/* alloc: where this library gets its memory.
 * Knows two functions; refuses to know who provides them. Until told otherwise they are libc's. */
#ifndef PROTO_RDB_ALLOC_H
#define PROTO_RDB_ALLOC_H

#include <stddef.h>

struct rdb_allocator {
    void *(*resize)(void *old, size_t size); /* as realloc; NULL: not that much, see below */
    void (*release)(void *p);                /* as free; never called with NULL */
};

/* Call once, before the first allocation. */
void rdb_use_allocator(const struct rdb_allocator *allocator);

/* For the library's own files. What a file or a client announces may be more than there is: NULL
 * is an outcome like any other, and the old block stays as it is. */
void *rdb_resize(void *old, size_t size);
void rdb_release(void *p);

#endif
