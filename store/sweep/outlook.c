/* outlook: takes the next deadlines from the keyspace's agendas, and makes the forecast in a scan
 * of all keys (key_scan.h). */
#include "store/sweep/outlook.h"

#include "store/mem/mem.h"
#include "store/sweep/expiry.h"
#include "store/sweep/key_scan.h"
#include "store/txn/txn_type.h"

bool outlook_remove_overdue(struct txn *txn, size_t budget)
{
    if (txn->no_expiry) keyspace_hide(txn->ks, txn->now, SIZE_MAX);
    while (due_at_come(keyspace_next_due(txn->ks), txn->now)) {
        if (budget == 0 || txn->no_expiry) return false;
        size_t done = expiry_first(txn, budget);
        budget -= done < budget ? done : budget;
    }
    return true;
}

size_t outlook_next(const struct keyspace *ks, msec now, struct due *due, size_t count)
{
    size_t found = 0;
    struct keyspace_walk walk;
    keyspace_walk_begin(&walk, ks);
    while (found < count) {
        struct due_at next_due;
        const struct entry *entry = keyspace_walk_next(&walk, &next_due);
        if (entry == NULL) break;
        if (due_at_come(next_due, now)) continue;
        struct due first = { entry_key(entry), entry_expires_at(ks, entry), "key" };
        if (!due_at_equal(next_due, due_at_expiry(first.at))) {
            first.what = type_rows[entry->object.type].item;
            first.at = txn_type_of(entry)->due_stays ? next_due.at : due_at_deadline(next_due);
        }
        due[found++] = first;
    }
    keyspace_walk_end(&walk);
    return found;
}

struct overdue_count {
    const struct keyspace *ks;
    struct overdue *overdue;
    msec now;
    size_t most;
};

static size_t still_to_count(const struct overdue_count *count)
{
    size_t found = count->overdue->keys + count->overdue->members;
    return found < count->most ? count->most - found : 0;
}

static bool count_overdue(void *ctx, const struct entry *entry, struct due_at at)
{
    (void)at;
    struct overdue_count *count = ctx;
    if (instant_expired(entry_expires_at(count->ks, entry), count->now))
        count->overdue->keys++;
    else
        count->overdue->members +=
            object_count_expired(&entry->object, count->now, still_to_count(count));
    return still_to_count(count) > 0;
}

void outlook_overdue(const struct keyspace *ks, msec now, size_t most, struct overdue *overdue)
{
    struct overdue_count count = { ks, overdue, now, most };
    if (still_to_count(&count) > 0) keyspace_each_until(ks, now, count_overdue, &count);
}

enum { AT_ONCE_MAX = 64 }; /* the largest collection whose members are counted with its key */

static const struct {
    const char *name;
    msec least_left; /* what has less time left is not counted: it has expired or is due */
} kinds[OUTLOOK_KINDS] = {
    [OUTLOOK_KEYS] = { "keys", 0 },
    [OUTLOOK_MEMBERS] = { "members", 0 },
    [OUTLOOK_ELEMENTS] = { "elements", 1 },
};

static const struct {
    const char *name;
    msec end; /* the largest number of milliseconds left */
} bands[OUTLOOK_BANDS] = {
    [DUE_IN_1S] = { "1s", 1000 },         [DUE_IN_10S] = { "10s", 10 * 1000 },
    [DUE_IN_1M] = { "1m", 60 * 1000 },    [DUE_IN_10M] = { "10m", 600 * 1000 },
    [DUE_IN_1H] = { "1h", 3600 * 1000 },  [DUE_IN_1D] = { "1d", 86400 * 1000 },
    [DUE_LATER] = { "later", NEVER - 1 }, [DUE_NEVER] = { "never", NEVER },
};

enum { EXPIRY_BANDS = DUE_NEVER };

struct outlook {
    struct key_scan scan; /* defers large collections */
    msec began;
    /* The position in the last deferred collection. */
    uint32_t counted;
    struct stream_id next_id;
    msec counted_to; /* in a dehydrator, its elements up to this instant are counted */
    /* For each band, how far the deadlines are from the band's beginning. The histograms keep more
     * than counts, so that outlook_counts can shift the bands to a later instant. */
    struct histogram left[OUTLOOK_KINDS][EXPIRY_BANDS];
    struct outlook_count never;
    struct outlook_hour hour;
    void (*visit)(void *ctx, const struct entry *entry); /* may be NULL */
    void *visit_ctx;
};

const char *outlook_band_name(enum outlook_band band)
{
    return bands[band].name;
}

const char *outlook_kind_name(enum outlook_kind kind)
{
    return kinds[kind].name;
}

