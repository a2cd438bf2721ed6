/* effect_desk: writes effects as text, reads them back and compares, for the tests of effect_text.
 */
#pragma once

#include <string.h>

#include "server/disk/effect/effect_brief.h"
#include "server/disk/effect/effect_text.h"
#include "server/disk/effect/request.h"
#include "store/base/ensure.h"
#include "store/mem/mem.h"
#include "store/policy/policy.h"
#include "tests/support/suite.h"

enum { READ_MAX = 4096, TEXTS_MAX = 8 };

/* The effects read back; they point into `text`. */
static struct {
    struct outbuf out;
    struct effect_writer writer;
    char *text;
    size_t len;
    struct effect effects[READ_MAX];
    struct policy policies[READ_MAX];
    struct bytes texts[READ_MAX][TEXTS_MAX];
    size_t count, commands;
} desk;

static inline void desk_begin(void)
{
    outbuf_init(&desk.out);
    effect_writer_init(&desk.writer, &desk.out);
    desk.text = NULL;
}

static inline void desk_end(void)
{
    mem_free(desk.text);
    outbuf_drop(&desk.out);
}

static bool keep(void *ctx, const struct effect *effect)
{
    (void)ctx;
    ensure(desk.count < READ_MAX, "%zu effects", desk.count);
    struct effect *kept = &desk.effects[desk.count];
    *kept = *effect;
    if (effect->policy != NULL) {
        desk.policies[desk.count] = *effect->policy;
        kept->policy = &desk.policies[desk.count];
    }
    ensure(effect->text_count <= TEXTS_MAX, "%zu texts", effect->text_count);
    if (effect->text_count > 0) {
        kept->texts = desk.texts[desk.count];
        memcpy(desk.texts[desk.count], effect->texts, effect->text_count * sizeof(struct bytes));
    }
    desk.count++;
    return true;
}

/* Reads back everything that was written so far. */
static inline void desk_read(void)
{
    effect_writer_end(&desk.writer);
    outbuf_check(&desk.out);
    mem_free(desk.text);
    desk.len = desk.out.len;
    desk.text = mem_alloc(desk.len + 1);
    outbuf_copy(&desk.out, desk.text);
    desk.text[desk.len] = '\0';
    desk.count = desk.commands = 0;

    struct request request;
    struct effect_reader reader;
    request_init(&request);
    effect_reader_init(&reader);
    struct bytes last = { 0 };
    size_t size;
    for (size_t at = 0; at < desk.len; at += size, desk.commands++) {
        if (effect_brief_begins(desk.text[at])) {
            struct effect effect = { .db = reader.db };
            ck_assert_int_eq(
                effect_brief_read(desk.text + at, desk.len - at, &last, &effect, &size),
                REQUEST_WHOLE);
            keep(NULL, &effect);
            continue;
        }
        ck_assert_int_eq(request_read(&request, desk.text + at, desk.len - at, &size),
                         REQUEST_WHOLE);
        ck_assert_msg(effect_text_read(request.argc, request.argv, &reader, keep, NULL),
                      "%.*s is not read", (int)size, desk.text + at);
    }
    request_drop(&request);
}

/* Returns the arguments of all commands, separated by spaces, with / after each command. */
static inline const char *desk_words(void)
{
    static char words[16384];
    struct request request;
    size_t len = 0, size;
    request_init(&request);
    words[0] = '\0';
    for (size_t at = 0; at < desk.len; at += size) {
        request_read(&request, desk.text + at, desk.len - at, &size);
        for (int i = 0; i < request.argc; i++) {
            memcpy(words + len, request.argv[i].data, request.argv[i].len);
            len += request.argv[i].len;
            words[len++] = i + 1 < request.argc ? ' ' : '/';
        }
    }
    words[len] = '\0';
    request_drop(&request);
    return words;
}

static inline bool same_score(double a, double b)
{
    return memcmp(&a, &b, sizeof(a)) == 0;
}

