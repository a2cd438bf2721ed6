/* random_call: see random_call.h. */
#include "tests/support/random_call.h"

#include <stdio.h>

#include "store/base/ensure.h"
#include "store/txn/txn_dehydrator.h"
#include "store/txn/txn_lease.h"
#include "store/txn/txn_stream.h"
#include "store/txn/txn_token.h"
#include "store/walk.h"

static struct rng rng;

static struct bytes random_text(const char *prefix, unsigned range)
{
    static char texts[8][32];
    static unsigned next;
    char *to = texts[next++ % 8];
    int len = snprintf(to, sizeof(texts[0]), "%s%u", prefix, (unsigned)rng_below(&rng, range));
    return bytes_of(to, (size_t)len);
}

/* The entry at a random key, created if absent. NULL: it has another type. */
static struct entry *random_entry(struct txn *txn, enum type type)
{
    struct bytes key = random_text("k", 12);
    struct entry *entry = txn_find(txn, key);
    if (entry == NULL) return txn_create(txn, key, type);
    return entry->object.type == type ? entry : NULL;
}

static void step_string(struct txn *txn)
{
    struct bytes key = random_text("k", 12);
    struct bytes value = random_text(rng_chance(&rng, 50) ? "v" : "no short value ", 1000);
    struct entry *entry = txn_find(txn, key);
    if (entry != NULL && entry->object.type == TYPE_STRING && rng_chance(&rng, 40)) {
        txn_string_append(txn, entry, value);
        return;
    }
    if ((entry == NULL || entry->object.type == TYPE_STRING) && rng_chance(&rng, 20)) {
        txn_string_write(txn, key, entry, rng_below(&rng, 20), value, EVENT_SETRANGE);
        return;
    }
    struct string_set how = { .keep_ttl = rng_chance(&rng, 20), .event = EVENT_SET };
    how.at = rng_chance(&rng, 50) ? NEVER : txn->now + rng_between(&rng, 0, 50);
    txn_string_set(txn, key, value, &how);
}

static void step_list(struct txn *txn)
{
    struct entry *entry = random_entry(txn, TYPE_LIST);
    if (entry == NULL) return;
    enum list_end end = rng_chance(&rng, 50) ? LIST_HEAD : LIST_TAIL;
    txn_list_push(txn, entry, end, random_text("e", 5));
    size_t count = list_count(entry->object.list);
    size_t from = rng_below(&rng, count), to = from + rng_below(&rng, count - from) + 1;
    switch (rng_below(&rng, 7)) {
    case 0: txn_list_pop(txn, entry, end, rng_below(&rng, count) + 1); break;
    case 1: txn_list_keep(txn, entry, from, to); break;
    case 3: txn_list_put(txn, entry, from, random_text("changed", 1000)); break;
    case 4: txn_list_insert(txn, entry, from, random_text("inserted", 1000), NULL); break;
    case 2: txn_list_remove(txn, entry, rng_between(&rng, -2, 2), random_text("e", 5)); break;
    default: break;
    }
}

/* More members than a small collection holds, so that collections become large. */
enum { MEMBERS = 100 };

static struct lifetime random_life(const struct txn *txn)
{
    static const enum life_rule rules[] = { LIFE_ADD, LIFE_KEEP, LIFE_CLEAR, LIFE_SET,
                                            LIFE_SET_NEW };
    return (struct lifetime){ rules[rng_below(&rng, 5)], txn->now + rng_between(&rng, 0, 30) };
}

static void step_members(struct txn *txn, struct entry *entry, const char *prefix)
{
    if (object_count(&entry->object) == 0) return;
    switch (rng_below(&rng, 4)) {
    case 0:
        txn_member_expire(txn, entry, random_text(prefix, MEMBERS),
                          txn->now + rng_between(&rng, -2, 40));
        break;
    case 1: txn_member_persist(txn, entry, random_text(prefix, MEMBERS)); break;
    default: break;
    }
}

static void step_set(struct txn *txn)
{
    struct entry *entry = random_entry(txn, TYPE_SET);
    if (entry == NULL) return;
    for (uint64_t n = rng_below(&rng, 8); n > 0; n--)
        txn_set_add(txn, entry, random_text("m", MEMBERS), random_life(txn));
    txn_set_add(txn, entry, random_text("m", MEMBERS), LIFE(ADD));
    step_members(txn, entry, "m");
    if (rng_chance(&rng, 50)) txn_set_remove(txn, entry, random_text("m", MEMBERS), EVENT_SREM);
    if (set_count(entry->object.set) > 0 && rng_chance(&rng, 2))
        txn_set_remove_all(txn, entry, EVENT_SPOP);
}

