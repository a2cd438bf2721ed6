/* blocked: see blocked.h and blocked_state.h. Blocks, serves and unblocks clients. */
#include "server/engine/react/blocked_state.h"

#include <string.h>

#include "server/base/clock.h"
#include "store/base/ensure.h"
#include "store/mem/mem.h"

static const struct dict_type queue_type = { .key = blocked_queue_key };

struct blocked *blocked_new(void)
{
    struct blocked *blocked = mem_zalloc(sizeof(*blocked));
    TAILQ_INIT(&blocked->ready);
    TAILQ_INIT(&blocked->ready_surveys);
    agenda_init(&blocked->turns);
    agenda_init(&blocked->wakes);
    agenda_init(&blocked->deadlines);
    blocked->changes = 1;
    return blocked;
}

void blocked_free(struct blocked *blocked)
{
    ensure(blocked->count == 0, "%zu sessions wait", blocked->count);
    for (unsigned kind = 0; kind < BLOCK_KINDS; kind++) {
        for (unsigned db = 0; db < blocked->table_count; db++)
            dict_drop(&blocked->tables[kind][db]);
        mem_free(blocked->tables[kind]);
    }
    agenda_drop(&blocked->turns);
    agenda_drop(&blocked->wakes);
    agenda_drop(&blocked->deadlines);
    mem_free(blocked);
}

size_t blocked_count(const struct blocked *blocked)
{
    return blocked->count;
}

size_t blocked_with_timeout(const struct blocked *blocked)
{
    return agenda_count(&blocked->deadlines);
}

size_t blocked_keys(const struct blocked *blocked)
{
    size_t keys = 0;
    for (unsigned kind = 0; kind < BLOCK_KINDS; kind++)
        for (unsigned db = 0; db < blocked->table_count; db++)
            keys += dict_count(&blocked->tables[kind][db]);
    return keys;
}

/* ---- unblocking ------------------------------------------------------------------------------ */

static void count_flags(struct blocked_client *client, int by)
{
    struct blocked *blocked = client->all;
    blocked->by_type[client->type] += (size_t)by;
    blocked->or_gone += (size_t)(client->or_gone ? by : 0);
    blocked->or_claims += (size_t)(client->or_claims ? by : 0);
    blocked->of_prefix += (size_t)(client->kind == BLOCK_FOR_TURN ? by : 0);
}

static void forget_client(struct session *session)
{
    struct blocked_client *client = session->blocked;
    struct blocked *blocked = client->all;
    for (size_t i = 0; i < client->count; i++) {
        struct queued_client *queued = &client->queued[i];
        struct key_queue *queue = queued->queue;
        if (blocked->next == queued) blocked->next = TAILQ_NEXT(queued, of_key);
        TAILQ_REMOVE(&queue->clients, queued, of_key);
        if (!TAILQ_EMPTY(&queue->clients)) continue;
        blocked_leave_ready(blocked, queue);
        agenda_cancel(&blocked->wakes, &queue->wake);
        dict_remove(blocked_table_of(blocked, queue), blocked_queue_key(queue));
        mem_free(queue);
    }
    agenda_cancel(&blocked->deadlines, &client->deadline);
    blocked->count--;
    if (client->call != NULL) count_flags(client, -1);
    for (unsigned i = 0; i < blocked->skipped_count; i++)
        if (blocked->skipped[i] == client)
            blocked->skipped[i--] = blocked->skipped[--blocked->skipped_count];
    session->blocked = NULL;
    if (client->wait.gone != NULL) client->wait.gone(client->wait.ctx);
    mem_free(client->call);
    mem_free(client);
}

/* ---- blocking -------------------------------------------------------------------------------- */

