/* losses: counts, by kind, the data that Redis 7.0 can't hold, and keeps the names of the first few
 * keys of each kind for a report. */
#pragma once

#include <stdio.h>

#include "store/base/bytes.h"

enum loss {
    LOSS_MEMBER_DEADLINE, /* members of sets and sorted sets, fields of hashes */
    LOSS_DEHYDRATOR,
    LOSS_LEASE,    /* claims of its elements */
    LOSS_HOLDER,   /* holders of leases */
    LOSS_SOFT,     /* soft deadlines of strings */
    LOSS_RELEASED, /* pending entries of streams that belong to no consumer */
    LOSS_DELETED,  /* pending entries whose entry was deleted: XCLAIM does not add them */
    LOSS_POLICY,
    LOSS_KINDS,
};

enum { LOSS_NAMES = 3, LOSS_NAME_SHOWN = 48 };

struct losses {
    struct {
        uint64_t count, keys; /* LOSS_DEHYDRATOR counts elements */
        char names[LOSS_NAMES][LOSS_NAME_SHOWN];
        uint32_t lens[LOSS_NAMES]; /* of the names before they were cut */
        unsigned named;
    } kinds[LOSS_KINDS];
};

/* Counts one loss in a key or policy. `first` tells that it is the first one in that key. */
void losses_add(struct losses *losses, enum loss loss, struct bytes key, bool first);
bool losses_any(const struct losses *losses);
/* Prints a line for each kind found, with the text in `done` for that kind. */
void losses_print(const struct losses *losses, const char *const done[LOSS_KINDS], FILE *to);
