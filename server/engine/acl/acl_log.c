/* acl_log: see acl_log.h. */
#include "server/engine/acl/acl_log.h"

#include "store/mem/mem.h"

enum {
    GROUPED_MSEC = 60 * 1000, /* refusals of one kind within this time are one entry */
    GROUPED_AMONG = 10,       /* the latest entries, which are searched for the same kind */
};

const char *acl_reason_text(enum acl_reason reason)
{
    static const char *const texts[] = { "command", "key", "channel", "auth", "tls-cert" };
    return texts[reason];
}

const char *acl_where_text(enum acl_where where)
{
    static const char *const texts[] = { "toplevel", "multi", "lua" };
    return texts[where];
}

static void drop_entry(struct acl_log *log, struct acl_log_entry *entry)
{
    TAILQ_REMOVE(&log->entries, entry, next);
    log->count--;
    blob_free(entry->object);
    blob_free(entry->user_name);
    blob_free(entry->client);
    mem_free(entry);
}

void acl_log_reset(struct acl_log *log)
{
    while (!TAILQ_EMPTY(&log->entries))
        drop_entry(log, TAILQ_FIRST(&log->entries));
}

/* Returns the line about the client, without a line end. */
static struct blob *describe(const struct acl_log *log, struct session *session)
{
    struct outbuf line;
    outbuf_init(&line);
    if (log->describe != NULL) log->describe(session, &line);
    char *text = mem_alloc(line.len + 1);
    size_t len = line.len;
    outbuf_copy(&line, text);
    if (len > 0 && text[len - 1] == '\n') len--;
    struct blob *blob = blob_new(bytes_of(text, len));
    mem_free(text);
    outbuf_drop(&line);
    return blob;
}

void acl_log_add(struct acl_log *log, const struct acl_refusal *refusal, size_t most)
{
    struct acl_log_entry *entry = TAILQ_FIRST(&log->entries);
    int left = GROUPED_AMONG;
    for (; entry != NULL && left > 0; left--, entry = TAILQ_NEXT(entry, next))
        if (entry->reason == refusal->reason && entry->where == refusal->where &&
            refusal->now - entry->at <= GROUPED_MSEC &&
            bytes_equal(blob_view(entry->object), refusal->object) &&
            bytes_equal(blob_view(entry->user_name), refusal->user_name))
            break;
    if (entry != NULL && left > 0) {
        TAILQ_REMOVE(&log->entries, entry, next);
    } else {
        entry = mem_zalloc(sizeof(*entry));
        entry->reason = refusal->reason;
        entry->where = refusal->where;
        entry->object = blob_new(refusal->object);
        entry->user_name = blob_new(refusal->user_name);
        log->count++;
    }
    TAILQ_INSERT_HEAD(&log->entries, entry, next);
    entry->count++;
    entry->at = refusal->now;
    blob_free(entry->client);
    entry->client = describe(log, refusal->session);
    while (log->count > most)
        drop_entry(log, TAILQ_LAST(&log->entries, acl_log_list));
}
