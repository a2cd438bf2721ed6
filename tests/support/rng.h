/* rng: a small seeded generator (xoshiro256**, Blackman & Vigna 2018) for random tests.
 * The seed comes from TEST_SEED, else from the kernel, and is printed, so that a failure can be
 * repeated: TEST_SEED=123 build/tests/unit/store/struct/dict_test */
#pragma once

#include <stdint.h>

struct rng {
    uint64_t s[4];
};

uint64_t test_seed(void); /* the same for the whole process; printed once */
void rng_init(struct rng *rng, uint64_t seed);
uint64_t rng_next(struct rng *rng);
uint64_t rng_below(struct rng *rng, uint64_t limit);             /* 0..limit-1 */
int64_t rng_between(struct rng *rng, int64_t low, int64_t high); /* inclusive */
int rng_chance(struct rng *rng, unsigned percent);
uint64_t rng_draw(void *rng); /* rng_next with the signature of dict_random's next */