static inline bool same_stage(const struct stage *a, const struct stage *b)
{
    return a->at == b->at && a->deliveries == b->deliveries && a->claimed == b->claimed &&
           a->token == b->token;
}

static inline bool same_policy(const struct policy *a, const struct policy *b)
{
    if (a == NULL || b == NULL) return a == b;
    return policy_equal(a, b) && a->pending == b->pending;
}

static inline bool same_texts(const struct effect *a, const struct effect *b)
{
    if (a->text_count != b->text_count) return false;
    for (size_t i = 0; i < a->text_count; i++)
        if (!bytes_equal(a->texts[i], b->texts[i])) return false;
    return true;
}

static inline bool same_stream_effect(const struct effect *a, const struct effect *b)
{
    return stream_id_equal(a->id, b->id) && same_texts(a, b) &&
           stream_id_equal(a->marks.last, b->marks.last) && a->marks.added == b->marks.added &&
           stream_id_equal(a->marks.max_deleted, b->marks.max_deleted) &&
           stream_id_equal(a->position.last, b->position.last) &&
           a->position.read == b->position.read;
}

static inline bool has_deadline(enum effect_kind kind)
{
    switch (kind) {
    case EFFECT_SET:
    case EFFECT_EXPIRE:
    case EFFECT_SOFT:
    case EFFECT_SET_ADD:
    case EFFECT_SET_EXPIRE:
    case EFFECT_HASH_PUT:
    case EFFECT_HASH_EXPIRE:
    case EFFECT_ZSET_PUT:
    case EFFECT_STREAM_RETAIN:
    case EFFECT_PENDING_PUT:
    case EFFECT_LEASE_TAKE:
    case EFFECT_LEASE_EXTEND:
    case EFFECT_ZSET_EXPIRE: return true;
    default: return false;
    }
}

static inline bool has_stage(enum effect_kind kind)
{
    return kind == EFFECT_REDE_PUSH || kind == EFFECT_REDE_MOVE;
}

static inline bool has_phase(enum effect_kind kind)
{
    return kind == EFFECT_REDE_OPTIONS || kind == EFFECT_REDE_FOLLOW ||
           kind == EFFECT_REDE_REMEMBER || kind == EFFECT_REDE_PAUSE;
}

/* Compares the members of the struct that the kind uses. */
static inline bool same_effect(const struct effect *a, const struct effect *b)
{
    bool in_any_database = effect_rows[a->kind].any_database && a->kind != EFFECT_SWAP;
    return a->kind == b->kind && (a->db == b->db || in_any_database) &&
           bytes_equal(a->key, b->key) && bytes_equal(a->a, b->a) && bytes_equal(a->b, b->b) &&
           a->from == b->from && a->to == b->to && same_score(a->score, b->score) &&
           (!has_deadline(a->kind) || a->at == b->at) &&
           (!has_phase(a->kind) || (a->at == b->at && a->stage.at == b->stage.at)) &&
           (a->kind != EFFECT_REDE_CRON || a->stage.at == b->stage.at) &&
           (!has_stage(a->kind) || same_stage(&a->stage, &b->stage)) &&
           same_policy(a->policy, b->policy) && same_stream_effect(a, b);
}

/* Written as commands, and again in brief form where there is one. */
static inline void assert_returns(const struct effect *effects, size_t count)
{
    for (int way = 0; way < 2; way++) {
        desk_begin();
        desk.writer.is_brief = way == 1;
        for (size_t i = 0; i < count; i++)
            effect_writer_put(&desk.writer, &effects[i]);
        desk_read();
        ck_assert_uint_eq(desk.count, count);
        for (size_t i = 0; i < count; i++)
            ck_assert_msg(same_effect(&effects[i], &desk.effects[i]), "effect %zu of kind %d", i,
                          (int)effects[i].kind);
        desk_end();
    }
}
