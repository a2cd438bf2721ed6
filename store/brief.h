/* brief: a short binary form of the most frequent effects, which journals contain beside commands
 * (server/disk/format/record.h). An effect in brief form has about half the bytes of its command,
 * and is faster to write and to read, because numbers are binary and nothing is looked up by name.
 *
 * The bytes of an effect. Integers are little-endian; a part that the kind lacks is left out:
 *
 *     bytes  content
 *     1      128 + kind. 64 more: the key is that of the effect before this one in brief form in
 *            the same record, and is left out here
 *     1      length of the key, unless it is left out
 *     2      length of a
 *     2      length of b
 *     8      number: a deadline in milliseconds, or the bits of a score
 *     4      deliveries, of a claim
 *     8      token of a claim; 0: claimed without a token; -1: not claimed
 *     ...    the key, unless it is left out, then a, then b
 *
 *     kind  command                        a        b        number
 *     0     SET key a                      value
 *     1     SET key a PXAT number          value             deadline
 *     2     DEL key
 *     3     PEXPIREAT key number                             deadline
 *     4     HSET key a b                   field    value
 *     5     ZADD key number a              member            score
 *     6     REDE.PUSHAT key number b a     id       payload  deadline
 *     7     X.REDE.MOVE key number ... a   id                deadline, with a claim
 *     8     REDE.PULL key a                id
 *
 * An effect whose texts are longer than these lengths, or than 4000 bytes in total, is written as a
 * command. A server that does not know a kind would treat it as damage, or cut it off as a torn
 * end: a new kind therefore needs a new first line (record.h).
 *
 * Who writes it: while the journal alone wants effects, the mutators of SET and EXPIRE append to
 * its buffer themselves, because making a struct effect and passing it on costs more than the bytes
 * do. All other effects pass the listener:
 *
 *     mutator  --LISTEN_BRIEF: brief_append-->  buffer of the journal
 *     mutator  --struct effect-->  listener  --effect_brief_print-->  buffer of the journal
 *                                  listener  -->  replicas, WATCH, notifications, ... */
#pragma once

#include <endian.h>

#include "store/base/bytes.h"
#include "store/mem/outbuf.h"

enum {
    BRIEF_MARK = 0x80,      /* the bit that no command and no comment begins with */
    BRIEF_SAME_KEY = 0x40,  /* the key is left out */
    BRIEF_TEXTS_MAX = 4000, /* bytes */
    BRIEF_HEAD = 32,        /* bytes, at most, without the texts */
};

enum brief_kind {
    BRIEF_SET,
    BRIEF_SET_UNTIL,
    BRIEF_DROP,
    BRIEF_EXPIRE,
    BRIEF_HASH_PUT,
    BRIEF_ZSET_PUT,
    BRIEF_REDE_PUSH,
    BRIEF_REDE_MOVE,
    BRIEF_REDE_DROP,
    BRIEF_KINDS,
};

/* The parts that an effect of each kind has, in addition to its key. Two SETs in a row are seldom
 * of one key, so SET states its key without comparing it with the last one (`states_key`). */
static const struct brief_row {
    bool states_key, has_a, has_b, has_number, has_claim;
} brief_rows[BRIEF_KINDS] = {
    [BRIEF_SET] = { .states_key = true, .has_a = true },
    [BRIEF_SET_UNTIL] = { .states_key = true, .has_a = true, .has_number = true },
    [BRIEF_DROP] = { .has_a = false },
    [BRIEF_EXPIRE] = { .has_number = true },
    [BRIEF_HASH_PUT] = { .has_a = true, .has_b = true },
    [BRIEF_ZSET_PUT] = { .has_a = true, .has_number = true },
    [BRIEF_REDE_PUSH] = { .has_a = true, .has_b = true, .has_number = true },
    [BRIEF_REDE_MOVE] = { .has_a = true, .has_number = true, .has_claim = true },
    [BRIEF_REDE_DROP] = { .has_a = true },
};

/* The parts to write. */
struct brief_parts {
    struct bytes key, a, b;
    uint64_t number;
    uint32_t deliveries;
    int64_t token;
};

/* Most changes in a journal are written by these functions, so they avoid calls and branches: the
 * parts before the number are written as one word, and short texts are copied and compared in two
 * overlapping pieces. */

static inline uint64_t brief_word(const char *text, size_t len)
{
    uint64_t word = 0;
    memcpy(&word, text, len);
    return word;
}

