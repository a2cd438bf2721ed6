/* blocked_ready: makes keys of blocked clients ready, after an effect or at an instant. Also
 * contains the checks of blocked.h (blocked_check). */
#include "server/engine/react/blocked_state.h"

#include "store/base/ensure.h"
#include "store/txn/effect_row.h"

/* ---- ready queues ---------------------------------------------------------------------------- */

struct queued_client *blocked_first_untried(const struct key_queue *queue)
{
    struct queued_client *queued = TAILQ_FIRST(&queue->clients);
    while (queued != NULL && queued->client->arrival < queue->resumes_at)
        queued = TAILQ_NEXT(queued, of_key);
    return queued;
}

/* Returns the queue's first untried client of a dehydrator, or NULL. */
static const struct queued_client *first_for_element(const struct key_queue *queue)
{
    if (queue->kind == BLOCK_FOR_SURVEY) return NULL;
    const struct queued_client *queued = blocked_first_untried(queue);
    while (queued != NULL && queued->client->type != TYPE_DEHYDRATOR)
        queued = queue->row == NULL ? TAILQ_NEXT(queued, of_key) : NULL;
    return queued;
}

void blocked_arm_turn(struct blocked *blocked, struct key_queue *queue)
{
    const struct queued_client *queued =
        blocked->by_type[TYPE_DEHYDRATOR] > 0 ? first_for_element(queue) : NULL;
    if (queued == NULL) {
        agenda_cancel(&blocked->turns, &queue->turn);
        return;
    }
    msec arrival = (msec)queued->client->arrival;
    bool is_armed = deadline_armed(&queue->turn);
    if (!is_armed || agenda_at(&blocked->turns, &queue->turn) != arrival)
        agenda_move(&blocked->turns, &queue->turn, arrival);
}

static struct key_queues *ready_list(struct blocked *blocked, const struct key_queue *queue)
{
    return queue->kind == BLOCK_FOR_SURVEY ? &blocked->ready_surveys : &blocked->ready;
}

void blocked_join_ready(struct blocked *blocked, struct key_queue *queue, enum readiness readiness,
                        uint64_t arrival)
{
    queue->resumes_at = arrival;
    if (queue->readiness == NOT_READY)
        TAILQ_INSERT_TAIL(ready_list(blocked, queue), queue, by_readiness);
    if (readiness > queue->readiness) queue->readiness = readiness;
    blocked_arm_turn(blocked, queue);
}

void blocked_leave_ready(struct blocked *blocked, struct key_queue *queue)
{
    if (queue->readiness == NOT_READY) return;
    queue->readiness = NOT_READY;
    TAILQ_REMOVE(ready_list(blocked, queue), queue, by_readiness);
    agenda_cancel(&blocked->turns, &queue->turn);
}

static struct key_queue *queue_of_turn(struct deadline *turn)
{
    return (struct key_queue *)(void *)((char *)turn - offsetof(struct key_queue, turn));
}

/* Returns the queue of `turns` whose first untried client arrived first, or NULL. When clients
 * leave, their queue keeps its place in `turns`, which is then too early; such queues are moved
 * here. */
static struct key_queue *first_of_turns(struct blocked *blocked)
{
    struct deadline *turn;
    while ((turn = agenda_first(&blocked->turns)) != NULL) {
        msec before = agenda_next(&blocked->turns);
        blocked_arm_turn(blocked, queue_of_turn(turn));
        if (deadline_armed(turn) && agenda_at(&blocked->turns, turn) == before)
            return queue_of_turn(turn);
    }
    return NULL;
}

struct key_queue *blocked_first_ready(struct blocked *blocked, bool only_surveys)
{
    struct key_queue *queue = TAILQ_FIRST(&blocked->ready_surveys);
    if (queue != NULL || only_surveys) return queue;
    if (blocked->of_prefix > 0) queue = first_of_turns(blocked);
    return queue != NULL ? queue : TAILQ_FIRST(&blocked->ready);
}

