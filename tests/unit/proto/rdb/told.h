/* told: a visitor that writes down what it is told, for the tests.
 * Knows the visitor's contract, and that it is kept: a key that was begun ends exactly once. */
#ifndef TESTS_UNIT_PROTO_RDB_TOLD_H
#define TESTS_UNIT_PROTO_RDB_TOLD_H

#include <check.h>
#include <stdarg.h>
#include <stdio.h>

#include "proto/rdb/rdb_read.h"

enum { TOLD_ROOM = 16 * 1024 };

struct told {
    char text[TOLD_ROOM]; /* cut when it is full */
    size_t len;
    bool in_key;
    int left; /* calls until one answers false; -1: none does */
    int calls, keys, failures;
};

static inline void note_args(struct told *told, const char *format, va_list args)
{
    int len = vsnprintf(told->text + told->len, TOLD_ROOM - told->len, format, args);
    told->len += (size_t)len;
    if (told->len >= TOLD_ROOM) told->len = TOLD_ROOM - 1;
}

__attribute__((format(printf, 2, 3))) static inline void note(struct told *told, const char *format,
                                                              ...)
{
    va_list args;
    va_start(args, format);
    note_args(told, format, args);
    va_end(args);
}

/* Writes it down, and answers. */
__attribute__((format(printf, 2, 3))) static inline bool tell(struct told *told, const char *format,
                                                              ...)
{
    va_list args;
    va_start(args, format);
    note_args(told, format, args);
    va_end(args);
    told->calls++;
    return told->left < 0 || told->left-- > 0;
}

#define TEXT(bytes) (int)(bytes).len, (bytes).data

static inline bool tell_database(void *ctx, uint64_t number)
{
    return tell(ctx, "db %d; ", (int)number);
}

static inline bool tell_sizes(void *ctx, uint64_t keys, uint64_t with_deadline)
{
    return tell(ctx, "sizes %d %d; ", (int)keys, (int)with_deadline);
}

static inline bool tell_aux(void *ctx, struct rdb_bytes name, struct rdb_bytes value)
{
    return tell(ctx, "aux %.*s=%.*s; ", TEXT(name), TEXT(value));
}

static inline bool tell_function(void *ctx, struct rdb_bytes code)
{
    return tell(ctx, "function %.*s; ", TEXT(code));
}

static inline bool tell_module_aux(void *ctx, const char *module, int version)
{
    return tell(ctx, "module aux %s %d; ", module, version);
}

static inline bool tell_unsupported(void *ctx, const struct rdb_unsupported *what)
{
    struct told *told = ctx;
    ck_assert(!told->in_key);
    return tell(told, "unsupported %.*s %s %s %d; ", TEXT(what->key), what->type, what->module,
                what->encoding_version);
}

static inline bool tell_begin(void *ctx, const struct rdb_key *key)
{
    static const char *const names[] = { "string", "list", "set", "zset", "hash", "dehydrator" };
    struct told *told = ctx;
    ck_assert(!told->in_key);
    note(told, "%s %.*s", names[key->type], TEXT(key->name));
    if (key->expire_at != RDB_NEVER) note(told, " at %lld", (long long)key->expire_at);
    if (key->idle >= 0) note(told, " idle %lld", (long long)key->idle);
    if (key->freq >= 0) note(told, " freq %d", key->freq);
    return told->in_key = tell(told, ":");
}

static inline bool tell_text(void *ctx, struct rdb_bytes value)
{
    ck_assert(((struct told *)ctx)->in_key);
    return tell(ctx, " %.*s", TEXT(value));
}

static inline bool tell_field(void *ctx, struct rdb_bytes field, struct rdb_bytes value, int64_t at)
{
    ck_assert(((struct told *)ctx)->in_key);
    note(ctx, " %.*s=%.*s", TEXT(field), TEXT(value));
    if (at != RDB_NEVER) note(ctx, "@%lld", (long long)at);
    return tell(ctx, "%s", "");
}

static inline bool tell_scored(void *ctx, struct rdb_bytes member, double score)
{
    ck_assert(((struct told *)ctx)->in_key);
    ck_assert(score == score);
    return tell(ctx, " %.*s=%.17g", TEXT(member), score);
}

static inline bool tell_element(void *ctx, const struct rdb_element *element)
{
    ck_assert(((struct told *)ctx)->in_key);
    return tell(ctx, " %.*s=%.*s ttl %lld at %lld", TEXT(element->id), TEXT(element->payload),
                (long long)element->ttl, (long long)element->at);
}

static inline bool tell_end(void *ctx)
{
    struct told *told = ctx;
    ck_assert(told->in_key);
    told->in_key = false;
    told->keys++;
    return tell(told, "; ");
}

static inline void tell_failed(void *ctx)
{
    struct told *told = ctx;
    ck_assert(told->in_key);
    told->in_key = false;
    told->failures++;
    note(told, " failed; ");
}

static inline struct rdb_visitor told_visitor(struct told *told)
{
    /* Not the whole room: this runs once for every damaged sample. */
    told->text[0] = '\0';
    told->len = 0;
    told->in_key = false;
    told->left = -1;
    told->calls = told->keys = told->failures = 0;
    return (struct rdb_visitor){ .ctx = told,
                                 .database = tell_database,
                                 .sizes = tell_sizes,
                                 .aux = tell_aux,
                                 .function = tell_function,
                                 .module_aux = tell_module_aux,
                                 .unsupported = tell_unsupported,
                                 .key_begin = tell_begin,
                                 .string = tell_text,
                                 .list_element = tell_text,
                                 .set_member = tell_text,
                                 .hash_field = tell_field,
                                 .zset_member = tell_scored,
                                 .dehydrator_element = tell_element,
                                 .key_end = tell_end,
                                 .key_failed = tell_failed };
}

/* After a reading: nothing is left open, and the error tells what the status is. */
static inline void told_check(const struct told *told, enum rdb_status status,
                              const struct rdb_error *error)
{
    ck_assert(!told->in_key);
    ck_assert_int_eq(error->status, status);
    ck_assert((status == RDB_OK) == (error->text[0] == '\0'));
    ck_assert(status != RDB_OK || told->failures == 0);
    ck_assert_int_le(told->failures, 1);
}

#endif