static inline bool brief_keys_equal(struct bytes a, struct bytes b)
{
    size_t len = a.len;
    if (len != b.len) return false;
    if (len < 4)
        return len == 0 || (a.data[0] == b.data[0] && a.data[len / 2] == b.data[len / 2] &&
                            a.data[len - 1] == b.data[len - 1]);
    if (len < 8)
        return brief_word(a.data, 4) == brief_word(b.data, 4) &&
               brief_word(a.data + len - 4, 4) == brief_word(b.data + len - 4, 4);
    /* Keys mostly differ in their last bytes. */
    return brief_word(a.data + len - 8, 8) == brief_word(b.data + len - 8, 8) &&
           brief_word(a.data, 8) == brief_word(b.data, 8) &&
           (len <= 16 || memcmp(a.data + 8, b.data + 8, len - 16) == 0);
}

static inline char *brief_print_u64(char *to, uint64_t value)
{
    value = htole64(value);
    memcpy(to, &value, sizeof(value));
    return to + sizeof(value);
}

/* Prints an effect of this kind to `to`, which has room for BRIEF_HEAD bytes and the texts, and
 * returns its end. The texts fit their lengths. *last is the key of the brief effect before this
 * one in the record; its data is NULL if there is none. It becomes the key of this effect, and
 * points into the written bytes. Inlined for each kind, so that its row is known. */
__attribute__((always_inline)) static inline char *
brief_print(char *to, enum brief_kind kind, const struct brief_parts *parts, struct bytes *last)
{
    const struct brief_row *row = &brief_rows[kind];
    struct bytes key = parts->key;
    bool is_same = !row->states_key && last->data != NULL && brief_keys_equal(*last, key);
    uint64_t head = BRIEF_MARK | kind | (is_same ? BRIEF_SAME_KEY : key.len << 8);
    unsigned bits = is_same ? 8 : 16;
    if (row->has_a) {
        head |= (uint64_t)parts->a.len << bits;
        bits += 16;
    }
    if (row->has_b) {
        head |= (uint64_t)parts->b.len << bits;
        bits += 16;
    }
    brief_print_u64(to, head);
    to += bits / 8;
    if (row->has_number) to = brief_print_u64(to, parts->number);
    if (row->has_claim) {
        uint32_t deliveries = htole32(parts->deliveries);
        memcpy(to, &deliveries, sizeof(deliveries));
        to = brief_print_u64(to + sizeof(deliveries), (uint64_t)parts->token);
    }
    if (!is_same) {
        *last = bytes_of(to, key.len);
        to = bytes_copy(to, key);
    }
    if (row->has_a) to = bytes_copy(to, parts->a);
    if (row->has_b) to = bytes_copy(to, parts->b);
    return to;
}

/* The end of a journal's buffer, to which mutators append while only the journal wants effects. */
struct brief_tail {
    struct outbuf *out;
    /* The key of the brief effect before in the record, as for brief_print. It points into `out`,
     * so nobody may move, consume or take back the bytes of an open record. */
    struct bytes last_key;
    int64_t db; /* the database of effects that may be appended here, or -1: none may */
};

enum {
    BRIEF_SHORT = 64, /* a power of two: one test of all lengths, combined, then suffices */
    BRIEF_ANY = BRIEF_TEXTS_MAX + 1,
};

/* Appends an effect whose texts have fewer than `limit` bytes each. That is a constant, BRIEF_SHORT
 * or BRIEF_ANY: without long texts gcc needs no call, and so saves no registers. Returns false, and
 * appends nothing, if the effect must be passed to the listener: a text is longer, it has no brief
 * form, or there is no room for it in the buffer's last chunk, or another database or a command
 * must be written first. */
__attribute__((always_inline)) static inline bool brief_append(struct brief_tail *tail, unsigned db,
                                                               enum brief_kind kind,
                                                               const struct brief_parts *parts,
                                                               size_t limit)
{
    size_t texts = parts->key.len + parts->a.len + parts->b.len;
    /* Separate tests, because gcc would compute one condition without branches. */
    if (tail->db != db) return false;
    if (limit == BRIEF_SHORT) {
        if ((parts->key.len | parts->a.len | parts->b.len) >= BRIEF_SHORT) return false;
    } else if (parts->key.len > UINT8_MAX || texts > BRIEF_TEXTS_MAX) {
        return false;
    }
    char *to = outbuf_tail(tail->out, texts + BRIEF_HEAD);
    if (to == NULL) return false;
    outbuf_extend(tail->out, (size_t)(brief_print(to, kind, parts, &tail->last_key) - to));
    return true;
}
