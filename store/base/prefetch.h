/* prefetch: asks for memory that will be read soon, without waiting for it.
 * A compiler may take a function that does nothing else for one without an effect and drop its
 * calls: what it can't see into keeps them. */
#ifndef STORE_BASE_PREFETCH_H
#define STORE_BASE_PREFETCH_H

static inline void prefetch(const void *p)
{
    __builtin_prefetch(p);
    __asm__ volatile("" : : "r"(p));
}

#endif
