/* apply: one function per kind of effect, in a table. The events are those that Redis has for the
 * effect's command (effect_text.h). */
#include "store/txn/apply.h"

#include "store/mem/mem.h"
#include "store/txn/apply_stream.h"
#include "store/txn/txn_dehydrator.h"

/* The entry at the key, of this type; with `make`, creates a missing one. NULL: the record is
 * damaged. */
static struct entry *typed(struct txn *txn, const struct effect *effect, enum type type, bool make)
{
    struct entry *entry = txn_find(txn, effect->key);
    if (entry == NULL) return make ? txn_create(txn, effect->key, type) : NULL;
    return entry->object.type == type ? entry : NULL;
}

static bool apply_nothing(struct txn *txn, const struct effect *effect)
{
    (void)txn;
    (void)effect;
    return true;
}

static bool apply_set(struct txn *txn, const struct effect *effect)
{
    struct string_set how = { .at = effect->at, .event = EVENT_SET };
    txn_string_set(txn, effect->key, effect->a, &how);
    return true;
}

#define POSSIBLE_TEXT ((size_t)1 << 30)

/* Ends the process if memory is short. False: the record is damaged, because no string is so
 * long. */
static bool grew(int64_t len, size_t wanted)
{
    if (len < 0 && wanted <= POSSIBLE_TEXT) mem_exhausted(wanted);
    return len >= 0;
}

static bool apply_append(struct txn *txn, const struct effect *effect)
{
    struct entry *entry = typed(txn, effect, TYPE_STRING, false);
    if (entry == NULL) return false;
    size_t wanted = object_text(&entry->object).len + effect->a.len;
    return grew(txn_string_append(txn, entry, effect->a), wanted);
}

static bool apply_write(struct txn *txn, const struct effect *effect)
{
    struct entry *entry = txn_find(txn, effect->key);
    if (effect->from < 0 || (entry != NULL && entry->object.type != TYPE_STRING)) return false;
    size_t from = (size_t)effect->from;
    return grew(txn_string_write(txn, effect->key, entry, from, effect->a, EVENT_SETRANGE),
                from + effect->a.len);
}

static bool apply_drop(struct txn *txn, const struct effect *effect)
{
    struct entry *entry = txn_find(txn, effect->key);
    /* Each effect is a call of its own, so if the previous one emptied the key, it is gone already.
     */
    if (entry != NULL) txn_key_drop(txn, entry, EVENT_DEL);
    return true;
}

static bool apply_expire(struct txn *txn, const struct effect *effect)
{
    struct entry *entry = txn_find(txn, effect->key);
    return entry != NULL && txn_key_expire(txn, entry, effect->at);
}

static bool apply_persist(struct txn *txn, const struct effect *effect)
{
    struct entry *entry = txn_find(txn, effect->key);
    return entry != NULL && txn_key_persist(txn, entry);
}

static bool apply_rename(struct txn *txn, const struct effect *effect)
{
    struct entry *entry = txn_find(txn, effect->key);
    if (entry == NULL || bytes_equal(effect->key, effect->a)) return false;
    txn_key_rename(txn, entry, effect->a);
    return true;
}

static bool is_database(const struct txn *txn, int64_t db)
{
    return db >= 0 && db < txn->store->database_count;
}

static bool apply_copy(struct txn *txn, const struct effect *effect)
{
    struct entry *entry = txn_find(txn, effect->key);
    if (entry == NULL || !is_database(txn, effect->to)) return false;
    if (effect->to == effect->db && bytes_equal(effect->key, effect->a)) return false;
    txn_key_copy(txn, entry, (unsigned)effect->to, effect->a);
    return true;
}

static bool apply_move(struct txn *txn, const struct effect *effect)
{
    struct entry *entry = txn_find(txn, effect->key);
    if (entry == NULL || !is_database(txn, effect->to) || effect->to == effect->db) return false;
    return txn_key_move(txn, entry, (unsigned)effect->to);
}

