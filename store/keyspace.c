/* keyspace: see keyspace.h. A dict of entries, and agendas of their nodes. */
#include "store/keyspace.h"

#include <assert.h>

#include "store/base/ensure.h"
#include "store/base/prefetch.h"
#include "store/base/siphash.h"
#include "store/mem/mem.h"
#include "store/type/drained.h"

enum {
    VOLATILE_LOOKS = 64, /* nodes of KEY_INNER_FIRST that keyspace_first_volatile checks */
    ALIVE_TRIES = 100,   /* draws of keyspace_random_alive, if expired keys are not hidden */
};

static struct bytes entry_dict_key(const void *element)
{
    return entry_key(element);
}

static const struct dict_type entries = { .key = entry_dict_key };

static_assert(sizeof(struct entry) == 20, "struct entry has padding");

static struct entry *entry_of(struct deadline *d)
{
    return (struct entry *)((char *)d - offsetof(struct entry, deadline));
}

static bool is_for_volatile(unsigned kind)
{
    return kind == KEY_OWN_FIRST || kind == KEY_INNER_FIRST || kind == KEY_PARTLY ||
           kind == KEY_GONE;
}

static bool is_to_hide(unsigned kind)
{
    return kind != KEY_GONE && kind != KEY_GONE_INNER;
}

/* ---- the key's own deadline ----------------------------------------------------------------- */

/* Returns where an entry whose type may have deadlines inside stores its own deadline. */
static char *own_deadline_address(const struct entry *entry)
{
    struct bytes key = entry_key(entry);
    return (char *)(uintptr_t)key.data + key.len;
}

static msec own_deadline(const struct entry *entry)
{
    msec at;
    memcpy(&at, own_deadline_address(entry), sizeof(at));
    return at;
}

static void put_own_deadline(struct entry *entry, msec at)
{
    if (type_may_have_expiry(entry->object.type))
        memcpy(own_deadline_address(entry), &at, sizeof(at));
}

static bool hidden_in(const struct keyspace *ks, const struct entry *entry, unsigned kind)
{
    return agenda_has(&ks->agendas[kind], &entry->deadline);
}

/* A keyspace's agendas are ordered by the instants at which keys are due, not by deadlines. */
static struct due_at due_in(const struct agenda *agenda, const struct deadline *node)
{
    return due_at_instant(agenda_at(agenda, node));
}

msec entry_expires_at(const struct keyspace *ks, const struct entry *entry)
{
    if (type_may_have_expiry(entry->object.type)) return own_deadline(entry);
    if (!deadline_armed(&entry->deadline)) return NEVER;
    bool is_gone = ks->hidden > 0 && hidden_in(ks, entry, KEY_GONE);
    enum key_kind kind = is_gone ? KEY_GONE : KEY_OWN_FIRST;
    return due_at_deadline(due_in(&ks->agendas[kind], &entry->deadline));
}

static bool is_volatile(const struct keyspace *ks, const struct entry *entry)
{
    return entry_expires_at(ks, entry) != NEVER;
}

static struct due_at due_inside(const struct entry *entry)
{
    return entry->object.has_expiry ? object_next_due(&entry->object) : DUE_AT_NEVER;
}

static struct due_at next_due_of(struct due_at inside, msec expires_at)
{
    struct due_at own = due_at_expiry(expires_at);
    return due_at_before(inside, own) ? inside : own;
}

static enum key_kind kind_of(msec expires_at, struct due_at next_due)
{
    if (expires_at == NEVER) return KEY_INNER_ONLY;
    return due_at_before(next_due, due_at_expiry(expires_at)) ? KEY_INNER_FIRST : KEY_OWN_FIRST;
}

/* Returns the agenda that contains the entry's node, if the node is armed. The agenda is found from
 * the key's own deadline, so call this before that changes; changes of the value's deadlines do not
 * matter. */
static struct agenda *agenda_of(struct keyspace *ks, const struct entry *entry)
{
    for (unsigned kind = KEY_SHOWN_KINDS; ks->hidden > 0 && kind < KEY_KINDS; kind++)
        if (hidden_in(ks, entry, kind)) return &ks->agendas[kind];
    if (!type_may_have_expiry(entry->object.type)) return &ks->agendas[KEY_OWN_FIRST];
    if (own_deadline(entry) == NEVER) return &ks->agendas[KEY_INNER_ONLY];
    struct agenda *changes = &ks->agendas[KEY_INNER_FIRST];
    return agenda_has(changes, &entry->deadline) ? changes : &ks->agendas[KEY_OWN_FIRST];
}

