/* expiry_log: the notes of a call or transaction, and writing them. A note stores offsets into one
 * text that all notes share, because the text moves when it grows. The value of a key is not
 * copied: the note owns the object of the removed key. */
#include "store/txn/expiry_log.h"

#include <stdio.h>

#include "store/base/number.h"
#include "store/mem/buffer.h"
#include "store/mem/mem.h"
#include "store/txn/txn_dehydrator.h"
#include "store/txn/txn_stream.h"

enum {
    NOTES_MANY = 256,        /* background expiry writes the notes when there are this many, */
    TEXT_MANY = 1024 * 1024, /* or this many bytes of text, */
    VALUE_LARGE = 64 * 1024, /* or a value this large */
};

/* A key or a member that expired, with the parts of its value that are logged. */
struct expired_item {
    struct bytes key;
    msec at; /* its deadline */
    enum type type;
    bool is_member, has_value, has_score;
    struct bytes member, value;  /* the member; its value, if it is a field (has_value) */
    double score;                /* the member's, if has_score */
    const struct object *object; /* the value of an expired key; NULL if it is not logged */
    uint64_t size;               /* size of a value too large to log, otherwise 0 */
};

/* Memory for building entries, and a cache of the last target: if `policy` is not NULL, `target` is
 * the entry to which this policy logs in database db. All zero at first. */
struct expiry_writer {
    const struct policy *policy;
    unsigned db;
    struct entry *target; /* NULL if the key there can't be written to */
    struct bytes *texts;
    size_t count, cap;
    char *names;
    size_t names_cap;
};

struct expiry_note {
    const struct policy *policy; /* the transaction writes the notes before policies change */
    unsigned db;
    bool has_object;
    struct expired_item item; /* its texts are at the offsets below */
    struct object object;     /* owned if has_object */
    size_t key, member, value;
    size_t key_len, member_len, value_len;
};

struct expiry_log {
    struct expiry_note *notes;
    size_t count, cap;
    struct buffer text;
    bool has_large;
    /* The last policy and database looked up since notes were written, or NULL. */
    const struct policy *asked;
    unsigned asked_db;
    bool wants_value;
    struct expiry_writer writer;
};

/* ---- one entry ------------------------------------------------------------------------------- */

enum { NUMBER_CHARS = 40 };

static size_t print_score(const struct txn *txn, char *to, double score)
{
    const struct value_format *format = &txn->store->value_format;
    if (format->print_score != NULL) return format->print_score(to, score);
    return (size_t)snprintf(to, NUMBER_CHARS, "%.17g", score);
}

enum { FIELDS_MAX = 262144 };

/* Returns 0 if the value may fit into `most` bytes. That is exact for a string and for the fields
 * of a hash; for other types it is an estimate. A hash of more than FIELDS_MAX fields does not fit.
 * If the value does not fit, returns its size: the length of a string, or the bytes of another
 * value in memory. */