bool blocked_has_earlier(struct blocked *blocked, uint64_t arrival)
{
    return first_of_turns(blocked) != NULL &&
           instant_due(agenda_next(&blocked->turns), (msec)arrival - 1);
}

/* ---- by an effect ---------------------------------------------------------------------------- */

static void make_ready(struct blocked *blocked, struct key_queue *queue, enum readiness readiness)
{
    blocked->changes++;
    blocked_join_ready(blocked, queue, readiness, 0);
}

/* Returns the database's table of keys that clients wait for, or NULL if it is empty. */
static const struct dict *queue_in(const struct blocked *blocked, int64_t db)
{
    if (db < 0 || (size_t)db >= blocked->table_count) return NULL;
    const struct dict *table = &blocked->tables[BLOCK_FOR_KEY][db];
    return dict_count(table) > 0 ? table : NULL;
}

struct key_queue *blocked_find_queue(const struct blocked *blocked, int64_t db, struct bytes key)
{
    const struct dict *table = queue_in(blocked, db);
    return table != NULL ? dict_find(table, key) : NULL;
}

void blocked_ready(struct blocked *blocked, unsigned db, struct bytes key)
{
    struct key_queue *queue = blocked_find_queue(blocked, db, key);
    if (queue != NULL) make_ready(blocked, queue, READY);
}

static struct key_queue *find_claimers(const struct blocked *blocked, unsigned db,
                                       struct bytes prefix)
{
    if (blocked->of_prefix == 0 || db >= blocked->table_count) return NULL;
    return dict_find(&blocked->tables[BLOCK_FOR_TURN][db], prefix);
}

static struct key_queue *find_survey(const struct blocked *blocked, unsigned db,
                                     struct bytes prefix)
{
    if (db >= blocked->table_count) return NULL;
    return dict_find(&blocked->tables[BLOCK_FOR_SURVEY][db], prefix);
}

bool blocked_waits_for_prefix(const struct blocked *blocked, unsigned db, struct bytes prefix)
{
    return find_claimers(blocked, db, prefix) != NULL || find_survey(blocked, db, prefix) != NULL;
}

void blocked_ready_prefix(struct blocked *blocked, unsigned db, struct bytes prefix)
{
    struct key_queue *queue = find_claimers(blocked, db, prefix);
    struct key_queue *survey = find_survey(blocked, db, prefix);
    if (queue != NULL) make_ready(blocked, queue, READY);
    if (survey != NULL) blocked_join_ready(blocked, survey, READY, 0);
}

void blocked_wake_prefix_at(struct blocked *blocked, unsigned db, struct bytes prefix, msec at)
{
    struct key_queue *queue = find_claimers(blocked, db, prefix);
    if (queue != NULL) blocked_wake_queue(blocked, queue, at);
}

void blocked_ready_under(struct blocked *blocked, unsigned db, struct bytes prefix,
                         struct bytes key)
{
    struct key_queue *queue = find_claimers(blocked, db, prefix);
    blocked_ready(blocked, db, key);
    if (queue != NULL) make_ready(blocked, queue, READY);
}

/* Makes all keys of the database ready: after SWAPDB any of them may have a value. */
static void ready_all(struct blocked *blocked, int64_t db)
{
    const struct dict *table = queue_in(blocked, db);
    if (table == NULL) return;
    struct dict_iter iter;
    struct key_queue *queue;
    dict_iter_begin(&iter, table);
    while ((queue = dict_iter_next(&iter)) != NULL)
        make_ready(blocked, queue, READY);
}

/* Call after an effect that may have left the key missing or of another type: makes the key ready
 * for clients that then want an error (or_gone). */
static void gone(struct blocked *blocked, const struct effect *effect)
{
    if (blocked->or_gone == 0) return;
    if (effect->kind == EFFECT_FLUSH)
        ready_all(blocked, effect->db);
    else
        blocked_ready(blocked, effect->db, effect->key);
}