static struct due_at earliest_due(const struct keyspace *ks)
{
    struct due_at first = ks->hidden_since;
    for (unsigned kind = 0; kind < KEY_SHOWN_KINDS; kind++) {
        struct due_at next = due_at_instant(agenda_next(&ks->agendas[kind]));
        if (due_at_before(next, first)) first = next;
    }
    return first;
}

/* Counts the hidden keys again, after nodes have left their agendas. */
static void count_hidden(struct keyspace *ks)
{
    ks->hidden = 0;
    for (unsigned kind = KEY_SHOWN_KINDS; kind < KEY_KINDS; kind++)
        ks->hidden += agenda_count(&ks->agendas[kind]);
    if (ks->hidden == 0) ks->hidden_since = DUE_AT_NEVER;
}

/* Moves the node (in `from`, if armed) to the right agenda and instant. */
static void arm(struct keyspace *ks, struct entry *entry, struct agenda *from, msec expires_at,
                struct due_at inside)
{
    struct deadline *node = &entry->deadline;
    struct due_at next_due = next_due_of(inside, expires_at);
    struct agenda *to = &ks->agendas[kind_of(expires_at, next_due)];
    bool is_never = due_at_is_never(next_due);
    if (to != from || is_never) agenda_cancel(from, node);
    if (!is_never && !(deadline_armed(node) && due_at_equal(due_in(to, node), next_due)))
        agenda_move(to, node, next_due.at);
    if (ks->hidden > 0) count_hidden(ks);
    ks->next_due = earliest_due(ks);
}

/* ---- entries --------------------------------------------------------------------------------- */

size_t entry_bytes(const struct entry *entry)
{
    return mem_size(entry) + object_bytes(&entry->object);
}

void keyspace_init(struct keyspace *ks, unsigned db)
{
    dict_init(&ks->dict, &entries);
    for (unsigned kind = 0; kind < KEY_KINDS; kind++)
        agenda_init(&ks->agendas[kind]);
    ks->next_due = ks->hidden_since = DUE_AT_NEVER;
    ks->hidden_until = INT64_MIN;
    ks->hidden = 0;
    ks->db = db;
    ks->refreshers = NULL;
    ks->drained = NULL;
}

void keyspace_drop(struct keyspace *ks)
{
    struct entry *entry;
    while ((entry = dict_take(&ks->dict)) != NULL) {
        object_free(&entry->object);
        mem_free(entry);
    }
    dict_drop(&ks->dict);
    for (unsigned kind = 0; kind < KEY_KINDS; kind++)
        agenda_drop(&ks->agendas[kind]);
    if (ks->refreshers != NULL) hash_free(ks->refreshers);
    drained_free(ks->drained);
}

struct entry *keyspace_find(const struct keyspace *ks, struct bytes key)
{
    return dict_find(&ks->dict, key);
}

struct entry *keyspace_find_hashed(const struct keyspace *ks, struct bytes key, uint64_t hash)
{
    return dict_find_hashed(&ks->dict, key, hash);
}

uint64_t keyspace_hint_bucket(const struct keyspace *ks, struct bytes key)
{
    return dict_hint_bucket(&ks->dict, key);
}

void keyspace_hint_hashed(const struct keyspace *ks, uint64_t hash)
{
    dict_hint_hashed(&ks->dict, hash);
}

const struct entry *keyspace_hint_entry(const struct keyspace *ks, uint64_t hash)
{
    return dict_hint_element(&ks->dict, hash);
}

const struct entry *keyspace_hint_overflow(const struct keyspace *ks, uint64_t hash)
{
    return dict_hint_overflow(&ks->dict, hash);
}

void keyspace_hint_value(const struct entry *entry)
{
    if (!entry->object.is_small) prefetch(entry->object.any);
}

void keyspace_hint_deadline(const struct keyspace *ks, const struct entry *entry)
{
    agenda_hint_move(&ks->agendas[KEY_OWN_FIRST], &entry->deadline);
}

static size_t entry_size(size_t key_len, enum type type)
{
    size_t apart = key_len < ENTRY_LONG ? 0 : sizeof(uint32_t);
    return sizeof(struct entry) + apart + key_len + (type_may_have_expiry(type) ? sizeof(msec) : 0);
}

