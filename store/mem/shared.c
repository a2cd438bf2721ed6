/* shared: see shared.h. */
#include "store/mem/shared.h"

#include <malloc.h>
#include <stdatomic.h>
#include <stdlib.h>

static atomic_size_t used, apart;

static void count(size_t size)
{
    atomic_fetch_add_explicit(&used, size, memory_order_relaxed);
}

void *mem_shared_alloc(size_t size)
{
    void *p = malloc(size);
    if (p != NULL) count(malloc_usable_size(p));
    return p;
}

void mem_shared_free(void *p)
{
    if (p != NULL) count(-malloc_usable_size(p));
    free(p);
}

size_t mem_shared_used(void)
{
    return atomic_load_explicit(&used, memory_order_relaxed);
}

void mem_shared_set_apart(size_t more)
{
    atomic_fetch_add_explicit(&apart, more, memory_order_relaxed);
}

size_t mem_shared_apart(void)
{
    return atomic_load_explicit(&apart, memory_order_relaxed);
}
