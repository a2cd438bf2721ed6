/* fair: see fair.h. */
#include "store/fair.h"

#include "store/base/ensure.h"
#include "store/delivery.h"
#include "store/effect.h"
#include "store/keyspace.h"
#include "store/mem/mem.h"
#include "store/policy/policies.h"
#include "store/struct/turns.h"

enum {
    CATCH_UP = 16,       /* keys that one call moves from agenda to ring, to keep calls short */
    CHANGED_KEPT = 1024, /* size of `changed` above which its memory is freed after a call */
    AGED_AT_ONCE = 8,    /* indexes that one call of fair_run may drop */
    AHEAD = 8,           /* turns for which data is prefetched together, */
    LARGE_INDEX = 4096,  /* if the index has this many keys: fewer are mostly in the CPU cache */
};

/* The states of a survey, which counts the dehydrators of a prefix for REDE.FAIRINFO, in a scan of
 * all keys in slices:
 *
 *     SURVEY_NONE
 *          | fair_survey
 *          v
 *     SURVEY_RUNNING        calls wait
 *          | run_survey: the last slice
 *          v
 *     SURVEY_DONE           the figures are complete; fair_survey leads back
 */
enum survey_state { SURVEY_NONE, SURVEY_RUNNING, SURVEY_DONE };

/* The index of a prefix in one database. Its states are drawn in fair.h. */
struct fair_index {
    TAILQ_ENTRY(fair_index) of_fair, of_prefix, of_working;
    struct fair *fair;
    struct fair_prefix *prefix;
    struct turns turns; /* of the keys with elements */
    struct turn *turn;  /* the node of the last fair_next until fair_turned, or NULL */
    enum fair_state state;
    uint64_t cursor; /* of the scan of the keyspace, or of the check of `turns` */
    uint64_t looks;  /* number of scans and checks begun */
    bool continues;  /* fair_run calls hooks.done, so that a stopped call continues */
    bool works;      /* is in fair.working */
    struct survey {
        enum survey_state state;
        uint64_t cursor;
        struct fair_figures figures;
    } survey;
    msec used;
    unsigned ahead; /* number of coming turns for which data was prefetched */
    unsigned db;
};

/* The indexes of a prefix, at most one in each database. */
struct fair_prefix {
    struct fair_indexes indexes;
    size_t len;
    char name[];
};

struct fair_length {
    size_t len, count;
};

struct fair_change {
    struct fair_index *index; /* NULL once the node was freed */
    struct turn *node;
};

static const struct fair_hooks no_hooks; /* while an index is made, no client can be served */

static struct bytes dict_prefix_name(const void *element)
{
    const struct fair_prefix *prefix = element;
    return bytes_of(prefix->name, prefix->len);
}

static const struct dict_type prefix_type = { .key = dict_prefix_name };

static struct bytes prefix_of(const struct fair_index *index)
{
    return dict_prefix_name(index->prefix);
}

static bool has_all_nodes(const struct fair_index *index)
{
    return index->state >= FAIR_CHECKING;
}

static bool is_scanning(const struct fair_index *index)
{
    return index->state == FAIR_SCANNING || index->state == FAIR_SCANNING_CHANGED;
}

static bool is_checking(const struct fair_index *index)
{
    return index->state == FAIR_CHECKING || index->state == FAIR_CHECKING_CHANGED;
}

/* Must a check follow the running look? */
static bool has_changed(const struct fair_index *index)
{
    return index->state == FAIR_SCANNING_CHANGED || index->state == FAIR_CHECKING_CHANGED;
}

static bool covers(const struct fair_index *index, struct bytes key)
{
    return bytes_begin_with(key, prefix_of(index));
}

void fair_init(struct fair *fair, const struct keyspace *databases, unsigned count,
               const struct policies *policies)
{
    *fair = (struct fair){ .databases = databases, .database_count = count, .policies = policies };
    TAILQ_INIT(&fair->indexes);
    TAILQ_INIT(&fair->dropped);
    TAILQ_INIT(&fair->working);
    dict_init(&fair->prefixes, &prefix_type);
}