static struct entry *entry_new(struct bytes key, struct object object)
{
    ensure(key.len <= UINT32_MAX, "key of %zu bytes", key.len);
    uint32_t len = (uint32_t)key.len;
    struct entry *entry = mem_alloc_tight(entry_size(len, object.type));
    char *tail = entry->tail;
    entry->object = object;
    entry->object.key_len = len < ENTRY_LONG ? (uint8_t)len : ENTRY_LONG;
    entry->object.is_set_here = entry->object.was_read = false; /* may be those of another key */
    entry->accessed = 0;
    deadline_init(&entry->deadline);
    if (len >= ENTRY_LONG) tail = (char *)memcpy(tail, &len, sizeof(len)) + sizeof(len);
    if (len > 0) memcpy(tail, key.data, len);
    return entry;
}

struct entry *keyspace_add(struct keyspace *ks, struct bytes key, struct object object)
{
    struct entry *entry = entry_new(key, object);
    put_own_deadline(entry, NEVER);
    /* The hash of the caller's key may be known already, unlike that of the copy. */
    dict_add_hashed(&ks->dict, entry, siphash(key.data, key.len));
    if (object.has_expiry) keyspace_rearm(ks, entry);
    return entry;
}

struct object keyspace_remove(struct keyspace *ks, struct entry *entry)
{
    struct object object = entry->object;
    agenda_cancel(agenda_of(ks, entry), &entry->deadline);
    if (ks->hidden > 0) count_hidden(ks);
    ks->next_due = earliest_due(ks);
    dict_remove(&ks->dict, entry_key(entry));
    mem_free(entry);
    return object;
}

struct entry *keyspace_replace(struct keyspace *ks, struct entry *entry, struct object object)
{
    msec at = entry_expires_at(ks, entry);
    struct agenda *agenda = agenda_of(ks, entry);
    if (type_may_have_expiry(object.type) != type_may_have_expiry(entry->object.type)) {
        struct entry *old = entry;
        entry = entry_new(entry_key(old), object);
        entry->object.is_set_here = old->object.is_set_here;
        entry->object.was_read = old->object.was_read;
        entry->accessed = old->accessed;
        entry->deadline = old->deadline;
        if (deadline_armed(&entry->deadline)) agenda_moved(agenda, &entry->deadline);
        mem_free(old);
        dict_moved(&ks->dict, old, entry);
    }
    object_assign(&entry->object, object);
    put_own_deadline(entry, at);
    arm(ks, entry, agenda, at, due_inside(entry));
    return entry;
}

void keyspace_set_deadline(struct keyspace *ks, struct entry *entry, msec at)
{
    ensure(instant_ok(at) || at == NEVER, "deadline %lld out of range", (long long)at);
    struct agenda *agenda = agenda_of(ks, entry);
    put_own_deadline(entry, at);
    arm(ks, entry, agenda, at, due_inside(entry));
}

void keyspace_rearm(struct keyspace *ks, struct entry *entry)
{
    struct due_at inside = object_next_due(&entry->object);
    entry->object.has_expiry = !due_at_is_never(inside);
    arm(ks, entry, agenda_of(ks, entry), entry_expires_at(ks, entry), inside);
}

/* ---- hidden keys ----------------------------------------------------------------------------- */

/* Returns the first instant at which the whole key has expired. */
static struct due_at whole_due(const struct keyspace *ks, const struct entry *entry)
{
    msec all = entry->object.has_expiry ? object_all_expire_at(&entry->object) : NEVER;
    return next_due_of(due_at_expiry(all), entry_expires_at(ks, entry));
}

static void move_back(struct keyspace *ks, struct entry *entry)
{
    arm(ks, entry, agenda_of(ks, entry), entry_expires_at(ks, entry), due_inside(entry));
}

void keyspace_changed(struct keyspace *ks, struct bytes key)
{
    if (ks->hidden == 0) return;
    struct entry *entry = keyspace_find(ks, key);
    if (entry != NULL) move_back(ks, entry);
}

static void hide_first(struct keyspace *ks, unsigned kind, unsigned to, struct due_at due)
{
    struct agenda *from = &ks->agendas[kind];
    struct deadline *node = agenda_first(from);
    agenda_cancel(from, node);
    agenda_add(&ks->agendas[to], node, due.at);
}