static void join_queue(struct blocked_client *client, struct bytes key, msec again)
{
    struct blocked *all = client->all;
    unsigned db = client->session->db;
    if (db >= all->table_count) {
        for (unsigned kind = 0; kind < BLOCK_KINDS; kind++) {
            all->tables[kind] = mem_realloc(all->tables[kind], (db + 1) * sizeof(struct dict));
            for (unsigned i = all->table_count; i <= db; i++)
                dict_init(&all->tables[kind][i], &queue_type);
        }
        all->table_count = db + 1;
    }
    const struct command *row = client->call->command.row;
    struct key_queue wanted = {
        .row = row, .db = db, .kind = client->kind, .wakes_to = READY_FOR_CLAIMS, .key_len = key.len
    };
    struct dict *table = blocked_table_of(all, &wanted);

    struct key_queue *queue = dict_find(table, key);
    if (queue == NULL) {
        queue = mem_alloc(sizeof(*queue) + key.len);
        *queue = wanted;
        TAILQ_INIT(&queue->clients);
        deadline_init(&queue->wake);
        deadline_init(&queue->turn);
        if (key.len > 0) memcpy(queue->key, key.data, key.len);
        dict_add(table, queue);
    }
    const struct queued_client *last = TAILQ_LAST(&queue->clients, queued_clients);
    if (last != NULL && last->client == client) return; /* the key was named twice */
    struct queued_client *queued = &client->queued[client->count++];
    *queued = (struct queued_client){ .queue = queue, .client = client };
    TAILQ_INSERT_TAIL(&queue->clients, queued, of_key);
    if (queue->row != row) queue->row = NULL;
    if (queue->readiness != NOT_READY) blocked_arm_turn(all, queue);
    blocked_wake_queue(all, queue, again);
}

bool blocked_block(struct blocked *blocked, const struct call *call,
                   const struct block_request *request)
{
    struct session *session = call->session;
    ensure(request->first > 0 && request->count > 0 &&
               request->first + request->count <= call->argc,
           "keys %d + %d of %d arguments", request->first, request->count, call->argc);
    size_t count = (size_t)request->count;
    struct blocked_client *client =
        mem_try_alloc(sizeof(*client) + count * sizeof(struct queued_client));
    struct saved_call *saved = client != NULL ? saved_call_new(call) : NULL;
    if (saved == NULL) {
        mem_free(client);
        return false;
    }
    *client = (struct blocked_client){
        .all = blocked,
        .session = session,
        .call = saved,
        .type = request->type,
        .time = { request->usec, clock_mono_usec() - request->usec },
        .no_answer = request->no_answer,
        .or_gone = request->or_gone,
        .or_claims = request->or_claims,
        .kind = request->kind,
        .group = request->group,
        .looks_needed = request->looks_needed,
        .arrival = blocked->arrivals++,
    };
    count_flags(client, 1); /* before it joins queues that are ready */
    for (int i = 0; i < request->count; i++) {
        struct bytes key = call->argv[request->first + i];
        if (request->kind != BLOCK_FOR_KEY) key.len--; /* without the '*' */
        join_queue(client, key, request->again);
    }
    deadline_init(&client->deadline);
    if (request->until != NEVER) agenda_add(&blocked->deadlines, &client->deadline, request->until);
    session->blocked = client;
    session_wait(session, WAIT_KEY, forget_client);
    blocked->count++;
    return true;
}

void blocked_wait(struct blocked *blocked, struct session *session, const struct blocked_wait *wait)
{
    if (session_is_over(session)) {
        wait->gone(wait->ctx);
        return;
    }
    struct blocked_client *client = mem_alloc(sizeof(*client));
    *client = (struct blocked_client){ .all = blocked, .session = session, .wait = *wait };
    deadline_init(&client->deadline);
    session->blocked = client;
    session_wait(session, wait->reason, forget_client);
    blocked->count++;
}

bool blocked_answers_late(const struct session *session)
{
    const struct blocked_client *client = session->blocked;
    if (client->wait.late == NULL) return false;
    client->wait.late(client->wait.ctx);
    return true;
}

const struct saved_call *blocked_call(const struct session *session, struct call_time *time)
{
    const struct blocked_client *client = session->blocked;
    if (client == NULL || client->call == NULL) return NULL;
    *time = client->time;
    return client->call;
}

