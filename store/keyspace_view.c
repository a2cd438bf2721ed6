/* keyspace_view: the walks, counts and random choices of keyspace.h, which change nothing. */
#include "store/keyspace_state.h"

enum {
    VOLATILE_LOOKS = 64, /* nodes of KEY_INNER_FIRST that keyspace_first_volatile checks */
    ALIVE_TRIES = 100,   /* draws of keyspace_random_alive, if expired keys are not hidden */
};

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
    /* A hidden key's node is armed at another instant than the next due one. */
    for (unsigned kind = KEY_SHOWN_KINDS; kind < KEY_KINDS; kind++) {
        const struct agenda *agenda = &ks->agendas[kind];
        for (uint32_t i = 0; i < agenda_count(agenda) && !visits.stopped; i++) {
            struct deadline *node = agenda_nth(agenda, i);
            struct due_at due = entry_next_due(ks, entry_of(node));
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

/* Counts the expired keys in the agenda `kind`. */
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