static bool hide_one(struct keyspace *ks, msec now)
{
    for (unsigned kind = 0; kind < KEY_KINDS; kind++) {
        msec at = agenda_next(&ks->agendas[kind]);
        if (!is_to_hide(kind) || !instant_due(at, now)) continue;
        struct due_at due = due_at_instant(at);
        if (kind >= KEY_SHOWN_KINDS) { /* the rest of a partly expired key */
            hide_first(ks, kind, kind == KEY_PARTLY ? KEY_GONE : KEY_GONE_INNER, due);
            return true;
        }
        struct due_at whole = whole_due(ks, entry_of(agenda_first(&ks->agendas[kind])));
        bool has_gone = due_at_come(whole, now);
        if (kind == KEY_INNER_ONLY)
            hide_first(ks, kind, has_gone ? KEY_GONE_INNER : KEY_PARTLY_INNER, whole);
        else
            hide_first(ks, kind, has_gone ? KEY_GONE : KEY_PARTLY, whole);
        if (due_at_before(due, ks->hidden_since)) ks->hidden_since = due;
        ks->hidden++;
        return true;
    }
    return false;
}

size_t keyspace_hide(struct keyspace *ks, msec now, size_t most)
{
    size_t done = now < ks->hidden_until ? keyspace_reveal(ks, most) : 0;
    if (ks->hidden > 0 && now < ks->hidden_until) return done;
    ks->hidden_until = now;
    while (done < most && hide_one(ks, now))
        done++;
    ks->next_due = earliest_due(ks);
    return done;
}

size_t keyspace_reveal(struct keyspace *ks, size_t most)
{
    size_t done = 0;
    for (unsigned kind = KEY_SHOWN_KINDS; kind < KEY_KINDS; kind++)
        for (; done < most && agenda_count(&ks->agendas[kind]) > 0; done++)
            move_back(ks, entry_of(agenda_first(&ks->agendas[kind])));
    return done;
}

struct due_at keyspace_next_to_hide(const struct keyspace *ks)
{
    struct due_at first = DUE_AT_NEVER;
    for (unsigned kind = 0; kind < KEY_KINDS; kind++) {
        struct due_at next = due_at_instant(agenda_next(&ks->agendas[kind]));
        if (is_to_hide(kind) && due_at_before(next, first)) first = next;
    }
    return first;
}

/* ---- expired and due keys -------------------------------------------------------------------- */

bool entry_expired(const struct keyspace *ks, const struct entry *entry, msec now)
{
    if (!due_at_come(ks->next_due, now)) return false;
    if (instant_expired(entry_expires_at(ks, entry), now)) return true;
    return entry->object.has_expiry && object_all_expired(&entry->object, now);
}

struct delivery_tally keyspace_drained(const struct keyspace *ks, struct bytes key, msec now)
{
    const struct entry *entry = keyspace_find(ks, key);
    bool is_over = entry != NULL && entry->object.type == TYPE_DEHYDRATOR &&
                   !instant_expired(entry_expires_at(ks, entry), now) &&
                   object_all_expired(&entry->object, now);
    if (is_over) return *dehydrator_tally(entry->object.dehydrator);
    if (entry != NULL || ks->drained == NULL) return (struct delivery_tally){ 0 };
    return drained_find(ks->drained, key, now);
}

struct entry *keyspace_first_due(const struct keyspace *ks, msec now)
{
    ensure(ks->hidden == 0, "%u keys are hidden", ks->hidden);
    if (!due_at_come(ks->next_due, now)) return NULL;
    unsigned kind = 0;
    while (agenda_next(&ks->agendas[kind]) != ks->next_due.at)
        kind++;
    return entry_of(agenda_first(&ks->agendas[kind]));
}

size_t keyspace_table_bytes(const struct keyspace *ks)
{
    return dict_bytes(&ks->dict);
}

size_t keyspace_agenda_bytes(const struct keyspace *ks)
{
    size_t bytes = 0;
    for (unsigned kind = 0; kind < KEY_KINDS; kind++)
        bytes += agenda_bytes(&ks->agendas[kind]);
    return bytes;
}

/* ---- scanning and relocating ----------------------------------------------------------------- */

struct scan {
    void (*visit)(void *ctx, struct entry *entry);
    void *ctx;
};

static void visit_scanned_entry(void *ctx, void *element)
{
    struct scan *scan = ctx;
    scan->visit(scan->ctx, element);
}

uint64_t keyspace_scan(const struct keyspace *ks, uint64_t cursor,
                       void (*visit)(void *ctx, struct entry *entry), void *ctx)
{
    struct scan scan = { visit, ctx };
    return dict_scan(&ks->dict, cursor, visit_scanned_entry, &scan);
}

