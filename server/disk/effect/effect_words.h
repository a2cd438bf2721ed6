/* effect_words: writes and reads the words of a command as store/txn/effect_row.h describes them.
 * For the files of this folder only. */
#pragma once

#include <endian.h>
#include <string.h>

#include "server/disk/effect/library_header.h"
#include "server/disk/effect/score.h"
#include "store/base/number.h"
#include "store/mem/outbuf.h"
#include "store/txn/effect_row.h"

enum {
    HEADER_MAX = 24,                 /* "*n" or "$n" with its line end */
    ARG_SPARE = SCORE_MAX_CHARS + 8, /* an argument's header and line ends, without its text */
};

/* ---- writing --------------------------------------------------------------------------------- */

struct effect_args;

/* Where words are written. RESP goes to `to` if that is not NULL (the caller provides enough
 * space), otherwise to the end of `out`; arguments go to `args`. If all three are NULL, words are
 * only counted. */
struct pen {
    char *to;
    struct outbuf *out;
    struct effect_args *args;
    size_t words, bytes; /* number of words, and the sum of their lengths */
};

static inline char *end_line(char *to)
{
    memcpy(to, "\r\n", 2);
    return to + 2;
}

/* Prints the header of an array or a string, such as "$5\r\n", and returns its end. `to` needs
 * space for HEADER_MAX bytes. Most values have one or two digits, which are written as one word. */
static inline char *print_resp_header(char *to, char type, size_t value)
{
    *to++ = type;
    if (value >= 100) return end_line(to + number_print_uint64(to, value));
    uint32_t tens = (uint32_t)value / 10, ones = (uint32_t)value % 10;
    /* "5" or "15", and the line end: the lowest byte is the first one. */
    uint32_t line = UINT32_C(0x0a0d30) + ones, digits = 1;
    if (tens > 0) {
        line = line << 8 | ('0' + tens);
        digits = 2;
    }
    line = htole32(line);
    memcpy(to, &line, sizeof(line));
    return to + digits + 2;
}

/* Inlined even where gcc would rather call it, because it writes most bytes of a journal. */
__attribute__((always_inline)) static inline char *print_bulk(char *to, struct bytes text)
{
    return end_line(bytes_copy(print_resp_header(to, '$', text.len), text));
}

static inline const void *field_of(const struct effect *effect, const struct word *word)
{
    return (const char *)effect + word->offset;
}

static inline void *field_in(struct effect *effect, const struct word *word)
{
    return (char *)effect + word->offset;
}

static inline struct bytes text_of(const struct effect *effect, const struct word *word)
{
    return *(const struct bytes *)field_of(effect, word);
}

/* Returns the field's value: an int64, a smaller unsigned integer or a bool. */
static inline int64_t number_of(const struct effect *effect, const struct word *word)
{
    const void *field = field_of(effect, word);
    if (word->size == sizeof(int64_t)) return *(const int64_t *)field;
    if (word->size == sizeof(uint32_t)) return *(const uint32_t *)field;
    return *(const bool *)field;
}

static inline struct bytes literal_of(const struct word *word)
{
    return bytes_of(word->text, word->len);
}

/* Prints a number as a bulk string. The digits are printed first, behind the space of a header such
 * as "$13\r\n", which is that of an instant. A number of fewer than ten digits has a header that is
 * a byte shorter, so its digits are moved. */
static inline char *print_int64(char *to, int64_t number)
{
    enum { HEADER = 5, SHORT = 10 };
    char *digits = to + HEADER;
    size_t len = number_print_int64(digits, number);
    print_resp_header(to, '$', len);
    if (len < SHORT) memmove(digits - 1, digits, SHORT);
    return end_line(len < SHORT ? digits - 1 + len : digits + len);
}

/* Writes the types of words that print_word does not write itself. */
char *print_other_word(char *to, const struct word *word, const struct effect *effect);

/* Writes a word, of any type, as RESP to `to`, which has enough room. */
static inline char *print_word(char *to, const struct word *word, const struct effect *effect)
{
    switch ((enum word_type)word->type) {
    case WORD_TEXT: return print_bulk(to, text_of(effect, word));
    case WORD_NUMBER: return print_int64(to, number_of(effect, word));
    case WORD_LITERAL: return print_bulk(to, literal_of(word));
    case WORD_DEADLINE:
        if (effect->at == NEVER) return to;
        return print_int64(print_bulk(to, LIT("PXAT")), effect->at);
    default: return print_other_word(to, word, effect);
    }
}

/* Write with the pen: a header such as "$5\r\n" or bytes as they are (RESP only), a text or a
 * number as an argument (or, for a pen without output, count it). */
void put_resp_header(struct pen *pen, char type, size_t value);
void put_raw(struct pen *pen, const char *data, size_t len);
void put_argument(struct pen *pen, struct bytes text);
void put_int64(struct pen *pen, int64_t number);
/* Writes the words of the effect with the pen. If `kept` is not NULL, points its texts to the
 * written ones. */
void put_words(struct pen *pen, const struct words *words, const struct effect *effect,
               struct effect *kept);

static inline bool numbers_equal(const struct word *word, const struct effect *a,
                                 const struct effect *b)
{
    const void *in_a = field_of(a, word), *in_b = field_of(b, word);
    if (word->size == sizeof(int64_t)) return *(const int64_t *)in_a == *(const int64_t *)in_b;
    if (word->type == WORD_CLAIM)
        return a->stage.claimed == b->stage.claimed && a->stage.token == b->stage.token;
    return memcmp(in_a, in_b, word->size) == 0;
}

/* Would both effects have the same words? Only for head and tail, where each entry is one word. */
static inline bool words_equal(const struct words *words, const struct effect *a,
                               const struct effect *b)
{
    for (size_t i = 0; i < words->count; i++) {
        const struct word *word = &words->at[i];
        if (word->type == WORD_TEXT) {
            if (!bytes_equal(text_of(a, word), text_of(b, word))) return false;
        } else if (word->type != WORD_LITERAL && !numbers_equal(word, a, b)) {
            return false;
        }
    }
    return true;
}

/* ---- reading --------------------------------------------------------------------------------- */

struct cursor {
    const struct bytes *next, *end;
    struct policy *policy;         /* filled by WORD_POLICY */
    struct library_header *header; /* filled by WORD_CODE */
    bool has_header;               /* `header` was filled and must be dropped */
};

/* Read the next word and move the cursor behind it. Return false if there is none, or it is not
 * this literal, or not a number. */
bool take_literal(struct cursor *cursor, struct bytes literal);
bool take_int64(struct cursor *cursor, int64_t *number);
/* Reads the words at the cursor into the effect, and moves the cursor behind them. Returns false if
 * put_words would not write these words. */
bool take_words(struct cursor *cursor, const struct words *words, struct effect *effect);
