/* txn_string: mutators of strings. */
#include "store/access.h"
#include "store/base/ensure.h"
#include "store/brief.h"
#include "store/txn/txn_trail.h"
#include "store/type/string.h"

void txn_string_set(struct txn *txn, struct bytes key, struct bytes value,
                    const struct string_set *how)
{
    txn_string_set_found(txn, key, txn_find(txn, key), value, how);
}

__attribute__((always_inline)) static inline bool
append_set(struct txn *txn, const struct brief_parts *parts, size_t limit)
{
    struct brief_tail *tail = txn_brief_tail(txn);
    if (tail == NULL) return false;
    unsigned db = txn->ks->db;
    bool appended = parts->number == (uint64_t)NEVER
                        ? brief_append(tail, db, BRIEF_SET, parts, limit)
                        : brief_append(tail, db, BRIEF_SET_UNTIL, parts, limit);
    txn->changes += appended;
    return appended;
}

/* Records a SET that has long texts or a soft deadline, or that others than the journal need. Not
 * inlined, so that frequent SETs save fewer registers. */
__attribute__((noinline)) static void record_any_set(struct txn *txn, struct entry *entry,
                                                     const struct string_set *how, msec soft)
{
    /* The effect contains the key's deadline even if the command kept it. */
    msec at = how->keep_ttl ? entry_expires_at(txn->ks, entry) : how->at;
    const struct brief_parts parts = { .key = entry_key(entry),
                                       .a = object_text(&entry->object),
                                       .number = (uint64_t)at };
    if (soft == NEVER && append_set(txn, &parts, BRIEF_ANY)) return;
    /* Static, so that the many unused fields are zeroed only once. */
    static struct effect set = { .kind = EFFECT_SET };
    set.event = how->event;
    set.is_part = soft != NEVER;
    set.a = parts.a;
    set.at = at;
    txn_record_each(txn, parts.key, &set);
    if (soft != NEVER) txn_string_soften(txn, entry, soft, EVENT_NONE);
    if (!how->keep_ttl && how->at != NEVER) txn_record_event(txn, parts.key, EVENT_EXPIRE);
}

void txn_string_set_found(struct txn *txn, struct bytes key, struct entry *entry,
                          struct bytes value, const struct string_set *how)
{
    /* The members of a collection end without an effect of their own. */
    bool replaces = entry != NULL && !how->keep_ttl && !how->continues;
    bool ends_members = entry != NULL && entry->object.has_expiry;
    if (ends_members) txn_note_end(txn, entry, TRAIL_OVERWRITTEN, 0);
    if (entry == NULL) {
        entry = txn_key_add(txn, key, string_new(value));
    } else if (entry->object.type != TYPE_STRING) {
        entry = txn_key_put(txn, key, string_new(value));
    } else {
        string_set(&entry->object, value);
    }
    msec soft = NEVER; /* the soft deadline of the value from now on */
    if (how->soft != 0 || entry->object.is_soft) {
        msec old = string_soft_deadline(&entry->object);
        soft = how->soft == SOFT_KEPT ? old : how->soft == 0 ? NEVER : how->soft;
        if (soft != old) string_soften(&entry->object, soft);
    }
    entry->object.raw = false;
    entry->object.text = how->text;
    if (replaces) txn_begin_value(txn, entry);
    if (!how->keep_ttl && (how->at != NEVER || deadline_armed(&entry->deadline))) {
        if (how->at == NEVER && !ends_members) txn_note_end(txn, entry, TRAIL_OVERWRITTEN, 0);
        keyspace_set_deadline(txn->ks, entry, how->at);
        if (how->at != NEVER) txn_note_deadline(txn, entry, how->at);
    } else if (ends_members && entry_expires_at(txn->ks, entry) != NEVER) {
        txn_note_deadline(txn, entry, entry_expires_at(txn->ks, entry));
    }
    txn_note(txn, entry,
             how->keep_ttl      ? POLICY_WRITTEN
             : how->at == NEVER ? POLICY_CREATED
                                : POLICY_EXPIRY_SET);

    /* The frequent cases: nothing needs the effect, or only the journal. `value` may have pointed
     * into the old text, which is gone. */
    const struct brief_parts parts = { .key = key,
                                       .a = object_text(&entry->object),
                                       .number = (uint64_t)how->at };
    if (soft == NEVER && txn_is_unheard(txn))
        txn->changes++;
    else if (soft != NEVER || how->keep_ttl || !append_set(txn, &parts, BRIEF_SHORT))
        record_any_set(txn, entry, how, soft);
}

void txn_string_soften(struct txn *txn, struct entry *entry, msec at, enum event event)
{
    string_soften(&entry->object, at);
    struct effect effect = { .kind = EFFECT_SOFT, .event = event, .at = at };
    txn_record_each(txn, entry_key(entry), &effect);
}

/* Writes into the string in place and grows it. Returns false if memory runs out. */
static bool overwrite(struct object *object, size_t offset, struct bytes data)
{
    if (!string_overwrite(object, offset, data)) return false;
    object->raw = true;
    return true;
}

static int64_t length(const struct entry *entry)
{
    return (int64_t)object_text(&entry->object).len;
}

int64_t txn_string_append(struct txn *txn, struct entry *entry, struct bytes tail)
{
    if (!overwrite(&entry->object, object_text(&entry->object).len, tail)) return -1;
    struct effect effect = { .kind = EFFECT_APPEND, .event = EVENT_APPEND, .a = tail };
    txn_record_each(txn, entry_key(entry), &effect);
    txn_note(txn, entry, POLICY_WRITTEN);
    access_note(txn->store, entry, txn->now);
    return length(entry);
}

static int64_t write_at(struct txn *txn, struct bytes key, struct entry *entry,
                        struct effect *effect)
{
    /* Add a missing key only once its string is written, because adding it leaves traces. */
    struct object added = string_new(LIT(""));
    if (!overwrite(entry != NULL ? &entry->object : &added, (size_t)effect->from, effect->a)) {
        object_free(&added);
        return -1;
    }
    if (entry == NULL) entry = txn_key_add(txn, key, added);
    txn_record(txn, entry, effect);
    return length(entry);
}

int64_t txn_string_write(struct txn *txn, struct bytes key, struct entry *entry, size_t offset,
                         struct bytes data, enum event event)
{
    struct effect effect = {
        .kind = EFFECT_WRITE,
        .event = event,
        .a = data,
        .from = (int64_t)offset,
    };
    return write_at(txn, key, entry, &effect);
}

bool txn_string_grow(struct txn *txn, struct bytes key, struct entry *entry, size_t len,
                     bool is_part)
{
    struct effect effect = {
        .kind = EFFECT_WRITE,
        .is_part = is_part,
        .a = bytes_of("\0", 1),
        .from = (int64_t)(len - 1),
    };
    return write_at(txn, key, entry, &effect) >= 0;
}

/* Records no effect, because the journal does not contain encodings. */
void txn_string_unshare(struct txn *txn, struct entry *entry)
{
    (void)txn;
    ensure(entry->object.type == TYPE_STRING, "a value of type %d", (int)entry->object.type);
    entry->object.raw = true;
}