struct relocating {
    struct keyspace *ks;
    struct relocation *relocation;
    struct scan scan;
};

static void *entry_relocate(void *ctx, void *old)
{
    const struct relocating *relocating = ctx;
    struct entry *entry = relocation_copy(relocating->relocation, old);
    if (entry != NULL) {
        if (deadline_armed(&entry->deadline))
            agenda_moved(agenda_of(relocating->ks, old), &entry->deadline);
        mem_free(old);
    } else {
        entry = old;
    }
    relocating->scan.visit(relocating->scan.ctx, entry);
    return entry;
}

uint64_t keyspace_relocate(struct keyspace *ks, uint64_t cursor, struct relocation *relocation,
                           void (*visit)(void *ctx, struct entry *entry), void *ctx)
{
    struct relocating relocating = { ks, relocation, { visit, ctx } };
    return dict_relocate(&ks->dict, cursor, relocation, entry_relocate, &relocating);
}

/* ---- walking in order of due time ------------------------------------------------------------ */

struct visits {
    bool (*visit)(void *ctx, const struct entry *entry, struct due_at due);
    void *ctx;
    bool stopped;
};

static bool visit_due_node(void *ctx, struct deadline *d, msec at)
{
    struct visits *visits = ctx;
    visits->stopped = !visits->visit(visits->ctx, entry_of(d), due_at_instant(at));
    return !visits->stopped;
}

void keyspace_each_until(const struct keyspace *ks, msec until,
                         bool (*visit)(void *ctx, const struct entry *entry, struct due_at due),
                         void *ctx)
{
    struct visits visits = { visit, ctx, false };
    for (unsigned kind = 0; kind < KEY_SHOWN_KINDS && !visits.stopped; kind++)
        agenda_each_until(&ks->agendas[kind], until, visit_due_node, &visits);
    /* A hidden key's node may be armed later than the key is due. */
    for (unsigned kind = KEY_SHOWN_KINDS; kind < KEY_KINDS; kind++) {
        const struct agenda *agenda = &ks->agendas[kind];
        for (uint32_t i = 0; i < agenda_count(agenda) && !visits.stopped; i++) {
            struct deadline *node = agenda_nth(agenda, i);
            const struct entry *entry = entry_of(node);
            struct due_at due = next_due_of(due_inside(entry), entry_expires_at(ks, entry));
            if (due_at_come(due, until)) visit_due_node(&visits, node, due.at);
        }
    }
}

void keyspace_each_partly(const struct keyspace *ks, msec now,
                          bool (*visit)(void *ctx, const struct entry *entry, struct due_at due),
                          void *ctx)
{
    struct visits visits = { visit, ctx, false };
    for (unsigned kind = 0; kind < KEY_SHOWN_KINDS && !visits.stopped; kind++)
        agenda_each_until(&ks->agendas[kind], now, visit_due_node, &visits);
    for (unsigned kind = KEY_PARTLY; kind <= KEY_PARTLY_INNER && !visits.stopped; kind++)
        agenda_each_until(&ks->agendas[kind], NEVER, visit_due_node, &visits);
}

void keyspace_each(const struct keyspace *ks,
                   bool (*visit)(void *ctx, const struct keyspace *ks, const struct entry *entry),
                   void *ctx)
{
    struct dict_iter iter;
    const struct entry *entry;
    dict_iter_begin(&iter, &ks->dict);
    while ((entry = dict_iter_next(&iter)) != NULL && visit(ctx, ks, entry))
        continue;
}

static void walk_advance(struct keyspace_walk *walk, unsigned kind)
{
    msec at = NEVER;
    walk->next[kind] = agenda_walk_next(&walk->walks[kind], &at);
    walk->due[kind] = due_at_instant(at);
}

void keyspace_walk_begin(struct keyspace_walk *walk, const struct keyspace *ks)
{
    for (unsigned kind = 0; kind < KEY_SHOWN_KINDS; kind++) {
        agenda_walk_begin(&walk->walks[kind], &ks->agendas[kind]);
        walk_advance(walk, kind);
    }
}

const struct entry *keyspace_walk_next(struct keyspace_walk *walk, struct due_at *due)
{
    struct deadline *first = NULL;
    unsigned from = 0;
    for (unsigned kind = 0; kind < KEY_SHOWN_KINDS; kind++) {
        if (walk->next[kind] == NULL) continue;
        if (first != NULL && !due_at_before(walk->due[kind], *due)) continue;
        first = walk->next[kind];
        *due = walk->due[kind];
        from = kind;
    }
    if (first == NULL) return NULL;
    walk_advance(walk, from);
    return entry_of(first);
}

