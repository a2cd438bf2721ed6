/* shared: blocks that any thread may allocate and free, unlike those of mem.h. They come from
 * malloc, and mem_used counts them. */
#pragma once

#include <stddef.h>

void *mem_shared_alloc(size_t size); /* NULL if memory runs out */
void mem_shared_free(void *p);       /* NULL is allowed */

size_t mem_shared_used(void); /* bytes of all such blocks, by usable size */
/* Some of these blocks must not cause an eviction. mem_shared_set_apart adds to the number of their
 * bytes, modulo 2^N, so that a negated number subtracts; mem_shared_apart returns it. */
void mem_shared_set_apart(size_t more);
size_t mem_shared_apart(void);
