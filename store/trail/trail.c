/* trail: see trail.h. */
#include "store/trail/trail.h"

#include "store/base/ensure.h"
#include "store/base/siphash.h"
#include "store/mem/mem.h"

enum {
    AUTHORS_SHARE = 16, /* one of this many bytes is for authors */
    AUTHORS_MAX = UINT16_MAX,
    BLOCK_HEAD = 64, /* of the allocator */
};

struct trail_record {
    uint64_t hash, when, until, rest;
};

struct trail_slot {
    struct trail_author author;
    uint64_t setter; /* identifies the name and the user; not 0 */
    uint16_t *owner; /* the session's number, or NULL if it has left */
    uint16_t number; /* in records; 0: none */
    msec since;      /* earlier records with this number are of another author */
};

struct trail_whole {
    unsigned db;
    struct trail_event event;
    msec since; /* later than all earlier records of this kind that were dropped */
};

_Static_assert(sizeof(struct trail_record) == 32, "a record of another size");
_Static_assert(TRAIL_WHATS <= 32 && TRAIL_BYS <= 8, "too many for a record");

/* ---- memory ---------------------------------------------------------------------------------- */

struct trail *trail_new(size_t bytes, msec now)
{
    ensure(bytes >= TRAIL_MIN_BYTES, "a trail of %zu bytes", bytes);
    size_t of_authors = bytes / AUTHORS_SHARE / sizeof(struct trail_slot);
    if (of_authors > AUTHORS_MAX) of_authors = AUTHORS_MAX;
    size_t fixed = sizeof(struct trail) + (TRAIL_WHOLES + 1) * sizeof(struct trail_whole) +
                   of_authors * sizeof(struct trail_slot);
    /* `last`, whose size is a power of two, takes at most half of the memory. The rings take what
     * `fixed` leaves of the rest. */
    size_t lasts = 1;
    while (2 * lasts * sizeof(struct trail_record) <= bytes / 2 && lasts < UINT32_MAX / 4)
        lasts *= 2;
    size_t of_ring = TRAIL_RING * sizeof(struct trail_record) + sizeof(msec) + 1;
    size_t rings = (bytes - fixed - BLOCK_HEAD - lasts * sizeof(struct trail_record)) / of_ring;
    if (rings > UINT32_MAX / TRAIL_RING) rings = UINT32_MAX / TRAIL_RING;
    size_t records = (lasts + rings * TRAIL_RING) * sizeof(struct trail_record);
    fixed += rings * sizeof(msec);

    /* Write all of the memory now, so that no later record waits for the kernel to provide a page.
     * That takes about a tenth of a second for 256 MiB, the most that the option allows. */
    struct trail_record *last = mem_try_alloc(records + fixed + rings);
    if (last == NULL) return NULL;
    memset(last, 0, records + fixed + rings);
    struct trail *trail = (struct trail *)(last + lasts + rings * TRAIL_RING);
    trail->last = last;
    trail->rings = last + lasts;
    trail->last_count = (uint32_t)lasts;
    trail->last_mask = (lasts - 1) * sizeof(struct trail_record);
    trail->ring_count = (uint32_t)rings;
    trail->wholes = (struct trail_whole *)(trail + 1);
    trail->authors = (struct trail_slot *)(trail->wholes + TRAIL_WHOLES + 1);
    trail->author_count = (uint32_t)of_authors;
    trail->ring_since = (msec *)(trail->authors + of_authors);
    trail->heads = (uint8_t *)(trail->ring_since + rings);
    trail->since = now;
    trail->wanted = bytes;
    return trail;
}

void trail_free(struct trail *trail)
{
    if (trail == NULL) return;
    for (uint32_t i = 0; i < trail->author_count; i++)
        if (trail->authors[i].owner != NULL) *trail->authors[i].owner = 0;
    mem_free(trail->last);
}

/* ---- authors --------------------------------------------------------------------------------- */

static void copy_text(char *to, size_t room, struct bytes text)
{
    size_t len = text.len < room - 1 ? text.len : room - 1;
    if (len > 0) memcpy(to, text.data, len);
    to[len] = '\0';
}

static struct trail_slot *slot_of(const struct trail *trail, uint16_t number)
{
    uint32_t i = number - 1u;
    if (i >= trail->author_count) i %= trail->author_count; /* seldom: a division is slow */
    return &trail->authors[i];
}

