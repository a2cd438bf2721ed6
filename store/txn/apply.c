/* apply: one function for each kind of effect, which makes the effect's change by calling a
 * mutator. The events are those that Redis sends for the effect's command (effect_rows.c). */
#include "store/txn/apply.h"

#include "store/mem/mem.h"
#include "store/txn/txn_dehydrator.h"
#include "store/txn/txn_lease.h"
#include "store/txn/txn_stream.h"
#include "store/txn/txn_token.h"

bool apply_nothing(struct txn *txn, struct entry *entry, const struct effect *effect)
{
    (void)txn;
    (void)entry;
    (void)effect;
    return true;
}

bool apply_set(struct txn *txn, struct entry *entry, const struct effect *effect)
{
    (void)entry;
    struct string_set how = { .at = effect->at, .event = EVENT_SET };
    txn_string_set(txn, effect->key, effect->a, &how);
    return true;
}

bool apply_soft(struct txn *txn, struct entry *entry, const struct effect *effect)
{
    txn_string_soften(txn, entry, effect->at, EVENT_NONE);
    return true;
}

#define POSSIBLE_TEXT ((size_t)1 << 30)

/* Returns true if the mutator made a string of `wanted` bytes; `len` is its result, -1 if memory
 * ran out. If a client can have made a string of this size, it was part of the data: the process
 * then ends, because it cannot hold the data. A larger size means a damaged record: returns
 * false. */
static bool grew(int64_t len, size_t wanted)
{
    if (len < 0 && wanted <= POSSIBLE_TEXT) mem_exhausted(wanted);
    return len >= 0;
}

bool apply_append(struct txn *txn, struct entry *entry, const struct effect *effect)
{
    size_t wanted = object_text(&entry->object).len + effect->a.len;
    return grew(txn_string_append(txn, entry, effect->a), wanted);
}

bool apply_write(struct txn *txn, struct entry *entry, const struct effect *effect)
{
    if (effect->from < 0) return false;
    size_t from = (size_t)effect->from;
    return grew(txn_string_write(txn, effect->key, entry, from, effect->a, EVENT_SETRANGE),
                from + effect->a.len);
}

bool apply_drop(struct txn *txn, struct entry *entry, const struct effect *effect)
{
    (void)effect;
    /* The key may be missing: each effect is a call of its own, so a key that the previous effect
     * emptied is already dropped. */
    if (entry != NULL) txn_key_drop(txn, entry, EVENT_DEL);
    return true;
}

bool apply_expire(struct txn *txn, struct entry *entry, const struct effect *effect)
{
    return txn_key_expire(txn, entry, effect->at);
}

bool apply_persist(struct txn *txn, struct entry *entry, const struct effect *effect)
{
    (void)effect;
    return txn_key_persist(txn, entry);
}

bool apply_rename(struct txn *txn, struct entry *entry, const struct effect *effect)
{
    if (bytes_equal(effect->key, effect->a)) return false;
    txn_key_rename(txn, entry, effect->a);
    return true;
}

static bool is_database(const struct txn *txn, int64_t db)
{
    return db >= 0 && db < txn->store->database_count;
}

bool apply_copy(struct txn *txn, struct entry *entry, const struct effect *effect)
{
    if (!is_database(txn, effect->to)) return false;
    if (effect->to == effect->db && bytes_equal(effect->key, effect->a)) return false;
    txn_key_copy(txn, entry, (unsigned)effect->to, effect->a);
    return true;
}

bool apply_move(struct txn *txn, struct entry *entry, const struct effect *effect)
{
    if (!is_database(txn, effect->to) || effect->to == effect->db) return false;
    return txn_key_move(txn, entry, (unsigned)effect->to);
}

bool apply_swap(struct txn *txn, struct entry *entry, const struct effect *effect)
{
    (void)entry;
    if (!is_database(txn, effect->to)) return false;
    txn_swap(txn, effect->db, (unsigned)effect->to);
    return true;
}

