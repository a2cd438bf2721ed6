/* alloc: the memory functions of this library; libc's unless the program sets others. */
#ifndef PROTO_RDB_ALLOC_H
#define PROTO_RDB_ALLOC_H

#include <stddef.h>

struct rdb_allocator {
    void *(*resize)(void *old, size_t size); /* as realloc; may return NULL */
    void (*release)(void *p);                /* as free; never called with NULL */
};

/* Call once, before the first allocation. */
void rdb_use_allocator(const struct rdb_allocator *allocator);

/* For the library's own files. NULL: no memory, and the old block is unchanged. Callers must handle
 * it, because a file or a client may announce any length. */
void *rdb_resize(void *old, size_t size);
void rdb_release(void *p);

#endif
