/* effect_brief: a short binary form for the most frequent effects in a journal; all other effects
 * are commands there (effect_text.h). An effect in brief form has about half the bytes of its
 * command, and is faster to write and to read, because numbers are binary and nothing is looked up
 * by name. Replicas and snapshots use commands only. expired-check --show prints brief effects as
 * commands.
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
 * end: a new kind therefore needs a new first line (record.h). */
#pragma once

#include "server/disk/effect/request.h"
#include "store/effect.h"

enum {
    EFFECT_BRIEF = 0x80,           /* the bit that no command and no comment begins with */
    EFFECT_BRIEF_TEXTS_MAX = 4000, /* bytes */
    EFFECT_BRIEF_HEAD = 32,        /* bytes, at most, without the texts */
};

/* Writes the brief form of the effect to `to` and returns its length; 0 if the effect has none. The
 * effect's texts have at most EFFECT_BRIEF_TEXTS_MAX bytes in total; `to` needs space for them and
 * EFFECT_BRIEF_HEAD further bytes.
 *
 * *last is the key of the brief effect before this one in the record; its data is NULL if there is
 * none. If something was written, *last is the key of this effect, and points into the written
 * bytes. */
size_t effect_brief_print(char *to, const struct effect *effect, struct bytes *last);

static inline bool effect_brief_begins(char first)
{
    return (first & EFFECT_BRIEF) != 0;
}

/* Parses the effect at `data`, whose first byte passes effect_brief_begins. Returns REQUEST_WHOLE
 * and sets *size, or fails as request_read does. The effect borrows from `data`; its database is
 * left unchanged. *last is used as in effect_brief_print. */
enum request_status effect_brief_read(const char *data, size_t len, struct bytes *last,
                                      struct effect *effect, size_t *size);
/* Returns what effect_brief_read would return, with the same *size, but reads neither texts nor
 * numbers. */
enum request_status effect_brief_measure(const char *data, size_t len, size_t *size);