bool apply_flush(struct txn *txn, struct entry *entry, const struct effect *effect)
{
    (void)entry;
    txn_flush(txn, effect->db);
    return true;
}

bool apply_push(struct txn *txn, struct entry *entry, const struct effect *effect)
{
    enum list_end end = effect->kind == EFFECT_PUSH_HEAD ? LIST_HEAD : LIST_TAIL;
    txn_list_push(txn, entry, end, effect->a);
    return true;
}

bool apply_pop(struct txn *txn, struct entry *entry, const struct effect *effect)
{
    if (effect->from < 0) return false;
    if ((size_t)effect->from > list_count(entry->object.list)) return false;
    enum list_end end = effect->kind == EFFECT_POP_HEAD ? LIST_HEAD : LIST_TAIL;
    txn_list_pop(txn, entry, end, (size_t)effect->from);
    return true;
}

static bool range_fits(const struct effect *effect, size_t count)
{
    return effect->from >= 0 && effect->from <= effect->to && (size_t)effect->to <= count;
}

bool apply_keep(struct txn *txn, struct entry *entry, const struct effect *effect)
{
    if (!range_fits(effect, list_count(entry->object.list))) return false;
    txn_list_keep(txn, entry, (size_t)effect->from, (size_t)effect->to);
    return true;
}

bool apply_list_put(struct txn *txn, struct entry *entry, const struct effect *effect)
{
    if (effect->from < 0) return false;
    if ((size_t)effect->from >= list_count(entry->object.list)) return false;
    txn_list_put(txn, entry, (size_t)effect->from, effect->a);
    return true;
}

bool apply_list_insert(struct txn *txn, struct entry *entry, const struct effect *effect)
{
    struct list_pivot pivot = { effect->b, effect->to > 0 };
    bool has_pivot = effect->to >= 0;
    size_t index = (size_t)effect->from;
    if (effect->from < 0) return false;
    if (has_pivot && !list_find(entry->object.list, effect->b, &index)) return false;
    index += pivot.after;
    if (index > list_count(entry->object.list)) return false;
    txn_list_insert(txn, entry, index, effect->a, has_pivot ? &pivot : NULL);
    return true;
}

bool apply_list_drop(struct txn *txn, struct entry *entry, const struct effect *effect)
{
    return txn_list_remove(txn, entry, effect->from, effect->a) > 0;
}

bool apply_set_add(struct txn *txn, struct entry *entry, const struct effect *effect)
{
    struct lifetime life = { LIFE_SET, effect->at };
    return txn_set_add(txn, entry, effect->a, life);
}

bool apply_set_drop(struct txn *txn, struct entry *entry, const struct effect *effect)
{
    return txn_set_remove(txn, entry, effect->a, EVENT_SREM);
}

bool apply_hash_put(struct txn *txn, struct entry *entry, const struct effect *effect)
{
    struct hput how = { .event = EVENT_HSET, .life = { LIFE_SET, effect->at } };
    txn_hash_put(txn, entry, effect->a, effect->b, &how);
    return true;
}

bool apply_hash_drop(struct txn *txn, struct entry *entry, const struct effect *effect)
{
    return txn_hash_remove(txn, entry, effect->a);
}

bool apply_zset_put(struct txn *txn, struct entry *entry, const struct effect *effect)
{
    struct zput how = { .event = EVENT_ZADD, .life = { LIFE_SET, effect->at } };
    double score = effect->score;
    return txn_zset_put(txn, entry, effect->a, &score, &how) != ZPUT_NAN;
}

bool apply_zset_drop(struct txn *txn, struct entry *entry, const struct effect *effect)
{
    return txn_zset_remove(txn, entry, effect->a);
}

bool apply_zset_cut(struct txn *txn, struct entry *entry, const struct effect *effect)
{
    if (!range_fits(effect, zset_count(entry->object.zset))) return false;
    txn_zset_remove_ranks(txn, entry, (size_t)effect->from, (size_t)effect->to,
                          EVENT_ZREMRANGEBYRANK);
    return true;
}

