/* wire: reads the basic parts of the format from a source: numbers, lengths, strings, scores. A
 * string is stored in one of three ways: as a length and its bytes, as the number whose decimal
 * digits it is, or compressed. The first byte tells which:
 *
 *     first byte     what follows
 *     00llllll       the bytes, l of them
 *     01llllll       1 byte: the low 8 bits of the length; the bytes
 *     80 81          4, 8 bytes, most significant first: the length; the bytes
 *     c0 c1 c2       a signed number of 1, 2, 4 bytes, least significant first
 *     c3             the packed length, the length, and LZF's stream
 *
 * A length without a string, and both lengths of c3, are stored as in the first three rows. */
#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "proto/rdb/packing.h"
#include "proto/rdb/reader.h"
#include "store/base/little_endian.h"
#include "store/base/number.h"
#include "store/mem/mem.h"

enum {
    LENGTH_32 = 0x80,
    LENGTH_64 = 0x81,
    ENCODED = 0xc0,
    ENCODED_LZF = 3,
    TEXT_NAN = 253,
    TEXT_INF = 254,
    TEXT_MINUS_INF = 255,
};

bool rdb_fail(struct rdb_reader *reader, enum rdb_status status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(reader->error->text, sizeof(reader->error->text), format, args);
    va_end(args);
    reader->error->status = status;
    reader->error->offset = reader->part_at;
    return false;
}

bool rdb_damaged(struct rdb_reader *reader, const char *what)
{
    return rdb_fail(reader, RDB_DAMAGED, "%s", what);
}

void rdb_show(char *to, size_t size, struct bytes text)
{
    size_t len = text.len < size ? text.len : size - 1;
    for (size_t i = 0; i < len; i++)
        to[i] = isprint((unsigned char)text.data[i]) ? text.data[i] : '?';
    to[len] = '\0';
}

bool rdb_no_bytes(struct rdb_reader *reader)
{
    switch (reader->source->state) {
    case RDB_SOURCE_FAILED: return rdb_fail(reader, RDB_UNREADABLE, "reading failed");
    case RDB_SOURCE_NO_MEMORY: return rdb_fail(reader, RDB_TOO_LARGE, "out of memory");
    default: return rdb_damaged(reader, "unexpected end of the data");
    }
}

static const unsigned char *take_bytes(struct rdb_reader *reader, size_t len)
{
    const unsigned char *at = rdb_source_take(reader->source, len);
    if (at == NULL) rdb_no_bytes(reader);
    return at;
}

bool rdb_get_number(struct rdb_reader *reader, size_t size, uint64_t *value)
{
    reader->part_at = rdb_source_offset(reader->source);
    const unsigned char *at = take_bytes(reader, size);
    if (at == NULL) return false;
    *value = little_unsigned(at, size);
    return true;
}

static bool get_big_endian(struct rdb_reader *reader, size_t size, uint64_t *value)
{
    const unsigned char *at = take_bytes(reader, size);
    if (at == NULL) return false;
    *value = 0;
    for (size_t i = 0; i < size; i++)
        *value = *value << 8 | at[i];
    return true;
}

static bool get_length_or_encoding(struct rdb_reader *reader, uint64_t *value, bool *is_encoding)
{
    reader->part_at = rdb_source_offset(reader->source);
    const unsigned char *at = take_bytes(reader, 1);
    if (at == NULL) return false;
    unsigned first = *at;
    *is_encoding = first >= ENCODED;
    *value = first & 0x3f;
    if (first < 0x40 || first >= ENCODED) return true;
    if (first == LENGTH_32) return get_big_endian(reader, 4, value);
    if (first == LENGTH_64) return get_big_endian(reader, 8, value);
    if (first >= LENGTH_32) return rdb_damaged(reader, "broken length");
    at = take_bytes(reader, 1);
    if (at == NULL) return false;
    *value = *value << 8 | *at;
    return true;
}

bool rdb_get_length(struct rdb_reader *reader, uint64_t *length)
{
    bool is_encoding;
    if (!get_length_or_encoding(reader, length, &is_encoding)) return false;
    return !is_encoding || rdb_damaged(reader, "an encoding in place of a length");
}

static bool check_max_string(struct rdb_reader *reader, uint64_t len)
{
    uint64_t max = reader->visitor->max_string;
    if (max == 0 || len <= max) return true;
    return rdb_fail(reader, RDB_TOO_LARGE, "a string of %llu bytes; the limit is %llu",
                    (unsigned long long)len, (unsigned long long)max);
}