static msec band_begin(enum outlook_kind kind, unsigned band)
{
    return band == 0 ? kinds[kind].least_left : bands[band - 1].end + 1;
}

static size_t count_entry(void *ctx, const struct entry *entry);
static bool count_large(void *ctx, const struct entry *entry, size_t budget, size_t *steps);

struct outlook *outlook_new(const struct keyspace *ks, msec now)
{
    static const struct key_visitor counts = { count_entry, count_large };
    struct outlook *outlook = mem_zalloc(sizeof(*outlook));
    key_scan_begin(&outlook->scan, ks, &counts, outlook);
    outlook->began = outlook->counted_to = now;
    outlook->hour.begin = now - now % OUTLOOK_SPAN;
    return outlook;
}

void outlook_watch(struct outlook *outlook, void (*visit)(void *ctx, const struct entry *entry),
                   void *ctx)
{
    outlook->visit = visit;
    outlook->visit_ctx = ctx;
}

void outlook_free(struct outlook *outlook)
{
    if (outlook == NULL) return;
    key_scan_end(&outlook->scan);
    mem_free(outlook);
}

static msec time_left(const struct outlook *outlook, msec at)
{
    msec left;
    return __builtin_sub_overflow(at, outlook->began, &left) ? NEVER - 1 : left;
}

static unsigned band_of(msec left)
{
    unsigned band = 0;
    while (left > bands[band].end)
        band++;
    return band;
}

/* Returns the span of the hour that contains the instant; OUTLOOK_SPANS if none does. */
static size_t span_of(const struct outlook *outlook, msec at)
{
    msec after;
    if (at < outlook->hour.begin || __builtin_sub_overflow(at, outlook->hour.begin, &after) ||
        after >= (msec)OUTLOOK_SPANS * OUTLOOK_SPAN)
        return OUTLOOK_SPANS;
    return (size_t)(after / OUTLOOK_SPAN);
}

static void count_deadlines(struct outlook *outlook, enum outlook_kind kind, msec at,
                            uint64_t count)
{
    msec left = time_left(outlook, at);
    if (left < kinds[kind].least_left) return;
    unsigned band = band_of(left);
    histogram_add(&outlook->left[kind][band], left - band_begin(kind, band), count);
    size_t span = span_of(outlook, at);
    if (span < OUTLOOK_SPANS) outlook->hour.spans[span].of[kind] += count;
}

static bool count_member(void *ctx, struct bytes member, msec at)
{
    (void)member;
    count_deadlines(ctx, OUTLOOK_MEMBERS, at, 1);
    return true;
}

/* Counts entries from next_id on; returns true when all are counted. */
static bool count_entries(struct outlook *outlook, const struct stream *stream, size_t *steps,
                          size_t budget)
{
    msec retention = stream_retention(stream);
    struct stream_walk walk;
    struct stream_entry entry;
    stream_walk_up(&walk, stream, outlook->next_id);
    while (stream_walk_next(&walk, &entry)) {
        if (*steps >= budget) {
            outlook->next_id = entry.id;
            return false;
        }
        count_deadlines(outlook, OUTLOOK_MEMBERS,
                        instant_moved(stream_id_instant(entry.id), retention), 1);
        ++*steps;
    }
    return true;
}

/* Counts the elements that are due after *counted_to; returns true when all are counted. A
 * dehydrator can count the elements between two instants, so all elements that fall into one bucket
 * of a histogram are one step. */
static bool count_elements(struct outlook *outlook, const struct dehydrator *dehydrator,
                           msec *counted_to, size_t *steps, size_t budget)
{
    msec at;
    while ((at = dehydrator_next_after(dehydrator, *counted_to)) != NEVER) {
        if (*steps >= budget) return false;
        /* Find the last instant that can be counted together with `at`: the last one in the same
         * bucket of the same band, and in the same span of the hour. */
        msec left = time_left(outlook, at);
        unsigned band = band_of(left);
        msec begin = band_begin(OUTLOOK_ELEMENTS, band), most = bands[band].end - begin;
        msec in_band = histogram_ceiling(left - begin);
        msec last = instant_moved(outlook->began, begin + (in_band < most ? in_band : most));
        size_t span = span_of(outlook, at);
        if (span < OUTLOOK_SPANS) {
            msec span_last = outlook->hour.begin + ((msec)span + 1) * OUTLOOK_SPAN - 1;
            if (span_last < last) last = span_last;
        }
        if (last < at) last = at; /* time_left may have limited `left` */

        count_deadlines(outlook, OUTLOOK_ELEMENTS, at,
                        dehydrator_count_between(dehydrator, *counted_to, last));
        *counted_to = last;
        ++*steps;
    }
    return true;
}