bool apply_rede_push(struct txn *txn, struct entry *entry, const struct effect *effect)
{
    return txn_rede_push(txn, entry, effect->a, effect->b, &effect->stage);
}

static bool is_claimed(const struct entry *entry, const struct element *element)
{
    return dehydrator_stage(entry->object.dehydrator, element).claimed;
}

bool apply_rede_put(struct txn *txn, struct entry *entry, const struct effect *effect)
{
    struct element *element = dehydrator_find(entry->object.dehydrator, effect->a);
    if (element == NULL) return false;
    txn_rede_update(txn, entry, element, effect->b);
    return true;
}

bool apply_rede_move(struct txn *txn, struct entry *entry, const struct effect *effect)
{
    struct element *element = dehydrator_find(entry->object.dehydrator, effect->a);
    if (element == NULL) return false;
    /* The effect does not name its command, so the event follows from the marks. */
    enum event event = effect->stage.claimed        ? EVENT_REDE_CLAIM
                       : is_claimed(entry, element) ? EVENT_REDE_NACK
                                                    : EVENT_REDE_RESCHEDULE;
    txn_rede_move(txn, entry, element, &effect->stage, event);
    return true;
}

bool apply_rede_drop(struct txn *txn, struct entry *entry, const struct effect *effect)
{
    struct element *element = dehydrator_find(entry->object.dehydrator, effect->a);
    if (element == NULL) return false;
    enum event event = is_claimed(entry, element) ? EVENT_REDE_ACK : EVENT_REDE_PULL;
    txn_rede_remove(txn, entry, element, event);
    return true;
}

bool apply_rede_options(struct txn *txn, struct entry *entry, const struct effect *effect)
{
    struct element *element = dehydrator_find(entry->object.dehydrator, effect->a);
    struct push_options options = effect_options(effect);
    if (element == NULL || !push_options_ok(&options)) return false;
    txn_rede_set_options(txn, entry, element, &options);
    return true;
}

bool apply_rede_follow(struct txn *txn, struct entry *entry, const struct effect *effect)
{
    const struct successor successor = effect_successor(effect);
    if (dehydrator_find(entry->object.dehydrator, effect->a) == NULL) return false;
    if (!push_options_ok(&successor.options)) return false;
    txn_rede_follow(txn, entry, &successor);
    return true;
}

bool apply_rede_cron(struct txn *txn, struct entry *entry, const struct effect *effect)
{
    return txn_rede_set_schedule(txn, entry, effect);
}

bool apply_rede_unfollow(struct txn *txn, struct entry *entry, const struct effect *effect)
{
    return txn_rede_unfollow(txn, entry, effect->a);
}

bool apply_rede_remember(struct txn *txn, struct entry *entry, const struct effect *effect)
{
    if (effect->at <= 0) return false;
    txn_rede_remember(txn, entry, effect->a, effect->at);
    return true;
}

bool apply_rede_forget(struct txn *txn, struct entry *entry, const struct effect *effect)
{
    return txn_rede_forget(txn, entry, effect->a);
}

bool apply_rede_rate(struct txn *txn, struct entry *entry, const struct effect *effect)
{
    txn_rede_set_next_delivery(txn, entry, effect->from);
    return true;
}

bool apply_rede_pause(struct txn *txn, struct entry *entry, const struct effect *effect)
{
    txn_rede_pause(txn, entry, effect->at);
    return true;
}

bool apply_member_expire(struct txn *txn, struct entry *entry, const struct effect *effect)
{
    return txn_member_expire(txn, entry, effect->a, effect->at) == MEMBER_EXPIRY_SET;
}

bool apply_policy_set(struct txn *txn, struct entry *entry, const struct effect *effect)
{
    (void)entry;
    if (!policy_name_ok(effect->key)) return false;
    txn_policy_set(txn, effect->key, effect->policy);
    return true;
}