static void step_hash(struct txn *txn)
{
    struct entry *entry = random_entry(txn, TYPE_HASH);
    if (entry == NULL) return;
    for (uint64_t n = 1 + rng_below(&rng, 8); n > 0; n--) {
        struct hput how = { EVENT_HSET, random_life(txn) };
        txn_hash_put(txn, entry, random_text("f", MEMBERS), random_text("v", 100), &how);
    }
    step_members(txn, entry, "f");
    if (rng_chance(&rng, 50)) txn_hash_remove(txn, entry, random_text("f", MEMBERS));
}

static void step_zset(struct txn *txn)
{
    struct entry *entry = random_entry(txn, TYPE_ZSET);
    if (entry == NULL) return;
    struct zput how = {
        .only_greater = rng_chance(&rng, 10),
        .add = rng_chance(&rng, 20),
        .event = EVENT_ZADD,
    };
    for (uint64_t n = 1 + rng_below(&rng, 8); n > 0; n--) {
        double score = (double)rng_between(&rng, -5, 5);
        how.life = random_life(txn);
        txn_zset_put(txn, entry, random_text("m", MEMBERS), &score, &how);
    }
    step_members(txn, entry, "m");
    if (zset_count(entry->object.zset) == 0) return;
    size_t count = zset_count(entry->object.zset), from = rng_below(&rng, count);
    if (rng_chance(&rng, 20))
        txn_zset_remove(txn, entry, random_text("m", MEMBERS));
    else if (rng_chance(&rng, 20))
        txn_zset_remove_ranks(txn, entry, from, from + rng_below(&rng, count - from) + 1,
                              EVENT_ZREMRANGEBYRANK);
}

static void step_dehydrator(struct txn *txn)
{
    struct entry *entry = random_entry(txn, TYPE_DEHYDRATOR);
    if (entry == NULL) return;
    struct stage stage = { .at = txn->now + rng_between(&rng, -10, 10) };
    txn_rede_push(txn, entry, random_text("id", 20), random_text("p", 100), &stage);
    if (rng_chance(&rng, 10))
        txn_rede_set_next_delivery(txn, entry, rng_chance(&rng, 20) ? 0 : txn->now * 1000 + 5000);
    if (rng_chance(&rng, 10))
        txn_rede_pause(txn, entry, txn->now + rng_between(&rng, 1, 20));
    else if (rng_chance(&rng, 5))
        txn_rede_pause(txn, entry, rng_chance(&rng, 50) ? 0 : INSTANT_MAX);
    struct bytes id = random_text("id", 20);
    struct element *element = dehydrator_find(entry->object.dehydrator, id);
    if (element == NULL && rng_chance(&rng, 20))
        txn_rede_remember(txn, entry, id, txn->now + rng_between(&rng, 1, 20));
    if (element == NULL) return;
    struct push_options options = {
        .first = txn->now,
        .remember = rng_between(&rng, 0, 20),
        .every = rng_between(&rng, 0, 3),
        .phase = txn->now + rng_between(&rng, -10, 10),
    };
    if (rng_chance(&rng, 30)) {
        options.every = 0;
        options.cron = rng_chance(&rng, 50) ? LIT("UTC */2 * * * * *") : LIT("Mars/A 0 0 1 1 *");
    }
    stage = dehydrator_stage(entry->object.dehydrator, element);
    stage.at = txn->now + rng_between(&rng, 1, 20);
    stage.claimed = rng_chance(&rng, 50);
    stage.deliveries += stage.claimed;
    stage.token = 0;
    if (rng_chance(&rng, 20))
        element = txn_rede_set_options(txn, entry, element, &options);
    else if (rng_chance(&rng, 20))
        txn_rede_follow(txn, entry,
                        &(struct successor){ element_id(element), random_text("f", 20),
                                             options.phase, options });
    bool moves = rng_chance(&rng, 40);
    if (moves && stage.claimed && rng_chance(&rng, 50) && txn_token_reserve(txn, 1))
        stage.token = txn_token_next(txn);
    if (moves)
        txn_rede_move(txn, entry, element, &stage, EVENT_REDE_CLAIM);
    else if (rng_chance(&rng, 50))
        txn_rede_update(txn, entry, element, random_text("payload", 1000));
    else if (rng_chance(&rng, 30))
        txn_rede_remove(txn, entry, element, EVENT_REDE_PULL);
    else if (rng_chance(&rng, 30))
        txn_rede_remove_delivered(txn, entry, element, EVENT_REDE_PULL);
    else
        txn_rede_finish(txn, entry, element, EVENT_REDE_ACK);
}