/* ---- serving --------------------------------------------------------------------------------- */

/* Would the commands of both clients find nothing in a key if one of them did? */
static bool want_the_same(const struct blocked_client *a, const struct blocked_client *b)
{
    if (a->call->command.row != b->call->command.row) return false;
    if (a->group == 0 && b->group == 0) return a->type != TYPE_STREAM;
    return a->group > 0 && b->group > 0 &&
           bytes_equal(a->call->argv[a->group], b->call->argv[b->group]);
}

/* Has a client found nothing under this prefix, and no queue become ready since? */
static bool has_nothing(const struct blocked *blocked, const struct key_queue *queue)
{
    return queue->kind != BLOCK_FOR_KEY && queue->nothing_since == blocked->changes;
}

/* Moves blocked->next to the next client worth trying. Skips clients whose command would find
 * nothing, because the same command of another client has found nothing. If the key became ready
 * only for claims, also skips clients that do not claim. */
static void find_next(struct blocked *blocked)
{
    for (; blocked->next != NULL; blocked->next = TAILQ_NEXT(blocked->next, of_key)) {
        const struct blocked_client *client = blocked->next->client;
        bool is_left_out = blocked->serves == READY_FOR_CLAIMS && client->type == TYPE_STREAM &&
                           !client->or_claims;
        is_left_out |= has_nothing(blocked, blocked->next->queue) && !client->or_gone;
        for (unsigned i = 0; i < blocked->skipped_count && !is_left_out; i++)
            is_left_out = want_the_same(blocked->skipped[i], client);
        if (!is_left_out) return;
    }
}

/* If the next client waits for a dehydrator or a prefix, returns the client that blocked earliest
 * on another prefix that overlaps with it, provided that this client blocked before the next one;
 * otherwise NULL. */
static const struct queued_client *earlier_of_prefix(const struct blocked *blocked)
{
    const struct queued_client *next = blocked->next, *first = NULL;
    if (next->client->type != TYPE_DEHYDRATOR) return NULL;
    uint64_t before = next->client->arrival;
    struct dict_iter iter;
    const struct key_queue *queue;
    dict_iter_begin(&iter, &blocked->tables[BLOCK_FOR_TURN][next->queue->db]);
    while ((queue = dict_iter_next(&iter)) != NULL) {
        if (queue == next->queue || has_nothing(blocked, queue)) continue;
        struct bytes prefix = blocked_queue_key(queue), other = blocked_queue_key(next->queue);
        bool overlaps = bytes_begin_with(other, prefix) ||
                        (next->queue->kind != BLOCK_FOR_KEY && bytes_begin_with(prefix, other));
        if (!overlaps) continue;
        const struct queued_client *queued = TAILQ_FIRST(&queue->clients);
        while (queued != NULL && queued->client->or_gone) /* it waits for something else */
            queued = TAILQ_NEXT(queued, of_key);
        if (queued == NULL || queued->client->arrival >= before) continue;
        before = queued->client->arrival;
        first = queued;
    }
    return first;
}

bool blocked_next_try(struct blocked *blocked, bool only_surveys, struct blocked_try *try)
{
    find_next(blocked);
    while (blocked->next == NULL) {
        struct key_queue *queue = blocked_first_ready(blocked, only_surveys);
        if (queue == NULL) return false;
        blocked->serves = queue->readiness;
        /* Before its clients run, which may make it ready again. */
        blocked_leave_ready(blocked, queue);
        blocked->skipped_count = 0;
        blocked->next = blocked_first_untried(queue);
        find_next(blocked);
    }
    const struct queued_client *queued = NULL;
    if (blocked->of_prefix > 0 && blocked->next->queue->kind != BLOCK_FOR_SURVEY)
        queued = earlier_of_prefix(blocked);
    if (queued == NULL) {
        queued = blocked->next;
        blocked->next = TAILQ_NEXT(queued, of_key);
    }
    *try = (struct blocked_try){ .session = queued->client->session,
                                 .call = queued->client->call,
                                 .type = queued->client->type,
                                 .or_gone = queued->client->or_gone,
                                 .looks_needed = queued->client->looks_needed,
                                 .db = queued->queue->db,
                                 .key = blocked_queue_key(queued->queue),
                                 .is_prefix = queued->queue->kind != BLOCK_FOR_KEY,
                                 .time = &queued->client->time };
    return true;
}

