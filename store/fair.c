/* fair: see fair.h. */
#include "store/fair.h"

#include <string.h>
#include <sys/queue.h>

#include "store/base/ensure.h"
#include "store/delivery.h"
#include "store/mem/mem.h"
#include "store/store.h"

enum { CATCH_UP = 16 }; /* so that many keys that become due at once delay no call */

struct fair_key {
    TAILQ_ENTRY(fair_key) of_ring;
    struct deadline later; /* armed unless it is in the ring */
    uint32_t len;
    bool in_ring, changed;
    char key[];
};

/* A scan of the keys of the database, in slices. */
struct fair_scan {
    uint64_t cursor;
    bool running;
};

struct fair_index {
    TAILQ_ENTRY(fair_index) of_fair;
    struct fair *fair;
    struct dict keys;
    TAILQ_HEAD(, fair_key) ring;
    struct fair_key *turn; /* between fair_next and fair_turned; or NULL */
    struct agenda later;
    struct fair_scan scan;
    bool complete; /* it has a node for each key: the first scan has ended */
    bool surveyed; /* it has the figures of a survey */
    struct fair_scan survey;
    struct fair_figures figures; /* of the survey */
    msec used;
    size_t key_bytes; /* memory of the nodes */
    unsigned db;
    size_t len;
    char prefix[];
};

TAILQ_HEAD(fair_list, fair_index);

struct changed {
    struct fair_index *index; /* NULL: the node was freed */
    struct fair_key *node;
};

struct fair {
    struct fair_list indexes;
    struct fair_list dropped; /* whose nodes are still to be freed */
    size_t count;
    struct changed *changed;
    size_t changed_count, changed_cap;
    msec seen; /* the latest instant so far */
};

static struct bytes node_key(const struct fair_key *node)
{
    return bytes_of(node->key, node->len);
}

static struct bytes dict_node_key(const void *element)
{
    return node_key(element);
}

static const struct fair_hooks no_hooks; /* while an index is made, nobody can be served */
static const struct dict_type nodes = { .key = dict_node_key };

static struct bytes prefix_of(const struct fair_index *index)
{
    return bytes_of(index->prefix, index->len);
}

static bool covers(const struct fair_index *index, struct bytes key)
{
    return key.len >= index->len &&
           (index->len == 0 || memcmp(key.data, index->prefix, index->len) == 0);
}