bool fair_prefix_ok(struct bytes name)
{
    return name.len > 0 && memchr(name.data, '*', name.len) == name.data + name.len - 1;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static const struct keyspace *keyspace_of(const struct fair_index *index)
{
    return &index->fair->databases[index->db];
}

static const struct entry *find_dehydrator(const struct fair_index *index, struct bytes key)
{
    const struct entry *entry = keyspace_find(keyspace_of(index), key);
    return entry != NULL && entry->object.type == TYPE_DEHYDRATOR ? entry : NULL;
}

/* Puts the node where its key belongs now, and tells the server what may be claimed. */
static void node_place(struct fair_index *index, struct turn *node, msec now, bool behind)
{
    const struct entry *entry = find_dehydrator(index, turn_key(node));
    const struct fair_hooks *hooks = has_all_nodes(index) ? &index->fair->hooks : &no_hooks;
    msec at = delivery_next_at(index->fair->policies, entry, now, true);
    enum turn_move move = turns_place(&index->turns, node, at, now, behind);
    if (now > index->fair->latest) index->fair->latest = now;
    if (move == TURN_JOINS && hooks->ready != NULL)
        hooks->ready(hooks->ctx, index->db, prefix_of(index), turn_key(node));
    if (move == TURN_WAITS && hooks->ready_at != NULL)
        hooks->ready_at(hooks->ctx, index->db, prefix_of(index), at);
}

static void catch_up(struct fair_index *index, msec now, size_t most)
{
    struct turn *node;
    while (most-- > 0 && (node = turns_first_due(&index->turns, now)) != NULL)
        node_place(index, node, now, false);
}

/* ---- indexes --------------------------------------------------------------------------------- */

static void count_length(struct fair *fair, size_t len, int by)
{
    size_t i = 0;
    while (i < fair->length_count && fair->lengths[i].len != len)
        i++;
    if (i == fair->length_count) {
        fair->lengths =
            mem_grow(fair->lengths, fair->length_count, &fair->length_cap, sizeof(*fair->lengths));
        fair->lengths[fair->length_count++] = (struct fair_length){ .len = len };
    }
    fair->lengths[i].count += (size_t)by;
    if (fair->lengths[i].count == 0) fair->lengths[i] = fair->lengths[--fair->length_count];
}

static struct fair_index *index_new(struct fair *fair, unsigned db, struct bytes prefix)
{
    struct fair_index *index = mem_zalloc(sizeof(*index));
    struct fair_prefix *made = dict_find(&fair->prefixes, prefix);
    if (made == NULL) {
        made = mem_alloc(sizeof(*made) + prefix.len);
        made->len = prefix.len;
        if (prefix.len > 0) memcpy(made->name, prefix.data, prefix.len);
        TAILQ_INIT(&made->indexes);
        dict_add(&fair->prefixes, made);
        count_length(fair, prefix.len, 1);
    }
    index->fair = fair;
    index->db = db;
    index->prefix = made;
    turns_init(&index->turns);
    TAILQ_INSERT_TAIL(&fair->indexes, index, of_fair);
    TAILQ_INSERT_TAIL(&index->prefix->indexes, index, of_prefix);
    fair->count++;
    return index;
}

/* Lets fair_run continue the index, after the indexes that began to work earlier. */
static void begin_work(struct fair_index *index)
{
    if (index->works) return;
    index->works = true;
    TAILQ_INSERT_TAIL(&index->fair->working, index, of_working);
}

static void end_work(struct fair_index *index)
{
    if (!index->works) return;
    index->works = false;
    TAILQ_REMOVE(&index->fair->working, index, of_working);
}

static void index_drop(struct fair_index *index)
{
    struct fair *fair = index->fair;
    struct fair_prefix *prefix = index->prefix;
    for (size_t i = 0; i < fair->changed_count; i++)
        if (fair->changed[i].index == index) fair->changed[i].index = NULL;
    end_work(index);
    TAILQ_REMOVE(&prefix->indexes, index, of_prefix);
    index->prefix = NULL;
    if (TAILQ_EMPTY(&prefix->indexes)) {
        count_length(fair, prefix->len, -1);
        dict_remove(&fair->prefixes, dict_prefix_name(prefix));
        mem_free(prefix);
    }
    TAILQ_REMOVE(&fair->indexes, index, of_fair);
    TAILQ_INSERT_TAIL(&fair->dropped, index, of_fair);
    fair->count--;
}

static bool index_free_some(struct fair_index *index, size_t *work)
{
    if (!turns_drop_some(&index->turns, work)) return false;
    TAILQ_REMOVE(&index->fair->dropped, index, of_fair);
    mem_free(index);
    return true;
}

static struct fair_index *find_index(const struct fair *fair, unsigned db, struct bytes name)
{
    const struct fair_prefix *prefix = dict_find(&fair->prefixes, name);
    struct fair_index *index = prefix != NULL ? TAILQ_FIRST(&prefix->indexes) : NULL;
    while (index != NULL && index->db != db)
        index = TAILQ_NEXT(index, of_prefix);
    return index;
}

/* Returns true if the index must be kept: a policy of its name has FAIR, or a client waits for its
 * prefix. */
static bool is_needed(const struct fair_index *index)
{
    const struct fair_hooks *hooks = &index->fair->hooks;
    const struct policies *policies = index->fair->policies;
    struct bytes prefix = prefix_of(index);
    if (hooks->waits != NULL && hooks->waits(hooks->ctx, index->db, prefix)) return true;
    if (policies->with[POLICY_FAIR] == 0) return false;
    char *name = mem_alloc(prefix.len + 1);
    if (prefix.len > 0) memcpy(name, prefix.data, prefix.len);
    name[prefix.len] = '*';
    const struct policy *policy = policies_get(policies, bytes_of(name, prefix.len + 1));
    mem_free(name);
    return policy != NULL && policy->fair;
}

/* ---- states ---------------------------------------------------------------------------------- */

/* Makes the clients that wait for the prefix run their calls again. */
static void announce(const struct fair_index *index)
{
    const struct fair_hooks *hooks = &index->fair->hooks;
    if (hooks->done != NULL) hooks->done(hooks->ctx, index->db, prefix_of(index));
}

static void begin_scan(struct fair_index *index)
{
    index->state = FAIR_SCANNING;
    index->looks++;
    begin_work(index);
}

/* Begins to check the nodes outside the ring, or notes that a check must follow. One of them may be
 * claimable earlier than its instant, because a policy has changed, or because the clock was set
 * back, so that the microsecond of a RATE no longer counts. Nodes in the ring are checked when it
 * is their turn. */
static void begin_check(struct fair_index *index)
{
    switch (index->state) {
    case FAIR_COMPLETE:
        index->state = FAIR_CHECKING;
        index->looks++;
        begin_work(index);
        break;
    case FAIR_SCANNING: index->state = FAIR_SCANNING_CHANGED; break;
    case FAIR_CHECKING: index->state = FAIR_CHECKING_CHANGED; break;
    case FAIR_NO_NODES:
    case FAIR_SCANNING_CHANGED:
    case FAIR_CHECKING_CHANGED: break;
    }
}

static void end_look(struct fair_index *index)
{
    bool checks_again = has_changed(index);
    index->state = FAIR_COMPLETE;
    if (checks_again) begin_check(index);
    announce(index);
}

/* Puts a new index in the place of one whose data was replaced. If the old index had nodes, begins
 * a scan for the new one; has_data is false if the database is now empty, which needs no scan. */
static void index_restart(struct fair_index *old, bool has_data)
{
    struct fair_index *index = index_new(old->fair, old->db, prefix_of(old));
    index->used = old->used;
    index->looks = old->looks;
    if (old->state != FAIR_NO_NODES && has_data) begin_scan(index);
    if (old->state != FAIR_NO_NODES && !has_data) index->state = FAIR_COMPLETE;
    index_drop(old);
    announce(index);
}

/* Looks again at the keys of a policy's name, one key or a prefix, because the policy was set or
 * removed. */
static void note_policy(struct fair *fair, struct bytes name)
{
    struct fair_index *index;
    if (name.len == 0 || name.data[name.len - 1] != '*') {
        for (unsigned db = 0; db < fair->database_count; db++)
            fair_note_key(fair, db, name);
        return;
    }
    struct bytes prefix = bytes_of(name.data, name.len - 1);
    TAILQ_FOREACH(index, &fair->indexes, of_fair)
    {
        if (covers(index, prefix) || bytes_begin_with(prefix_of(index), prefix)) begin_check(index);
    }
}

static void note_time(struct fair *fair, msec now)
{
    struct fair_index *index;
    if (now < fair->latest) {
        TAILQ_FOREACH(index, &fair->indexes, of_fair)
        begin_check(index);
    }
    fair->latest = now;
}

struct fair_index *fair_use(struct fair *fair, unsigned db, struct bytes prefix, msec now)
{
    struct fair_index *index = find_index(fair, db, prefix);
    if (index == NULL) {
        index = index_new(fair, db, prefix);
        /* If too many besides the new one are kept without need, drop the one that was used least
         * recently. */
        struct fair_index *other, *oldest = NULL;
        size_t spare = 0;
        if (fair->count > FAIR_MOST && !is_needed(index)) {
            TAILQ_FOREACH(other, &fair->indexes, of_fair)
            {
                if (other == index || is_needed(other)) continue;
                spare++;
                if (oldest == NULL || other->used < oldest->used) oldest = other;
            }
        }
        if (spare >= FAIR_MOST) index_drop(oldest);
    }
    note_time(fair, now);
    index->used = now;
    fair_settle(fair, now);
    return index;
}

/* ---- scans ----------------------------------------------------------------------------------- */

struct visit {
    struct fair_index *index;
    msec now;
};

static void visit_scanned(void *ctx, struct entry *entry)
{
    const struct visit *visit = ctx;
    if (entry->object.type != TYPE_DEHYDRATOR || !covers(visit->index, entry_key(entry))) return;
    struct turn *node = turns_add(&visit->index->turns, entry_key(entry));
    if (!node->in_ring) node_place(visit->index, node, visit->now, false);
}

static void note_node(struct fair_index *index, struct turn *node)
{
    struct fair *fair = index->fair;
    if (node->noted) return;
    node->noted = true;
    fair->changed =
        mem_grow(fair->changed, fair->changed_count, &fair->changed_cap, sizeof(*fair->changed));
    fair->changed[fair->changed_count++] = (struct fair_change){ index, node };
}

/* Notes a node outside the ring, so that fair_settle checks it after this step of dict_scan. It
 * cannot be checked here: moving a node may free it, which dict_scan does not allow. */
static void visit_checked(void *ctx, void *element)
{
    const struct visit *visit = ctx;
    struct turn *node = element;
    if (!node->in_ring) note_node(visit->index, node);
}

static void run_look(struct visit *visit, size_t *budget)
{
    struct fair_index *index = visit->index;
    const struct keyspace *ks = keyspace_of(index);
    while (*budget > 0 && (is_scanning(index) || is_checking(index))) {
        --*budget;
        if (is_scanning(index)) {
            index->cursor = keyspace_scan(ks, index->cursor, visit_scanned, visit);
        } else {
            index->cursor = dict_scan(&index->turns.keys, index->cursor, visit_checked, visit);
            fair_settle(index->fair, visit->now);
        }
        if (index->cursor == 0) end_look(index);
    }
}

static void visit_surveyed(void *ctx, struct entry *entry)
{
    const struct visit *visit = ctx;
    struct fair_index *index = visit->index;
    struct fair_figures *figures = &index->survey.figures;
    msec now = visit->now;
    if (!covers(index, entry_key(entry)) || entry_expired(keyspace_of(index), entry, now)) return;
    if (entry->object.type != TYPE_DEHYDRATOR) {
        figures->other_types++;
        return;
    }
    const struct dehydrator *dehydrator = entry->object.dehydrator;
    msec first = dehydrator_next(dehydrator);
    figures->keys++;
    figures->due += instant_due(delivery_next_at(index->fair->policies, entry, now, true), now);
    figures->due_elements += dehydrator_count_due(dehydrator, now);
    figures->claimed += dehydrator_count_claimed(dehydrator, now);
    if (instant_due(first, now) && first < figures->oldest) figures->oldest = first;
}

static void run_survey(struct visit *visit, size_t *budget)
{
    struct fair_index *index = visit->index;
    struct survey *survey = &index->survey;
    while (*budget > 0 && survey->state == SURVEY_RUNNING) {
        --*budget;
        survey->cursor = keyspace_scan(keyspace_of(index), survey->cursor, visit_surveyed, visit);
        if (survey->cursor > 0) continue;
        survey->state = SURVEY_DONE;
        announce(index);
    }
}

enum fair_state fair_build(struct fair_index *index, msec now, size_t budget)
{
    struct visit visit = { index, now };
    if (index->state == FAIR_NO_NODES) begin_scan(index);
    run_look(&visit, &budget);
    return index->state;
}

bool fair_survey(struct fair_index *index, bool again, msec now, size_t budget,
                 struct fair_figures *figures)
{
    struct visit visit = { index, now };
    struct survey *survey = &index->survey;
    if (survey->state == SURVEY_NONE || (survey->state == SURVEY_DONE && !again))
        *survey = (struct survey){ .state = SURVEY_RUNNING, .figures = { .oldest = NEVER } };
    begin_work(index);
    run_survey(&visit, &budget);
    if (survey->state != SURVEY_DONE) return false;
    *figures = survey->figures;
    return true;
}

void fair_keep(struct fair *fair, unsigned db, struct bytes policy, msec now)
{
    if (!fair_prefix_ok(policy)) return;
    struct bytes prefix = bytes_of(policy.data, policy.len - 1);
    for (unsigned i = 0; i < fair->database_count; i++) {
        if (i != db && keyspace_count(&fair->databases[i]) == 0) continue;
        struct fair_index *index = fair_use(fair, i, prefix, now);
        if (index->state == FAIR_NO_NODES) begin_scan(index);
    }
}

struct keep {
    struct fair *fair;
    msec now;
};

static void keep_if_fair(void *ctx, struct bytes name, const struct policy *policy)
{
    const struct keep *keep = ctx;
    if (policy->fair) fair_keep(keep->fair, keep->fair->database_count, name, keep->now);
}

void fair_keep_all(struct fair *fair, msec now)
{
    struct keep keep = { fair, now };
    if (fair->policies->with[POLICY_FAIR] > 0) policies_each(fair->policies, keep_if_fair, &keep);
}

uint64_t fair_looks_needed(const struct fair_index *index)
{
    return index->looks + has_changed(index);
}

bool fair_has_looked(const struct fair_index *index, uint64_t number)
{
    return index->state == FAIR_COMPLETE || index->looks > number;
}

/* ---- turns ----------------------------------------------------------------------------------- */

void fair_catch_up(struct fair *fair, unsigned db, struct bytes prefix, msec now, size_t most)
{
    struct fair_index *index = find_index(fair, db, prefix);
    if (index != NULL) catch_up(index, now, most);
}

/* Prefetches the data of the next turns. Each turn belongs to another key, and reads five things of
 * which each leads to the next, so with many keys a turn waits for memory five times. Prefetching
 * for several turns at once lets these waits overlap. */
static void look_ahead(struct fair_index *index)
{
    const struct keyspace *ks = keyspace_of(index);
    const struct turn *node = turns_first(&index->turns);
    const struct entry *entries[AHEAD];
    uint64_t hashes[AHEAD];
    unsigned count = 0, found = 0;
    if (turns_count(&index->turns) < LARGE_INDEX || keyspace_count(ks) == 0) return;
    for (; count < AHEAD && node != NULL; node = turns_after(node))
        hashes[count++] = keyspace_hint_bucket(ks, turn_key(node));
    if (count > 0) index->ahead = count - 1;
    for (unsigned i = 0; i < count; i++) {
        entries[found] = keyspace_hint_entry(ks, hashes[i]);
        if (entries[found] != NULL) found++; /* perhaps of another key */
    }
    for (unsigned i = 0; i < found; i++)
        keyspace_hint_value(entries[i]);
    for (unsigned i = 0; i < found; i++)
        if (entries[i]->object.type == TYPE_DEHYDRATOR)
            dehydrator_hint(entries[i]->object.dehydrator);
    for (unsigned i = 0; i < found; i++)
        if (entries[i]->object.type == TYPE_DEHYDRATOR)
            dehydrator_hint_first(entries[i]->object.dehydrator);
}

bool fair_next(struct fair_index *index, msec now, struct bytes *key)
{
    catch_up(index, now, CATCH_UP);
    if (index->ahead == 0)
        look_ahead(index);
    else
        index->ahead--;
    index->turn = turns_first(&index->turns);
    if (index->turn == NULL) return false;
    *key = turn_key(index->turn);
    return true;
}

void fair_turned(struct fair_index *index, msec now)
{
    struct turn *node = index->turn;
    ensure(node != NULL, "a turn without a key");
    index->turn = NULL;
    node_place(index, node, now, true);
}

msec fair_next_at(const struct fair_index *index, msec now)
{
    return turns_next_at(&index->turns, now);
}

void fair_continue(struct fair_index *index)
{
    index->continues = true;
    begin_work(index);
}

void fair_begin_wait(struct fair *fair, unsigned db, struct bytes prefix, msec now)
{
    const struct fair_hooks *hooks = &fair->hooks;
    struct fair_index *index = find_index(fair, db, prefix);
    if (index == NULL || !has_all_nodes(index)) return;
    msec at = fair_next_at(index, now);
    if (instant_due(at, now))
        announce(index);
    else if (at != NEVER && hooks->ready_at != NULL)
        hooks->ready_at(hooks->ctx, db, prefix, at);
}

/* ---- changes --------------------------------------------------------------------------------- */

void fair_note_key(struct fair *fair, unsigned db, struct bytes key)
{
    for (size_t i = 0; i < fair->length_count; i++) {
        if (fair->lengths[i].len > key.len) continue;
        struct bytes name = bytes_of(key.data, fair->lengths[i].len);
        struct fair_index *index = find_index(fair, db, name);
        if (index == NULL || index->state == FAIR_NO_NODES) continue;
        /* fair_turned will look at the key whose turn it is. */
        if (index->turn != NULL && bytes_equal(turn_key(index->turn), key)) continue;
        struct turn *node = turns_find(&index->turns, key);
        if (node == NULL && find_dehydrator(index, key) != NULL)
            node = turns_add(&index->turns, key);
        if (node != NULL) note_node(index, node);
    }
}

void fair_settle(struct fair *fair, msec now)
{
    for (size_t i = 0; i < fair->changed_count; i++) {
        struct fair_change changed = fair->changed[i];
        if (changed.index == NULL) continue;
        /* Keys that became due before come first. */
        catch_up(changed.index, now, CATCH_UP);
        changed.node->noted = false;
        node_place(changed.index, changed.node, now, false);
    }
    fair->changed_count = 0;
    if (fair->changed_cap <= CHANGED_KEPT) return;
    mem_free(fair->changed);
    fair->changed = NULL;
    fair->changed_cap = 0;
}

/* Restarts the indexes of one database, or of all. */
static void restart(struct fair *fair, const unsigned *db, bool has_data)
{
    const struct fair_index *last = TAILQ_LAST(&fair->indexes, fair_indexes);
    struct fair_index *index = TAILQ_FIRST(&fair->indexes), *next;
    for (bool is_left = index != NULL; is_left; index = next) {
        next = TAILQ_NEXT(index, of_fair);
        is_left = index != last; /* restarted indexes are behind it */
        if (db == NULL || index->db == *db) index_restart(index, has_data);
    }
}

/* Handles SWAPDB: the indexes move with the keys. Waiting clients stay with their databases, so
 * those of both databases run their calls again, which make the indexes that are missing there. */
static void note_swap(struct fair *fair, unsigned a, unsigned b)
{
    const struct fair_hooks *hooks = &fair->hooks;
    struct fair_index *index;
    TAILQ_FOREACH(index, &fair->indexes, of_fair)
    {
        if (index->db != a && index->db != b) continue;
        if (hooks->done != NULL) hooks->done(hooks->ctx, index->db, prefix_of(index));
        index->db = index->db == a ? b : a;
        announce(index);
    }
}

void fair_replaced(struct fair *fair)
{
    restart(fair, NULL, true);
}

void fair_note(struct fair *fair, const struct effect *effect)
{
    switch (effect->kind) {
    case EFFECT_FLUSH: restart(fair, &effect->db, false); break;
    case EFFECT_SWAP: note_swap(fair, effect->db, (unsigned)effect->to); break;
    case EFFECT_POLICY_SET:
    case EFFECT_POLICY_DROP: note_policy(fair, effect->key); break; /* RATE, CLAIMED */
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

static bool has_work(const struct fair_index *index)
{
    return index->continues || is_scanning(index) || is_checking(index) ||
           index->survey.state == SURVEY_RUNNING;
}

bool fair_run(struct fair *fair, msec now, size_t budget)
{
    struct fair_index *index;
    note_time(fair, now);
    while (budget > 0 && (index = TAILQ_FIRST(&fair->dropped)) != NULL)
        if (!index_free_some(index, &budget)) return true;
    /* Drop indexes that are no longer needed. Look at a few, so that the cost of a call is the same
     * with thousands of policies. */
    for (size_t i = 0; i < AGED_AT_ONCE && i < fair->count; i++) {
        index = TAILQ_FIRST(&fair->indexes);
        bool is_old = index->used > now || now - index->used >= FAIR_KEEP;
        if (is_old && !is_needed(index)) {
            index_drop(index);
            continue;
        }
        if (is_old) index->used = now; /* check after another FAIR_KEEP whether it is needed */
        TAILQ_REMOVE(&fair->indexes, index, of_fair);
        TAILQ_INSERT_TAIL(&fair->indexes, index, of_fair);
    }
    while (budget > 0 && (index = TAILQ_FIRST(&fair->working)) != NULL) {
        struct visit visit = { index, now };
        if (index->continues) announce(index);
        index->continues = false;
        run_look(&visit, &budget);
        run_survey(&visit, &budget);
        if (has_work(index)) break;
        end_work(index);
    }
    return TAILQ_FIRST(&fair->working) != NULL || TAILQ_FIRST(&fair->dropped) != NULL;
}

void fair_drop(struct fair *fair)
{
    struct fair_index *index;
    size_t work = SIZE_MAX;
    while ((index = TAILQ_FIRST(&fair->indexes)) != NULL)
        index_drop(index);
    while ((index = TAILQ_FIRST(&fair->dropped)) != NULL)
        index_free_some(index, &work);
    dict_drop(&fair->prefixes);
    mem_free(fair->lengths);
    mem_free(fair->changed);
}

size_t fair_bytes(const struct fair *fair)
{
    const struct fair_index *index;
    size_t bytes = mem_size(fair->changed) + mem_size(fair->lengths) + dict_bytes(&fair->prefixes);
    TAILQ_FOREACH(index, &fair->indexes, of_fair)
    {
        bytes += mem_size(index) + turns_bytes(&index->turns);
        if (index == TAILQ_FIRST(&index->prefix->indexes)) bytes += mem_size(index->prefix);
    }
    TAILQ_FOREACH(index, &fair->dropped, of_fair)
    bytes += mem_size(index) + turns_bytes(&index->turns);
    return bytes;
}

/* ---- checking -------------------------------------------------------------------------------- */

struct check {
    const struct fair_index *index;
    size_t found;
};

/* Counts the keys that have a node. In a state with all nodes, each dehydrator with elements must
 * have one. */
static bool check_entry(void *ctx, const struct keyspace *ks, const struct entry *entry)
{
    struct check *check = ctx;
    struct bytes key = entry_key(entry);
    (void)ks;
    if (entry->object.type != TYPE_DEHYDRATOR || !covers(check->index, key) ||
        dehydrator_count(entry->object.dehydrator) == 0)
        return true;
    bool has_node = turns_find(&check->index->turns, key) != NULL;
    ensure(has_node || !has_all_nodes(check->index), "'%.*s' has no node", (int)key.len, key.data);
    check->found += has_node;
    return true;
}

static void check_index(const struct fair_index *index)
{
    struct check check = { index, 0 };
    bool is_looking = is_scanning(index) || is_checking(index);
    turns_check(&index->turns);
    ensure(index->fair->changed_count == 0, "%zu changed nodes are left",
           index->fair->changed_count);
    ensure(index->turn == NULL, "a turn has not ended");
    ensure((index->state == FAIR_NO_NODES) == (index->looks == 0), "%llu looks in state %d",
           (unsigned long long)index->looks, index->state);
    ensure(is_looking || index->cursor == 0, "a cursor in state %d", index->state);
    ensure(index->works || !has_work(index), "an index that fair_run does not visit");
    keyspace_each(keyspace_of(index), check_entry, &check);
    ensure(check.found == turns_count(&index->turns), "%zu keys and %zu nodes", check.found,
           turns_count(&index->turns));
    ensure(index->state != FAIR_NO_NODES || check.found == 0, "%zu nodes before a scan",
           check.found);
    if (index->state != FAIR_SCANNING && index->state != FAIR_COMPLETE) return;

    /* No element is claimable before the instant of its node, unless that has come. */
    const struct fair *fair = index->fair;
    const struct turn *node;
    struct dict_iter iter;
    dict_iter_begin(&iter, &index->turns.keys);
    while ((node = dict_iter_next(&iter)) != NULL) {
        if (node->in_ring) continue;
        msec at = agenda_at(&index->turns.later, &node->later);
        const struct entry *entry = find_dehydrator(index, turn_key(node));
        msec claimable = delivery_next_at(fair->policies, entry, fair->latest, true);
        ensure(instant_due(at, fair->latest) || at <= claimable,
               "'%.*s' may be claimed at %lld, not at %lld", (int)node->len, node->key,
               (long long)claimable, (long long)at);
    }
}

void fair_check(const struct fair *fair)
{
    struct fair_index *index;
    TAILQ_FOREACH(index, &fair->indexes, of_fair)
    check_index(index);
}
