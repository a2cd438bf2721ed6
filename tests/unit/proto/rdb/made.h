/* made: builds RDB files, payloads and packings for the tests, independently of the library. Checks
 * nothing, so that it can build damaged ones too. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "proto/rdb/crc64.h"
#include "store/base/bytes.h"

enum { MADE_ROOM = 64 * 1024 };

struct made {
    size_t len;
    unsigned char at[MADE_ROOM];
};

static inline struct made *made_new(void)
{
    struct made *made = malloc(sizeof(*made));
    made->len = 0;
    return made;
}

static inline struct bytes made_bytes(const struct made *made)
{
    return (struct bytes){ (const char *)made->at, made->len };
}

static inline struct made *raw(struct made *to, const void *data, size_t len)
{
    memcpy(to->at + to->len, data, len);
    to->len += len;
    return to;
}

/* A number of `size` bytes, least significant first; negative ones in two's complement. */
static inline struct made *number(struct made *to, size_t size, int64_t value)
{
    uint64_t rest = (uint64_t)value;
    for (; size > 0; size--, rest >>= 8)
        to->at[to->len++] = (unsigned char)rest;
    return to;
}

static inline struct made *byte(struct made *to, int value)
{
    return number(to, 1, value);
}

/* A length in RDB's form, up to 16383. */
static inline struct made *length(struct made *to, size_t len)
{
    if (len < 64) return byte(to, (int)len);
    byte(to, (int)(0x40 | len >> 8));
    return byte(to, (int)(len & 0xff));
}

static inline struct made *text_of(struct made *to, const void *data, size_t len)
{
    return raw(length(to, len), data, len);
}

static inline struct made *text(struct made *to, const char *string)
{
    return text_of(to, string, strlen(string));
}

/* Appends another made value to `to` as a string of RDB. */
static inline struct made *blob(struct made *to, struct made *part)
{
    text_of(to, part->at, part->len);
    free(part);
    return to;
}

static inline struct made *score(struct made *to, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof(bits));
    return number(to, sizeof(bits), (int64_t)bits);
}

/* ---- listpacks ---- */

static inline struct made *listpack(void)
{
    return number(number(made_new(), 4, 0), 2, 0);
}

/* An item from its first part and its text; the backward length of up to 127. */
static inline struct made *lp_raw(struct made *to, const void *item, size_t len)
{
    return byte(raw(to, item, len), (int)len);
}

static inline struct made *lp_text(struct made *to, const char *string)
{
    size_t len = strlen(string);
    byte(to, 0x80 | (int)len);
    raw(to, string, len);
    return byte(to, (int)len + 1);
}

static inline struct made *lp_int64(struct made *to, int64_t value)
{
    return byte(number(byte(to, 0xf4), 8, value), 9);
}

static inline void made_set(struct made *made, size_t at, size_t size, uint64_t value)
{
    for (size_t i = 0; i < size; i++)
        made->at[at + i] = (unsigned char)(value >> 8 * i);
}

static inline struct made *lp_end(struct made *to, unsigned count)
{
    byte(to, 0xff);
    made_set(to, 0, 4, to->len);
    made_set(to, 4, 2, count);
    return to;
}

/* Of texts of up to 62 bytes, up to a NULL. */
static inline struct made *listpack_of(const char *const *texts)
{
    struct made *to = listpack();
    unsigned count = 0;
    for (; texts[count] != NULL; count++)
        lp_text(to, texts[count]);
    return lp_end(to, count);
}

#define LISTPACK(...) listpack_of((const char *const[]){ __VA_ARGS__, NULL })

/* ---- ziplists ---- */

struct made_ziplist {
    struct made *made;
    size_t previous;
    unsigned count;
};

static inline struct made_ziplist ziplist(void)
{
    return (struct made_ziplist){ number(number(number(made_new(), 4, 0), 4, 0), 2, 0), 0, 0 };
}

/* An item from its encoding and its bytes; the length before is put in front. */
static inline void zl_raw(struct made_ziplist *to, const void *item, size_t len)
{
    size_t start = to->made->len;
    if (to->previous < 254)
        byte(to->made, (int)to->previous);
    else
        number(byte(to->made, 254), 4, (int64_t)to->previous);
    raw(to->made, item, len);
    to->previous = to->made->len - start;
    to->count++;
}

static inline void zl_text(struct made_ziplist *to, const char *string)
{
    struct made *item = byte(made_new(), (int)strlen(string));
    raw(item, string, strlen(string));
    zl_raw(to, item->at, item->len);
    free(item);
}

static inline struct made *zl_end(struct made_ziplist *to)
{
    made_set(to->made, 4, 4, to->made->len - to->previous);
    byte(to->made, 0xff);
    made_set(to->made, 0, 4, to->made->len);
    made_set(to->made, 8, 2, to->count);
    return to->made;
}

static inline struct made *ziplist_of(const char *const *texts)
{
    struct made_ziplist to = ziplist();
    for (; *texts != NULL; texts++)
        zl_text(&to, *texts);
    return zl_end(&to);
}

#define ZIPLIST(...) ziplist_of((const char *const[]){ __VA_ARGS__, NULL })

static inline struct made *intset_of(size_t width, const int64_t *integers, size_t count)
{
    struct made *to = number(number(made_new(), 4, (int64_t)width), 4, (int64_t)count);
    for (size_t i = 0; i < count; i++)
        number(to, width, integers[i]);
    return to;
}

/* ---- modules ---- */

static inline struct made *module_id(struct made *to, const char *name, unsigned version)
{
    static const char characters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    uint64_t id = 0;
    for (const char *at = name; *at != '\0'; at++)
        id = id << 6 | (uint64_t)(strchr(characters, *at) - characters);
    id = id << 10 | version;
    byte(to, 0x81);
    for (int i = 7; i >= 0; i--)
        byte(to, (int)(id >> 8 * i & 0xff));
    return to;
}

static inline struct made *module_number(struct made *to, size_t value)
{
    return length(byte(to, 2), value);
}

static inline struct made *module_text(struct made *to, const char *string)
{
    return text(byte(to, 5), string);
}

/* ---- files and payloads ---- */

static inline struct made *file(const char *version)
{
    return raw(raw(made_new(), "REDIS", 5), version, 4);
}

static inline struct made *file_end(struct made *to)
{
    byte(to, 0xff);
    return number(to, 8, (int64_t)rdb_crc64(0, to->at, to->len));
}

static inline struct made *key(struct made *to, int type, const char *name)
{
    return text(byte(to, type), name);
}

static inline struct made *payload(int type)
{
    return byte(made_new(), type);
}

static inline struct made *payload_end(struct made *to, int version)
{
    number(to, 2, version);
    return number(to, 8, (int64_t)rdb_crc64(0, to->at, to->len));
}