static void step_lease(struct txn *txn)
{
    struct entry *entry = random_entry(txn, TYPE_LEASE);
    if (entry == NULL) return;
    struct holder holder = { random_text("o", 30), 0, txn->now + rng_between(&rng, 0, 20) }, old;
    struct lease *lease = entry->object.lease;
    uint32_t permits =
        lease_permits(lease) > 0 ? lease_permits(lease) : (uint32_t)rng_between(&rng, 1, 40);
    ensure(txn_token_reserve(txn, 1), "no tokens");
    bool again = lease_find_owner(lease, holder.owner, &old) && rng_chance(&rng, 50);
    holder.token = again ? old.token : txn->store->tokens.last + 1;
    /* A token that is granted has to be recorded. */
    bool fits = lease_fits(lease, &holder, permits);
    if (fits && !again) holder.token = txn_token_next(txn);
    if (fits) txn_lease_take(txn, entry, &holder, permits);
    txn_member_expire(txn, entry, random_text("o", 30), txn->now + rng_between(&rng, 1, 40));
    if (rng_chance(&rng, 30)) txn_lease_drop(txn, entry, random_text("o", 30));
    if (rng_chance(&rng, 2)) txn_lease_shift(txn, rng_between(&rng, -5, 5));
}

static void append_some(struct txn *txn, struct entry *entry)
{
    for (uint64_t count = rng_below(&rng, 4); count > 0; count--) {
        struct stream_id id = stream_marks(entry->object.stream).last;
        uint64_t ms = (uint64_t)(txn->now + rng_between(&rng, -20, 5));
        if (ms > id.ms) id.ms = ms;
        id.seq++;
        struct bytes texts[6];
        size_t text_count = 2 * (1 + rng_below(&rng, 3));
        for (size_t i = 0; i < text_count; i++)
            texts[i] = random_text(i % 2 == 0 ? "name" : "value", 4);
        txn_stream_append(txn, entry, id, texts, text_count);
    }
}

/* Mostly the ID of an entry. */
static struct stream_id random_id(const struct stream *stream)
{
    struct stream_id id = { rng_below(&rng, 5), 1 };
    size_t count = stream_count(stream);
    if (count > 0 && rng_chance(&rng, 90)) stream_id_at(stream, rng_below(&rng, count), &id);
    return id;
}

/* Texts with IDs that follow one another. */
static void change_repeats(struct txn *txn, struct entry *entry)
{
    static const struct bytes names[] = { LIT("p"), LIT("q"), LIT("") };
    const struct stream_repeats *repeats = stream_repeats(entry->object.stream);
    struct repeat_counts counts = { rng_between(&rng, 0, 9), rng_between(&rng, 0, 9) };
    struct stream_id id = stream_marks(entry->object.stream).last;
    for (uint64_t count = rng_below(&rng, 5); count > 0 && stream_id_up(&id); count--) {
        struct bytes name = names[rng_below(&rng, 3)], text = names[rng_below(&rng, 3)];
        if (repeats != NULL && !repeat_fits(repeats, name, id)) break;
        txn_repeat_put(txn, entry, name, text, id);
        repeats = stream_repeats(entry->object.stream);
    }
    if (rng_chance(&rng, 20)) txn_repeat_set_counts(txn, entry, counts);
    if (rng_chance(&rng, 10))
        txn_repeat_set_limits(txn, entry,
                              (struct repeat_limits){ 1 + counts.added, 1 + counts.repeated });
}

static void change_entries(struct txn *txn, struct entry *entry)
{
    struct stream *stream = entry->object.stream;
    struct stream_marks marks = stream_marks(stream);
    switch (rng_below(&rng, 9)) {
    case 8: change_repeats(txn, entry); break;
    case 0: txn_stream_remove(txn, entry, random_id(stream)); break;
    case 1: txn_stream_trim(txn, entry, rng_below(&rng, stream_count(stream) + 1)); break;
    case 2: txn_stream_set_retention(txn, entry, rng_between(&rng, 0, 40)); break;
    case 3:
        marks.last.seq += rng_below(&rng, 2);
        marks.added += rng_below(&rng, 3);
        txn_stream_set_marks(txn, entry, &marks);
        break;
    default: append_some(txn, entry); break;
    }
}

static void change_pending(struct txn *txn, struct entry *entry, struct stream_group *group,
                           struct stream_consumer *consumer)
{
    for (uint64_t count = rng_below(&rng, 5); count > 0; count--) {
        struct pending pending = {
            .id = random_id(entry->object.stream),
            .consumer = rng_chance(&rng, 80) ? consumer : NULL,
            .at = txn->now + rng_between(&rng, -2, 0),
            .deliveries = rng_below(&rng, 3),
        };
        txn_pending_put(txn, entry, group, &pending);
    }
    struct stream_id id = random_id(entry->object.stream);
    if (rng_chance(&rng, 40)) txn_pending_remove(txn, entry, group, id);
    if (rng_chance(&rng, 20)) txn_stream_forget_pending(txn, entry, id);
}