static bool apply_swap(struct txn *txn, const struct effect *effect)
{
    if (!is_database(txn, effect->to)) return false;
    txn_swap(txn, effect->db, (unsigned)effect->to);
    return true;
}

static bool apply_flush(struct txn *txn, const struct effect *effect)
{
    txn_flush(txn, effect->db);
    return true;
}

static bool apply_push(struct txn *txn, const struct effect *effect)
{
    struct entry *entry = typed(txn, effect, TYPE_LIST, true);
    if (entry == NULL) return false;
    enum list_end end = effect->kind == EFFECT_PUSH_HEAD ? LIST_HEAD : LIST_TAIL;
    txn_list_push(txn, entry, end, effect->a);
    return true;
}

static bool apply_pop(struct txn *txn, const struct effect *effect)
{
    struct entry *entry = typed(txn, effect, TYPE_LIST, false);
    if (entry == NULL || effect->from < 0) return false;
    if ((size_t)effect->from > list_count(entry->object.list)) return false;
    enum list_end end = effect->kind == EFFECT_POP_HEAD ? LIST_HEAD : LIST_TAIL;
    txn_list_pop(txn, entry, end, (size_t)effect->from);
    return true;
}

/* A range of positions that lies within count. */
static bool range_fits(const struct effect *effect, size_t count)
{
    return effect->from >= 0 && effect->from <= effect->to && (size_t)effect->to <= count;
}

static bool apply_keep(struct txn *txn, const struct effect *effect)
{
    struct entry *entry = typed(txn, effect, TYPE_LIST, false);
    if (entry == NULL || !range_fits(effect, list_count(entry->object.list))) return false;
    txn_list_keep(txn, entry, (size_t)effect->from, (size_t)effect->to);
    return true;
}

static bool apply_list_put(struct txn *txn, const struct effect *effect)
{
    struct entry *entry = typed(txn, effect, TYPE_LIST, false);
    if (entry == NULL || effect->from < 0) return false;
    if ((size_t)effect->from >= list_count(entry->object.list)) return false;
    txn_list_put(txn, entry, (size_t)effect->from, effect->a);
    return true;
}

static bool apply_list_insert(struct txn *txn, const struct effect *effect)
{
    struct entry *entry = typed(txn, effect, TYPE_LIST, false);
    struct list_pivot pivot = { effect->b, effect->to > 0 };
    bool has_pivot = effect->to >= 0;
    size_t index = (size_t)effect->from;
    if (entry == NULL || effect->from < 0) return false;
    if (has_pivot && !list_find(entry->object.list, effect->b, &index)) return false;
    index += pivot.after;
    if (index > list_count(entry->object.list)) return false;
    txn_list_insert(txn, entry, index, effect->a, has_pivot ? &pivot : NULL);
    return true;
}

static bool apply_list_drop(struct txn *txn, const struct effect *effect)
{
    struct entry *entry = typed(txn, effect, TYPE_LIST, false);
    return entry != NULL && txn_list_remove(txn, entry, effect->from, effect->a) > 0;
}

static bool apply_set_add(struct txn *txn, const struct effect *effect)
{
    struct entry *entry = typed(txn, effect, TYPE_SET, true);
    struct lifetime life = { LIFE_SET, effect->at };
    return entry != NULL && txn_set_add(txn, entry, effect->a, life);
}

static bool apply_set_drop(struct txn *txn, const struct effect *effect)
{
    struct entry *entry = typed(txn, effect, TYPE_SET, false);
    return entry != NULL && txn_set_remove(txn, entry, effect->a, EVENT_SREM);
}

static bool apply_hash_put(struct txn *txn, const struct effect *effect)
{
    struct entry *entry = typed(txn, effect, TYPE_HASH, true);
    if (entry == NULL) return false;
    struct hput how = { .event = EVENT_HSET, .life = { LIFE_SET, effect->at } };
    txn_hash_put(txn, entry, effect->a, effect->b, &how);
    return true;
}

