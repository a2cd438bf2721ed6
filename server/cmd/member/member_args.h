/* member_args: shared arguments of the commands for members with deadlines. A function that fails
 * has replied the error, in Redis' words. */
#ifndef SERVER_CMD_MEMBER_MEMBER_ARGS_H
#define SERVER_CMD_MEMBER_MEMBER_ARGS_H

#include "server/call/args.h"

/* The latest deadline of a member: 46 bits, as Redis. */
#define MEMBER_DEADLINE_MAX (((msec)1 << 46) - 1)

/* The words for the members of a type. */
struct member_words {
    const char *keyword, *plural, *count; /* FIELDS fields numfields */
    const char *counted;                  /* numFields, as some errors have it */
};
extern const struct member_words field_words, member_words;

/* The number at i in this unit, 0 or more, as a member's deadline. It may have passed; the caller
 * then removes the member. */
bool arg_member_deadline(struct call *call, int i, enum ttl_unit unit, msec *at);

/* A digit, or one behind a minus: what such an argument is meant to be. */
bool arg_looks_like_number(const struct call *call, int i);

/* Parses "FIELDS numfields" at i and i + 1; exactly that many arguments must follow, up to the end
 * of the call. `bad_count` (ERR_MEMBERS_NONE or ERR_MEMBERS_POSITIVE) is the error for a number
 * below 1. */
bool arg_member_block(struct call *call, int i, const struct member_words *words,
                      enum error bad_count);

/* EX, PX, EXAT or PXAT with a number, and KEEPTTL. */
struct member_life {
    bool either_or; /* KEEPTTL is one of them, and not for itself */
    bool is_given;  /* a deadline: `at` */
    bool keeps;     /* KEEPTTL */
    msec at;
};
enum arg_taken { ARG_TAKEN, ARG_OTHER, ARG_FAILED };
/* Parses such an option at *i, and moves *i behind it. */
enum arg_taken arg_member_life(struct call *call, int *i, struct member_life *life);

/* The seconds at i of a form that knows nothing but those: 1 or more. */
bool arg_member_seconds(struct call *call, int i, struct member_life *life);

/* Has the deadline passed? A member put with it is removed again. */
bool member_life_is_past(const struct call *call, const struct member_life *life);
/* The deadline for the put of a member. `otherwise` applies without an option, and if the deadline
 * has passed. */
struct lifetime member_lifetime(const struct call *call, const struct member_life *life,
                                struct lifetime otherwise);

#endif
