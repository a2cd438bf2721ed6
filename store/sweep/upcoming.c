/* upcoming: keeps a sorted list of rows, one for each of the keys that are due first. It keeps
 * SPARE rows more than requested, because the deadlines of some may pass before the scan is
 * over. */
#include "store/sweep/upcoming.h"

#include "store/base/siphash.h"
#include "store/mem/mem.h"
#include "store/sweep/key_scan.h"
#include "store/txn/txn_type.h"

enum {
    SPARE = 256,      /* rows in addition to those that are asked for */
    AT_ONCE_MAX = 64, /* the largest collection that is searched with its key */
};

struct row {
    struct due_at due;
    msec at; /* the deadline, as clients see it */
    const char *what;
    uint64_t hash; /* hash of the key */
    struct blob *key;
};

struct upcoming {
    struct key_scan scan; /* defers large collections */
    bool begun;
    msec now;                    /* rows are sought that are due later */
    struct agenda_search inside; /* the position in the last deferred collection */
    size_t count, row_count, row_cap;
    /* Some keys that are due at this instant or later have no row; NEVER if no key was left out. */
    struct due_at bound;
    struct row rows[];
};

static size_t visit_key(void *ctx, const struct entry *entry);
static bool search_large(void *ctx, const struct entry *entry, size_t budget, size_t *steps);