static bool apply_hash_drop(struct txn *txn, const struct effect *effect)
{
    struct entry *entry = typed(txn, effect, TYPE_HASH, false);
    return entry != NULL && txn_hash_remove(txn, entry, effect->a);
}

static bool apply_zset_put(struct txn *txn, const struct effect *effect)
{
    struct entry *entry = typed(txn, effect, TYPE_ZSET, true);
    if (entry == NULL) return false;
    struct zput how = { .event = EVENT_ZADD, .life = { LIFE_SET, effect->at } };
    double score = effect->score;
    return txn_zset_put(txn, entry, effect->a, &score, &how) != ZPUT_NAN;
}

static bool apply_zset_drop(struct txn *txn, const struct effect *effect)
{
    struct entry *entry = typed(txn, effect, TYPE_ZSET, false);
    return entry != NULL && txn_zset_remove(txn, entry, effect->a);
}

static bool apply_zset_cut(struct txn *txn, const struct effect *effect)
{
    struct entry *entry = typed(txn, effect, TYPE_ZSET, false);
    if (entry == NULL || !range_fits(effect, zset_count(entry->object.zset))) return false;
    txn_zset_remove_ranks(txn, entry, (size_t)effect->from, (size_t)effect->to,
                          EVENT_ZREMRANGEBYRANK);
    return true;
}

static bool apply_rede_push(struct txn *txn, const struct effect *effect)
{
    struct entry *entry = typed(txn, effect, TYPE_DEHYDRATOR, true);
    return entry != NULL && txn_rede_push(txn, entry, effect->a, effect->b, &effect->stage);
}

/* The entry and the element that effect->a names, or false. */
static bool find_element(struct txn *txn, const struct effect *effect, struct entry **entry,
                         struct element **element)
{
    *entry = typed(txn, effect, TYPE_DEHYDRATOR, false);
    if (*entry == NULL) return false;
    *element = dehydrator_find((*entry)->object.dehydrator, effect->a);
    return *element != NULL;
}

static bool is_claimed(const struct entry *entry, const struct element *element)
{
    return dehydrator_stage(entry->object.dehydrator, element).claimed;
}

/* The effect does not say by which command it was made. */
static enum event move_event(bool was_claimed, bool is_claimed_now)
{
    if (is_claimed_now) return EVENT_REDE_CLAIM;
    return was_claimed ? EVENT_REDE_NACK : EVENT_REDE_RESCHEDULE;
}

static bool apply_rede_put(struct txn *txn, const struct effect *effect)
{
    struct entry *entry;
    struct element *element;
    if (!find_element(txn, effect, &entry, &element)) return false;
    txn_rede_update(txn, entry, element, effect->b);
    return true;
}

static bool apply_rede_move(struct txn *txn, const struct effect *effect)
{
    struct entry *entry;
    struct element *element;
    if (!find_element(txn, effect, &entry, &element)) return false;
    enum event event = move_event(is_claimed(entry, element), effect->stage.claimed);
    txn_rede_move(txn, entry, element, &effect->stage, event);
    return true;
}

static bool apply_rede_drop(struct txn *txn, const struct effect *effect)
{
    struct entry *entry;
    struct element *element;
    if (!find_element(txn, effect, &entry, &element)) return false;
    enum event event = is_claimed(entry, element) ? EVENT_REDE_ACK : EVENT_REDE_PULL;
    txn_rede_remove(txn, entry, element, event);
    return true;
}

static bool expire_member(struct txn *txn, const struct effect *effect, enum type type)
{
    struct entry *entry = typed(txn, effect, type, false);
    return entry != NULL &&
           txn_member_expire(txn, entry, effect->a, effect->at) == MEMBER_EXPIRY_SET;
}

static bool apply_set_expire(struct txn *txn, const struct effect *effect)
{
    return expire_member(txn, effect, TYPE_SET);
}

