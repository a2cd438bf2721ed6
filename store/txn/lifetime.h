/* lifetime: rules for the deadline of a member that is added or changed. */
#pragma once

#include "store/base/instant.h"

/* How a put sets the deadline of its member. Where the rule leaves a member without a deadline, a
 * policy's MEMBERTTL applies; with LIFE_ADD it applies to an existing member too. */
enum life_rule {
    LIFE_ADD,     /* SADD, ZADD: an existing member keeps its deadline, a new one has none */
    LIFE_KEEP,    /* HINCRBY, ZINCRBY: the same, but MEMBERTTL applies to new members only */
    LIFE_CLEAR,   /* HSET: no deadline */
    LIFE_SET,     /* `at`, which must not be in the past */
    LIFE_SET_NEW, /* `at` for a new member; an existing member keeps its deadline */
};
struct lifetime {
    enum life_rule rule;
    msec at;
};
#define LIFE(word) ((struct lifetime){ .rule = LIFE_##word, .at = NEVER })
