/* txn_string: mutators of strings. */
#include "store/ensure.h"
#include "store/mem.h"
#include "store/txn.h"

/* The new value is made before the old one goes: it may be a part of it. */
static struct entry *put_blob(struct txn *txn, struct bytes key, struct blob *blob)
{
    struct object object = { .string = blob, .type = TYPE_STRING };
    struct entry *entry = txn_find(txn, key);
    if (entry == NULL) return txn_key_add(txn, key, object);
    reclaim_object(&txn->store->reclaim, entry->object);
    entry->object = object;
    entry->accessed = (uint32_t)(txn->now / 1000);
    return entry;
}

void txn_string_set(struct txn *txn, struct bytes key, struct bytes value,
                    const struct string_set *how)
{
    struct entry *entry = put_blob(txn, key, blob_new(value));
    if (!how->keep_ttl && entry->expires_at != how->at)
        keyspace_set_deadline(txn->ks, entry, how->at);

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

int64_t txn_string_append(struct txn *txn, struct entry *entry, struct bytes tail)
{
    struct blob *blob = entry->object.string;
    size_t len = (size_t)blob->len + tail.len;
    if (len > UINT32_MAX) return -1;
    blob = mem_try_realloc(blob, sizeof(*blob) + len);
    if (blob == NULL) return -1;
    if (tail.len > 0) memcpy(blob->data + blob->len, tail.data, tail.len);
    blob->len = (uint32_t)len;
    entry->object.string = blob;
    entry->object.raw = true;

    struct effect effect = { .kind = EFFECT_APPEND, .event = EVENT_APPEND, .a = tail };
    txn_record_each(txn, entry_key(entry), &effect);
    entry->accessed = (uint32_t)(txn->now / 1000);
    return (int64_t)len;
}
