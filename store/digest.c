/* digest: store_digest() of store.h, a hash of the data set without expired data. The order of hash
 * tables must not matter, so the hashes of keys (with value and deadline) are added up, and so are
 * those of elements of unordered types. The hashes of elements of ordered types are chained. */
#include "store/base/siphash.h"
#include "store/policy/policy_rows.h"
#include "store/policy/policy_words.h"
#include "store/store.h"
#include "store/type/stream/stream_repeats.h"
#include "store/type/string.h"
#include "store/walk.h"

/* The digest has two independent halves ("lanes") of 64 bits. */
static const uint8_t lane_keys[2][16] = {
    { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16 },
    { 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32 },
};

static uint64_t lane_hash(unsigned lane, struct bytes text)
{
    return siphash_keyed(lane_keys[lane], text.data, text.len);
}

static uint64_t hash_words(unsigned lane, const uint64_t *words, size_t count)
{
    return siphash_keyed(lane_keys[lane], words, count * sizeof(*words));
}

/* The words and their number, as arguments of hash_words. */
#define WORDS(...)                                                                                 \
    (const uint64_t[]){ __VA_ARGS__ }, sizeof((const uint64_t[]){ __VA_ARGS__ }) / sizeof(uint64_t)

static uint64_t lane_hash_pair(unsigned lane, uint64_t a, uint64_t b)
{
    return hash_words(lane, WORDS(a, b));
}

static uint64_t with_deadline(unsigned lane, uint64_t hash, msec at)
{
    return at == NEVER ? hash : lane_hash_pair(lane, hash, (uint64_t)at);
}

static uint64_t digest_string(unsigned lane, const struct object *object, msec now)
{
    (void)now;
    return with_deadline(lane, lane_hash(lane, object_text(object)), string_soft_deadline(object));
}

static uint64_t digest_list(unsigned lane, const struct object *object, msec now)
{
    (void)now;
    uint64_t chain = 0;
    struct list_iter iter;
    struct bytes element;
    list_iter_at(&iter, object->list, 0);
    while (list_iter_next(&iter, &element))
        chain = lane_hash_pair(lane, chain, lane_hash(lane, element));
    return chain;
}

static uint64_t digest_set(unsigned lane, const struct object *object, msec now)
{
    uint64_t sum = 0;
    struct set_iter iter;
    struct bytes member;
    set_iter_begin(&iter, object->set);
    while (set_iter_next(&iter, &member))
        if (!instant_expired(iter.at, now))
            sum += with_deadline(lane, lane_hash(lane, member), iter.at);
    return sum;
}

static uint64_t digest_hash(unsigned lane, const struct object *object, msec now)
{
    uint64_t sum = 0;
    struct hash_iter iter;
    struct bytes field, value;
    hash_iter_begin(&iter, object->hash);
    while (hash_iter_next(&iter, &field, &value)) {
        if (instant_expired(iter.at, now)) continue;
        sum += with_deadline(
            lane, lane_hash_pair(lane, lane_hash(lane, field), lane_hash(lane, value)), iter.at);
    }
    return sum;
}

static uint64_t digest_lease(unsigned lane, const struct object *object, msec now)
{
    uint64_t sum = lease_permits(object->lease);
    struct lease_iter iter;
    struct holder holder;
    lease_iter_begin(&iter, object->lease);
    while (lease_iter_next(&iter, &holder)) {
        if (instant_expired(holder.end, now)) continue;
        uint64_t hash = lane_hash_pair(lane, lane_hash(lane, holder.owner), (uint64_t)holder.token);
        sum += with_deadline(lane, hash, holder.end);
    }
    return sum;
}

static uint64_t digest_zset(unsigned lane, const struct object *object, msec now)
{
    uint64_t chain = 0;
    struct zset_iter iter;
    struct bytes member;
    double score;
    zset_iter_at(&iter, object->zset, 0);
    while (zset_iter_next(&iter, &member, &score)) {
        if (instant_expired(iter.at, now)) continue;
        if (score == 0) score = 0; /* -0 and 0 are one score */
        uint64_t bits;
        memcpy(&bits, &score, sizeof(bits));
        uint64_t placed = lane_hash_pair(lane, lane_hash(lane, member), bits);
        chain = lane_hash_pair(lane, chain, with_deadline(lane, placed, iter.at));
    }
    return chain;
}

/* The terms for options, successors and remembered ids, in any order. */
struct more {
    unsigned lane;
    msec now;
    uint64_t sum;
};

static void add_options(struct more *more, struct bytes id, struct bytes payload, msec at,
                        const struct push_options *options)
{
    more->sum += hash_words(more->lane, WORDS(lane_hash(more->lane, id),
                                              lane_hash(more->lane, payload), (uint64_t)at,
                                              (uint64_t)options->first, (uint64_t)options->remember,
                                              (uint64_t)options->every, (uint64_t)options->phase));
}

