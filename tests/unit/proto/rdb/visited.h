/* visited: a visitor for the tests that records its calls as text, and checks the reader's side of
 * the contract in rdb_read.h: each begun key ends exactly once. */
#pragma once

#include <check.h>
#include <stdarg.h>
#include <stdio.h>

#include "proto/rdb/rdb_read.h"

enum { VISITED_ROOM = 16 * 1024 };

struct visited {
    char text[VISITED_ROOM]; /* the calls; cut when full */
    size_t len;
    bool in_key;
    int left; /* calls until one returns false; -1: none does */
    int calls, keys, failures;
};

static inline void note_args(struct visited *visited, const char *format, va_list args)
{
    int len = vsnprintf(visited->text + visited->len, VISITED_ROOM - visited->len, format, args);
    visited->len += (size_t)len;
    if (visited->len >= VISITED_ROOM) visited->len = VISITED_ROOM - 1;
}

__attribute__((format(printf, 2, 3))) static inline void note(struct visited *visited,
                                                              const char *format, ...)
{
    va_list args;
    va_start(args, format);
    note_args(visited, format, args);
    va_end(args);
}

/* Records a call and returns its result. */
__attribute__((format(printf, 2, 3))) static inline bool note_call(struct visited *visited,
                                                                   const char *format, ...)
{
    va_list args;
    va_start(args, format);
    note_args(visited, format, args);
    va_end(args);
    visited->calls++;
    return visited->left < 0 || visited->left-- > 0;
}

#define TEXT(bytes) (int)(bytes).len, (bytes).data

static inline bool visit_database(void *ctx, uint64_t number)
{
    return note_call(ctx, "db %d; ", (int)number);
}

static inline bool visit_sizes(void *ctx, uint64_t keys, uint64_t with_deadline)
{
    return note_call(ctx, "sizes %d %d; ", (int)keys, (int)with_deadline);
}

static inline bool visit_aux(void *ctx, struct bytes name, struct bytes value)
{
    return note_call(ctx, "aux %.*s=%.*s; ", TEXT(name), TEXT(value));
}

static inline bool visit_function(void *ctx, struct bytes code)
{
    return note_call(ctx, "function %.*s; ", TEXT(code));
}

static inline bool visit_module_aux(void *ctx, const char *module, int version)
{
    return note_call(ctx, "module aux %s %d; ", module, version);
}

static inline bool visit_unsupported(void *ctx, const struct rdb_unsupported *what)
{
    struct visited *visited = ctx;
    ck_assert(!visited->in_key);
    return note_call(visited, "unsupported %.*s %s %s %d; ", TEXT(what->key), what->type,
                     what->module, what->encoding_version);
}

static inline bool visit_begin(void *ctx, const struct rdb_key *key)
{
    static const char *const names[] = { "string", "list",       "set",   "zset",
                                         "hash",   "dehydrator", "stream" };
    struct visited *visited = ctx;
    ck_assert(!visited->in_key);
    note(visited, "%s %.*s", names[key->type], TEXT(key->name));
    if (key->expire_at != RDB_NEVER) note(visited, " at %lld", (long long)key->expire_at);
    if (key->idle >= 0) note(visited, " idle %lld", (long long)key->idle);
    if (key->freq >= 0) note(visited, " freq %d", key->freq);
    return visited->in_key = note_call(visited, ":");
}

static inline bool visit_text(void *ctx, struct bytes value)
{
    ck_assert(((struct visited *)ctx)->in_key);
    return note_call(ctx, " %.*s", TEXT(value));
}

static inline bool visit_field(void *ctx, struct bytes field, struct bytes value, int64_t at)
{
    ck_assert(((struct visited *)ctx)->in_key);
    note(ctx, " %.*s=%.*s", TEXT(field), TEXT(value));
    if (at != RDB_NEVER) note(ctx, "@%lld", (long long)at);
    return note_call(ctx, "%s", "");
}

static inline bool visit_scored(void *ctx, struct bytes member, double score)
{
    ck_assert(((struct visited *)ctx)->in_key);
    ck_assert(score == score);
    return note_call(ctx, " %.*s=%.17g", TEXT(member), score);
}

static inline bool visit_element(void *ctx, const struct rdb_element *element)
{
    ck_assert(((struct visited *)ctx)->in_key);
    return note_call(ctx, " %.*s=%.*s ttl %lld at %lld", TEXT(element->id), TEXT(element->payload),
                     (long long)element->ttl, (long long)element->at);
}

#define ID(id) (unsigned long long)(id).ms, (unsigned long long)(id).seq

