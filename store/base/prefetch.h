/* prefetch: starts loading memory into the cache, without waiting for it. The empty asm keeps the
 * call: a compiler may remove calls of a function that only prefetches, because it sees no effect
 * in them. */
#pragma once

static inline void prefetch(const void *p)
{
    __builtin_prefetch(p);
    __asm__ volatile("" : : "r"(p));
}