bool fair_prefix_ok(struct bytes name)
{
    return name.len > 0 && memchr(name.data, '*', name.len) == name.data + name.len - 1;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static struct fair_key *node_made(struct fair_index *index, struct bytes key)
{
    struct fair_key *node = dict_find(&index->keys, key);
    if (node != NULL) return node;
    node = mem_alloc_tight(sizeof(*node) + key.len);
    *node = (struct fair_key){ .len = (uint32_t)key.len };
    deadline_init(&node->later);
    if (key.len > 0) memcpy(node->key, key.data, key.len);
    dict_add(&index->keys, node);
    index->key_bytes += mem_size(node);
    return node;
}

/* Frees a node that is neither in the ring nor in the agenda. */
static void node_free(struct fair_index *index, struct fair_key *node)
{
    index->key_bytes -= mem_size(node);
    dict_remove(&index->keys, node_key(node));
    mem_free(node);
}

static const struct entry *find_dehydrator(const struct store *store,
                                           const struct fair_index *index, struct bytes key)
{
    const struct entry *entry = keyspace_find(store_database(store, index->db), key);
    return entry != NULL && entry->object.type == TYPE_DEHYDRATOR ? entry : NULL;
}

/* Puts the node where it belongs, or frees it. A node in the ring keeps its position, or goes to
 * the end with `behind`. */
static void place(struct store *store, struct fair_index *index, struct fair_key *node, msec now,
                  bool behind)
{
    const struct entry *entry = find_dehydrator(store, index, node_key(node));
    const struct fair_hooks *hooks = index->complete ? &store->fair_hooks : &no_hooks;
    msec at = delivery_next_at(store, entry, now, true);
    bool was_in_ring = node->in_ring, is_due = instant_due(at, now);
    bool stays = was_in_ring && is_due && !behind;
    bool is_armed = !is_due && deadline_armed(&node->later);
    if (stays || (is_armed && agenda_at(&index->later, &node->later) == at)) return;

    if (was_in_ring) TAILQ_REMOVE(&index->ring, node, of_ring);
    node->in_ring = is_due;
    if (is_due) {
        agenda_cancel(&index->later, &node->later);
        TAILQ_INSERT_TAIL(&index->ring, node, of_ring);
        if (!was_in_ring && hooks->ready != NULL)
            hooks->ready(hooks->ctx, index->db, prefix_of(index), node_key(node));
    } else if (at != NEVER) {
        agenda_move(&index->later, &node->later, at);
        if (hooks->ready_at != NULL) hooks->ready_at(hooks->ctx, index->db, prefix_of(index), at);
    } else {
        agenda_cancel(&index->later, &node->later);
        if (!node->changed) node_free(index, node);
    }
}

static struct fair_key *node_of(struct deadline *later)
{
    return (struct fair_key *)(void *)((char *)later - offsetof(struct fair_key, later));
}

static void catch_up(struct store *store, struct fair_index *index, msec now, size_t most)
{
    while (most-- > 0 && instant_due(agenda_next(&index->later), now))
        place(store, index, node_of(agenda_first(&index->later)), now, false);
}

/* ---- indexes --------------------------------------------------------------------------------- */

static struct fair_index *index_new(struct fair *fair, unsigned db, struct bytes prefix)
{
    struct fair_index *index = mem_zalloc(sizeof(*index) + prefix.len);
    index->fair = fair;
    index->db = db;
    index->scan.running = true;
    index->len = prefix.len;
    if (prefix.len > 0) memcpy(index->prefix, prefix.data, prefix.len);
    dict_init(&index->keys, &nodes);
    agenda_init(&index->later);
    TAILQ_INIT(&index->ring);
    TAILQ_INSERT_TAIL(&fair->indexes, index, of_fair);
    fair->count++;
    return index;
}

static void forget_changed(struct fair *fair, const struct fair_index *index)
{
    for (size_t i = 0; i < fair->changed_count; i++)
        if (fair->changed[i].index == index) fair->changed[i].index = NULL;
}

static void index_drop(struct fair_index *index)
{
    struct fair *fair = index->fair;
    forget_changed(fair, index);
    TAILQ_REMOVE(&fair->indexes, index, of_fair);
    TAILQ_INSERT_TAIL(&fair->dropped, index, of_fair);
    fair->count--;
}

/* Frees about *work nodes of a dropped index. Returns true when all are freed. */
static bool index_free_some(struct fair_index *index, size_t *work)
{
    struct fair_key *node;
    while (*work > 0 && (node = dict_take(&index->keys)) != NULL) {
        mem_free(node);
        --*work;
    }
    if (dict_count(&index->keys) > 0 || !agenda_drop_some(&index->later, work)) return false;
    dict_drop(&index->keys);
    TAILQ_REMOVE(&index->fair->dropped, index, of_fair);
    mem_free(index);
    return true;
}

/* Calls that waited for a scan or a survey look again. */
static void tell_done(const struct store *store, const struct fair_index *index)
{
    const struct fair_hooks *hooks = &store->fair_hooks;
    if (hooks->done != NULL) hooks->done(hooks->ctx, index->db, prefix_of(index));
}

/* A database that was emptied: the index stays, without nodes. */
static void index_empty(const struct store *store, struct fair_index *index)
{
    struct fair *fair = index->fair;
    struct fair_index *empty = index_new(fair, index->db, prefix_of(index));
    empty->used = index->used;
    empty->complete = true;
    empty->scan.running = false;
    index_drop(index);
    tell_done(store, empty);
}

static struct fair_index *find_index(const struct fair *fair, unsigned db, struct bytes prefix)
{
    struct fair_index *index;
    TAILQ_FOREACH(index, &fair->indexes, of_fair)
    {
        if (index->db == db && bytes_equal(prefix_of(index), prefix)) return index;
    }
    return NULL;
}

/* Is there a policy FAIR of this name, or does a client wait? */
static bool is_needed(const struct store *store, const struct fair_index *index)
{
    const struct fair_hooks *hooks = &store->fair_hooks;
    if (hooks->waits != NULL && hooks->waits(hooks->ctx, index->db, prefix_of(index))) return true;
    if (store->policies.with[POLICY_FAIR] == 0) return false;
    char *name = mem_alloc(index->len + 1);
    if (index->len > 0) memcpy(name, index->prefix, index->len);
    name[index->len] = '*';
    const struct policy *policy = policies_get(&store->policies, bytes_of(name, index->len + 1));
    mem_free(name);
    return policy != NULL && policy->fair;
}

/* Drops the index that was used least recently, if too many are kept for nobody. */
static void make_room(struct store *store)
{
    struct fair_index *index, *oldest = NULL;
    size_t spare = 0;
    TAILQ_FOREACH(index, &store->fair->indexes, of_fair)
    {
        if (is_needed(store, index)) continue;
        spare++;
        if (oldest == NULL || index->used < oldest->used) oldest = index;
    }
    if (spare >= FAIR_MOST) index_drop(oldest);
}

/* Looks again at the keys that are not in the ring, because one of them may be claimed from
 * earlier: a policy may have changed, or the clock was set back, so that the microsecond of a RATE
 * counts no longer. Those in the ring are looked at when it is their turn. */
static void look_again(struct fair *fair)
{
    struct fair_index *index;
    TAILQ_FOREACH(index, &fair->indexes, of_fair)
    index->scan = (struct fair_scan){ .running = true };
}

static void note_time(struct fair *fair, msec now)
{
    if (now < fair->seen) look_again(fair);
    fair->seen = now;
}

struct fair_index *fair_use(struct store *store, unsigned db, struct bytes prefix, msec now)
{
    if (store->fair == NULL) {
        store->fair = mem_zalloc(sizeof(*store->fair));
        TAILQ_INIT(&store->fair->indexes);
        TAILQ_INIT(&store->fair->dropped);
    }
    struct fair_index *index = find_index(store->fair, db, prefix);
    if (index == NULL) {
        if (store->fair->count >= FAIR_MOST) make_room(store);
        index = index_new(store->fair, db, prefix);
    }
    note_time(store->fair, now);
    index->used = now;
    fair_settle(store, now);
    return index;
}

/* ---- scans ----------------------------------------------------------------------------------- */

struct visit {
    struct store *store;
    struct fair_index *index;
    msec now;
};

static void visit_scanned(void *ctx, struct entry *entry)
{
    const struct visit *visit = ctx;
    if (entry->object.type != TYPE_DEHYDRATOR || !covers(visit->index, entry_key(entry))) return;
    struct fair_key *node = node_made(visit->index, entry_key(entry));
    if (!node->in_ring) place(visit->store, visit->index, node, visit->now, false);
}

static void visit_surveyed(void *ctx, struct entry *entry)
{
    const struct visit *visit = ctx;
    const struct store *store = visit->store;
    struct fair_figures *figures = &visit->index->figures;
    const struct keyspace *ks = store_database(store, visit->index->db);
    msec now = visit->now;
    if (!covers(visit->index, entry_key(entry)) || entry_expired(ks, entry, now)) return;
    if (entry->object.type != TYPE_DEHYDRATOR) {
        figures->other_types++;
        return;
    }
    const struct dehydrator *dehydrator = entry->object.dehydrator;
    msec first = dehydrator_next(dehydrator);
    figures->keys++;
    figures->due += instant_due(delivery_next_at(store, entry, now, true), now);
    figures->due_elements += dehydrator_count_due(dehydrator, now);
    figures->claimed += dehydrator_count_claimed(dehydrator, now);
    if (instant_due(first, now) && first < figures->oldest) figures->oldest = first;
}

/* Visits about `budget` buckets. Returns true when the scan has ended. */
static bool scan_some(struct visit *visit, struct fair_scan *scan,
                      void (*found)(void *ctx, struct entry *entry), size_t *budget)
{
    const struct keyspace *ks = store_database(visit->store, visit->index->db);
    for (; scan->running && *budget > 0; --*budget) {
        scan->cursor = keyspace_scan(ks, scan->cursor, found, visit);
        scan->running = scan->cursor != 0;
    }
    return !scan->running;
}

bool fair_build(struct store *store, struct fair_index *index, msec now, size_t budget)
{
    struct visit visit = { store, index, now };
    if (!index->complete && scan_some(&visit, &index->scan, visit_scanned, &budget)) {
        index->complete = true;
        tell_done(store, index); /* other calls may wait for it, too */
    }
    return index->complete;
}

bool fair_survey(struct store *store, struct fair_index *index, bool again, msec now, size_t budget,
                 struct fair_figures *figures)
{
    struct visit visit = { store, index, now };
    bool is_fresh = !again || !index->surveyed;
    if (!index->survey.running && is_fresh) {
        index->survey = (struct fair_scan){ .running = true };
        index->figures = (struct fair_figures){ .oldest = NEVER };
    }
    bool was_running = index->survey.running;
    if (!scan_some(&visit, &index->survey, visit_surveyed, &budget)) return false;
    index->surveyed = true;
    if (was_running) tell_done(store, index);
    *figures = index->figures;
    return true;
}

/* ---- turns ----------------------------------------------------------------------------------- */

void fair_catch_up(struct store *store, unsigned db, struct bytes prefix, msec now, size_t most)
{
    struct fair_index *index = store->fair != NULL ? find_index(store->fair, db, prefix) : NULL;
    if (index != NULL) catch_up(store, index, now, most);
}

bool fair_next(struct store *store, struct fair_index *index, msec now, struct bytes *key)
{
    catch_up(store, index, now, CATCH_UP);
    index->turn = TAILQ_FIRST(&index->ring);
    if (index->turn == NULL) return false;
    *key = node_key(index->turn);
    return true;
}

void fair_turned(struct store *store, struct fair_index *index, msec now)
{
    struct fair_key *node = index->turn;
    ensure(node != NULL, "a turn without a key");
    index->turn = NULL;
    place(store, index, node, now, true);
}

msec fair_next_at(const struct fair_index *index, msec now)
{
    return TAILQ_FIRST(&index->ring) != NULL ? now : agenda_next(&index->later);
}

/* ---- changes --------------------------------------------------------------------------------- */

void fair_note_key(struct fair *fair, unsigned db, struct bytes key)
{
    struct fair_index *index;
    TAILQ_FOREACH(index, &fair->indexes, of_fair)
    {
        if (index->db != db || !covers(index, key)) continue;
        /* fair_turned will look at it. */
        if (index->turn != NULL && bytes_equal(node_key(index->turn), key)) continue;
        struct fair_key *node = node_made(index, key);
        if (node->changed) continue;
        node->changed = true;
        fair->changed = mem_grow(fair->changed, fair->changed_count, &fair->changed_cap,
                                 sizeof(*fair->changed));
        fair->changed[fair->changed_count++] = (struct changed){ index, node };
    }
}

void fair_settle(struct store *store, msec now)
{
    struct fair *fair = store->fair;
    if (fair == NULL) return;
    for (size_t i = 0; i < fair->changed_count; i++) {
        struct changed changed = fair->changed[i];
        if (changed.index == NULL) continue;
        /* Those that became due before come first. */
        catch_up(store, changed.index, now, CATCH_UP);
        changed.node->changed = false;
        place(store, changed.index, changed.node, now, false);
    }
    fair->changed_count = 0;
}

static void note_flush(struct store *store, unsigned db)
{
    struct fair *fair = store->fair;
    struct fair_index *index, *next;
    for (index = TAILQ_FIRST(&fair->indexes); index != NULL; index = next) {
        next = TAILQ_NEXT(index, of_fair);
        if (index->db == db && (dict_count(&index->keys) > 0 || !index->complete))
            index_empty(store, index);
    }
}

/* The indexes go with the keys. Clients stay with their databases. */
static void note_swap(struct store *store, unsigned a, unsigned b)
{
    struct fair *fair = store->fair;
    struct fair_index *index;
    TAILQ_FOREACH(index, &fair->indexes, of_fair)
    {
        bool was_a = index->db == a;
        if (!was_a && index->db != b) continue;
        index->db = was_a ? b : a;
        if (index->complete) tell_done(store, index);
    }
    TAILQ_FOREACH(index, &fair->indexes, of_fair)
    {
        if (index->db != a && index->db != b) continue;
        unsigned other = index->db == a ? b : a;
        if (find_index(fair, other, prefix_of(index)) != NULL) continue;
        struct fair_index *made = index_new(fair, other, prefix_of(index));
        made->used = index->used;
    }
}

void fair_replaced(struct store *store)
{
    struct fair *fair = store->fair;
    if (fair == NULL) return;
    struct fair_index *index, *last = TAILQ_LAST(&fair->indexes, fair_list);
    for (bool is_last = last == NULL; !is_last;) {
        index = TAILQ_FIRST(&fair->indexes);
        is_last = index == last;
        index_new(fair, index->db, prefix_of(index))->used = index->used;
        index_drop(index);
    }
}

void fair_note(struct store *store, const struct effect *effect)
{
    struct fair *fair = store->fair;
    switch (effect->kind) {
    case EFFECT_FLUSH: note_flush(store, effect->db); break;
    case EFFECT_SWAP: note_swap(store, effect->db, (unsigned)effect->to); break;
    case EFFECT_POLICY_SET:
    case EFFECT_POLICY_DROP: look_again(fair); break; /* RATE, CLAIMED */
    case EFFECT_SET:
    case EFFECT_DROP: fair_note_key(fair, effect->db, effect->key); break;
    case EFFECT_RENAME:
        fair_note_key(fair, effect->db, effect->key);
        fair_note_key(fair, effect->db, effect->a);
        break;
    case EFFECT_COPY: fair_note_key(fair, (unsigned)effect->to, effect->a); break;
    case EFFECT_MOVE:
        fair_note_key(fair, effect->db, effect->key);
        fair_note_key(fair, (unsigned)effect->to, effect->key);
        break;
    case EFFECT_REDE_PUSH:
    case EFFECT_REDE_MOVE:
    case EFFECT_REDE_DROP:
    case EFFECT_REDE_RATE:
    case EFFECT_REDE_PAUSE: fair_note_key(fair, effect->db, effect->key); break;
    default: break;
    }
}

/* ---- background work ------------------------------------------------------------------------- */

/* Visits buckets for the index. Returns true while there is more to visit. */
static bool run_index(struct store *store, struct fair_index *index, msec now, size_t *budget)
{
    struct visit visit = { store, index, now };
    bool was_scanning = index->scan.running, was_surveying = index->survey.running;
    bool scanned = scan_some(&visit, &index->scan, visit_scanned, budget);
    bool surveyed = scan_some(&visit, &index->survey, visit_surveyed, budget);
    bool is_new = was_scanning && scanned && !index->complete;
    if (is_new) index->complete = true;
    index->surveyed |= was_surveying && surveyed;
    if (is_new || (was_surveying && surveyed)) tell_done(store, index);
    return !scanned || !surveyed;
}

bool fair_run(struct store *store, msec now, size_t budget)
{
    struct fair *fair = store->fair;
    struct fair_index *index, *next;
    bool is_left = false;
    if (fair == NULL) return false;
    note_time(fair, now);
    while (budget > 0 && (index = TAILQ_FIRST(&fair->dropped)) != NULL)
        if (!index_free_some(index, &budget)) return true;
    for (index = TAILQ_FIRST(&fair->indexes); index != NULL; index = next) {
        next = TAILQ_NEXT(index, of_fair);
        bool is_old = index->used > now || now - index->used >= FAIR_KEEP;
        if (is_old && !is_needed(store, index))
            index_drop(index);
        else if (is_old)
            index->used = now; /* ask again later */
        else
            is_left |= run_index(store, index, now, &budget);
    }
    return is_left || TAILQ_FIRST(&fair->dropped) != NULL;
}

void fair_free(struct fair *fair)
{
    struct fair_index *index;
    size_t work = SIZE_MAX;
    if (fair == NULL) return;
    while ((index = TAILQ_FIRST(&fair->indexes)) != NULL)
        index_drop(index);
    while ((index = TAILQ_FIRST(&fair->dropped)) != NULL)
        index_free_some(index, &work);
    mem_free(fair->changed);
    mem_free(fair);
}

size_t fair_bytes(const struct store *store)
{
    const struct fair_index *index;
    if (store->fair == NULL) return 0;
    size_t bytes = mem_size(store->fair) + mem_size(store->fair->changed);
    TAILQ_FOREACH(index, &store->fair->indexes, of_fair)
    bytes +=
        mem_size(index) + index->key_bytes + dict_bytes(&index->keys) + agenda_bytes(&index->later);
    return bytes;
}

size_t fair_count(const struct store *store)
{
    return store->fair != NULL ? store->fair->count : 0;
}

/* ---- checking -------------------------------------------------------------------------------- */

struct check {
    const struct store *store;
    const struct fair_index *index;
    size_t found;
};

static bool check_entry(void *ctx, const struct keyspace *ks, const struct entry *entry)
{
    struct check *check = ctx;
    struct bytes key = entry_key(entry);
    (void)ks;
    if (entry->object.type != TYPE_DEHYDRATOR || !covers(check->index, key) ||
        dehydrator_count(entry->object.dehydrator) == 0)
        return true;
    check->found++;
    ensure(dict_find(&check->index->keys, key) != NULL, "'%.*s' has no node", (int)key.len,
           key.data);
    return true;
}

static void check_index(const struct store *store, struct fair_index *index)
{
    struct check check = { store, index, 0 };
    size_t in_ring = 0, armed = 0;
    dict_check(&index->keys);
    agenda_check(&index->later);
    const struct fair_key *node;
    TAILQ_FOREACH(node, &index->ring, of_ring)
    in_ring++;
    struct dict_iter iter;
    dict_iter_begin(&iter, &index->keys);
    while ((node = dict_iter_next(&iter)) != NULL) {
        ensure(!node->changed, "a changed node is left");
        ensure(node->in_ring != deadline_armed(&node->later), "'%.*s' is in %s", (int)node->len,
               node->key, node->in_ring ? "both" : "neither");
        armed += deadline_armed(&node->later);
    }
    ensure(armed == agenda_count(&index->later), "%zu armed of %u", armed,
           agenda_count(&index->later));
    ensure(in_ring + armed == dict_count(&index->keys), "%zu in the ring and %zu not, of %zu",
           in_ring, armed, dict_count(&index->keys));
    if (!index->complete) return;
    keyspace_each(store_database(store, index->db), check_entry, &check);
    ensure(check.found == dict_count(&index->keys), "%zu keys and %zu nodes", check.found,
           dict_count(&index->keys));
}

void fair_check(const struct store *store)
{
    struct fair_index *index;
    if (store->fair == NULL) return;
    TAILQ_FOREACH(index, &store->fair->indexes, of_fair)
    check_index(store, index);
}