static void step_stream(struct txn *txn)
{
    struct entry *entry = random_entry(txn, TYPE_STREAM);
    if (entry == NULL) return;
    struct bytes name = random_text("g", 3);
    struct stream_group *group = group_find(stream_groups(entry->object.stream), name);
    struct group_position position = { random_id(entry->object.stream), rng_between(&rng, -1, 9) };
    if (group == NULL) group = txn_group_add(txn, entry, name, &position);
    change_entries(txn, entry);
    name = random_text("c", 3);
    struct stream_consumer *consumer = consumer_find(group, name);
    if (consumer == NULL) consumer = txn_consumer_add(txn, entry, group, name);
    change_pending(txn, entry, group, consumer);
    switch (rng_below(&rng, 12)) {
    case 0: txn_consumer_remove(txn, entry, group, consumer); break;
    case 1: txn_group_remove(txn, entry, group); break;
    case 2: txn_group_set_position(txn, entry, group, &position, EVENT_XGROUP_SETID); break;
    default: break;
    }
}

static void step_key(struct txn *txn)
{
    struct entry *entry = txn_find(txn, random_text("k", 12));
    struct bytes to = random_text("k", 12);
    if (entry == NULL) return;
    unsigned db = (unsigned)rng_below(&rng, 3);
    switch (rng_below(&rng, 9)) {
    case 5:
        if (db != txn->ks->db) txn_key_move(txn, entry, db);
        break;
    case 6:
        if (db != txn->ks->db || !bytes_equal(entry_key(entry), to))
            txn_key_copy(txn, entry, db, to);
        break;
    case 8:
        txn_key_restore(txn, to, walk_copy(&entry->object),
                        rng_chance(&rng, 50) ? NEVER : txn->now + rng_between(&rng, 1, 40));
        break;
    case 7: txn_key_store(txn, to, walk_copy(&entry->object), EVENT_SUNIONSTORE); break;
    case 0: txn_key_drop(txn, entry, EVENT_DEL); break;
    case 1: txn_key_persist(txn, entry); break;
    case 2:
        if (!bytes_equal(entry_key(entry), to)) txn_key_rename(txn, entry, to);
        break;
    default: txn_key_expire(txn, entry, txn->now + rng_between(&rng, -2, 40)); break;
    }
}

static void step_library(struct txn *txn)
{
    struct bytes name = random_text("lib", 4);
    if (rng_chance(&rng, 40))
        txn_library_drop(txn, name);
    else
        txn_library_set(txn, name, random_text("code", 1000));
}

static struct bytes random_target(void)
{
    return rng_chance(&rng, 50) ? LIT("log") : random_text("k", 12);
}

static void step_policy(struct txn *txn)
{
    static const struct bytes names[] = { { "k*", 2 }, { "k1*", 3 }, { "k2", 2 }, { "log", 3 } };
    struct bytes name = names[rng_below(&rng, sizeof(names) / sizeof(names[0]))];
    struct policy policy = { 0 };
    if (rng_chance(&rng, 20)) {
        txn_policy_drop(txn, name);
        return;
    }
    if (rng_chance(&rng, 40)) policy.ttl = rng_between(&rng, 1, 100);
    if (rng_chance(&rng, 30)) policy.member_ttl = rng_between(&rng, 1, 50);
    if (rng_chance(&rng, 30)) policy.max_len = rng_below(&rng, 10) + 1;
    if (rng_chance(&rng, 40)) policy.retain = rng_between(&rng, 1, 50);
    if (rng_chance(&rng, 60)) policy.expired_to = random_target();
    policy.log_value = rng_chance(&rng, 50);
    policy.value_max = rng_below(&rng, 100) + 1;
    txn_policy_set(txn, name, &policy);
}

void random_call(struct txn *txn, struct rng *source)
{
    rng = *source;
    static void (*const steps[])(struct txn *) = {
        step_string,     step_list,   step_set, step_hash,  step_zset,
        step_dehydrator, step_stream, step_key, step_lease,
    };
    txn_call(txn, (unsigned)rng_below(&rng, 3));
    if (rng_chance(&rng, 1))
        txn_flush(txn, (unsigned)rng_below(&rng, 3));
    else if (rng_chance(&rng, 1))
        txn_swap(txn, (unsigned)rng_below(&rng, 3), (unsigned)rng_below(&rng, 3));
    else if (rng_chance(&rng, 1))
        step_library(txn);
    else if (rng_chance(&rng, 2))
        step_policy(txn);
    else
        steps[rng_below(&rng, sizeof(steps) / sizeof(steps[0]))](txn);
    *source = rng;
}