void blocked_skip_key(struct blocked *blocked)
{
    blocked->next = NULL;
}

void blocked_skip_missing(struct blocked *blocked)
{
    while (blocked->next != NULL && !blocked->next->client->or_gone)
        blocked->next = TAILQ_NEXT(blocked->next, of_key);
}

bool blocked_defers(struct blocked *blocked, const struct blocked_try *try)
{
    const struct blocked_client *client = try->session->blocked;
    if (client->kind == BLOCK_FOR_SURVEY || !blocked_has_earlier(blocked, client->arrival))
        return false;
    const struct queued_client *next = blocked->next;
    if (next != NULL && next->queue->readiness == NOT_READY)
        blocked_join_ready(blocked, next->queue, blocked->serves, next->client->arrival);
    blocked_join_ready(blocked, client->queued[0].queue, READY, 0);
    blocked_skip_key(blocked);
    return true;
}

void blocked_skip_command(struct blocked *blocked, const struct blocked_try *try, msec again)
{
    if (try->is_prefix) {
        /* All clients of a prefix want the same, except those that receive a reply in any case. */
        struct key_queue *of_prefix = try->session->blocked->queued[0].queue;
        if (!try->or_gone) of_prefix->nothing_since = blocked->changes;
        blocked_wake_queue(blocked, of_prefix, again);
        return;
    }
    struct key_queue *queue = blocked_find_queue(blocked, try->db, try->key);
    ensure(queue != NULL, "session %llu does not wait", (unsigned long long)try->session->id);
    blocked_wake_queue(blocked, queue, again);
    const struct blocked_client *client = try->session->blocked;
    if (queue->row != NULL && client->type != TYPE_STREAM && client->group == 0)
        blocked_skip_key(blocked); /* all its clients use this command, so skip them */
    else if (blocked->skipped_count < SKIPPED_MAX &&
             (client->group > 0 || client->type != TYPE_STREAM))
        blocked->skipped[blocked->skipped_count++] = client;
}

/* ---- deadlines ------------------------------------------------------------------------------- */

msec blocked_next_timeout(const struct blocked *blocked)
{
    return agenda_next(&blocked->deadlines);
}

void blocked_clock_set(struct blocked *blocked, msec by)
{
    struct agenda old = blocked->deadlines;
    struct deadline *deadline;
    agenda_init(&blocked->deadlines);
    while ((deadline = agenda_first(&old)) != NULL) {
        msec at = agenda_next(&old);
        agenda_cancel(&old, deadline);
        agenda_add(&blocked->deadlines, deadline, instant_moved(at, by));
    }
    agenda_drop(&old);
}

msec blocked_next_due(const struct blocked *blocked)
{
    msec wake = blocked_next_wake(blocked), late = blocked_next_timeout(blocked);
    return wake < late ? wake : late;
}

struct session *blocked_first_timed_out(const struct blocked *blocked, msec now)
{
    if (!instant_due(blocked_next_timeout(blocked), now)) return NULL;
    char *deadline = (char *)agenda_first(&blocked->deadlines);
    return ((struct blocked_client *)(deadline - offsetof(struct blocked_client, deadline)))
        ->session;
}

size_t blocked_bytes(const struct session *session)
{
    const struct blocked_client *client = session->blocked;
    return client != NULL ? mem_size(client) + mem_size(client->call) : 0;
}

enum no_answer blocked_no_answer(const struct session *session)
{
    return session->blocked->no_answer;
}
