/* mix: the named workloads of the load generator, as command templates. script.h compiles them. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* A template has one command per line, with single spaces between words. A word between backquotes
 * is taken as it stands, with its spaces and newlines. A placeholder is a letter and a number of
 * digits: {k12}. Each round through a template draws new numbers. Within a round, all placeholders
 * with the same letter have the same number, except scores.
 *
 *     k, m   a key and a member from 0 to keys - 1: random, or in turn while filling
 *     s      a random score without leading zeros
 *     n      the number of the round
 *     t, o   round n as a time, and the time of `behind` rounds ago
 *     v      a value; its size is an option of the load generator
 *     r, l   the first and the last integer in the reply to the previous command of the round
 *     i      the digits of the first bulk string in that reply, such as an id
 *
 * A command with {r}, {l} or {i} must wait for the reply before it. So the commands of a round are
 * then in different batches: one batch has the first command of as many rounds as the pipeline is
 * long, the next batch has the second command of the same rounds. */
struct mix {
    const char *name;
    const char *setup;       /* commands that are sent once before; may be NULL */
    const char *recipe;      /* the measured commands */
    const char *fill;        /* loads the data before the measurement */
    const char *shrink;      /* removes the data of key or member k; may be NULL */
    unsigned fill_per_key;   /* rounds of fill for each key */
    unsigned keys_divisor;   /* the number of keys is the key space divided by this */
    unsigned behind_per_key; /* `behind` is this times the keys */
    bool fill_in_order;      /* fill uses one connection, so that rounds arrive in their order */
};

/* Returns NULL if the name is unknown. */
const struct mix *mix_find(const char *name);
/* Returns the i-th name, or NULL after the last one. */
const char *mix_name(unsigned i);

uint64_t mix_keys(const struct mix *mix, uint64_t key_space);
