/* rng: see rng.h. */
#include "tests/support/rng.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

uint64_t test_seed(void)
{
    static uint64_t seed;
    if (seed != 0) return seed;
    const char *given = getenv("TEST_SEED");
    if (given != NULL)
        seed = strtoull(given, NULL, 10);
    else if (getrandom(&seed, 4, 0) != 4)
        seed = 1;
    if (seed == 0) seed = 1;
    printf("TEST_SEED=%llu\n", (unsigned long long)seed);
    fflush(stdout);
    return seed;
}

static uint64_t splitmix(uint64_t *state)
{
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

void rng_init(struct rng *rng, uint64_t seed)
{
    for (int i = 0; i < 4; i++)
        rng->s[i] = splitmix(&seed);
}

static uint64_t rotate_left(uint64_t x, int k)
{
    return (x << k) | (x >> (64 - k));
}

uint64_t rng_next(struct rng *rng)
{
    uint64_t *s = rng->s;
    uint64_t result = rotate_left(s[1] * 5, 7) * 9;
    uint64_t t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotate_left(s[3], 45);
    return result;
}

uint64_t rng_below(struct rng *rng, uint64_t limit)
{
    return rng_next(rng) % limit;
}

int64_t rng_between(struct rng *rng, int64_t low, int64_t high)
{
    return low + (int64_t)rng_below(rng, (uint64_t)(high - low) + 1);
}

int rng_chance(struct rng *rng, unsigned percent)
{
    return rng_below(rng, 100) < percent;
}

uint64_t rng_draw(void *rng)
{
    return rng_next(rng);
}