/* Makes the keys ready that the effect may have filled. DIFFERS: Redis 7.0 serves no client when a
 * result replaces a key of another type; here it does. (doc/differs.md) */
void blocked_effect(struct blocked *blocked, const struct effect *effect)
{
    const struct effect_row *row = &effect_rows[effect->kind];
    struct key_queue *queue;
    /* Try even if the key's own clients wait for another type, because a later effect of the same
     * transaction may change the key to their type. Redis checks for clients of any key, too. */
    if (row->may_serve && blocked->by_type[row->type] > 0)
        blocked_ready(blocked, effect->db, effect->key);
    switch (effect->kind) {
    case EFFECT_PENDING_PUT: /* may be claimed, now or later; without CLAIM it is not found */
        if (blocked->or_claims == 0) break;
        queue = blocked_find_queue(blocked, effect->db, effect->key);
        if (queue != NULL) make_ready(blocked, queue, READY_FOR_CLAIMS);
        break;
    case EFFECT_SET:
    case EFFECT_WRITE:
    case EFFECT_DROP:
    case EFFECT_FLUSH: gone(blocked, effect); break;
    case EFFECT_RENAME:
        gone(blocked, effect);
        blocked_ready(blocked, effect->db, effect->a);
        break;
    case EFFECT_COPY: blocked_ready(blocked, (unsigned)effect->to, effect->a); break;
    case EFFECT_MOVE:
        gone(blocked, effect);
        blocked_ready(blocked, (unsigned)effect->to, effect->key);
        break;
    case EFFECT_POLICY_SET:
    case EFFECT_POLICY_DROP: blocked_ready_type(blocked, TYPE_DEHYDRATOR); break; /* the rate */
    case EFFECT_SWAP:
        ready_all(blocked, effect->db);
        ready_all(blocked, effect->to);
        break;
    default: break;
    }
}

void blocked_wake_queue(struct blocked *blocked, struct key_queue *queue, msec at)
{
    if (at == 0 || at == NEVER) return;
    bool armed = deadline_armed(&queue->wake);
    if (armed && agenda_at(&blocked->wakes, &queue->wake) <= at) return;
    agenda_move(&blocked->wakes, &queue->wake, at);
}

void blocked_wake_at(struct blocked *blocked, unsigned db, struct bytes key, msec at)
{
    struct key_queue *queue = blocked_find_queue(blocked, db, key);
    if (queue == NULL) return;
    queue->wakes_to = READY;
    blocked_wake_queue(blocked, queue, at);
}

msec blocked_next_wake(const struct blocked *blocked)
{
    return agenda_next(&blocked->wakes);
}

bool blocked_wake(struct blocked *blocked, msec now)
{
    char *wake = (char *)agenda_pop_due(&blocked->wakes, now);
    if (wake == NULL) return false;
    struct key_queue *queue = (struct key_queue *)(wake - offsetof(struct key_queue, wake));
    make_ready(blocked, queue, queue->wakes_to);
    queue->wakes_to = READY_FOR_CLAIMS;
    return true;
}

void blocked_wake_for_prefixes(struct blocked *blocked, msec now)
{
    if (blocked->of_prefix == 0) return;
    while (blocked_next_wake(blocked) <= blocked_next_timeout(blocked) &&
           blocked_wake(blocked, now))
        continue;
}

bool blocked_pending(const struct blocked *blocked)
{
    return blocked->next != NULL || !TAILQ_EMPTY(&blocked->ready) ||
           !TAILQ_EMPTY(&blocked->ready_surveys);
}

/* ---- leases ---------------------------------------------------------------------------------- */

size_t blocked_waiting(const struct blocked *blocked, unsigned db, struct bytes key, enum type type,
                       size_t most)
{
    if (blocked->by_type[type] == 0 || most == 0) return 0;
    const struct key_queue *queue = blocked_find_queue(blocked, db, key);
    if (queue == NULL) return 0;
    size_t count = 0;
    const struct queued_client *queued;
    TAILQ_FOREACH(queued, &queue->clients, of_key)
    {
        if (queued->client->type == type && ++count == most) break;
    }
    return count;
}

