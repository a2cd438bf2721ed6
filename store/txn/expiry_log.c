/* expiry_log: the notes of a call or transaction, and writing them. A note stores offsets into one
 * text that all notes share, because the text moves when it grows. The value of a key is not
 * copied: the note owns the object of the removed key. */
#include "store/txn/expiry_log.h"

#include "store/mem/buffer.h"
#include "store/mem/mem.h"
#include "store/txn/expiry_entry.h"

enum {
    NOTES_MANY = 256,        /* background expiry writes the notes when there are this many, */
    TEXT_MANY = 1024 * 1024, /* or this many bytes of text, */
    VALUE_LARGE = 64 * 1024, /* or a value this large */
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
        log->asked = note->policy;
        log->asked_db = note->db;
        log->wants_value =
            note->policy->log_value || expiry_target_wants_value(txn, note->policy, note->db);
    }
    return log->wants_value;
}

/* Copies a text into the log's text. Returns its offset there. */
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
    note->item.size = expiry_size_of(&entry->object, note->policy->value_max);
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
        expiry_entry_write(txn, &log->writer, note->policy, &item);
        if (note->has_object) reclaim_object(&txn->store->reclaim, note->object);
    }
    txn->writes_log = false;
    txn->ks = ks;
    expiry_writer_forget(&log->writer);
    log->count = log->text.len = 0;
    log->has_large = false;
    log->asked = NULL;
}

void expiry_log_free(struct expiry_log *log)
{
    if (log == NULL) return;
    expiry_writer_drop(&log->writer);
    mem_free(log->notes);
    buffer_drop(&log->text);
    mem_free(log);
}