void keyspace_walk_end(struct keyspace_walk *walk)
{
    for (unsigned kind = 0; kind < KEY_SHOWN_KINDS; kind++)
        agenda_walk_end(&walk->walks[kind]);
}

/* ---- counting -------------------------------------------------------------------------------- */

struct due_count {
    size_t count, most;
};

static bool count_due_one(void *ctx, const struct entry *entry, struct due_at at)
{
    (void)entry;
    (void)at;
    struct due_count *due = ctx;
    return ++due->count < due->most;
}

size_t keyspace_count_due(const struct keyspace *ks, msec now, size_t most)
{
    struct due_count due = { 0, most };
    if (due_at_come(ks->next_due, now) && most > 0)
        keyspace_each_until(ks, now, count_due_one, &due);
    return due.count;
}

static bool count_node(void *ctx, struct deadline *d, msec at)
{
    (void)d;
    (void)at;
    struct due_count *nodes = ctx;
    return ++nodes->count < nodes->most;
}

size_t keyspace_count_to_hide(const struct keyspace *ks, msec now, size_t most)
{
    struct due_count nodes = { 0, most };
    if (now < ks->hidden_until && ks->hidden > 0) nodes.count = ks->hidden;
    for (unsigned kind = 0; kind < KEY_KINDS && nodes.count < most; kind++)
        if (is_to_hide(kind)) agenda_each_until(&ks->agendas[kind], now, count_node, &nodes);
    return nodes.count < most ? nodes.count : most;
}

size_t keyspace_count_partly(const struct keyspace *ks, msec now, size_t most)
{
    struct due_count nodes = { agenda_count(&ks->agendas[KEY_PARTLY]), most };
    nodes.count += agenda_count(&ks->agendas[KEY_PARTLY_INNER]);
    if (ks->hidden > 0 && now < ks->hidden_until) return most;
    for (unsigned kind = 0; kind < KEY_SHOWN_KINDS && nodes.count < most; kind++)
        agenda_each_until(&ks->agendas[kind], now, count_node, &nodes);
    return nodes.count < most ? nodes.count : most;
}

struct expired_count {
    const struct keyspace *ks;
    msec now;
    size_t count; /* expired keys in one agenda */
};

static bool count_expired_one(void *ctx, struct deadline *d, msec at)
{
    (void)at;
    struct expired_count *expired = ctx;
    expired->count += entry_expired(expired->ks, entry_of(d), expired->now);
    return true;
}

static size_t count_expired(const struct keyspace *ks, unsigned kind, msec now)
{
    if (!is_to_hide(kind) && now >= ks->hidden_until) return agenda_count(&ks->agendas[kind]);
    struct expired_count expired = { .ks = ks, .now = now };
    agenda_each_until(&ks->agendas[kind], now, count_expired_one, &expired);
    return expired.count;
}

size_t keyspace_count_alive(const struct keyspace *ks, msec now)
{
    size_t count = dict_count(&ks->dict);
    for (unsigned kind = 0; kind < KEY_KINDS; kind++)
        count -= count_expired(ks, kind, now);
    return count;
}

size_t keyspace_count_volatile_alive(const struct keyspace *ks, msec now)
{
    size_t count = keyspace_count_volatile(ks);
    for (unsigned kind = 0; kind < KEY_KINDS; kind++)
        if (is_for_volatile(kind)) count -= count_expired(ks, kind, now);
    return count;
}

/* ---- choosing -------------------------------------------------------------------------------- */

/* Takes the earliest of the first keys of three agendas, then walks the fourth, KEY_INNER_FIRST,
 * for a better one. There each node is armed at a deadline inside, which is earlier than the key's
 * own. Once the walk reaches the best deadline found so far, no later node can have an earlier
 * one. */
struct entry *keyspace_first_volatile(const struct keyspace *ks)
{
    static const enum key_kind kinds[] = { KEY_OWN_FIRST, KEY_GONE, KEY_PARTLY };
    struct entry *first = NULL;
    struct deadline *node;
    struct agenda_walk walk;
    msec due;
    for (unsigned i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if ((node = agenda_first(&ks->agendas[kinds[i]])) == NULL) continue;
        struct entry *entry = entry_of(node);
        if (first == NULL || entry_expires_at(ks, entry) < entry_expires_at(ks, first))
            first = entry;
    }
    agenda_walk_begin(&walk, &ks->agendas[KEY_INNER_FIRST]);
    for (unsigned looks = 0; looks < VOLATILE_LOOKS; looks++) {
        node = agenda_walk_next(&walk, &due);
        if (node == NULL || (first != NULL && due >= entry_expires_at(ks, first))) break;
        struct entry *entry = entry_of(node);
        if (first == NULL || entry_expires_at(ks, entry) < entry_expires_at(ks, first))
            first = entry;
    }
    agenda_walk_end(&walk);
    return first;
}

