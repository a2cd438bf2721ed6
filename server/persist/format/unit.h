/* unit: how a journal is divided. The layout:
 *
 *     #EXPIRED-JOURNAL 1\r\n       the first line: the version of what follows
 *     *3\r\n$3\r\nSET\r\n...          commands of effect_text.h: what one transaction has changed
 *     #e3069283\r\n                the unit's end: the CRC-32C of every byte before this line
 *     ...
 *
 * The sum runs on from the file's beginning, so that a unit that is missing, repeated or in another
 * place shows. Other lines that begin with # are remarks, which readers pass over (and sum up);
 * all of them are what Redis' loader takes for annotations.
 *
 * To change the layout: a new number in the first line; a reader refuses numbers that it does not
 * know. What the commands may be is effect_text.h's business. */
#ifndef SERVER_PERSIST_FORMAT_UNIT_H
#define SERVER_PERSIST_FORMAT_UNIT_H

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define UNIT_FIRST_LINE "#EXPIRED-JOURNAL 1\r\n"

enum {
    UNIT_SUM_DIGITS = 8,
    UNIT_SUM_LINE = 1 + UNIT_SUM_DIGITS + 2, /* bytes */
    UNIT_REMARK_MAX = 1024,                  /* of any other line */
};

/* Writes the line that ends a unit: UNIT_SUM_LINE bytes. */
static inline void unit_print_sum(char *to, uint32_t sum)
{
    /* All digits at once: each nibble goes into a byte of its own, the highest first, ... */
    uint64_t digits = sum;
    digits = (digits << 16 | digits) & 0x0000ffff0000ffff;
    digits = (digits << 8 | digits) & 0x00ff00ff00ff00ff;
    digits = (digits << 4 | digits) & 0x0f0f0f0f0f0f0f0f;
    /* ... with 6 more, a letter's shows in the fifth bit. */
    uint64_t letters = (digits + 0x0606060606060606) >> 4 & 0x0101010101010101;
    digits += 0x3030303030303030 + letters * ('a' - '0' - 10);
    /* As two words, the first one last: the sum, which reads eight bytes at once, finds it whole.
     */
    uint64_t tail = htobe64(digits << 16 | '\r' << 8 | '\n');
    uint64_t head = htobe64((uint64_t)'#' << 56 | digits >> 8);
    memcpy(to + UNIT_SUM_LINE - sizeof(tail), &tail, sizeof(tail));
    memcpy(to, &head, sizeof(head));
}

/* Are these UNIT_SUM_LINE bytes such a line? */
static inline bool unit_parse_sum(const char *line, uint32_t *sum)
{
    if (line[0] != '#' || line[1 + UNIT_SUM_DIGITS] != '\r' || line[2 + UNIT_SUM_DIGITS] != '\n')
        return false;
    *sum = 0;
    for (int i = 1; i <= UNIT_SUM_DIGITS; i++) {
        char c = line[i];
        if (!(c >= '0' && c <= '9') && !(c >= 'a' && c <= 'f')) return false;
        *sum = *sum << 4 | (uint32_t)(c <= '9' ? c - '0' : c - 'a' + 10);
    }
    return true;
}

#endif
