/* pending_leaf: see pending_leaf.h. */
#include "store/type/stream/pending_leaf.h"

#include <string.h>

#include "store/base/ensure.h"
#include "store/mem/mem.h"

enum form { FORM_NARROW, FORM_WIDE, FORM_HUGE };

enum { DELIVERIES_BITS = 12, CONSUMER_BITS = 20, CAP_STEP = 8 };

struct narrow {
    uint64_t key; /* milliseconds since the leaf's base, then the sequence number in 32 bits */
    uint32_t at;  /* since the leaf's base */
    uint32_t who; /* the consumer, then deliveries in DELIVERIES_BITS */
};
struct wide {
    struct stream_id id;
    msec at;
    uint32_t consumer, deliveries;
};
struct huge {
    struct wide wide;
    uint64_t deliveries_high;
};

static const uint8_t form_sizes[] = {
    [FORM_NARROW] = sizeof(struct narrow),
    [FORM_WIDE] = sizeof(struct wide),
    [FORM_HUGE] = sizeof(struct huge),
};

static inline void *record_at(const struct pending_leaf *leaf, unsigned i)
{
    return (char *)(uintptr_t)leaf->records + (size_t)(leaf->begin + i) * form_sizes[leaf->form];
}

void pending_summary_add(struct pending_summary *summary, const struct pending_record *record)
{
    msec *first = &summary->first[pending_kind(record)];
    if (record->at < *first) *first = record->at;
    summary->consumers |= pending_bit(record->consumer);
}

/* Return the consumer and the instant of the i-th record, with less work than pending_leaf_get. */
static inline uint32_t consumer_at(const struct pending_leaf *leaf, unsigned i)
{
    if (leaf->form == FORM_NARROW)
        return ((const struct narrow *)record_at(leaf, i))->who >> DELIVERIES_BITS;
    return ((const struct wide *)record_at(leaf, i))->consumer;
}

static inline msec instant_at(const struct pending_leaf *leaf, unsigned i)
{
    if (leaf->form != FORM_NARROW) return ((const struct wide *)record_at(leaf, i))->at;
    return (msec)((uint64_t)leaf->at + ((const struct narrow *)record_at(leaf, i))->at);
}

unsigned pending_leaf_next_of(const struct pending_leaf *leaf, unsigned i, uint32_t consumer)
{
    if (leaf->form != FORM_NARROW) {
        while (i < leaf->count && consumer_at(leaf, i) != consumer)
            i++;
        return i;
    }
    const struct narrow *records = record_at(leaf, 0);
    while (i < leaf->count && records[i].who >> DELIVERIES_BITS != consumer)
        i++;
    return i;
}

struct pending_summary pending_leaf_summary(const struct pending_leaf *leaf)
{
    struct pending_summary summary = PENDING_SUMMARY_NONE;
    for (unsigned i = 0; i < leaf->count; i++) {
        struct pending_record record;
        pending_leaf_get(leaf, i, &record);
        pending_summary_add(&summary, &record);
    }
    return summary;
}

struct pending_summary pending_leaf_summary_without(const struct pending_leaf *leaf,
                                                    const struct pending_summary *before,
                                                    const struct pending_record *gone)
{
    struct pending_summary summary = *before;
    unsigned kind = pending_kind(gone);
    if (gone->at == summary.first[kind]) {
        msec first = NEVER; /* no other record was earlier than gone->at: stop at an equal one */
        for (unsigned i = 0; i < leaf->count && first > gone->at; i++) {
            msec at = instant_at(leaf, i);
            if ((consumer_at(leaf, i) == 0) == (kind == PENDING_RELEASED) && at < first) first = at;
        }
        summary.first[kind] = first;
    }
    if (kind == PENDING_DELIVERED) {
        uint64_t bit = pending_bit(gone->consumer);
        unsigned i = 0;
        while (i < leaf->count && pending_bit(consumer_at(leaf, i)) != bit)
            i++;
        if (i == leaf->count) summary.consumers &= ~bit;
    }
    return summary;
}

static inline bool fits_narrow(uint64_t ms, msec at, const struct pending_record *record)
{
    return record->id.ms >= ms && record->id.ms - ms <= UINT32_MAX &&
           record->id.seq <= UINT32_MAX && (uint64_t)record->at - (uint64_t)at <= UINT32_MAX &&
           record->consumer >> CONSUMER_BITS == 0 && record->deliveries >> DELIVERIES_BITS == 0;
}

static inline bool fits(const struct pending_leaf *leaf, const struct pending_record *record)
{
    if (leaf->form == FORM_NARROW) return fits_narrow(leaf->ms, leaf->at, record);
    return leaf->form == FORM_HUGE || record->deliveries <= UINT32_MAX;
}

