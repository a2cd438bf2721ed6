/* losses: what of the data has no counterpart in Redis 7.0, by kind: how much, and where.
 * Knows counts and a few names; refuses to know what is done about it. */
#ifndef TOOLS_FILES_LOSSES_H
#define TOOLS_FILES_LOSSES_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "store/base/bytes.h"

enum loss {
    LOSS_MEMBER_DEADLINE, /* members of sets and sorted sets, fields of hashes */
    LOSS_DEHYDRATOR,
    LOSS_LEASE, /* claims of its elements */
    LOSS_POLICY,
    LOSS_KINDS,
};

enum { LOSS_NAMES = 3, LOSS_NAME_SHOWN = 48 };

struct losses {
    struct {
        uint64_t count, keys; /* of a dehydrator: elements */
        char names[LOSS_NAMES][LOSS_NAME_SHOWN];
        uint32_t lens[LOSS_NAMES]; /* of the whole names */
        unsigned named;
    } kinds[LOSS_KINDS];
};

/* One more in a key, or policy; `first` of that key? */
void losses_add(struct losses *losses, enum loss loss, struct bytes key, bool first);
bool losses_any(const struct losses *losses);
/* A line for each kind that there is: `done` says what became of each. */
void losses_print(const struct losses *losses, const char *const done[LOSS_KINDS], FILE *to);

#endif
