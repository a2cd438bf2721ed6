/* random: unguessable 64-bit numbers from the kernel, drawn from a small pool.
 * For random choices and ids. What a choice did is recorded by its result, so replay needs none. */
#ifndef STORE_BASE_RANDOM_H
#define STORE_BASE_RANDOM_H

#include <stdint.h>

struct random {
    uint64_t pool[32];
    unsigned left;
};

void random_init(struct random *random);
uint64_t random_next(void *random); /* in the shape that dict_random wants */

#endif
