/* lzf: unpacking. A stream has two kinds of instruction.
 *
 * 000lllll: l + 1 literal bytes follow. lllooooo oooooooo: l + 2 bytes from o + 1 bytes ago, where
 * l = 7 adds a byte between the two. */
#include "proto/rdb/lzf.h"

#include <string.h>

enum { LITERAL_BELOW = 32, LONG_REFERENCE = 7 };

struct unpacking {
    const unsigned char *at, *end;
    unsigned char *from, *to, *to_end;
};

static bool copy_literal(struct unpacking *u, size_t len)
{
    if ((size_t)(u->end - u->at) < len || (size_t)(u->to_end - u->to) < len) return false;
    memcpy(u->to, u->at, len);
    u->at += len;
    u->to += len;
    return true;
}

static bool copy_reference(struct unpacking *u, unsigned control)
{
    size_t len = control >> 5;
    if (len == LONG_REFERENCE) {
        if (u->at == u->end) return false;
        len += *u->at++;
    }
    if (u->at == u->end) return false;
    size_t back = ((size_t)(control & 31) << 8 | *u->at++) + 1;
    len += 2;
    if ((size_t)(u->to - u->from) < back || (size_t)(u->to_end - u->to) < len) return false;
    /* Byte by byte: source and target may overlap, which repeats a pattern. */
    for (; len > 0; len--, u->to++)
        *u->to = *(u->to - back);
    return true;
}

bool rdb_lzf_unpack(struct rdb_bytes packed, char *to, size_t len)
{
    const unsigned char *at = (const unsigned char *)packed.data;
    unsigned char *out = (unsigned char *)to;
    struct unpacking u = { at, at + packed.len, out, out, out + len };
    while (u.at < u.end) {
        unsigned control = *u.at++;
        bool ok =
            control < LITERAL_BELOW ? copy_literal(&u, control + 1) : copy_reference(&u, control);
        if (!ok) return false;
    }
    return u.to == u.to_end;
}