static bool is_text(const char *text, size_t room, struct bytes full)
{
    size_t len = full.len < room - 1 ? full.len : room - 1;
    return strlen(text) == len && (len == 0 || memcmp(text, full.data, len) == 0);
}

uint16_t trail_add_author(struct trail *trail, uint16_t *owner, uint64_t id, struct bytes name,
                          struct bytes user, msec now)
{
    enum { RECENT = 16 };
    uint64_t added = trail->authors_added;
    uint32_t count = trail->author_count, numbers = AUTHORS_MAX / count * count;
    /* A client of a pool may set its name again and again: reuse its slot if it is a recent one. */
    for (uint64_t recent = 1; recent <= added && recent <= count && recent <= RECENT; recent++) {
        struct trail_slot *same = &trail->authors[(added - recent) % count];
        if (same->owner != NULL || same->author.id != id ||
            !is_text(same->author.name, sizeof(same->author.name), name) ||
            !is_text(same->author.user, sizeof(same->author.user), user))
            continue;
        same->owner = owner;
        return *owner = same->number;
    }
    /* Give the slot a new number for each author. Records of the former author then have another
     * number, even after the clock was set back. Numbers repeat once all have been used; `since`
     * then tells records of different authors apart. */
    uint32_t i = (uint32_t)(added % numbers);
    struct trail_slot *slot = &trail->authors[i % count];
    if (slot->owner != NULL) *slot->owner = 0;
    slot->since = added < numbers ? INSTANT_MIN : now;
    slot->number = (uint16_t)(i + 1);
    trail->authors_added++;
    slot->owner = owner;
    slot->author.id = id;
    copy_text(slot->author.name, sizeof(slot->author.name), name);
    copy_text(slot->author.user, sizeof(slot->author.user), user);
    uint64_t of_name = siphash_anew(slot->author.name, strlen(slot->author.name));
    slot->setter =
        trail_member_hash(of_name, siphash_anew(slot->author.user, strlen(slot->author.user))) | 1;
    return *owner = slot->number;
}

void trail_leave(struct trail *trail, uint16_t *owner)
{
    if (*owner == 0) return;
    ensure(trail != NULL, "author %u", *owner);
    struct trail_slot *slot = slot_of(trail, *owner);
    ensure(slot->owner == owner, "author %u of another session", *owner);
    slot->owner = NULL;
    *owner = 0;
}

const struct trail_author *trail_author(const struct trail *trail, const struct trail_event *event)
{
    if (event->author == 0) return NULL;
    const struct trail_slot *slot = slot_of(trail, event->author);
    return event->author == slot->number && event->at >= slot->since ? &slot->author : NULL;
}

/* ---- records --------------------------------------------------------------------------------- */

/* In a record: NEVER, or later than a record can say. */
#define FAR            ((UINT64_C(1) << 48) - 1)
#define UNKNOWN_PACKED ((FAR - 1) << 16) /* in a record: TRAIL_UNKNOWN */

static uint64_t pack_instant(msec at, uint64_t low)
{
    uint64_t instant = (uint64_t)at < FAR ? (uint64_t)at : FAR;
    return instant << 16 | low;
}

static struct trail_record *last_of(const struct trail *trail, uint64_t hash)
{
    return (struct trail_record *)((char *)trail->last + (hash & trail->last_mask));
}

static msec unpack_instant(uint64_t word)
{
    uint64_t instant = word >> 16;
    if (instant == UNKNOWN_PACKED >> 16) return TRAIL_UNKNOWN;
    return instant == FAR ? NEVER : (msec)instant;
}

static enum trail_what what_of(const struct trail_record *record)
{
    return (enum trail_what)(record->when & 31);
}

static struct trail_record pack(uint64_t hash, const struct trail_event *event)
{
    uint64_t low = (uint64_t)event->what | event->option << 5 | (uint64_t)event->by << 9;
    uint64_t rest = event->extra << 16 | event->command;
    if (event->what == TRAIL_SET && event->by != TRAIL_BY_POLICY)
        rest = event->before == TRAIL_UNKNOWN ? UNKNOWN_PACKED | event->command
                                              : pack_instant(event->before, event->command);
    return (struct trail_record){
        .hash = hash,
        .when = pack_instant(event->at, low),
        .until = pack_instant(event->deadline, event->author),
        .rest = rest,
    };
}

