/* effect_row: one row for each kind of effect: its canonical commands, word by word, and its
 * applier. server/disk/effect writes and reads the commands by these rows, and apply.c changes the
 * data, so that the kinds are listed in one place (store/brief.h lists those with a brief form).
 *
 * To add a kind, add an entry to enum effect_kind (store/effect.h), a row (effect_rows.c), and an
 * applier (apply.c, declared in apply.h). */
#pragma once

#include "store/effect.h"
#include "store/type/object.h"

enum word_type {
    WORD_LITERAL, /* `text` */
    WORD_TEXT,    /* a string: key, a or b */
    WORD_NUMBER,  /* from `least` to `most` */
    WORD_CHOICE,  /* `text` if the number or bool is 0, otherwise `other` */
    WORD_CLAIM,   /* the claim of `stage`: WAITING, CLAIMED, or the claim's token */
    WORD_SCORE,
    WORD_ID,    /* the ID of a stream's entry: ms-seq */
    WORD_FIRST, /* the first index of [from, to): `from`, or 1 for an empty range, */
    WORD_LAST,  /* and the last: `to` - 1, or 0. (0 -1 would mean everything in Redis.) */

    WORD_BLOCK, /* `b`: the packed entries of the block that the other words describe */
    WORD_CODE,  /* `a`, whose first line contains the key: "#!lua name=key" */

    /* The following stand for any number of words, and must be the last of a head: */
    WORD_TEXTS,
    WORD_POLICY,   /* the options that differ from the defaults (policy_words.h) */
    WORD_DEADLINE, /* PXAT and `at`, or nothing if that is NEVER */
    WORD_IMPLIED,  /* no word: the command itself implies that the number is `least` */
};

/* One word of a command, or several, and the field of struct effect that it stands for. */
struct word {
    uint8_t type, len, other_len; /* enum word_type; lengths of text and other */
    uint8_t size;                 /* of the field, in bytes */
    uint16_t offset;
    union {
        struct {
            const char *text, *other;
        };
        struct {
            int64_t least, most;
        };
    };
};

struct words {
    const struct word *at;
    unsigned count;
};

/* A command: its name and `head`. Consecutive effects of some kinds become one command; such a kind
 * also has the words of each `element` and those after the elements, and a head with a fixed number
 * of words. Example: in SADD k a b c, the head is k, and the elements are a, b and c.
 *
 * Forms of different kinds may share a name if the kinds follow one another and each head begins
 * with a different literal. */
struct effect_form {
    struct bytes name;
    struct bytes many;   /* the command's name for two or more elements, if it differs */
    struct bytes counts; /* a word after the head, followed by the number of elements; or empty */
    struct words head, element, tail;
    bool own; /* a command of this server: Redis 7.0 lacks it */
};

struct txn;
struct entry;

/* Makes the effect's change. Returns false if the effect does not fit the data: its record is then
 * damaged. */
typedef bool effect_applier(struct txn *txn, struct entry *entry, const struct effect *effect);

#define TYPE_ANY TYPE_COUNT

struct effect_row {
    effect_applier *apply;
    /* Which entry the applier receives:
     *
     *     KEY_UNUSED      none
     *     KEY_OPTIONAL    the one at the effect's key, or NULL
     *     KEY_EXISTS      the one at the key, which must exist
     *     KEY_CREATED     the one at the key, created if it is missing
     *
     * The entry has this row's type, unless that is TYPE_ANY. */
    enum { KEY_UNUSED, KEY_OPTIONAL, KEY_EXISTS, KEY_CREATED } key;
    enum type type;
    /* Does a reader of the key see a change (for WATCH and client-side caching)? As in Redis,
     * changes of a stream's groups and of its last ID are not seen, unless the key is new. */
    enum { SEEN, SEEN_IF_NEW, UNSEEN } seen;
    /* May the effect serve a client that is blocked on its key for this row's type?
     * react/blocked_ready.c knows other reasons to try blocked clients again, such as a renamed
     * key. */
    bool may_serve;
    bool names_member; /* effect->a is the name of a member */
    bool in_payload;   /* may be in a payload of DUMP in this server's own format */
    /* For an effect that adds a member with a deadline: the kind that sets the deadline alone.
     * Redis has no command for both, so a Redis receives two. EFFECT_NONE if the effect adds no
     * deadline. */
    enum effect_kind expire;
    bool any_database; /* the command means the same in each database */
    struct effect_form form;
    /* Is the effect written in the form `other` instead of `form`? NULL: never. */
    bool (*has_other)(const struct effect *effect);
    struct effect_form other;
};

extern const struct effect_row effect_rows[EFFECT_KINDS];

static inline const struct effect_form *effect_form_of(const struct effect *effect)
{
    const struct effect_row *row = &effect_rows[effect->kind];
    return row->has_other != NULL && row->has_other(effect) ? &row->other : &row->form;
}

/* Is the effect about one member of a collection (named by a)? */
static inline bool effect_names_member(const struct effect *effect)
{
    return effect_rows[effect->kind].names_member ||
           (effect->kind == EFFECT_NONE && effect->a.data != NULL);
}

static inline bool effect_is_seen(const struct effect *effect)
{
    const struct effect_row *row = &effect_rows[effect->kind];
    return !effect->by_read && (row->seen == SEEN || (row->seen == SEEN_IF_NEW && effect->to == 1));
}
