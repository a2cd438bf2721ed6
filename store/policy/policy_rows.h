/* policy_rows: one row for each option of a policy, with its words, its values, and the fields of
 * struct policy that keep them. The rows drive the parser and the words of files (policy_words.h),
 * equality, digests, the counts of options in policies.h, the replies and the help of POLICY, and
 * the table of options in its reference. */
#pragma once

#include "store/policy/policy.h"

enum policy_kind {
    POLICY_FLAG, /* a word without a value; 1 if given */
    POLICY_NUMBER,
    POLICY_SPAN,   /* milliseconds */
    POLICY_SIZE,   /* bytes */
    POLICY_CHOICE, /* one of several words; its value is the index of the word */
    POLICY_KEY,    /* the name of a key that the policy writes to */
};

/* One value of an option, and the word before it. If the value is 0, or a key without bytes, the
 * policy lacks this part. */
struct policy_part {
    const char *word;  /* the word before the value, or NULL */
    const char *shown; /* its name in POLICY GET; NULL if POLICY GET omits it */
    enum policy_kind kind;
    bool optional; /* may be left out, with its word, which then is not NULL */
    bool nested;  /* allowed only after the optional part before it, and written whenever that is */
    uint8_t size; /* bytes of the field */
    uint16_t offset;
    int64_t most;               /* largest number, span or size; the least is 1 */
    int64_t preset;             /* the value if the option is given without this part */
    const char *const *choices; /* ends with NULL */
    const char *missing;        /* "<option> needs ..." if it is missing */
    const char *valid;          /* "... is not <valid>"; if NULL, the kind provides the text */
    /* Returns true if the value agrees with those before it; NULL if it always does. The error for
     * a value that does not agree is `valid` or, if that is NULL, `missing`. */
    bool (*fits)(const struct policy *policy);
};

enum { POLICY_PARTS_MAX = 3 };

struct policy_row {
    const char *name;
    struct policy_part parts[POLICY_PARTS_MAX]; /* the first part shows whether the option is set */
    unsigned part_count;
    unsigned needs;    /* POLICY_BIT of options, one of which it needs, or 0 */
    bool changes_keys; /* a new value is applied to existing keys (policy_walk.h) */
    bool inside;       /* also applies inside values of the module's host (guest.h) */
    const char *types; /* types of the keys to which it applies */
    const char *help;  /* for POLICY HELP: lines of at most 80 bytes, separated by '\n' */
};

#define POLICY_BIT(option) (1u << (option))

extern const struct policy_row policy_rows[POLICY_OPTIONS];
/* The words behind the option's name, as in POLICY_OPTION_LIST. */
extern const char *const policy_syntax[POLICY_OPTIONS];

/* Return the value of a part that is not a key, and of one that is. */
int64_t policy_number(const struct policy *policy, const struct policy_part *part);
struct bytes policy_key(const struct policy *policy, const struct policy_part *part);
void policy_set_number(struct policy *policy, const struct policy_part *part, int64_t value);
void policy_set_key(struct policy *policy, const struct policy_part *part, struct bytes key);

bool policy_has(const struct policy *policy, enum policy_option option);
/* Is this part of an option set in the policy? */
bool policy_has_part(const struct policy *policy, const struct policy_row *row, unsigned part);
void policy_clear(struct policy *policy, enum policy_option option);

/* Returns the bytes of all its keys together. Unless `to` is NULL, copies the keys there, and lets
 * the policy borrow these copies. */
size_t policy_move_names(struct policy *policy, char *to);