static bool apply_hash_expire(struct txn *txn, const struct effect *effect)
{
    return expire_member(txn, effect, TYPE_HASH);
}

static bool apply_zset_expire(struct txn *txn, const struct effect *effect)
{
    return expire_member(txn, effect, TYPE_ZSET);
}

static bool apply_policy_set(struct txn *txn, const struct effect *effect)
{
    if (!policy_name_ok(effect->key)) return false;
    txn_policy_set(txn, effect->key, effect->policy);
    return true;
}

static bool apply_policy_drop(struct txn *txn, const struct effect *effect)
{
    return txn_policy_drop(txn, effect->key);
}

static bool apply_library_set(struct txn *txn, const struct effect *effect)
{
    if (!library_name_ok(effect->key)) return false;
    txn_library_set(txn, effect->key, effect->a);
    return true;
}

static bool apply_library_drop(struct txn *txn, const struct effect *effect)
{
    return txn_library_drop(txn, effect->key);
}

static bool (*const appliers[])(struct txn *txn, const struct effect *effect) = {
    [EFFECT_NONE] = apply_nothing,
    [EFFECT_SET] = apply_set,
    [EFFECT_APPEND] = apply_append,
    [EFFECT_WRITE] = apply_write,
    [EFFECT_DROP] = apply_drop,
    [EFFECT_EXPIRE] = apply_expire,
    [EFFECT_PERSIST] = apply_persist,
    [EFFECT_RENAME] = apply_rename,
    [EFFECT_COPY] = apply_copy,
    [EFFECT_MOVE] = apply_move,
    [EFFECT_SWAP] = apply_swap,
    [EFFECT_FLUSH] = apply_flush,
    [EFFECT_PUSH_HEAD] = apply_push,
    [EFFECT_PUSH_TAIL] = apply_push,
    [EFFECT_POP_HEAD] = apply_pop,
    [EFFECT_POP_TAIL] = apply_pop,
    [EFFECT_KEEP] = apply_keep,
    [EFFECT_LIST_PUT] = apply_list_put,
    [EFFECT_LIST_INSERT] = apply_list_insert,
    [EFFECT_LIST_DROP] = apply_list_drop,
    [EFFECT_SET_ADD] = apply_set_add,
    [EFFECT_SET_EXPIRE] = apply_set_expire,
    [EFFECT_SET_DROP] = apply_set_drop,
    [EFFECT_HASH_PUT] = apply_hash_put,
    [EFFECT_HASH_EXPIRE] = apply_hash_expire,
    [EFFECT_HASH_DROP] = apply_hash_drop,
    [EFFECT_ZSET_PUT] = apply_zset_put,
    [EFFECT_ZSET_EXPIRE] = apply_zset_expire,
    [EFFECT_ZSET_DROP] = apply_zset_drop,
    [EFFECT_ZSET_CUT] = apply_zset_cut,
    [EFFECT_REDE_PUSH] = apply_rede_push,
    [EFFECT_REDE_PUT] = apply_rede_put,
    [EFFECT_REDE_MOVE] = apply_rede_move,
    [EFFECT_REDE_DROP] = apply_rede_drop,
    [EFFECT_POLICY_SET] = apply_policy_set,
    [EFFECT_POLICY_DROP] = apply_policy_drop,
    [EFFECT_LIBRARY_SET] = apply_library_set,
    [EFFECT_LIBRARY_DROP] = apply_library_drop,
};

bool apply_effect(struct txn *txn, const struct effect *effect)
{
    if (effect->db >= txn->store->database_count) return false;
    if (effect->at != NEVER && !instant_ok(effect->at)) return false;
    if (!instant_ok(effect->stage.at)) return false;
    txn_call(txn, effect->db);
    if (effect_is_of_stream(effect->kind))
        return apply_to_stream(txn, txn_find(txn, effect->key), effect);
    return appliers[effect->kind](txn, effect);
}