void blocked_ready_type(struct blocked *blocked, enum type type)
{
    for (unsigned db = 0; db < blocked->table_count && blocked->by_type[type] > 0; db++)
        ready_all(blocked, db);
}

/* ---- checking -------------------------------------------------------------------------------- */

struct tally {
    size_t ready, armed, turns; /* queues */
};

static void check_queue(const struct blocked *blocked, const struct key_queue *queue,
                        struct tally *tally)
{
    const struct queued_client *queued;
    ensure(!TAILQ_EMPTY(&queue->clients), "no client waits for a key in database %u", queue->db);
    TAILQ_FOREACH(queued, &queue->clients, of_key)
    {
        const struct blocked_client *client = queued->client;
        ensure(queued->queue == queue, "a client belongs to another queue");
        ensure(client->session->blocked == client, "session %llu is not marked as blocked",
               (unsigned long long)client->session->id);
        session_check(client->session);
        ensure(blocked->by_type[client->type] > 0, "no client is counted for type %d",
               client->type);
        ensure(queue->row == NULL || queue->row == client->call->command.row,
               "%s is blocked, not %s", client->call->command.row->name, queue->row->name);
    }
    bool is_ready = queue->readiness != NOT_READY, has_turn = deadline_armed(&queue->turn);
    tally->ready += is_ready;
    tally->turns += has_turn;
    ensure(is_ready || !has_turn, "a queue has a turn and is not ready");
    queued = is_ready ? first_for_element(queue) : NULL;
    if (queued != NULL) {
        ensure(has_turn, "a ready queue with clients of dehydrators has no turn");
        ensure(agenda_at(&blocked->turns, &queue->turn) <= (msec)queued->client->arrival,
               "a turn after client %llu", (unsigned long long)queued->client->arrival);
    }
    if (!deadline_armed(&queue->wake)) return;
    tally->armed++;
    msec at = agenda_at(&blocked->wakes, &queue->wake);
    ensure(at != 0 && at != NEVER, "a key is ready at %lld", (long long)at);
}

void blocked_check(const struct blocked *blocked)
{
    struct tally tally = { 0 };
    for (unsigned i = 0; i < BLOCK_KINDS * blocked->table_count; i++) {
        const struct dict *table = &blocked->tables[i % BLOCK_KINDS][i / BLOCK_KINDS];
        struct dict_iter iter;
        const struct key_queue *queue;
        dict_check(table);
        dict_iter_begin(&iter, table);
        while ((queue = dict_iter_next(&iter)) != NULL) {
            ensure(blocked_table_of(blocked, queue) == table, "a queue is in the wrong table");
            check_queue(blocked, queue, &tally);
        }
    }
    const struct key_queue *ready;
    size_t queued = 0;
    TAILQ_FOREACH(ready, &blocked->ready, by_readiness)
    queued++;
    TAILQ_FOREACH(ready, &blocked->ready_surveys, by_readiness)
    queued++;
    ensure(tally.ready == queued, "%zu keys are marked ready, %zu are in the queue", tally.ready,
           queued);
    agenda_check(&blocked->turns);
    ensure(agenda_count(&blocked->turns) == tally.turns, "%u turns of %zu queues",
           agenda_count(&blocked->turns), tally.turns);
    agenda_check(&blocked->wakes);
    agenda_check(&blocked->deadlines);
    ensure(agenda_count(&blocked->wakes) == tally.armed, "%u instants of %zu keys",
           agenda_count(&blocked->wakes), tally.armed);
    ensure(agenda_count(&blocked->deadlines) <= blocked->count, "%u deadlines of %zu sessions",
           agenda_count(&blocked->deadlines), blocked->count);
}