static inline bool visit_entry(void *ctx, const struct rdb_stream_entry *entry)
{
    ck_assert(((struct visited *)ctx)->in_key);
    ck_assert(entry->count >= 2 && entry->count % 2 == 0);
    note(ctx, " %llu-%llu(", ID(entry->id));
    for (size_t i = 0; i < entry->count; i++)
        note(ctx, "%s%.*s", i == 0 ? "" : i % 2 == 1 ? "=" : " ", TEXT(entry->texts[i]));
    return note_call(ctx, ")");
}

static inline bool visit_marks(void *ctx, const struct rdb_stream_marks *marks)
{
    ck_assert(((struct visited *)ctx)->in_key);
    return note_call(ctx, " last %llu-%llu deleted %llu-%llu added %llu", ID(marks->last),
                     ID(marks->max_deleted), (unsigned long long)marks->added);
}

static inline bool visit_group(void *ctx, const struct rdb_group *group)
{
    ck_assert(((struct visited *)ctx)->in_key);
    return note_call(ctx, " group %.*s %llu-%llu %lld", TEXT(group->name), ID(group->last),
                     (long long)group->read);
}

static inline bool visit_consumer(void *ctx, const struct rdb_consumer *consumer)
{
    ck_assert(((struct visited *)ctx)->in_key);
    return note_call(ctx, " consumer %.*s %lld %lld", TEXT(consumer->name),
                     (long long)consumer->seen_at, (long long)consumer->active_at);
}

static inline bool visit_pending(void *ctx, const struct rdb_pending *pending)
{
    ck_assert(((struct visited *)ctx)->in_key);
    return note_call(ctx, " %llu-%llu@%lld*%llu", ID(pending->id), (long long)pending->at,
                     (unsigned long long)pending->deliveries);
}

static inline bool visit_released(void *ctx, const struct rdb_pending *pending)
{
    note(ctx, " released");
    return visit_pending(ctx, pending);
}

static inline bool visit_limits(void *ctx, uint64_t seconds, uint64_t texts)
{
    ck_assert(((struct visited *)ctx)->in_key);
    return note_call(ctx, " limits %llu %llu", (unsigned long long)seconds,
                     (unsigned long long)texts);
}

static inline bool visit_repeat(void *ctx, const struct rdb_repeat *repeat)
{
    ck_assert(((struct visited *)ctx)->in_key);
    return note_call(ctx, " %.*s %.*s %llu-%llu", TEXT(repeat->producer), TEXT(repeat->text),
                     ID(repeat->id));
}

static inline bool visit_counts(void *ctx, uint64_t added, uint64_t repeated)
{
    ck_assert(((struct visited *)ctx)->in_key);
    return note_call(ctx, " counts %llu %llu", (unsigned long long)added,
                     (unsigned long long)repeated);
}

static inline bool visit_end(void *ctx)
{
    struct visited *visited = ctx;
    ck_assert(visited->in_key);
    visited->in_key = false;
    visited->keys++;
    return note_call(visited, "; ");
}

static inline void visit_failed(void *ctx)
{
    struct visited *visited = ctx;
    ck_assert(visited->in_key);
    visited->in_key = false;
    visited->failures++;
    note(visited, " failed; ");
}

static inline struct rdb_visitor visited_visitor(struct visited *visited)
{
    /* Not the whole room: this runs once for every damaged sample. */
    visited->text[0] = '\0';
    visited->len = 0;
    visited->in_key = false;
    visited->left = -1;
    visited->calls = visited->keys = visited->failures = 0;
    return (struct rdb_visitor){ .ctx = visited,
                                 .database = visit_database,
                                 .sizes = visit_sizes,
                                 .aux = visit_aux,
                                 .function = visit_function,
                                 .module_aux = visit_module_aux,
                                 .unsupported = visit_unsupported,
                                 .key_begin = visit_begin,
                                 .string = visit_text,
                                 .list_element = visit_text,
                                 .set_member = visit_text,
                                 .hash_field = visit_field,
                                 .zset_member = visit_scored,
                                 .dehydrator_element = visit_element,
                                 .stream_entry = visit_entry,
                                 .stream_marks = visit_marks,
                                 .stream_group = visit_group,
                                 .stream_consumer = visit_consumer,
                                 .stream_pending = visit_pending,
                                 .stream_released = visit_released,
                                 .stream_limits = visit_limits,
                                 .stream_repeat = visit_repeat,
                                 .stream_counts = visit_counts,
                                 .key_end = visit_end,
                                 .key_failed = visit_failed };
}

/* After a reading: no key is open, and the error agrees with the status. */
static inline void visited_check(const struct visited *visited, enum rdb_status status,
                                 const struct rdb_error *error)
{
    ck_assert(!visited->in_key);
    ck_assert_int_eq(error->status, status);
    ck_assert((status == RDB_OK) == (error->text[0] == '\0'));
    ck_assert(status != RDB_OK || visited->failures == 0);
    ck_assert_int_le(visited->failures, 1);
}