struct upcoming *upcoming_new(const struct keyspace *ks, size_t count)
{
    static const struct key_visitor search = { visit_key, search_large };
    size_t cap = count + SPARE;
    struct upcoming *upcoming = mem_alloc(sizeof(*upcoming) + cap * sizeof(upcoming->rows[0]));
    *upcoming = (struct upcoming){ .count = count, .row_cap = cap, .bound = DUE_AT_NEVER };
    key_scan_begin(&upcoming->scan, ks, &search, upcoming);
    return upcoming;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static void drop_row(struct upcoming *upcoming, size_t i)
{
    struct row *row = &upcoming->rows[i];
    blob_free(row->key);
    memmove(row, row + 1, (--upcoming->row_count - i) * sizeof(*row));
}

/* Drops all rows, so that the search begins again. */
static void drop_rows(struct upcoming *upcoming)
{
    while (upcoming->row_count > 0)
        drop_row(upcoming, upcoming->row_count - 1);
    upcoming->bound = DUE_AT_NEVER;
    upcoming->inside = (struct agenda_search){ 0 };
    key_scan_end(&upcoming->scan);
}

void upcoming_free(struct upcoming *upcoming)
{
    if (upcoming == NULL) return;
    drop_rows(upcoming);
    mem_free(upcoming);
}

/* Adds a row for the key; `inside` is when something inside the key is due next, after now. The row
 * goes behind those that are due no later. */
static void add_key(struct upcoming *upcoming, const struct entry *entry, struct due_at inside)
{
    msec expires_at = entry_expires_at(upcoming->scan.ks, entry);
    struct row row = { .due = due_at_expiry(expires_at), .at = expires_at, .what = "key" };
    if (due_at_before(inside, row.due)) {
        row.due = inside;
        row.at = txn_type_of(entry)->due_stays ? inside.at : due_at_deadline(inside);
        row.what = type_rows[entry->object.type].item;
    }
    if (!due_at_before(row.due, upcoming->bound)) return;

    struct bytes key = entry_key(entry);
    size_t i;
    row.hash = siphash(key.data, key.len);
    for (i = 0; i < upcoming->row_count; i++) /* the scan may visit a key twice */
        if (upcoming->rows[i].hash == row.hash &&
            bytes_equal(blob_view(upcoming->rows[i].key), key))
            drop_row(upcoming, i--);
    if (upcoming->row_count == upcoming->row_cap) {
        struct due_at last = upcoming->rows[upcoming->row_count - 1].due;
        upcoming->bound = due_at_before(row.due, last) ? last : row.due;
        if (!due_at_before(row.due, last)) return;
        drop_row(upcoming, upcoming->row_count - 1);
    }
    i = upcoming->row_count++;
    for (; i > 0 && due_at_before(row.due, upcoming->rows[i - 1].due); i--)
        upcoming->rows[i] = upcoming->rows[i - 1];
    row.key = blob_new(key);
    upcoming->rows[i] = row;
}

/* ---- searching ------------------------------------------------------------------------------- */

static size_t visit_key(void *ctx, const struct entry *entry)
{
    struct upcoming *upcoming = ctx;
    const struct object *object = &entry->object;
    struct due_at inside = DUE_AT_NEVER;
    if (!deadline_armed(&entry->deadline) || entry_expired(upcoming->scan.ks, entry, upcoming->now))
        return 1;
    if (object->has_expiry) inside = object_next_due(object);
    if (due_at_come(inside, upcoming->now)) {
        const struct agenda *agenda = object_agenda(object);
        if (agenda != NULL && agenda_count(agenda) > AT_ONCE_MAX) {
            key_scan_defer(&upcoming->scan, entry);
            return 1;
        }
        inside = object_next_due_after(object, upcoming->now);
    }
    add_key(upcoming, entry, inside);
    return 1;
}

static bool search_large(void *ctx, const struct entry *entry, size_t budget, size_t *steps)
{
    struct upcoming *upcoming = ctx;
    const struct agenda *agenda = entry != NULL ? object_agenda(&entry->object) : NULL;
    struct agenda_search *inside = &upcoming->inside;
    msec expired = instant_last_expired(upcoming->now);
    if (agenda != NULL && !agenda_search_after(agenda, expired, inside, budget, steps))
        return false;
    if (agenda != NULL)
        add_key(upcoming, entry, due_at_expiry(inside->first));
    else if (entry != NULL) /* another value has replaced the large one */
        visit_key(upcoming, entry);
    *inside = (struct agenda_search){ 0 };
    return true;
}

static bool visit_partly(void *ctx, const struct entry *entry, struct due_at due)
{
    (void)due;
    visit_key(ctx, entry);
    return true;
}

/* Searches without a scan if few keys are due: looks at these keys, and takes all others from the
 * agendas. Returns false, without a row, if that takes more than `budget` steps. */
static bool look_at_few(struct upcoming *upcoming, size_t budget)
{
    const struct keyspace *ks = upcoming->scan.ks;
    msec now = upcoming->now;
    size_t partly = keyspace_count_partly(ks, now, budget);
    if (partly >= budget) return false;
    struct keyspace_walk walk;
    const struct entry *entry;
    struct due_at due;
    keyspace_walk_begin(&walk, ks);
    while (upcoming->row_count < upcoming->count &&
           (entry = keyspace_walk_next(&walk, &due)) != NULL)
        if (!due_at_come(due, now)) visit_key(upcoming, entry);
    keyspace_walk_end(&walk);
    keyspace_each_partly(ks, now, visit_partly, upcoming);
    upcoming->scan.scanned = true;
    budget -= partly;
    if (key_scan_run(&upcoming->scan, &budget)) return true;
    drop_rows(upcoming);
    return false;
}

bool upcoming_run(struct upcoming *upcoming, msec now, size_t budget)
{
    /* Begin anew if the clock was set back: the rows lack deadlines that are in the future
     * again. */
    if (!upcoming->begun || now < upcoming->now) {
        drop_rows(upcoming);
        upcoming->begun = true;
        upcoming->now = now;
        if (look_at_few(upcoming, budget)) return true;
    }
    while (key_scan_run(&upcoming->scan, &budget)) {
        /* The deadline of the first row has passed during the search. Replace it by the next
         * deadline of its key, as long as enough rows are left. */
        bool is_past = upcoming->row_count > 0 && due_at_come(upcoming->rows[0].due, now);
        bool is_last = upcoming->row_count <= upcoming->count && !due_at_is_never(upcoming->bound);
        if (!is_past || is_last) return true;
        struct bytes key = blob_view(upcoming->rows[0].key);
        const struct entry *entry = keyspace_find(upcoming->scan.ks, key);
        drop_row(upcoming, 0);
        upcoming->now = now;
        if (entry != NULL) visit_key(upcoming, entry);
        budget -= budget > 0;
    }
    return false;
}

size_t upcoming_list(const struct upcoming *upcoming, struct due *due)
{
    size_t count = upcoming->row_count < upcoming->count ? upcoming->row_count : upcoming->count;
    for (size_t i = 0; i < count; i++) {
        const struct row *row = &upcoming->rows[i];
        due[i] = (struct due){ blob_view(row->key), row->at, row->what };
    }
    return count;
}