bool apply_policy_drop(struct txn *txn, struct entry *entry, const struct effect *effect)
{
    (void)entry;
    return txn_policy_drop(txn, effect->key);
}

bool apply_library_set(struct txn *txn, struct entry *entry, const struct effect *effect)
{
    (void)entry;
    if (!library_name_ok(effect->key)) return false;
    txn_library_set(txn, effect->key, effect->a);
    return true;
}

bool apply_library_drop(struct txn *txn, struct entry *entry, const struct effect *effect)
{
    (void)entry;
    return txn_library_drop(txn, effect->key);
}

bool apply_lease_take(struct txn *txn, struct entry *entry, const struct effect *effect)
{
    struct holder holder = { effect->a, effect->from, effect->at };
    if (!lease_fits(entry->object.lease, &holder, (uint32_t)effect->to)) return false;
    txn_token_raise(txn, holder.token);
    txn_lease_take(txn, entry, &holder, (uint32_t)effect->to);
    return true;
}

bool apply_lease_drop(struct txn *txn, struct entry *entry, const struct effect *effect)
{
    return txn_lease_drop(txn, entry, effect->a);
}

bool apply_token(struct txn *txn, struct entry *entry, const struct effect *effect)
{
    (void)entry;
    if (effect->from < 1 || effect->from > TOKEN_MAX) return false;
    txn_token_set(txn, effect->from, effect->to == 1);
    return true;
}

/* ---- streams --------------------------------------------------------------------------------- */

/* Finds or creates the stream for entries from effect->id on. Returns NULL if the stream has a last
 * ID that is not below this one. */
static struct entry *make_stream(struct txn *txn, struct entry *entry, const struct effect *effect)
{
    struct stream_id last = entry != NULL ? stream_marks(entry->object.stream).last : STREAM_ID_MIN;
    if (!stream_id_before(last, effect->id)) return NULL;
    return entry != NULL ? entry : txn_create(txn, effect->key, TYPE_STREAM);
}

bool apply_stream_add(struct txn *txn, struct entry *entry, const struct effect *effect)
{
    if (effect->text_count == 0 || effect->text_count % 2 != 0) return false;
    entry = make_stream(txn, entry, effect);
    if (entry == NULL) return false;
    txn_stream_append(txn, entry, effect->id, effect->texts, effect->text_count);
    return true;
}

bool apply_stream_block(struct txn *txn, struct entry *entry, const struct effect *effect)
{
    struct stream_packed packed = effect_packed(effect);
    entry = make_stream(txn, entry, effect);
    if (entry == NULL) return false;
    txn_stream_append_packed(txn, entry, &packed);
    return true;
}

bool apply_stream_drop(struct txn *txn, struct entry *entry, const struct effect *effect)
{
    return txn_stream_remove(txn, entry, effect->id);
}

bool apply_stream_trim(struct txn *txn, struct entry *entry, const struct effect *effect)
{
    txn_stream_trim(txn, entry, stream_rank(entry->object.stream, effect->id));
    return true;
}

bool apply_stream_marks(struct txn *txn, struct entry *entry, const struct effect *effect)
{
    if (!stream_marks_fit(entry->object.stream, &effect->marks)) return false;
    txn_stream_set_marks(txn, entry, &effect->marks);
    return true;
}

bool apply_stream_retain(struct txn *txn, struct entry *entry, const struct effect *effect)
{
    if (effect->at == NEVER) return false;
    txn_stream_set_retention(txn, entry, effect->at);
    return true;
}

/* ---- groups ---------------------------------------------------------------------------------- */

static struct stream_group *find_group(struct entry *entry, const struct effect *effect)
{
    return group_find(stream_groups(entry->object.stream), effect->a);
}

