/* alloc: the memory functions of this library; libc's unless the program sets others. */
#ifndef PROTO_BASE_ALLOC_H
#define PROTO_BASE_ALLOC_H

#include <stddef.h>

struct proto_allocator {
    void *(*resize)(void *old, size_t size);     /* as realloc; must not return NULL */
    void *(*try_resize)(void *old, size_t size); /* as realloc */
    void (*release)(void *p);                    /* as free */
};

/* Call once, before the first allocation. */
void proto_use_allocator(const struct proto_allocator *allocator);

/* For the library's own files. Never NULL: without memory the process ends with a message. */
void *proto_resize(void *old, size_t size);
/* NULL: no memory. */
void *proto_try_resize(void *old, size_t size);
void proto_release(void *p);

#endif