static struct trail_event unpack(const struct trail_record *record)
{
    struct trail_event event = {
        .what = what_of(record),
        .option = record->when >> 5 & 15,
        .by = (enum trail_by)(record->when >> 9 & 7),
        .at = unpack_instant(record->when),
        .deadline = unpack_instant(record->until),
        .author = (uint16_t)record->until,
        .command = (uint16_t)record->rest,
    };
    event.before = TRAIL_UNKNOWN;
    if (event.what == TRAIL_SET && event.by != TRAIL_BY_POLICY)
        event.before = unpack_instant(record->rest);
    else
        event.extra = record->rest >> 16;
    return event;
}

static size_t ring_of(const struct trail *trail, uint64_t hash)
{
    return (size_t)((hash >> 32) * trail->ring_count >> 32);
}

static void raise(msec *since, msec at)
{
    if (at > *since) *since = at;
}

static void note_lost(struct trail *trail, const struct trail_record *record)
{
    if (record->hash == 0 || what_of(record) == TRAIL_NONE) return;
    raise(&trail->ring_since[ring_of(trail, record->hash)],
          instant_next(unpack_instant(record->when)));
}

static void push(struct trail *trail, const struct trail_record *record)
{
    size_t ring = ring_of(trail, record->hash);
    struct trail_record *oldest =
        &trail->rings[ring * TRAIL_RING + trail->heads[ring]++ % TRAIL_RING];
    note_lost(trail, oldest);
    *oldest = *record;
}

/* Adds a record that is not an end (trail.h says what it replaces in a full ring). Keys whose
 * deadlines change all the time thus do not push out how other keys ended. */
static void push_weak(struct trail *trail, const struct trail_record *record)
{
    enum { OWN = 3, NOT_FOUND = TRAIL_RING };
    size_t ring = ring_of(trail, record->hash);
    struct trail_record *records = &trail->rings[ring * TRAIL_RING];
    if (records[trail->heads[ring] % TRAIL_RING].hash == 0) {
        push(trail, record); /* there is room */
        return;
    }
    unsigned head = trail->heads[ring], own = 0, oldest_weak = NOT_FOUND, oldest_own = NOT_FOUND;
    for (unsigned i = TRAIL_RING; i-- > 0;) {
        const struct trail_record *old = &records[(head + i) % TRAIL_RING];
        if (!trail_is_end(what_of(old))) oldest_weak = i;
        if (old->hash != record->hash) continue;
        oldest_own = i;
        own++;
    }
    unsigned slot = own >= OWN ? oldest_own : oldest_weak;
    note_lost(trail, slot == NOT_FOUND ? record : &records[(head + slot) % TRAIL_RING]);
    if (slot == NOT_FOUND) return;
    for (; slot < TRAIL_RING - 1; slot++)
        records[(head + slot) % TRAIL_RING] = records[(head + slot + 1) % TRAIL_RING];
    records[(head + slot) % TRAIL_RING] = *record;
}

static bool is_about(const struct trail_whole *whole, unsigned db)
{
    return whole->db == db || whole->db == TRAIL_ALL_DATABASES;
}

/* Returns the deadline that this record and later changes of the whole database leave, or
 * TRAIL_UNKNOWN if that is unclear. */
static msec deadline_after(const struct trail *trail, const struct trail_record *last, unsigned db)
{
    msec at = unpack_instant(last->when), deadline = unpack_instant(last->until);
    if (last->when > trail->changed_when) return deadline;
    if (at < trail->wholes_since) return TRAIL_UNKNOWN;
    for (uint32_t i = 0; i < trail->whole_count; i++) {
        const struct trail_whole *whole = &trail->wholes[i];
        if (!is_about(whole, db) || whole->event.at < at) continue;
        bool is_clear = whole->event.what == TRAIL_FLUSHED && whole->event.at > at;
        if (!is_clear) return TRAIL_UNKNOWN; /* a millisecond may contain both, in any order */
        deadline = NEVER;
    }
    return deadline;
}

/* Identifies the name and user of a record's author; 0 if the author is not known. */
static uint64_t setter_of(const struct trail *trail, const struct trail_record *record)
{
    uint16_t author = (uint16_t)record->until;
    if (author == 0) return 0;
    const struct trail_slot *slot = slot_of(trail, author);
    bool is_known = author == slot->number && (msec)(record->when >> 16) >= slot->since;
    return is_known ? slot->setter : 0;
}

