/* effect_pen: writes the arguments of commands for effect_text.c: pieces of RESP, and the operands
 * of effect_form.h. */
#ifndef SERVER_DISK_EFFECT_EFFECT_PEN_H
#define SERVER_DISK_EFFECT_EFFECT_PEN_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "server/disk/effect/score.h"
#include "store/base/number.h"
#include "store/effect.h"
#include "store/mem/outbuf.h"

enum {
    HEADER_MAX = 24,                 /* "*n" or "$n" with its line end */
    ARG_SPARE = SCORE_MAX_CHARS + 8, /* an argument with its header, other than key, a and b */
    RUN_ARGS_MAX = 4,                /* arguments of a run's head, and of each element */
    RUN_SPARE = (RUN_ARGS_MAX + 1) * ARG_SPARE,
    TAIL_SPARE = 6 * ARG_SPARE,
    ID_MAX_CHARS = 2 * NUMBER_INT64_MAX_CHARS + 1,
};

/* Where the text goes: to `to`, or, if that is NULL, to `out`. */
struct pen {
    char *to;
    struct outbuf *out;
};

/* Most texts are short: copying two overlapping halves is cheaper than a call. */
static inline char *copy_short(char *to, const char *from, size_t len)
{
    if (len > 64 || len < 8) {
        if (len > 0) memcpy(to, from, len);
    } else if (len <= 16) {
        memcpy(to, from, 8);
        memcpy(to + len - 8, from + len - 8, 8);
    } else if (len <= 32) {
        memcpy(to, from, 16);
        memcpy(to + len - 16, from + len - 16, 16);
    } else {
        memcpy(to, from, 32);
        memcpy(to + len - 32, from + len - 32, 32);
    }
    return to + len;
}

static inline char *end_line(char *to)
{
    memcpy(to, "\r\n", 2);
    return to + 2;
}

static inline char *print_resp_header(char *to, char type, size_t value)
{
    *to++ = type;
    if (value >= 100) {
        to += number_print_uint64(to, value);
    } else {
        if (value >= 10) *to++ = (char)('0' + value / 10);
        *to++ = (char)('0' + value % 10);
    }
    return end_line(to);
}

static inline char *print_bulk(char *to, struct bytes text)
{
    return end_line(copy_short(print_resp_header(to, '$', text.len), text.data, text.len));
}

void put_resp_header(struct pen *pen, char type, size_t value);
void put_raw(struct pen *pen, const char *data, size_t len);
void put_argument(struct pen *pen, struct bytes text);
void put_int64(struct pen *pen, int64_t number);

/* Writes the operands with these letters. */
void put_operands(struct pen *pen, const char *letters, const struct effect *effect);
/* The number of arguments that put_operands writes. */
unsigned count_operands(const char *letters, const struct effect *effect);

#endif