static void add_schedule(struct more *more, struct bytes id, bool of_successor,
                         const struct push_options *options)
{
    if (options->cron.len > 0)
        more->sum += hash_words(more->lane, WORDS(lane_hash(more->lane, id),
                                                  lane_hash(more->lane, options->cron),
                                                  of_successor, (uint64_t)options->phase));
}

static void digest_options(void *ctx, struct effect *effect)
{
    const struct push_options options = effect_options(effect);
    if (effect->kind == EFFECT_REDE_OPTIONS) add_options(ctx, effect->a, LIT(""), 0, &options);
    if (effect->kind != EFFECT_REDE_CRON || effect->from != 0) return;
    add_schedule(ctx, effect->a, false,
                 &(struct push_options){ .cron = effect->b, .phase = effect->stage.at });
}

static void digest_successor(void *ctx, const struct successor *successor)
{
    add_options(ctx, successor->id, successor->payload, successor->at, &successor->options);
    add_schedule(ctx, successor->id, true, &successor->options);
}

static void digest_remembered(void *ctx, struct bytes id, msec until)
{
    static const struct push_options none = { 0 };
    const struct more *more = ctx;
    if (!instant_due(until, more->now)) add_options(ctx, id, LIT(""), until, &none);
}

static uint64_t digest_dehydrator(unsigned lane, const struct object *object, msec now)
{
    uint64_t chain = 0;
    struct dehydrator_walk walk;
    msec at;
    dehydrator_walk_begin(&walk, object->dehydrator);
    for (struct element *element; (element = dehydrator_walk_next(&walk, &at)) != NULL;) {
        struct stage stage = dehydrator_stage(object->dehydrator, element);
        /* A token is larger than 0, and without one the last word is 0 or 1. */
        chain = hash_words(lane, WORDS(chain, lane_hash(lane, element_id(element)),
                                       lane_hash(lane, element_payload(element)), (uint64_t)at,
                                       stage.deliveries, (uint64_t)stage.token + stage.claimed));
    }
    dehydrator_walk_end(&walk);
    struct more more = { lane, now, chain };
    const struct extras *extras = dehydrator_extras(object->dehydrator);
    msec paused = dehydrator_paused(object->dehydrator, now);
    if (paused != 0) more.sum += lane_hash_pair(lane, (uint64_t)paused, 1);
    if (dehydrator_count_options(object->dehydrator) > 0)
        walk_object(object, digest_options, &more);
    if (extras != NULL) {
        extras_each_successor(extras, digest_successor, &more);
        extras_each_remembered(extras, digest_remembered, &more);
        if (extras_next_usec(extras) != 0)
            more.sum += lane_hash_pair(lane, (uint64_t)extras_next_usec(extras), 2);
    }
    return more.sum;
}

static uint64_t digest_pending(unsigned lane, const struct stream *stream,
                               const struct stream_group *group, msec now)
{
    uint64_t chain = 0;
    struct pending_filter filter = { .to = STREAM_ID_MAX };
    struct pending pending;
    size_t expired = stream_count_expired(stream, now);
    struct stream_id alive = STREAM_ID_MIN; /* entries before it have expired */
    if (expired > 0) {
        stream_id_at(stream, expired - 1, &alive);
        stream_id_up(&alive);
    }
    for (bool more = true; more && pending_next(group, &filter, &pending);
         more = stream_id_up(&filter.from)) {
        filter.from = pending.id;
        if (stream_id_before(pending.id, alive) && stream_has(stream, pending.id)) continue;
        uint64_t consumer =
            pending.consumer != NULL ? lane_hash(lane, consumer_name(pending.consumer)) : 1;
        chain = hash_words(lane, WORDS(chain, pending.id.ms, pending.id.seq, consumer,
                                       (uint64_t)pending.at, pending.deliveries));
    }
    return chain;
}

