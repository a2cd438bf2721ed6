/* items: the bulk strings of a reply as a flat array, for tests that count and compare elements. */
#pragma once

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "store/base/bytes.h"

/* The bulk strings of a reply, in order, at any depth; returns how many. */
static inline size_t items_of(struct bytes reply, struct bytes *items, size_t cap)
{
    size_t count = 0, at = 0;
    while (at < reply.len) {
        const char *line = reply.data + at;
        const char *end = memchr(line, '\n', reply.len - at);
        ck_assert_ptr_nonnull(end);
        ck_assert_msg(strchr("*~%$", *line) != NULL, "%.*s", (int)reply.len, reply.data);
        at += (size_t)(end + 1 - line);
        if (*line != '$') continue;
        ck_assert_uint_lt(count, cap);
        items[count] = bytes_of(end + 1, strtoul(line + 1, NULL, 10));
        at += items[count++].len + strlen("\r\n");
    }
    return count;
}

/* Returns the number after the first letter of an item such as "m12". */
static inline unsigned item_number(struct bytes item)
{
    char text[16] = { 0 };
    ck_assert(item.len > 1 && item.len < sizeof(text));
    memcpy(text, item.data + 1, item.len - 1);
    return (unsigned)strtoul(text, NULL, 10);
}
