/* expiry_entry: see expiry_entry.h. */
#include "store/txn/expiry_entry.h"

#include <stdio.h>

#include "store/base/number.h"
#include "store/mem/mem.h"
#include "store/txn/txn_dehydrator.h"
#include "store/txn/txn_internal.h"
#include "store/txn/txn_stream.h"

enum { NUMBER_CHARS = 40 };

static size_t print_score(const struct txn *txn, char *to, double score)
{
    const struct value_format *format = &txn->store->value_format;
    if (format->print_score != NULL) return format->print_score(to, score);
    return (size_t)snprintf(to, NUMBER_CHARS, "%.17g", score);
}

void expiry_writer_forget(struct expiry_writer *writer)
{
    writer->policy = NULL;
    writer->target = NULL;
}

void expiry_writer_drop(struct expiry_writer *writer)
{
    mem_free(writer->texts);
    mem_free(writer->names);
}

uint64_t expiry_size_of(const struct object *object, uint64_t most)
{
    if (object->type == TYPE_STRING) {
        uint64_t len = object_text(object).len;
        return len > most ? len : 0;
    }
    /* No payload is this many times smaller than its value, so do not build one that can't fit. */
    enum { PAYLOAD_SHARE = 16 };
    size_t size = object_bytes(object);
    bool fits = size / PAYLOAD_SHARE <= most;
    if (object->type == TYPE_HASH) {
        struct hash_iter iter;
        struct bytes field, value;
        uint64_t len = 0;
        fits = hash_count(object->hash) <= EXPIRY_FIELDS_MAX;
        hash_iter_begin(&iter, object->hash);
        while (fits && hash_iter_next(&iter, &field, &value)) {
            len += field.len + value.len;
            fits = len <= most;
        }
    }
    return fits ? 0 : size;
}

static void add_field(struct expiry_writer *writer, struct bytes name, struct bytes value)
{
    if (writer->count + 2 > writer->cap) {
        writer->cap = writer->cap > 0 ? 2 * writer->cap : 16;
        writer->texts = mem_realloc(writer->texts, writer->cap * sizeof(*writer->texts));
    }
    writer->texts[writer->count++] = name;
    writer->texts[writer->count++] = value;
}

static void add_number(struct expiry_writer *writer, struct bytes name, uint64_t number,
                       char text[static NUMBER_CHARS])
{
    add_field(writer, name, bytes_of(text, number_print_uint64(text, number)));
}

static void add_fields(struct expiry_writer *writer, const struct hash *hash)
{
    const struct bytes prefix = LIT("field:");
    struct hash_iter iter;
    struct bytes field, value;
    size_t len = 0;
    hash_iter_begin(&iter, hash);
    while (hash_iter_next(&iter, &field, &value))
        len += prefix.len + field.len;
    if (len > writer->names_cap) {
        writer->names = mem_realloc(writer->names, len);
        writer->names_cap = len;
    }
    char *to = writer->names;
    hash_iter_begin(&iter, hash);
    while (hash_iter_next(&iter, &field, &value)) {
        memcpy(to, prefix.data, prefix.len);
        if (field.len > 0) memcpy(to + prefix.len, field.data, field.len);
        add_field(writer, bytes_of(to, prefix.len + field.len), value);
        to += prefix.len + field.len;
    }
}

static void append(struct txn *txn, const struct expiry_writer *writer)
{
    struct stream_id id;
    if (txn_stream_next_id(txn, writer->target, &id))
        txn_stream_append(txn, writer->target, id, writer->texts, writer->count);
    else
        txn->store->stats.expired_log_errors++;
}

/* State while the payload of an entry is built and added. */
struct adding {
    struct txn *txn;
    struct expiry_writer *writer;
    const struct expired_item *item;
    uint64_t most;
    bool done;
};

static void append_dump(void *ctx, struct bytes payload)
{
    struct adding *adding = ctx;
    if (payload.len > adding->most) return;
    add_field(adding->writer, LIT("dump"), payload);
    append(adding->txn, adding->writer);
    adding->done = true;
}

static void dump(struct adding *adding, void (*take)(void *ctx, struct bytes payload))
{
    const struct value_format *format = &adding->txn->store->value_format;
    if (format->dump != NULL) format->dump(adding->item->object, take, adding);
}

