/* random: unpredictable 64-bit numbers from the kernel, buffered in a small pool. A replay needs
 * none: an effect contains the result of a random choice. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct random {
    uint64_t pool[32];
    unsigned left;
};

/* Fills a block from the kernel. Waits early during boot, until the kernel has entropy. */
void random_fill(void *to, size_t len);

void random_init(struct random *random);
/* Returns the next number. The argument is a struct random; it is a void * so that this function
 * can be passed to dict_random as `next`. */
uint64_t random_next(void *random);
