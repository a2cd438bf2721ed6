/* record: the layout of a journal segment, for its writer (journal.h) and reader (replay.h):
 *
 *     #EXPIRED-JOURNAL 2\r\n        the first line, with the version of the layout
 *     *3\r\n$6\r\nAPPEND\r\n...     changes of whole transactions: commands (effect_text.h),
 *     \x80\x01\x05\x00kvalue        and effects in brief form (store/brief.h)
 *     #e3069283\r\n                 the end of the record: CRC-32C of every byte before this line
 *     ...
 *
 * The first byte of a part distinguishes them: * begins a command, # a line, 128 or more an effect
 * in brief form. Version 1, which 0.1 and early builds of 0.2 wrote, contains no effects in brief
 * form. A server that continues a segment of version 1 adds only commands; new segments are of
 * version 2.
 *
 * The checksum continues from the beginning of the file, so it detects a missing, repeated or
 * misplaced record. Other lines that begin with # are comments, which readers skip (but include in
 * the checksum), except for marks (instant_mark.h, stream_position.h, segment_mark.h).
 *
 * To change the layout, use a new number in the first line; readers refuse unknown numbers.
 * store/txn/effect_rows.c defines the commands. */
#pragma once

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define RECORD_MAGIC        "#EXPIRED-JOURNAL " /* of every version, which follows */
#define RECORD_FIRST_LINE   RECORD_MAGIC "2\r\n"
#define RECORD_FIRST_LINE_1 RECORD_MAGIC "1\r\n" /* of version 1; has the same length */

enum {
    RECORD_VERSION = 2,
    RECORD_SUM_DIGITS = 8,
    RECORD_SUM_LINE = 1 + RECORD_SUM_DIGITS + 2, /* bytes */
    RECORD_REMARK_MAX = 1024,                    /* bytes of any other # line */
};

/* Writes the line that ends a record: RECORD_SUM_LINE bytes. */
static inline void record_print_sum(char *to, uint32_t sum)
{
    /* All digits at once: spread the nibbles over the bytes, the highest first. */
    uint64_t digits = sum;
    digits = (digits << 16 | digits) & 0x0000ffff0000ffff;
    digits = (digits << 8 | digits) & 0x00ff00ff00ff00ff;
    digits = (digits << 4 | digits) & 0x0f0f0f0f0f0f0f0f;
    /* A nibble above 9 plus 6 sets bit 4 of its byte: these become letters. */
    uint64_t letters = (digits + 0x0606060606060606) >> 4 & 0x0101010101010101;
    digits += 0x3030303030303030 + letters * ('a' - '0' - 10);
    /* Write two overlapping words, the first one last: the checksum then reads the first eight
     * bytes at once, and the processor can forward them from that one store. */
    uint64_t last = htobe64(digits << 16 | '\r' << 8 | '\n');
    uint64_t first = htobe64((uint64_t)'#' << 56 | digits >> 8);
    memcpy(to + RECORD_SUM_LINE - sizeof(last), &last, sizeof(last));
    memcpy(to, &first, sizeof(first));
}

/* Parses the digits of a checksum line, RECORD_SUM_LINE bytes, whatever its first byte is. Returns
 * false if the line has another form. */
static inline bool record_parse_digits(const char *line, uint32_t *sum)
{
    if (line[1 + RECORD_SUM_DIGITS] != '\r' || line[2 + RECORD_SUM_DIGITS] != '\n') return false;
    *sum = 0;
    for (int i = 1; i <= RECORD_SUM_DIGITS; i++) {
        char c = line[i];
        if (!(c >= '0' && c <= '9') && !(c >= 'a' && c <= 'f')) return false;
        *sum = *sum << 4 | (uint32_t)(c <= '9' ? c - '0' : c - 'a' + 10);
    }
    return true;
}

/* Parses a checksum line of RECORD_SUM_LINE bytes. Returns false if it is something else. */
static inline bool record_parse_sum(const char *line, uint32_t *sum)
{
    return line[0] == '#' && record_parse_digits(line, sum);
}
