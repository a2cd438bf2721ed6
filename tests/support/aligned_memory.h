/* aligned_memory: an allocator for mem_use whose blocks of 4 KiB are aligned, as jemalloc's are. */
#pragma once

#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>

#include "store/mem/mem.h"

static inline void *aligned_resize(void *old, size_t size)
{
    return old == NULL && size == 4096 ? aligned_alloc(size, size) : realloc(old, size);
}

static inline size_t aligned_size(const void *p)
{
    return malloc_usable_size((void *)(uintptr_t)p);
}

static const struct mem_hooks aligned_memory = { aligned_resize, free, aligned_size };