struct entry *keyspace_random(const struct keyspace *ks, uint64_t (*next)(void *ctx), void *ctx)
{
    return dict_random(&ks->dict, next, ctx);
}

/* Returns the entry of node lot % n, where n is the number of nodes in the agendas of these kinds;
 * NULL if n is 0. */
static struct entry *nth_of(const struct keyspace *ks, const enum key_kind *kinds, unsigned count,
                            uint64_t lot)
{
    uint64_t nodes = 0;
    for (unsigned i = 0; i < count; i++)
        nodes += agenda_count(&ks->agendas[kinds[i]]);
    if (nodes == 0) return NULL;
    lot %= nodes;
    while (lot >= agenda_count(&ks->agendas[*kinds]))
        lot -= agenda_count(&ks->agendas[*kinds++]);
    return entry_of(agenda_nth(&ks->agendas[*kinds], (uint32_t)lot));
}

struct entry *keyspace_random_volatile(const struct keyspace *ks, uint64_t (*next)(void *ctx),
                                       void *ctx)
{
    static const enum key_kind kinds[] = { KEY_OWN_FIRST, KEY_INNER_FIRST, KEY_PARTLY, KEY_GONE };
    return nth_of(ks, kinds, sizeof(kinds) / sizeof(kinds[0]), next(ctx));
}

struct entry *keyspace_random_alive(const struct keyspace *ks, msec now,
                                    uint64_t (*next)(void *ctx), void *ctx)
{
    static const enum key_kind kinds[] = { KEY_OWN_FIRST, KEY_INNER_FIRST, KEY_INNER_ONLY,
                                           KEY_PARTLY, KEY_PARTLY_INNER };
    enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };
    size_t alive = keyspace_count_alive(ks, now), expiring = 0;
    if (alive == 0) return NULL;
    for (unsigned i = 0; i < KINDS; i++)
        expiring += agenda_count(&ks->agendas[kinds[i]]) - count_expired(ks, kinds[i], now);
    if (next(ctx) % alive < expiring)
        for (unsigned tries = 0; tries < ALIVE_TRIES; tries++) {
            struct entry *drawn = nth_of(ks, kinds, KINDS, next(ctx));
            if (!entry_expired(ks, drawn, now)) return drawn;
        }

    /* Take the first key alive after a random position, because nearly all uniform draws would hit
     * expired keys. A key is thus likelier the more expired keys precede it. */
    struct dict_iter iter;
    struct entry *entry;
    dict_iter_from(&iter, &ks->dict, next(ctx));
    while ((entry = dict_iter_next(&iter)) != NULL && entry_expired(ks, entry, now))
        continue;
    if (entry != NULL) return entry;
    dict_iter_begin(&iter, &ks->dict);
    while ((entry = dict_iter_next(&iter)) != NULL && entry_expired(ks, entry, now))
        continue;
    return entry;
}

/* ---- checking -------------------------------------------------------------------------------- */

static bool check_hidden(const struct keyspace *ks, const struct entry *entry,
                         struct due_at next_due)
{
    struct bytes key = entry_key(entry);
    unsigned kind = KEY_SHOWN_KINDS;
    while (kind < KEY_KINDS && !hidden_in(ks, entry, kind))
        kind++;
    if (kind == KEY_KINDS) return false;
    ensure(is_for_volatile(kind) == is_volatile(ks, entry), "'%.*s' is hidden as kind %u",
           (int)key.len, key.data, kind);
    struct due_at whole = whole_due(ks, entry),
                  armed = due_in(&ks->agendas[kind], &entry->deadline);
    ensure(due_at_equal(armed, whole), "'%.*s' is hidden until %lld, not %lld", (int)key.len,
           key.data, (long long)armed.at, (long long)whole.at);
    ensure(due_at_come(next_due, ks->hidden_until) && !due_at_before(next_due, ks->hidden_since),
           "'%.*s' is due at %lld, hidden from %lld to %lld", (int)key.len, key.data,
           (long long)next_due.at, (long long)ks->hidden_since.at, (long long)ks->hidden_until);
    ensure(is_to_hide(kind) || due_at_come(whole, ks->hidden_until),
           "'%.*s' has not expired at %lld", (int)key.len, key.data, (long long)ks->hidden_until);
    return true;
}

