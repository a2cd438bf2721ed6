/* member_args: what the commands of members with deadlines have in common in their arguments.
 * Each function that says it failed has replied the error, in Redis' words. */
#ifndef SERVER_CMD_MEMBER_MEMBER_ARGS_H
#define SERVER_CMD_MEMBER_MEMBER_ARGS_H

#include "server/call/args.h"

/* The latest deadline of a member: 46 bits, as Redis. */
#define MEMBER_DEADLINE_MAX (((msec)1 << 46) - 1)

/* What the members of a type are called. */
struct member_words {
    const char *keyword, *plural, *count; /* FIELDS fields numfields */
    const char *counted;                  /* numFields, as some errors have it */
};
extern const struct member_words field_words, member_words;

/* The number at i in this unit, 0 or more, as the deadline of a member. One that is past by now is
 * fine here: who sets it removes the member. */
bool arg_member_deadline(struct call *call, int i, enum ttl_unit unit, msec *at);

/* A digit, or one behind a minus: what such an argument is meant to be. */
bool arg_looks_like_number(const struct call *call, int i);

/* "FIELDS numfields" at i and i + 1, and behind it exactly so many arguments, up to the end of the
 * call. `bad_count`, ERR_MEMBERS_NONE or ERR_MEMBERS_POSITIVE, is told of a number below 1. */
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
/* Takes such an option at *i, which moves behind it. */
enum arg_taken arg_member_life(struct call *call, int *i, struct member_life *life);

/* The seconds at i of a form that knows nothing but those: 1 or more. */
bool arg_member_seconds(struct call *call, int i, struct member_life *life);

/* The deadline is over by now: who puts a member with it removes it again. */
bool member_life_is_past(const struct call *call, const struct member_life *life);
/* What a put does with the member's deadline. `otherwise` is what it does without an option, and
 * where the deadline is past. */
struct lifetime member_lifetime(const struct call *call, const struct member_life *life,
                                struct lifetime otherwise);

#endif
