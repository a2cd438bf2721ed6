/* shared: blocks that several threads may allocate and free, unlike those of mem.h. They come from
 * malloc, and count in mem_used. Depends only on libc. */
#ifndef STORE_MEM_SHARED_H
#define STORE_MEM_SHARED_H

#include <stddef.h>

/* Both return NULL if memory runs out. */
void *mem_shared_alloc(size_t size);
void *mem_shared_realloc(void *old, size_t size);
void mem_shared_free(void *p); /* NULL is allowed */

size_t mem_shared_used(void); /* bytes of all such blocks, by usable size */
/* Add to the part of mem_shared_used that must not cause an eviction, and return that part. The
 * addition is modulo 2^N, so a negated number subtracts. */
void mem_shared_set_apart(size_t more);
size_t mem_shared_apart(void);

#endif