static void check_deadline(const struct keyspace *ks, const struct entry *entry)
{
    struct bytes key = entry_key(entry);
    struct due_at inside = object_next_due(&entry->object);
    ensure(entry->object.has_expiry == !due_at_is_never(inside),
           "'%.*s' has expiry: %d, next due at %lld", (int)key.len, key.data,
           entry->object.has_expiry, (long long)inside.at);
    msec at = entry_expires_at(ks, entry);
    struct due_at next_due = next_due_of(inside, at);
    ensure(instant_ok(at) || at == NEVER, "'%.*s' ends at %lld", (int)key.len, key.data,
           (long long)at);
    ensure(deadline_armed(&entry->deadline) == !due_at_is_never(next_due), "'%.*s' is due at %lld",
           (int)key.len, key.data, (long long)next_due.at);
    if (due_at_is_never(next_due)) return;
    if (check_hidden(ks, entry, next_due)) return;
    const struct agenda *agenda = &ks->agendas[kind_of(at, next_due)];
    ensure(agenda_has(agenda, &entry->deadline), "'%.*s' has its node elsewhere", (int)key.len,
           key.data);
    struct due_at armed = due_in(agenda, &entry->deadline);
    ensure(due_at_equal(armed, next_due), "armed at %lld, not %lld", (long long)armed.at,
           (long long)next_due.at);
}

static void check_is_gone(void *ctx, struct bytes key, const struct delivery_tally *tally)
{
    const struct keyspace *ks = ctx;
    const struct entry *entry = keyspace_find(ks, key);
    (void)tally;
    ensure(entry == NULL || entry->object.type != TYPE_DEHYDRATOR,
           "kept counts of '%.*s', which exists", (int)key.len, key.data);
}

void keyspace_check(const struct keyspace *ks)
{
    dict_check(&ks->dict);
    for (unsigned kind = 0; kind < KEY_KINDS; kind++)
        agenda_check(&ks->agendas[kind]);
    ensure(due_at_equal(ks->next_due, earliest_due(ks)), "next due at %lld, not %lld",
           (long long)earliest_due(ks).at, (long long)ks->next_due.at);
    size_t hidden = 0, volatile_keys = 0, armed = 0;
    for (unsigned kind = KEY_SHOWN_KINDS; kind < KEY_KINDS; kind++)
        hidden += agenda_count(&ks->agendas[kind]);
    ensure(hidden == ks->hidden && (hidden > 0 || due_at_is_never(ks->hidden_since)),
           "%zu hidden keys, counted %u, since %lld", hidden, ks->hidden,
           (long long)ks->hidden_since.at);
    struct dict_iter iter;
    dict_iter_begin(&iter, &ks->dict);
    for (const struct entry *entry; (entry = dict_iter_next(&iter)) != NULL;) {
        struct bytes key = entry_key(entry);
        ensure(mem_size(entry) >= entry_size(key.len, entry->object.type),
               "block of '%.*s' has only %zu bytes", (int)key.len, key.data, mem_size(entry));
        object_check(&entry->object);
        ensure(!object_is_emptied(&entry->object), "empty %s at '%.*s'",
               type_name(entry->object.type), (int)key.len, key.data);
        check_deadline(ks, entry);
        volatile_keys += is_volatile(ks, entry);
        armed += deadline_armed(&entry->deadline);
    }
    ensure(volatile_keys == keyspace_count_volatile(ks), "%zu volatile keys, not %zu",
           volatile_keys, keyspace_count_volatile(ks));
    ensure(armed == keyspace_count_expiring(ks), "%zu armed nodes, %zu deadlines", armed,
           keyspace_count_expiring(ks));
    if (ks->refreshers != NULL) {
        hash_check(ks->refreshers);
        ensure(hash_count(ks->refreshers) > 0, "an empty table of refreshers");
    }
    if (ks->drained == NULL) return;
    drained_check(ks->drained);
    uint64_t cursor = 0;
    do {
        cursor = drained_scan(ks->drained, cursor, INT64_MIN, check_is_gone, (void *)(uintptr_t)ks);
    } while (cursor != 0);
}