bool apply_group_add(struct txn *txn, struct entry *entry, const struct effect *effect)
{
    if (entry == NULL) entry = txn_create(txn, effect->key, TYPE_STREAM);
    if (find_group(entry, effect) != NULL) return false;
    txn_group_add(txn, entry, effect->a, &effect->position);
    return true;
}

bool apply_group_set(struct txn *txn, struct entry *entry, const struct effect *effect)
{
    struct stream_group *group = find_group(entry, effect);
    if (group == NULL) return false;
    txn_group_set_position(txn, entry, group, &effect->position, EVENT_XGROUP_SETID);
    return true;
}

bool apply_group_drop(struct txn *txn, struct entry *entry, const struct effect *effect)
{
    struct stream_group *group = find_group(entry, effect);
    if (group == NULL) return false;
    txn_group_remove(txn, entry, group);
    return true;
}

bool apply_consumer_add(struct txn *txn, struct entry *entry, const struct effect *effect)
{
    struct stream_group *group = find_group(entry, effect);
    if (group == NULL || consumer_find(group, effect->b) != NULL) return false;
    txn_consumer_add(txn, entry, group, effect->b);
    return true;
}

bool apply_consumer_drop(struct txn *txn, struct entry *entry, const struct effect *effect)
{
    struct stream_group *group = find_group(entry, effect);
    struct stream_consumer *consumer = group != NULL ? consumer_find(group, effect->b) : NULL;
    if (consumer == NULL) return false;
    txn_consumer_remove(txn, entry, group, consumer);
    return true;
}

bool apply_pending_put(struct txn *txn, struct entry *entry, const struct effect *effect)
{
    struct stream_group *group = find_group(entry, effect);
    struct pending pending = { .id = effect->id,
                               .at = effect->at,
                               .deliveries = (uint64_t)effect->to };
    if (group == NULL || effect->at == NEVER || effect->to < 0) return false;
    if (effect->b.data != NULL) {
        pending.consumer = consumer_find(group, effect->b);
        if (pending.consumer == NULL) return false;
    }
    txn_pending_put(txn, entry, group, &pending);
    return true;
}

bool apply_pending_drop(struct txn *txn, struct entry *entry, const struct effect *effect)
{
    struct stream_group *group = find_group(entry, effect);
    return group != NULL && txn_pending_remove(txn, entry, group, effect->id);
}

bool apply_repeat_limits(struct txn *txn, struct entry *entry, const struct effect *effect)
{
    txn_repeat_set_limits(txn, entry, (struct repeat_limits){ effect->from, effect->to });
    return true;
}

bool apply_repeat_put(struct txn *txn, struct entry *entry, const struct effect *effect)
{
    const struct stream_repeats *repeats = stream_repeats(entry->object.stream);
    if (repeats != NULL && !repeat_fits(repeats, effect->a, effect->id)) return false;
    txn_repeat_put(txn, entry, effect->a, effect->b, effect->id);
    return true;
}

bool apply_repeat_counts(struct txn *txn, struct entry *entry, const struct effect *effect)
{
    txn_repeat_set_counts(txn, entry, (struct repeat_counts){ effect->from, effect->to });
    return true;
}

/* ---- applying -------------------------------------------------------------------------------- */

bool apply_effect(struct txn *txn, const struct effect *effect)
{
    const struct effect_row *row = &effect_rows[effect->kind];
    struct entry *entry = NULL;
    if (effect->db >= txn->store->database_count) return false;
    if (!effect_times_ok(effect)) return false;
    txn_call(txn, effect->db);
    if (row->key != KEY_UNUSED) {
        entry = txn_find(txn, effect->key);
        if (entry == NULL && row->key == KEY_EXISTS) return false;
        if (entry == NULL && row->key == KEY_CREATED)
            entry = txn_create(txn, effect->key, row->type);
        if (entry != NULL && row->type != TYPE_ANY && entry->object.type != row->type) return false;
    }
    return row->apply(txn, entry, effect);
}
