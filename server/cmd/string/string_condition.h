/* string_condition: the conditions of SET and DELEX on the old value. Two of them compare a digest
 * instead of the value, so that a client need not send a long value back. */
#pragma once

#include "server/cmd/call/call.h"

struct string_condition {
    enum {
        IF_ANY,             /* no condition */
        IF_EQUAL,           /* IFEQ value */
        IF_DIFFERENT,       /* IFNE value: also holds for a missing key */
        IF_DIGEST_EQUAL,    /* IFDEQ digest */
        IF_DIGEST_DIFFERENT /* IFDNE digest: also holds for a missing key */
    } kind;
    int arg; /* index of the argument with the value or digest */
};

/* Is argument i one of the four words of a condition? If so, stores the condition, whose value is
 * argument i + 1. Replies nothing. */
bool arg_string_condition(const struct call *call, int i, struct string_condition *condition);

/* Sets *holds to whether the condition holds for the string `entry`, or for a missing key if that
 * is NULL. If the key exists, a digest of the wrong length is an error: sends it and returns false.
 * O(length) for digests */
bool string_condition_holds(struct call *call, const struct string_condition *condition,
                            const struct entry *entry, bool *holds);

/* The 64-bit XXH3 hash, as the hexadecimal digits that DIGEST returns. */
enum { STRING_DIGEST_CHARS = 16 };
void string_digest(struct bytes value, char digits[STRING_DIGEST_CHARS]);
