/* put: see put.h. */
#include "proto/rdb/put.h"

#include "store/base/little_endian.h"
#include "store/base/number.h"

bool rdb_put_byte(struct buffer *to, unsigned byte)
{
    unsigned char one = (unsigned char)byte;
    return buffer_try_append(to, &one, 1);
}

bool rdb_put_length(struct buffer *to, uint64_t len)
{
    unsigned char bytes[9];
    size_t extra = len < 64 ? 0 : len < 16384 ? 1 : len <= UINT32_MAX ? 4 : 8;
    for (size_t i = extra; i > 0; i--, len >>= 8)
        bytes[i] = (unsigned char)len;
    /* A short length keeps its high bits in the first byte. */
    if (extra <= 1)
        bytes[0] = (unsigned char)(extra << 6 | len);
    else
        bytes[0] = extra == 4 ? 0x80 : 0x81;
    return buffer_try_append(to, bytes, 1 + extra);
}

bool rdb_put_raw(struct buffer *to, struct bytes bytes)
{
    return rdb_put_length(to, bytes.len) && buffer_try_append(to, bytes.data, bytes.len);
}

bool rdb_put_text(struct buffer *to, struct bytes text)
{
    unsigned char bytes[5];
    int64_t value;
    if (!number_parse_int64(text.data, text.len, &value) || value < INT32_MIN || value > INT32_MAX)
        return rdb_put_raw(to, text);
    unsigned code = value >= INT16_MIN && value <= INT16_MAX ? 1 : 2;
    if (value >= INT8_MIN && value <= INT8_MAX) code = 0;
    size_t size = (size_t)1 << code;
    bytes[0] = (unsigned char)(0xc0 | code);
    little_put(bytes + 1, size, (uint64_t)value);
    return buffer_try_append(to, bytes, 1 + size);
}

bool rdb_put_score(struct buffer *to, double score)
{
    unsigned char bytes[sizeof(uint64_t)];
    uint64_t bits;
    memcpy(&bits, &score, sizeof(bits));
    little_put(bytes, sizeof(bytes), bits);
    return buffer_try_append(to, bytes, sizeof(bytes));
}