static bool get_lzf_text(struct rdb_reader *reader, struct buffer *scratch, struct bytes *text)
{
    uint64_t packed_len, len, part_at = reader->part_at;
    enum { STEP = 1 << 20 };
    struct bytes packed;
    if (!rdb_get_length(reader, &packed_len) || !rdb_get_length(reader, &len)) return false;
    reader->part_at = part_at;
    if (!check_max_string(reader, len) || !check_max_string(reader, packed_len)) return false;
    if (packed_len == 0 || len == 0 || len / RDB_LZF_MAX_RATIO > packed_len)
        return rdb_damaged(reader, "a compressed string with an impossible length");
    if (!rdb_source_fetch(reader->source, packed_len, &reader->packed, &packed))
        return rdb_no_bytes(reader);
    scratch->len = 0;
    /* A small payload may unpack to a very large value. Once for each mebibyte of unpacked strings,
     * check that there is memory for another mebibyte and for this string, twice: in the buffer
     * here, and in the visitor's copy. */
    uint64_t before = reader->unpacked;
    reader->unpacked += len;
    bool is_short =
        reader->unpacked / STEP != before / STEP && !mem_has_room(2 * (STEP + (size_t)len));
    if (is_short || !buffer_try_reserve(scratch, (size_t)len))
        return rdb_fail(reader, RDB_TOO_LARGE, "out of memory");
    if (!rdb_lzf_unpack(packed, scratch->data, (size_t)len))
        return rdb_damaged(reader, "a damaged compressed string");
    scratch->len = (size_t)len;
    *text = buffer_bytes(scratch);
    return true;
}

bool rdb_get_string(struct rdb_reader *reader, struct buffer *scratch, struct bytes *text)
{
    uint64_t len;
    bool is_encoding;
    if (!get_length_or_encoding(reader, &len, &is_encoding)) return false;
    if (!is_encoding) {
        if (!check_max_string(reader, len)) return false;
        return rdb_source_fetch(reader->source, len, scratch, text) || rdb_no_bytes(reader);
    }
    if (len == ENCODED_LZF) return get_lzf_text(reader, scratch, text);
    if (len > ENCODED_LZF) return rdb_damaged(reader, "a string with an unknown encoding");

    size_t size = (size_t)1 << len; /* the digits of a number of 1, 2 or 4 bytes */
    const unsigned char *at = take_bytes(reader, size);
    if (at == NULL) return false;
    scratch->len = 0;
    if (!buffer_try_reserve(scratch, NUMBER_INT64_MAX_CHARS))
        return rdb_fail(reader, RDB_TOO_LARGE, "out of memory");
    scratch->len = number_print_int64(scratch->data, little_signed(at, size));
    *text = buffer_bytes(scratch);
    return true;
}

bool rdb_get_score(struct rdb_reader *reader, double *score)
{
    uint64_t bits;
    if (!rdb_get_number(reader, sizeof(bits), &bits)) return false;
    memcpy(score, &bits, sizeof(bits));
    return !isnan(*score) || rdb_damaged(reader, "a score that is not a number");
}

bool rdb_get_text_score(struct rdb_reader *reader, double *score)
{
    uint64_t len;
    struct bytes text;
    if (!rdb_get_number(reader, 1, &len)) return false;
    *score = len == TEXT_INF ? INFINITY : -INFINITY;
    if (len == TEXT_INF || len == TEXT_MINUS_INF) return true;
    if (len == TEXT_NAN) return rdb_damaged(reader, "a score that is not a number");
    if (!rdb_source_fetch(reader->source, len, &reader->second, &text)) return rdb_no_bytes(reader);
    return number_parse_double(text.data, text.len, score) ||
           rdb_damaged(reader, "a score that is not a number");
}

bool rdb_skip(struct rdb_reader *reader, uint64_t bytes)
{
    return rdb_source_skip(reader->source, bytes) || rdb_no_bytes(reader);
}

bool rdb_skip_lengths(struct rdb_reader *reader, unsigned count)
{
    uint64_t length;
    for (; count > 0; count--)
        if (!rdb_get_length(reader, &length)) return false;
    return true;
}

bool rdb_skip_string(struct rdb_reader *reader)
{
    uint64_t len, packed;
    bool is_encoding;
    if (!get_length_or_encoding(reader, &len, &is_encoding)) return false;
    if (!is_encoding) return rdb_skip(reader, len);
    if (len < ENCODED_LZF) return rdb_skip(reader, UINT64_C(1) << len);
    if (len > ENCODED_LZF) return rdb_damaged(reader, "a string with an unknown encoding");
    return rdb_get_length(reader, &packed) && rdb_get_length(reader, &len) &&
           rdb_skip(reader, packed);
}
