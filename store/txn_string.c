/* txn_string: mutators of strings. */
#include "store/ensure.h"
#include "store/mem.h"
#include "store/access.h"
#include "store/txn.h"

static enum policy_cause string_cause(const struct string_set *how)
{
    if (how->keep_ttl) return POLICY_WRITTEN;
    return how->at == NEVER ? POLICY_CREATED : POLICY_TIMED;
}

void txn_string_set(struct txn *txn, struct bytes key, struct bytes value,
                    const struct string_set *how)
{
    /* The new value is made before the old one goes: it may be a part of it. */
    struct object object = { .string = blob_new(value), .type = TYPE_STRING, .text = how->text };
    struct entry *entry = txn_key_put(txn, key, object);
    if (!how->keep_ttl && entry->expires_at != how->at)
        keyspace_set_deadline(txn->ks, entry, how->at);
    txn_note(txn, entry, string_cause(how));

    struct effect set = {
        .kind = EFFECT_SET,
        .event = how->event,
        .a = blob_view(entry->object.string),
        .at = entry->expires_at,
    };
    txn_record_each(txn, entry_key(entry), &set);
    if (how->keep_ttl || how->at == NEVER) return;
    struct effect expire = { .kind = EFFECT_NONE, .event = EVENT_EXPIRE };
    txn_record_each(txn, entry_key(entry), &expire);
}

/* Writes into the string in place, growing it; false without memory. */
static bool overwrite(struct entry *entry, size_t offset, struct bytes data)
{
    struct blob *blob = entry->object.string;
    size_t end = offset + data.len;
    if (end > UINT32_MAX) return false;
    if (end > blob->len) {
        blob = mem_try_realloc(blob, sizeof(*blob) + end);
        if (blob == NULL) return false;
        if (offset > blob->len) memset(blob->data + blob->len, 0, offset - blob->len);
        blob->len = (uint32_t)end;
        entry->object.string = blob;
    }
    if (data.len > 0) memcpy(blob->data + offset, data.data, data.len);
    entry->object.raw = true;
    return true;
}

int64_t txn_string_append(struct txn *txn, struct entry *entry, struct bytes tail)
{
    if (!overwrite(entry, entry->object.string->len, tail)) return -1;
    struct effect effect = { .kind = EFFECT_APPEND, .event = EVENT_APPEND, .a = tail };
    txn_record_each(txn, entry_key(entry), &effect);
    txn_note(txn, entry, POLICY_WRITTEN);
    access_note(txn->store, entry, txn->now);
    return entry->object.string->len;
}

int64_t txn_string_write(struct txn *txn, struct bytes key, struct entry *entry, size_t offset,
                         struct bytes data, enum event event)
{
    bool is_new = entry == NULL;
    if (is_new) {
        struct object empty = { .string = blob_new(LIT("")), .type = TYPE_STRING };
        entry = txn_key_add(txn, key, empty);
    }
    if (!overwrite(entry, offset, data)) {
        if (is_new) txn_key_drop(txn, entry, EVENT_DEL);
        return -1;
    }
    struct effect effect = {
        .kind = EFFECT_WRITE,
        .event = event,
        .a = data,
        .from = (int64_t)offset,
    };
    txn_record(txn, entry, &effect);
    return entry->object.string->len;
}

void txn_string_unshare(struct entry *entry)
{
    entry->object.raw = true;
}
