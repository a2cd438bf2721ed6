/* random: unpredictable 64-bit numbers from the kernel, buffered in a small pool. Effects record
 * the result of a random choice, so that replay needs no random numbers. */
#ifndef STORE_BASE_RANDOM_H
#define STORE_BASE_RANDOM_H

#include <stddef.h>
#include <stdint.h>

struct random {
    uint64_t pool[32];
    unsigned left;
};

/* Fills a block from the kernel. Waits early during boot, until the kernel has entropy. */
void random_fill(void *to, size_t len);

void random_init(struct random *random);
/* Returns the next number. `random` is a struct random, passed as void * so that the function can
 * be dict_random's `next`. */
uint64_t random_next(void *random);

#endif