static uint64_t size_if_too_large(const struct object *object, uint64_t most)
{
    if (object->type == TYPE_STRING) {
        uint64_t len = object_text(object).len;
        return len > most ? len : 0;
    }
    /* Do not build a payload that is unlikely to fit: few are this many times smaller than the
     * value. */
    enum { PAYLOAD_SHARE = 16 };
    size_t size = object_bytes(object);
    bool fits = size / PAYLOAD_SHARE <= most;
    if (object->type == TYPE_HASH) {
        struct hash_iter iter;
        struct bytes field, value;
        uint64_t len = 0;
        fits = hash_count(object->hash) <= FIELDS_MAX;
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

static char *room_for_names(struct expiry_writer *writer, size_t len)
{
    if (len > writer->names_cap) {
        writer->names = mem_realloc(writer->names, len);
        writer->names_cap = len;
    }
    return writer->names;
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
        const struct bytes prefix = LIT("field:");
        struct hash_iter iter;
        struct bytes field, value;
        size_t len = 0;
        hash_iter_begin(&iter, object->hash);
        while (hash_iter_next(&iter, &field, &value))
            len += prefix.len + field.len;
        char *to = room_for_names(writer, len);
        hash_iter_begin(&iter, object->hash);
        while (hash_iter_next(&iter, &field, &value)) {
            memcpy(to, prefix.data, prefix.len);
            if (field.len > 0) memcpy(to + prefix.len, field.data, field.len);
            add_field(writer, bytes_of(to, prefix.len + field.len), value);
            to += prefix.len + field.len;
        }
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
        struct bytes key = adding->item->key, member = adding->item->member;
        char *name = room_for_names(adding->writer, key.len + 1 + member.len);
        if (key.len > 0) memcpy(name, key.data, key.len);
        name[key.len] = '\0';
        if (member.len > 0) memcpy(name + key.len + 1, member.data, member.len);
        id = bytes_of(name, key.len + 1 + member.len);
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

/* ---- noting ---------------------------------------------------------------------------------- */

bool expiry_log_covers(struct txn *txn, const struct entry *entry)
{
    const struct policy *policy = txn_policy_of(txn, entry);
    return policy != NULL && policy->expired_to.len > 0 &&
           !policies_log_to(&txn->store->policies, entry_key(entry));
}

static struct expiry_note *note_new(struct txn *txn, const struct entry *entry)
{
    if (txn->expiry_log == NULL) txn->expiry_log = mem_zalloc(sizeof(*txn->expiry_log));
    struct expiry_log *log = txn->expiry_log;
    log->notes = mem_grow(log->notes, log->count, &log->cap, sizeof(*log->notes));
    struct expiry_note *note = &log->notes[log->count++];
    *note = (struct expiry_note){ .policy = txn_policy_of(txn, entry), .db = txn->ks->db };
    note->item.type = entry->object.type;
    return note;
}

static bool wants_value(struct txn *txn, const struct expiry_note *note)
{
    struct expiry_log *log = txn->expiry_log;
    if (log->asked != note->policy || log->asked_db != note->db) {
        const struct keyspace *ks = &txn->store->databases[note->db];
        const struct entry *target = keyspace_find(ks, note->policy->expired_to);
        bool exists = target != NULL && !entry_expired(ks, target, txn->now);
        /* A missing target will be a stream. */
        enum type type = exists ? target->object.type : TYPE_STREAM;
        log->asked = note->policy;
        log->asked_db = note->db;
        log->wants_value = note->policy->log_value || targets[type].wants_value;
    }
    return log->wants_value;
}

/* Returns the offset of the copy in log->text. */
static size_t keep_text(struct expiry_log *log, struct bytes text)
{
    size_t from = log->text.len;
    buffer_append(&log->text, text.data, text.len);
    return from;
}

bool expiry_log_key(struct txn *txn, const struct entry *entry)
{
    struct expiry_note *note = note_new(txn, entry);
    struct expiry_log *log = txn->expiry_log;
    note->item.at = entry_expires_at(txn->ks, entry);
    note->key_len = entry_key(entry).len;
    note->key = keep_text(log, entry_key(entry));
    if (!wants_value(txn, note)) return false;
    note->item.size = size_if_too_large(&entry->object, note->policy->value_max);
    note->has_object = note->item.size == 0;
    log->has_large |= note->has_object && object_bytes(&entry->object) >= VALUE_LARGE;
    return note->has_object;
}

void expiry_log_keep(struct txn *txn, struct object object)
{
    struct expiry_log *log = txn->expiry_log;
    log->notes[log->count - 1].object = object;
}

void expiry_log_member(struct txn *txn, const struct entry *entry, struct bytes member, msec at)
{
    struct expiry_note *note = note_new(txn, entry);
    struct expiry_log *log = txn->expiry_log;
    note->item.at = at;
    note->item.is_member = true;
    note->key_len = entry_key(entry).len;
    note->key = keep_text(log, entry_key(entry));
    note->member_len = member.len;
    note->member = keep_text(log, member);
    if (!wants_value(txn, note)) return;
    struct bytes value;
    if (entry->object.type == TYPE_HASH && hash_get(entry->object.hash, member, &value)) {
        note->item.has_value = value.len <= note->policy->value_max;
        if (note->item.has_value) {
            note->value_len = value.len;
            note->value = keep_text(log, value);
        } else {
            note->item.size = value.len;
        }
    }
    if (entry->object.type == TYPE_ZSET)
        note->item.has_score = zset_score(entry->object.zset, member, &note->item.score);
}

/* ---- writing --------------------------------------------------------------------------------- */

bool expiry_log_full(const struct expiry_log *log)
{
    return log->count >= NOTES_MANY || log->text.len >= TEXT_MANY || log->has_large;
}

void expiry_log_write(struct txn *txn)
{
    struct expiry_log *log = txn->expiry_log;
    struct expiry_writer *writer = &log->writer;
    struct keyspace *ks = txn->ks;
    txn->writes_log = true; /* so that the target's own policy is applied */
    for (size_t i = 0; i < log->count; i++) {
        struct expiry_note *note = &log->notes[i];
        struct expired_item item = note->item;
        item.key = bytes_of(log->text.data + note->key, note->key_len);
        item.member = bytes_of(log->text.data + note->member, note->member_len);
        item.value = bytes_of(log->text.data + note->value, note->value_len);
        item.object = note->has_object ? &note->object : NULL;
        txn->ks = &txn->store->databases[note->db];
        if (writer->policy != note->policy || writer->db != note->db) {
            /* Find a target that is a stream without removing its expired entries, which may take
             * long and is not needed to add an entry. */
            struct bytes key = note->policy->expired_to;
            struct entry *target = keyspace_find(txn->ks, key);
            if (target == NULL || target->object.type != TYPE_STREAM) {
                target = txn_find_without_lru(txn, key);
            } else if (instant_expired(entry_expires_at(txn->ks, target), txn->now)) {
                txn_key_drop(txn, target, EVENT_EXPIRED);
                target = NULL;
            }
            if (target == NULL) target = txn_create_uncounted(txn, key, TYPE_STREAM);
            writer->policy = note->policy;
            writer->db = note->db;
            writer->target = expiry_type_is_target(target->object.type) ? target : NULL;
        }
        struct adding adding = { txn, writer, &item, note->policy->value_max, false };
        if (writer->target == NULL)
            txn->store->stats.expired_log_errors++;
        else
            targets[writer->target->object.type].write(&adding);
        if (note->has_object) reclaim_object(&txn->store->reclaim, note->object);
    }
    txn->writes_log = false;
    txn->ks = ks;
    writer->policy = NULL; /* until the next notes its target may be replaced or dropped */
    log->count = log->text.len = 0;
    log->has_large = false;
    log->asked = NULL;
}

void expiry_log_free(struct expiry_log *log)
{
    if (log == NULL) return;
    mem_free(log->writer.texts);
    mem_free(log->writer.names);
    mem_free(log->notes);
    buffer_drop(&log->text);
    mem_free(log);
}