static size_t count_entry(void *ctx, const struct entry *entry)
{
    struct outlook *outlook = ctx;
    const struct keyspace *ks = outlook->scan.ks;
    const struct object *object = &entry->object;
    if (outlook->visit != NULL) outlook->visit(outlook->visit_ctx, entry);
    if (entry_expired(ks, entry, outlook->began)) return 1;
    msec at = entry_expires_at(ks, entry);
    if (at == NEVER)
        outlook->never.of[OUTLOOK_KEYS]++;
    else
        count_deadlines(outlook, OUTLOOK_KEYS, at, 1);
    size_t steps = 1;
    if (object->type == TYPE_STREAM) {
        if (stream_retention(object->stream) == 0)
            outlook->never.of[OUTLOOK_MEMBERS] += stream_count(object->stream);
        else if (stream_count(object->stream) > AT_ONCE_MAX)
            key_scan_defer(&outlook->scan, entry);
        else
            count_entries(outlook, object->stream, &steps, SIZE_MAX);
        return steps;
    }
    if (object->type == TYPE_DEHYDRATOR) {
        msec counted_to = outlook->began;
        if (dehydrator_count(object->dehydrator) > AT_ONCE_MAX)
            key_scan_defer(&outlook->scan, entry);
        else
            count_elements(outlook, object->dehydrator, &counted_to, &steps, SIZE_MAX);
        return steps;
    }
    if (type_rows[object->type].members == NULL) return 1;
    size_t expiring = object->has_expiry ? object_count_expiring(object) : 0;
    outlook->never.of[OUTLOOK_MEMBERS] += object_count(object) - expiring;
    if (expiring > AT_ONCE_MAX) {
        key_scan_defer(&outlook->scan, entry);
        return 1;
    }
    if (expiring > 0) object_each_until(object, NEVER, count_member, outlook);
    return 1 + expiring;
}

static bool count_large(void *ctx, const struct entry *entry, size_t budget, size_t *steps)
{
    struct outlook *outlook = ctx;
    bool done = true;
    if (entry != NULL && entry->object.type == TYPE_STREAM) {
        done = count_entries(outlook, entry->object.stream, steps, budget);
    } else if (entry != NULL && entry->object.type == TYPE_DEHYDRATOR) {
        done =
            count_elements(outlook, entry->object.dehydrator, &outlook->counted_to, steps, budget);
    } else if (entry != NULL && object_agenda(&entry->object) != NULL) {
        const struct agenda *agenda = object_agenda(&entry->object);
        for (; *steps < budget && outlook->counted < agenda_count(agenda); ++*steps)
            count_deadlines(outlook, OUTLOOK_MEMBERS, agenda_nth_at(agenda, outlook->counted++), 1);
        done = outlook->counted >= agenda_count(agenda);
    } else if (entry != NULL) { /* a small collection has replaced the large one */
        object_each_until(&entry->object, NEVER, count_member, outlook);
    }
    if (!done) return false;
    outlook->counted = 0;
    outlook->next_id = STREAM_ID_MIN;
    outlook->counted_to = outlook->began;
    return true;
}

bool outlook_run(struct outlook *outlook, size_t budget)
{
    return key_scan_run(&outlook->scan, &budget);
}

/* Returns the number of deadlines that were at most `left` ms away when the forecast began. */
static uint64_t count_within(const struct outlook *outlook, enum outlook_kind kind, msec left)
{
    uint64_t count = 0;
    for (unsigned band = 0; band < EXPIRY_BANDS && band_begin(kind, band) <= left; band++) {
        const struct histogram *lag = &outlook->left[kind][band];
        bool whole = bands[band].end <= left;
        count += whole ? lag->total : histogram_below(lag, left - band_begin(kind, band) + 1);
    }
    return count;
}

void outlook_counts(const struct outlook *outlook, msec now,
                    struct outlook_count counts[OUTLOOK_BANDS])
{
    msec passed = now > outlook->began ? histogram_floor(now - outlook->began) : 0;
    for (unsigned kind = 0; kind < OUTLOOK_KINDS; kind++) {
        uint64_t before = count_within(outlook, kind, passed + kinds[kind].least_left - 1);
        for (unsigned band = 0; band < EXPIRY_BANDS; band++) {
            msec end = band == DUE_LATER ? bands[band].end : bands[band].end + passed;
            uint64_t upto = count_within(outlook, kind, end);
            counts[band].of[kind] = upto - before;
            before = upto;
        }
        counts[DUE_NEVER].of[kind] = outlook->never.of[kind];
    }
}

const struct outlook_hour *outlook_hour(const struct outlook *outlook)
{
    return &outlook->hour;
}