static void write_to_stream(struct adding *adding)
{
    struct expiry_writer *writer = adding->writer;
    const struct expired_item *item = adding->item;
    const char *type = type_name(item->type);
    char at[NUMBER_CHARS], size[NUMBER_CHARS], score[NUMBER_CHARS];
    writer->count = 0;
    add_field(writer, LIT("key"), item->key);
    add_number(writer, LIT("at"), (uint64_t)item->at, at);
    add_field(writer, LIT("type"), bytes_of(type, strlen(type)));
    if (item->is_member) add_field(writer, LIT("member"), item->member);
    if (item->size > 0) add_number(writer, LIT("size"), item->size, size);
    if (item->has_value) add_field(writer, LIT("value"), item->value);
    if (item->has_score)
        add_field(writer, LIT("score"),
                  bytes_of(score, print_score(adding->txn, score, item->score)));
    const struct object *object = item->object;
    if (object != NULL && object->type == TYPE_STRING) {
        add_field(writer, LIT("value"), object_text(object));
    } else if (object != NULL && object->type == TYPE_HASH) {
        add_fields(writer, object->hash);
    } else if (object != NULL) {
        dump(adding, append_dump);
        if (adding->done) return;
        add_number(writer, LIT("size"), object_bytes(object), size);
    }
    append(adding->txn, writer);
}

static void push(void *ctx, struct bytes payload)
{
    struct adding *adding = ctx;
    if (payload.len > adding->most) payload.len = 0;
    struct txn *txn = adding->txn;
    struct entry *target = adding->writer->target;
    struct stage stage = { .at = txn->now };
    struct bytes id = adding->item->key;
    if (adding->item->is_member) { /* the key, a NUL, the member */
        struct expiry_writer *writer = adding->writer;
        struct bytes key = adding->item->key, member = adding->item->member;
        id.len = key.len + 1 + member.len;
        if (id.len > writer->names_cap) {
            writer->names = mem_realloc(writer->names, id.len);
            writer->names_cap = id.len;
        }
        if (key.len > 0) memcpy(writer->names, key.data, key.len);
        writer->names[key.len] = '\0';
        if (member.len > 0) memcpy(writer->names + key.len + 1, member.data, member.len);
        id.data = writer->names;
    }
    txn_rede_replace(txn, target, id, payload, &stage);
    adding->done = true;
}

static void write_to_dehydrator(struct adding *adding)
{
    const struct expired_item *item = adding->item;
    char score[NUMBER_CHARS];
    struct bytes value = item->value;
    if (item->has_score) value = bytes_of(score, print_score(adding->txn, score, item->score));
    if (item->object != NULL && item->object->type == TYPE_STRING)
        value = object_text(item->object);
    else if (item->object != NULL)
        dump(adding, push);
    if (!adding->done) push(adding, value);
}

static const struct {
    void (*write)(struct adding *adding); /* NULL if no log can have this type */
    bool wants_value;
} targets[TYPE_COUNT] = {
    [TYPE_STREAM] = { write_to_stream, false },
    [TYPE_DEHYDRATOR] = { write_to_dehydrator, true },
};

bool expiry_type_is_target(enum type type)
{
    return targets[type].write != NULL;
}

bool expiry_target_wants_value(struct txn *txn, const struct policy *policy, unsigned db)
{
    const struct keyspace *ks = &txn->store->databases[db];
    const struct entry *entry = keyspace_find(ks, policy->expired_to);
    bool exists = entry != NULL && !entry_expired(ks, entry, txn->now);
    return targets[exists ? entry->object.type : TYPE_STREAM].wants_value;
}

void expiry_entry_write(struct txn *txn, struct expiry_writer *writer, const struct policy *policy,
                        const struct expired_item *item)
{
    struct adding adding = { txn, writer, item, policy->value_max, false };
    if (writer->policy != policy || writer->db != txn->ks->db) {
        /* Find a target that is a stream without removing its expired entries, which may take long
         * and is not needed to add an entry. */
        struct bytes key = policy->expired_to;
        struct entry *target = keyspace_find(txn->ks, key);
        if (target == NULL || target->object.type != TYPE_STREAM) {
            target = txn_find_without_lru(txn, key);
        } else if (instant_expired(entry_expires_at(txn->ks, target), txn->now)) {
            txn_key_drop(txn, target, EVENT_EXPIRED);
            target = NULL;
        }
        if (target == NULL) target = txn_create_uncounted(txn, key, TYPE_STREAM);
        writer->policy = policy;
        writer->db = txn->ks->db;
        writer->target = expiry_type_is_target(target->object.type) ? target : NULL;
    }
    if (writer->target == NULL)
        txn->store->stats.expired_log_errors++;
    else
        targets[writer->target->object.type].write(&adding);
}
