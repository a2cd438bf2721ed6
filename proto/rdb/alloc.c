/* alloc: calls the memory functions that the program has set, or libc's. */
#include "proto/rdb/alloc.h"

#include <stdlib.h>

static void *libc_resize(void *old, size_t size)
{
    return realloc(old, size);
}

static struct rdb_allocator memory = { .resize = libc_resize, .release = free };

void rdb_use_allocator(const struct rdb_allocator *allocator)
{
    memory = *allocator;
}

void *rdb_resize(void *old, size_t size)
{
    return memory.resize(old, size);
}

void rdb_release(void *p)
{
    if (p != NULL) memory.release(p);
}