static bool is_same_setter(const struct trail *trail, const struct trail_record *a,
                           const struct trail_record *b)
{
    if ((uint16_t)(a->when ^ b->when) != 0 || (uint16_t)(a->rest ^ b->rest) != 0) return false;
    if ((a->when >> 9 & 7) == TRAIL_BY_POLICY) return a->rest == b->rest;
    if ((uint16_t)(a->until ^ b->until) == 0) return true;
    uint64_t setter = setter_of(trail, a);
    return setter != 0 && setter == setter_of(trail, b);
}

static inline void replace(struct trail *trail, struct trail_record *last,
                           const struct trail_record *record)
{
    if (last->hash != record->hash)
        note_lost(trail, last);
    else if (what_of(last) == TRAIL_SET &&
             (last->when <= trail->changed_when || !is_same_setter(trail, last, record)))
        push_weak(trail, last);
    /* By fields, which are in registers: a copy of the struct would wait for their way to memory.
     */
    last->hash = record->hash;
    last->when = record->when;
    last->until = record->until;
    last->rest = record->rest;
}

void trail_set(struct trail *trail, uint64_t hash, unsigned db, const struct trail_event *event)
{
    struct trail_record *last = last_of(trail, hash);
    struct trail_event next = *event;
    if (last->hash == hash && next.before == TRAIL_UNKNOWN)
        next.before = deadline_after(trail, last, db);
    struct trail_record record = pack(hash, &next);
    replace(trail, last, &record);
}

void trail_set_by(struct trail *trail, uint64_t hash, unsigned db, msec now, msec at, uint32_t by)
{
    struct trail_record *last = last_of(trail, hash);
    uint64_t before = UNKNOWN_PACKED;
    if (last->hash == hash) {
        before = last->until & ~(uint64_t)UINT16_MAX;
        if (last->when <= trail->changed_when) {
            msec deadline = deadline_after(trail, last, db);
            before = deadline == TRAIL_UNKNOWN ? UNKNOWN_PACKED : pack_instant(deadline, 0);
        }
    }
    struct trail_record record = {
        .hash = hash,
        .when = pack_instant(now, TRAIL_SET),
        .until = pack_instant(at, by >> 16),
        .rest = before | (uint16_t)by,
    };
    replace(trail, last, &record);
}

void trail_add(struct trail *trail, uint64_t hash, const struct trail_event *event)
{
    struct trail_record *last = last_of(trail, hash);
    struct trail_record record = pack(hash, event);
    void (*add)(struct trail *, const struct trail_record *) =
        trail_is_end(event->what) ? push : push_weak;
    if (last->hash == hash) {
        if (what_of(last) == TRAIL_SET) add(trail, last);
        /* The next trail_set looks up NEVER as the deadline before. */
        struct trail_event none = { .at = event->at, .deadline = NEVER };
        *last = pack(hash, &none);
    }
    add(trail, &record);
}

void trail_add_again(struct trail *trail, uint64_t hash, const struct trail_event *event)
{
    size_t ring = ring_of(trail, hash);
    struct trail_record record = pack(hash, event);
    struct trail_record *newest =
        &trail->rings[ring * TRAIL_RING + (uint8_t)(trail->heads[ring] - 1) % TRAIL_RING];
    bool is_same = newest->hash == hash && (uint16_t)newest->when == (uint16_t)record.when &&
                   newest->rest == record.rest;
    if (is_same)
        *newest = record;
    else
        push_weak(trail, &record);
}

/* Returns the next record of the same kind about the same database, or 0. */
static uint32_t next_of_kind(const struct trail *trail, uint32_t i)
{
    const struct trail_whole *whole = &trail->wholes[i];
    for (uint32_t j = i + 1; j < trail->whole_count; j++)
        if (trail->wholes[j].db == whole->db && trail->wholes[j].event.what == whole->event.what)
            return j;
    return 0;
}

/* If there are too many, drops the oldest record that has a successor of its kind, or else the
 * oldest. */