static void record_store(struct pending_leaf *leaf, unsigned i, const struct pending_record *record)
{
    if (leaf->form == FORM_NARROW) {
        *(struct narrow *)record_at(leaf, i) = (struct narrow){
            .key = (record->id.ms - leaf->ms) << 32 | record->id.seq,
            .at = (uint32_t)((uint64_t)record->at - (uint64_t)leaf->at),
            .who = record->consumer << DELIVERIES_BITS | (uint32_t)record->deliveries,
        };
        return;
    }
    struct wide *wide = record_at(leaf, i);
    *wide = (struct wide){ record->id, record->at, record->consumer, (uint32_t)record->deliveries };
    if (leaf->form == FORM_HUGE)
        ((struct huge *)(void *)wide)->deliveries_high = record->deliveries >> 32;
}

void pending_leaf_get(const struct pending_leaf *leaf, unsigned i, struct pending_record *record)
{
    if (leaf->form == FORM_NARROW) {
        const struct narrow *narrow = record_at(leaf, i);
        *record = (struct pending_record){
            .id = { leaf->ms + (narrow->key >> 32), (uint32_t)narrow->key },
            .at = (msec)((uint64_t)leaf->at + narrow->at),
            .deliveries = narrow->who & ((1U << DELIVERIES_BITS) - 1),
            .consumer = narrow->who >> DELIVERIES_BITS,
        };
        return;
    }
    const struct wide *wide = record_at(leaf, i);
    *record = (struct pending_record){ wide->id, wide->at, wide->deliveries, wide->consumer };
    if (leaf->form == FORM_HUGE)
        record->deliveries |= ((const struct huge *)(const void *)wide)->deliveries_high << 32;
}

void pending_leaf_read(const struct pending_leaf *leaf, struct pending_record *records)
{
    for (unsigned i = 0; i < leaf->count; i++)
        pending_leaf_get(leaf, i, &records[i]);
}

static unsigned cap_for(unsigned count)
{
    if (count <= 2) return 2;
    if (count <= 4) return 4;
    unsigned cap = (count + CAP_STEP - 1) / CAP_STEP * CAP_STEP;
    return cap < PENDING_LEAF_MAX ? cap : PENDING_LEAF_MAX;
}

/* Makes a leaf without records, of the form and with the bases of `like`. */
static struct pending_leaf *leaf_alloc(const struct pending_leaf *like, unsigned cap, size_t *bytes)
{
    struct pending_leaf *leaf = mem_alloc(sizeof(*leaf) + (size_t)cap * form_sizes[like->form]);
    *leaf = *like;
    leaf->begin = leaf->count = 0;
    leaf->cap = (uint8_t)cap;
    *bytes += mem_size(leaf);
    return leaf;
}

struct pending_leaf *pending_leaf_new(const struct pending_record *records, unsigned count,
                                      size_t *bytes)
{
    ensure(count > 0 && count <= PENDING_LEAF_MAX, "%u records", count);

    /* Choose bases, as if all records were narrow, and the form. */
    msec low = records[0].at, high = low;
    for (unsigned i = 1; i < count; i++) {
        if (records[i].at < low) low = records[i].at;
        if (records[i].at > high) high = records[i].at;
    }
    uint64_t span = (uint64_t)high - (uint64_t)low;
    /* Leave as much room for earlier instants as for later ones. */
    uint64_t below = span <= UINT32_MAX ? (UINT32_MAX - span) / 2 : 0;
    struct pending_leaf like = { .ms = records[0].id.ms,
                                 .at = (msec)((uint64_t)low - below),
                                 .form = FORM_NARROW };
    for (unsigned i = 0; i < count; i++) {
        if (records[i].deliveries > UINT32_MAX) like.form = FORM_HUGE;
        if (like.form == FORM_NARROW && !fits_narrow(like.ms, like.at, &records[i]))
            like.form = FORM_WIDE;
    }

    struct pending_leaf *leaf = leaf_alloc(&like, cap_for(count), bytes);
    for (unsigned i = 0; i < count; i++)
        record_store(leaf, i, &records[i]);
    leaf->count = (uint8_t)count;
    return leaf;
}

void pending_leaf_free(struct pending_leaf *leaf, size_t *bytes)
{
    *bytes -= mem_size(leaf);
    mem_free(leaf);
}

static struct pending_leaf *leaf_resize(struct pending_leaf *old, unsigned cap, size_t *bytes)
{
    struct pending_leaf *leaf = leaf_alloc(old, cap, bytes);
    memcpy(leaf->records, record_at(old, 0), (size_t)old->count * form_sizes[old->form]);
    leaf->count = old->count;
    pending_leaf_free(old, bytes);
    return leaf;
}

