/* random: unpredictable 64-bit numbers from the kernel, buffered in a small pool. Effects record
 * the result of a random choice, so that replay needs no random numbers. */
#ifndef STORE_BASE_RANDOM_H
#define STORE_BASE_RANDOM_H

#include <stdint.h>

struct random {
    uint64_t pool[32];
    unsigned left;
};

void random_init(struct random *random);
/* The next number. Takes a struct random as void *, so that it can be dict_random's `next`. */
uint64_t random_next(void *random);

#endif
