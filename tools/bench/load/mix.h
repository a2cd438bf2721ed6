/* mix: the named kinds of work that the load generator knows.
 * Knows commands as text with holes; refuses to know how they are sent. */
#ifndef TOOLS_BENCH_LOAD_MIX_H
#define TOOLS_BENCH_LOAD_MIX_H

#include <stdint.h>

/* Commands stand one per line, their words apart by one space. A hole is a letter and how many
 * digits wide it is: {k12}. One round through a text draws each number once, but for scores.
 *   k, m   a key and a member of 0 to keys - 1: random, or in turn while filling
 *   s      a score: random, no zero in front
 *   n      the number of the round: no two are the same
 *   t, o   round n as a time, and as the time `behind` rounds ago
 *   v      a value of as many bytes as the plan says */
struct mix {
    const char *name;
    const char *recipe;      /* what is measured, round after round */
    const char *fill;        /* what the server holds before */
    const char *shrink;      /* takes away what has key or member number k; NULL: there is none */
    unsigned fill_per_key;   /* rounds of fill for each key */
    unsigned keys_divisor;   /* one key for so many of the key space */
    unsigned behind_per_key; /* how far o is behind t, times the keys */
};

/* NULL when there is none of that name. */
const struct mix *mix_find(const char *name);
/* The names, in order; NULL at the end. */
const char *mix_name(unsigned i);

uint64_t mix_keys(const struct mix *mix, uint64_t key_space);

#endif
