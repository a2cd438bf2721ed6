/* member_args: arguments shared by the commands that set deadlines of members. A function that
 * fails has sent the error, unless noted otherwise. */
#pragma once

#include "server/cmd/call/args.h"

/* Returns the latest deadline of a member that this call may set. For clients that is 2^46 - 1, as
 * in Redis. Valkey 9 has no such limit, so commands from its replication stream and its files may
 * set any deadline. */
msec member_deadline_max(const struct call *call);

/* The words for members in arguments and errors: FIELDS for hashes, MEMBERS for other types. */
struct member_words {
    const char *keyword, *plural, *count; /* FIELDS fields numfields */
    const char *counted;                  /* numFields, the spelling of some errors */
};
extern const struct member_words field_words, member_words;

/* Parses the number at i, which must be 0 or more, in this unit as the deadline of a member, which
 * must not be after member_deadline_max. The deadline may already have passed; then the caller must
 * remove the member. */
bool arg_member_deadline(struct call *call, int i, enum ttl_unit unit, msec *at);

/* Returns whether argument i begins with a digit, or with a minus and a digit. */
bool arg_looks_like_number(const struct call *call, int i);

/* Parses "FIELDS numfields" at i and i + 1. Exactly numfields arguments must follow, up to the end
 * of the call. A number below 1 is the error `bad_count` (ERR_MEMBERS_NONE or
 * ERR_MEMBERS_POSITIVE). */
bool arg_member_block(struct call *call, int i, const struct member_words *words,
                      enum error bad_count);
/* Returns numfields if "FIELDS numfields" is at i and i + 1 and at least that many arguments
 * follow, otherwise 0. Replies nothing, so a caller can try several forms. */
int arg_member_count(const struct call *call, int i, const struct member_words *words);

/* The options EX, PX, EXAT, PXAT and KEEPTTL. */
struct member_life {
    bool either_or; /* KEEPTTL excludes the others */
    bool is_given;  /* a deadline was given: `at` */
    bool keeps;     /* KEEPTTL */
    msec at;
};
/* Parses such an option at *i and moves *i to the argument after it. */
enum arg_taken arg_member_life(struct call *call, int *i, struct member_life *life);

/* Parses the seconds at i, 1 or more, for the forms whose only unit is the second. */
bool arg_member_seconds(struct call *call, int i, struct member_life *life);

/* Has a deadline been given that has passed? If so, the caller removes the member after the put. */
bool member_life_is_past(const struct call *call, const struct member_life *life);
/* Returns the lifetime with which to put a member: that of the options, or `otherwise` if there are
 * none or their deadline has passed. */
struct lifetime member_lifetime(const struct call *call, const struct member_life *life,
                                struct lifetime otherwise);