unsigned pending_leaf_from(const struct pending_leaf *leaf, struct stream_id id)
{
    unsigned low = 0;
    if (leaf->form != FORM_NARROW) {
        for (unsigned left = leaf->count; left > 0;) {
            unsigned half = (left + 1) / 2;
            const struct wide *wide = record_at(leaf, low + half - 1);
            if (stream_id_before(wide->id, id)) low += half;
            left -= half;
        }
        return low;
    }

    const struct narrow *records = record_at(leaf, 0);
    if (id.ms < leaf->ms) return 0;
    uint64_t after = id.ms - leaf->ms;
    if (after > UINT32_MAX) return leaf->count;
    if (id.seq > UINT32_MAX) { /* no narrow record has such a number: use the next millisecond */
        id.seq = 0;
        after++;
    }
    if (after > UINT32_MAX) return leaf->count;
    uint64_t key = after << 32 | id.seq;
    if (leaf->count == 0 || records[0].key >= key) return 0;
    if (records[leaf->count - 1].key < key) return leaf->count;
    /* Branchless: the branches would be unpredictable. */
    for (unsigned left = leaf->count; left > 0;) {
        unsigned half = (left + 1) / 2;
        low += half * (records[low + half - 1].key < key);
        left -= half;
    }
    return low;
}

/* Makes a new leaf, because `record` does not fit this one's form. The record replaces the i-th one
 * if `replaces`; otherwise it is inserted before the i-th one. */
static struct pending_leaf *leaf_convert(struct pending_leaf *leaf, unsigned i,
                                         const struct pending_record *record, bool replaces,
                                         size_t *bytes)
{
    struct pending_record records[PENDING_LEAF_MAX + 1];
    struct counted_node node = leaf->node;
    unsigned count = leaf->count + !replaces;
    pending_leaf_read(leaf, records);
    if (!replaces) memmove(records + i + 1, records + i, (leaf->count - i) * sizeof(*records));
    records[i] = *record;
    pending_leaf_free(leaf, bytes);
    leaf = pending_leaf_new(records, count, bytes);
    leaf->node = node;
    return leaf;
}

struct pending_leaf *pending_leaf_insert(struct pending_leaf *leaf, unsigned i,
                                         const struct pending_record *record, size_t *bytes)
{
    ensure(leaf->count < PENDING_LEAF_MAX && i <= leaf->count, "%u of %u", i, leaf->count);
    if (!fits(leaf, record)) return leaf_convert(leaf, i, record, false, bytes);
    if (leaf->count == leaf->cap) leaf = leaf_resize(leaf, cap_for(leaf->count + 1U), bytes);

    /* Open a gap at the i-th record, on the shorter side if the leaf has room there. */
    size_t size = form_sizes[leaf->form];
    if (leaf->begin + leaf->count == leaf->cap) {
        memmove(leaf->records, record_at(leaf, 0), leaf->count * size);
        leaf->begin = 0;
    }
    char *first = record_at(leaf, 0);
    if (leaf->begin > 0 && i < leaf->count / 2U) {
        memmove(first - size, first, i * size);
        leaf->begin--;
    } else {
        memmove(first + (i + 1) * size, first + i * size, (leaf->count - i) * size);
    }
    leaf->count++;
    record_store(leaf, i, record);
    return leaf;
}

struct pending_leaf *pending_leaf_set(struct pending_leaf *leaf, unsigned i,
                                      const struct pending_record *record, size_t *bytes)
{
    if (!fits(leaf, record)) return leaf_convert(leaf, i, record, true, bytes);
    record_store(leaf, i, record);
    return leaf;
}

struct pending_leaf *pending_leaf_remove(struct pending_leaf *leaf, unsigned i, size_t *bytes)
{
    size_t size = form_sizes[leaf->form];
    char *first = record_at(leaf, 0);
    leaf->count--;
    if (i <= leaf->count / 2U) {
        memmove(first + size, first, i * size);
        leaf->begin++;
    } else {
        memmove(first + i * size, first + (i + 1) * size, (leaf->count - i) * size);
    }
    /* With hysteresis, so that alternating adds and removals do not reallocate each time. */
    unsigned count = leaf->count;
    if (count == 0 || leaf->cap <= cap_for(count + count / 4 + 2)) return leaf;
    return leaf_resize(leaf, cap_for(count), bytes);
}

void pending_leaf_check(const struct pending_leaf *leaf)
{
    struct pending_record record, last = { 0 };
    ensure(leaf->count > 0 && leaf->begin + leaf->count <= leaf->cap &&
               leaf->cap <= PENDING_LEAF_MAX && leaf->form <= FORM_HUGE,
           "%u records from %u of %u, form %u", leaf->count, leaf->begin, leaf->cap, leaf->form);
    for (unsigned i = 0; i < leaf->count; i++, last = record) {
        pending_leaf_get(leaf, i, &record);
        ensure(i == 0 || stream_id_before(last.id, record.id), "record %u of %u out of order", i,
               leaf->count);
        ensure(consumer_at(leaf, i) == record.consumer && instant_at(leaf, i) == record.at,
               "record %u: consumer %u, at %lld", i, record.consumer, (long long)record.at);
        ensure(pending_leaf_from(leaf, record.id) == i, "record %u is found at %u", i,
               pending_leaf_from(leaf, record.id));
    }
}
