/* alloc: see alloc.h. */
#include "proto/base/alloc.h"

#include <stdio.h>
#include <stdlib.h>

static void *libc_resize(void *old, size_t size)
{
    return realloc(old, size);
}

static struct proto_allocator memory = { .resize = libc_resize,
                                         .try_resize = libc_resize,
                                         .release = free };

void proto_use_allocator(const struct proto_allocator *allocator)
{
    memory = *allocator;
}

void *proto_resize(void *old, size_t size)
{
    void *p = memory.resize(old, size);
    if (p == NULL) {
        fprintf(stderr, "proto: out of memory: %zu bytes wanted\n", size);
        abort();
    }
    return p;
}

void *proto_try_resize(void *old, size_t size)
{
    return memory.try_resize(old, size);
}

void proto_release(void *p)
{
    if (p != NULL) memory.release(p);
}