static uint64_t digest_stream(unsigned lane, const struct object *object, msec now)
{
    const struct stream *stream = object->stream;
    const struct stream_groups *groups = stream_groups(stream);
    struct stream_marks marks = stream_marks(stream);
    uint64_t sum = 0;
    for (struct stream_group *group = NULL; (group = group_next(groups, group)) != NULL;) {
        struct group_position position = group_position(group);
        uint64_t consumers = 0;
        const struct stream_consumer *consumer = NULL;
        while ((consumer = consumer_next(group, consumer)) != NULL)
            consumers += lane_hash(lane, consumer_name(consumer));
        sum += hash_words(lane, WORDS(lane_hash(lane, group_name(group)), position.last.ms,
                                      position.last.seq, (uint64_t)position.read, consumers,
                                      digest_pending(lane, stream, group, now)));
    }

    /* Add the texts by which repeated entries are detected, without forgotten ones, and the limits
     * unless they are the defaults. */
    const struct stream_repeats *repeats = stream_repeats(stream);
    if (repeats != NULL) {
        struct repeat_walk texts;
        struct stream_id id;
        struct repeat_limits limits = repeat_limits(repeats);
        if (limits.seconds != REPEAT_SECONDS || limits.texts != REPEAT_TEXTS)
            sum += lane_hash_pair(lane, (uint64_t)limits.seconds, (uint64_t)limits.texts);
        repeat_walk_begin(&texts, repeats);
        while (repeat_walk_next(&texts))
            if (repeat_find(repeats, texts.producer, texts.text, now, &id))
                sum += hash_words(lane, WORDS(lane_hash(lane, texts.producer),
                                              lane_hash(lane, texts.text), id.ms, id.seq));
    }

    uint64_t entries = 0;
    struct stream_walk walk;
    struct stream_entry entry;
    struct bytes name, value;
    stream_walk_up(&walk, stream, STREAM_ID_MIN);
    for (size_t skip = stream_count_expired(stream, now); stream_walk_next(&walk, &entry);) {
        if (skip > 0) {
            skip--;
            continue;
        }
        entries = hash_words(lane, WORDS(entries, entry.id.ms, entry.id.seq));
        while (stream_entry_next(&entry, &name, &value))
            entries =
                hash_words(lane, WORDS(entries, lane_hash(lane, name), lane_hash(lane, value)));
    }
    return hash_words(lane, WORDS(entries, marks.last.ms, marks.last.seq, marks.max_deleted.ms,
                                  marks.max_deleted.seq, marks.added,
                                  (uint64_t)stream_retention(stream), sum));
}

static uint64_t (*const digesters[TYPE_COUNT])(unsigned lane, const struct object *object,
                                               msec now) = {
    [TYPE_STRING] = digest_string, [TYPE_LIST] = digest_list,
    [TYPE_SET] = digest_set,       [TYPE_HASH] = digest_hash,
    [TYPE_ZSET] = digest_zset,     [TYPE_DEHYDRATOR] = digest_dehydrator,
    [TYPE_STREAM] = digest_stream, [TYPE_LEASE] = digest_lease,
};

static uint64_t digest_entry(unsigned lane, const struct keyspace *ks, const struct entry *entry,
                             msec now)
{
    uint64_t value = digesters[entry->object.type](lane, &entry->object, now);
    return hash_words(lane, WORDS(ks->db, lane_hash(lane, entry_key(entry)), entry->object.type,
                                  value, (uint64_t)entry_expires_at(ks, entry)));
}

/* Hashes the options of version 0.1 as that version did, so that its data keeps its digest. Later
 * options are hashed as words, and only those that the policy has: adding an option to this program
 * thus changes no existing digest. */
static void digest_policy(void *ctx, struct bytes name, const struct policy *policy)
{
    struct digest *digest = ctx;
    struct policy later = *policy;
    struct policy_words words;
    for (unsigned option = 0; option <= POLICY_KEEP; option++)
        policy_clear(&later, option);
    later.pending = false;
    policy_words_write(&words, &later);
    for (unsigned lane = 0; lane < 2; lane++) {
        uint64_t chain = hash_words(lane, WORDS(lane_hash(lane, name), (uint64_t)policy->ttl,
                                                (uint64_t)policy->max_ttl,
                                                (uint64_t)policy->member_ttl, policy->max_len,
                                                policy->refresh, policy->jitter, policy->keep_low));
        for (size_t i = 0; i < words.count; i++)
            chain = lane_hash_pair(lane, chain, lane_hash(lane, words.words[i]));
        *(lane == 0 ? &digest->high : &digest->low) += chain;
    }
}

static void digest_library(void *ctx, const struct library *library)
{
    struct digest *digest = ctx;
    for (unsigned lane = 0; lane < 2; lane++) {
        uint64_t hash = lane_hash_pair(lane, lane_hash(lane, library_name(library)),
                                       lane_hash(lane, library_code(library)));
        *(lane == 0 ? &digest->high : &digest->low) += hash;
    }
}

struct digest store_digest(const struct store *store, msec now)
{
    struct digest digest = { 0, 0 };
    policies_each(&store->policies, digest_policy, &digest);
    libraries_each(&store->libraries, digest_library, &digest);
    int64_t token = store->tokens.last;
    if (token != 0) {
        digest.high += lane_hash_pair(0, (uint64_t)token, 0);
        digest.low += lane_hash_pair(1, (uint64_t)token, 0);
    }
    for (unsigned db = 0; db < store->database_count; db++) {
        const struct keyspace *ks = &store->databases[db];
        struct dict_iter iter;
        dict_iter_begin(&iter, &ks->dict);
        for (const struct entry *entry; (entry = dict_iter_next(&iter)) != NULL;) {
            if (entry_expired(ks, entry, now)) continue;
            digest.high += digest_entry(0, ks, entry, now);
            digest.low += digest_entry(1, ks, entry, now);
        }
    }
    return digest;
}