void trail_add_whole(struct trail *trail, unsigned db, const struct trail_event *event)
{
    struct trail_whole *wholes = trail->wholes;
    wholes[trail->whole_count++] = (struct trail_whole){ db, *event, INSTANT_MIN };
    if (trail->whole_count > TRAIL_WHOLES) {
        uint32_t i = 0, later = 0;
        while (i < TRAIL_WHOLES && (later = next_of_kind(trail, i)) == 0)
            i++;
        if (i == TRAIL_WHOLES) i = 0;
        msec *since = later != 0 ? &wholes[later].since : &trail->wholes_since;
        raise(since, instant_next(wholes[i].event.at));
        raise(since, wholes[i].since);
        trail->whole_count--;
        memmove(&wholes[i], &wholes[i + 1], (trail->whole_count - i) * sizeof(*wholes));
    }
    trail->changed_when = pack_instant(event->at, UINT16_MAX);
}

void trail_replaced(struct trail *trail, msec now)
{
    const struct trail_event event = {
        .what = TRAIL_REPLACED, .by = TRAIL_BY_MASTER, .at = now, .deadline = NEVER
    };
    if (trail != NULL) trail_add_whole(trail, TRAIL_ALL_DATABASES, &event);
}

/* ---- questions ------------------------------------------------------------------------------- */

/* Adds an event behind those that are not older, so that the newest come first. */
static size_t insert(struct trail_event *events, size_t count, const struct trail_event *event)
{
    size_t i = count;
    while (i > 0 && events[i - 1].at < event->at)
        i--;
    memmove(&events[i + 1], &events[i], (count - i) * sizeof(*events));
    events[i] = *event;
    return count + 1;
}

size_t trail_find(const struct trail *trail, uint64_t hash, unsigned db, struct trail_event *events,
                  msec *since, bool *shared)
{
    const struct trail_record *last = last_of(trail, hash);
    size_t ring = ring_of(trail, hash), count = 0;
    uint8_t head = trail->heads[ring];
    *shared = false;
    *since = trail->since;
    raise(since, trail->ring_since[ring]);
    raise(since, trail->wholes_since);

    if (last->hash == hash && what_of(last) == TRAIL_SET) {
        const struct trail_event event = unpack(last);
        count = insert(events, count, &event);
    } else if (last->hash != hash && last->hash != 0) {
        *shared |= (uint32_t)last->hash == (uint32_t)hash;
    }
    for (unsigned i = 1; i <= TRAIL_RING; i++) {
        const struct trail_record *record =
            &trail->rings[ring * TRAIL_RING + (uint8_t)(head - i) % TRAIL_RING];
        if (record->hash == hash) {
            const struct trail_event event = unpack(record);
            count = insert(events, count, &event);
        } else if (record->hash != 0) {
            *shared |= (uint32_t)record->hash == (uint32_t)hash;
        }
    }
    for (uint32_t i = trail->whole_count; i-- > 0;) {
        const struct trail_whole *whole = &trail->wholes[i];
        if (!is_about(whole, db)) continue;
        raise(since, whole->since);
        count = insert(events, count, &whole->event);
    }
    return count;
}

enum trail_what trail_end_of(const struct trail *trail, uint64_t hash, unsigned db)
{
    size_t ring = ring_of(trail, hash);
    uint8_t head = trail->heads[ring];
    const struct trail_record *newest = last_of(trail, hash);
    /* A deadline in `last` was set after all ends of the name in the ring. */
    bool is_last = newest->hash == hash && what_of(newest) == TRAIL_SET;
    if (!is_last) newest = NULL;
    for (unsigned i = 1; i <= TRAIL_RING && newest == NULL; i++) {
        const struct trail_record *record =
            &trail->rings[ring * TRAIL_RING + (uint8_t)(head - i) % TRAIL_RING];
        if (record->hash == hash) newest = record;
    }
    if (newest == NULL) return TRAIL_NONE;
    if (trail_is_expiry(what_of(newest), newest->rest >> 16)) return TRAIL_EXPIRED;
    if (trail_is_end(what_of(newest))) return what_of(newest);

    for (uint32_t i = 0; i < trail->whole_count && newest->when <= trail->changed_when; i++) {
        const struct trail_whole *whole = &trail->wholes[i];
        if (is_about(whole, db) && whole->event.what == TRAIL_FLUSHED &&
            whole->event.at >= unpack_instant(newest->when))
            return TRAIL_FLUSHED;
    }
    return TRAIL_NONE;
}
