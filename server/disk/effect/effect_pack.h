/* effect_pack: the commands of effects (effect_text.h) in few bytes, for the payloads of DUMP.
 * Numbers are binary, and a word is not repeated if the previous command has it at the same index.
 *
 * A command is its words, then END. Each word begins with a varint h: 7 bits in each byte, lowest
 * first; the top bit is set in all bytes but the last.
 *
 *     h = 0           END
 *     h & 1           a text of h >> 1 bytes, which follow
 *     (h & 3) = 2     a decimal number: that of the previous command at this index, or 0 if that
 *                     was no number, plus the zigzag h >> 2
 *     (h & 3) = 0     the next h >> 2 words are those of the previous command
 *
 * Only the first EFFECT_PACK_SAME words can refer to the previous command, so that a short payload
 * can't stand for many words. To change the format, use another first byte
 * (server/disk/payload.h). */
#pragma once

#include "server/disk/effect/effect_text.h"
#include "store/base/number.h"
#include "store/mem/buffer.h"

enum { EFFECT_PACK_SAME = 16 };

/* A word of the previous command. */
struct packed_word {
    enum { PACKED_NONE, PACKED_TEXT, PACKED_NUMBER } type;
    union {
        int64_t number;
        struct {
            size_t at, len; /* offset and length of a text in the packed bytes */
        };
    };
};

struct effect_packer {
    /* private */
    struct effect_args args;
    struct buffer *out;
    struct packed_word words[EFFECT_PACK_SAME], other;
    size_t same; /* words of the current command that equal the last one's, not written yet */
    bool failed; /* memory ran out */
};

/* Prepares to append packed effects to `out`, which the caller owns. Until effect_packer_end only
 * the packer may change it. */
void effect_packer_init(struct effect_packer *packer, struct buffer *out);
/* Appends the effect as a command of its own. All effects of a packer must be of one database. If
 * memory runs out, appends nothing more. */
void effect_packer_put(struct effect_packer *packer, const struct effect *effect);
/* Returns true if `out` contains all effects, or false if memory ran out. */
bool effect_packer_end(const struct effect_packer *packer);

struct effect_unpacker {
    int argc;
    struct bytes *argv; /* the command; valid until the next one */

    /* private */
    struct bytes packed;
    size_t at, cap;
    struct packed_word words[EFFECT_PACK_SAME];
    char (*digits)[NUMBER_INT64_MAX_CHARS]; /* texts of numbers; `cap` of them, one for each word */
};

/* Prepares to unpack these bytes, which are borrowed. Then call effect_unpacker_next while
 * effect_unpacker_more returns true. */
void effect_unpacker_init(struct effect_unpacker *unpacker, struct bytes packed);
void effect_unpacker_drop(struct effect_unpacker *unpacker);
bool effect_unpacker_more(const struct effect_unpacker *unpacker);
/* Reads the next command into argc and argv. Returns false if the bytes are damaged or memory ran
 * out; the unpacker can then only be dropped. O(words) */
bool effect_unpacker_next(struct effect_unpacker *unpacker);
