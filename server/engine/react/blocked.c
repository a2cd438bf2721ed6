/* blocked: see blocked.h. A table per database of the keys that clients wait for; each key has a
 * queue of its clients in the order in which they blocked. A blocked session has one entry (struct
 * place) for each of its keys, and one deadline in an agenda for all sessions. A second agenda
 * holds the keys that become ready at a time. Invariants: a key is in its table exactly while a
 * client waits for it, and in the ready queue exactly while `ready` is set. */
#include "server/engine/react/blocked.h"

#include <stddef.h>
#include <string.h>
#include <sys/queue.h>

#include "server/base/clock.h"
#include "store/struct/agenda.h"
#include "store/struct/dict.h"
#include "store/base/ensure.h"
#include "store/mem/mem.h"
#include "store/txn/effect_row.h"

enum { SKIPPED_MAX = 4 };

TAILQ_HEAD(places, place);

struct key_queue {
    TAILQ_ENTRY(key_queue) by_readiness;
    struct places clients;
    struct deadline wake;      /* idle: only effects make it ready */
    const struct command *row; /* the command of all its clients; NULL once they have differed */
    unsigned db;
    bool ready;
    bool for_claims; /* ready, but only for readers of streams with CLAIM */
    bool wakes_all;  /* `wake` is not only for these */
    size_t key_len;
    char key[];
};

/* One session and one key. */
struct place {
    TAILQ_ENTRY(place) of_key;
    struct key_queue *queue;
    struct blocked_client *client;
};

struct blocked_client {
    struct blocked *all;
    struct session *session;
    struct saved_call *call;
    struct deadline deadline; /* idle: no timeout */
    struct blocked_hold hold; /* of one that does not wait for a key */
    enum type type;
    struct call_time time;   /* of the call */
    bool is_array;           /* the reply at a timeout */
    bool or_gone, or_claims; /* as in struct block_request */
    int group;
    size_t count;
    struct place places[]; /* one for each distinct key */
};

struct blocked {
    struct dict *tables; /* by database, of struct key_queue */
    unsigned table_count;
    TAILQ_HEAD(, key_queue) ready;
    struct place *next; /* is tried next; NULL: the first client of the next ready key */
    bool for_claims;    /* of the key of `next` */
    /* Clients for which the current key has nothing; others that want the same are skipped. */
    const struct blocked_client *skipped[SKIPPED_MAX];
    unsigned skipped_count;
    struct agenda wakes;     /* of keys */
    struct agenda deadlines; /* of sessions, minus `set` */
    msec set;                /* by how much the system clock was set while clients were blocked */
    size_t count;
    size_t by_type[TYPE_COUNT]; /* of the clients that wait for keys: what they wait for */
    size_t or_gone, or_claims;  /* clients with these flags */
};

static struct bytes queue_key(const void *element)
{
    const struct key_queue *queue = element;
    return bytes_of(queue->key, queue->key_len);
}

static const struct dict_type queue_type = { .key = queue_key };

struct blocked *blocked_new(void)
{
    struct blocked *blocked = mem_zalloc(sizeof(*blocked));
    TAILQ_INIT(&blocked->ready);
    agenda_init(&blocked->wakes);
    agenda_init(&blocked->deadlines);
    return blocked;
}

void blocked_free(struct blocked *blocked)
{
    ensure(blocked->count == 0, "%zu sessions wait", blocked->count);
    for (unsigned db = 0; db < blocked->table_count; db++)
        dict_drop(&blocked->tables[db]);
    mem_free(blocked->tables);
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
    for (unsigned db = 0; db < blocked->table_count; db++)
        keys += dict_count(&blocked->tables[db]);
    return keys;
}

/* ---- unblocking ------------------------------------------------------------------------------ */

static void count_flags(struct blocked_client *client, int by)
{
    struct blocked *blocked = client->all;
    blocked->by_type[client->type] += (size_t)by;
    blocked->or_gone += (size_t)(client->or_gone ? by : 0);
    blocked->or_claims += (size_t)(client->or_claims ? by : 0);
}

static void leave_queue(struct blocked *blocked, struct place *place)
{
    struct key_queue *queue = place->queue;
    if (blocked->next == place) blocked->next = TAILQ_NEXT(place, of_key);
    TAILQ_REMOVE(&queue->clients, place, of_key);
    if (!TAILQ_EMPTY(&queue->clients)) return;
    if (queue->ready) TAILQ_REMOVE(&blocked->ready, queue, by_readiness);
    agenda_cancel(&blocked->wakes, &queue->wake);
    dict_remove(&blocked->tables[queue->db], queue_key(queue));
    mem_free(queue);
}

static void forget_skipped(struct blocked *blocked, const struct blocked_client *client)
{
    for (unsigned i = 0; i < blocked->skipped_count; i++)
        if (blocked->skipped[i] == client)
            blocked->skipped[i--] = blocked->skipped[--blocked->skipped_count];
}

static void forget_client(struct session *session)
{
    struct blocked_client *client = session->blocked;
    struct blocked *blocked = client->all;
    for (size_t i = 0; i < client->count; i++)
        leave_queue(blocked, &client->places[i]);
    agenda_cancel(&blocked->deadlines, &client->deadline);
    blocked->count--;
    if (client->call != NULL) count_flags(client, -1);
    forget_skipped(blocked, client);
    session->blocked = NULL;
    if (client->hold.gone != NULL) client->hold.gone(client->hold.ctx);
    mem_free(client->call);
    mem_free(client);
}

/* ---- blocking -------------------------------------------------------------------------------- */

static struct dict *table_of(struct blocked *blocked, unsigned db)
{
    if (db >= blocked->table_count) {
        blocked->tables = mem_realloc(blocked->tables, (db + 1) * sizeof(*blocked->tables));
        while (blocked->table_count <= db)
            dict_init(&blocked->tables[blocked->table_count++], &queue_type);
    }
    return &blocked->tables[db];
}

static struct key_queue *queue_new(struct dict *table, unsigned db, struct bytes key)
{
    struct key_queue *queue = mem_alloc(sizeof(*queue) + key.len);
    *queue = (struct key_queue){ .db = db, .key_len = key.len };
    TAILQ_INIT(&queue->clients);
    deadline_init(&queue->wake);
    if (key.len > 0) memcpy(queue->key, key.data, key.len);
    dict_add(table, queue);
    return queue;
}

/* Makes the key ready at this time, or earlier. */
static void wake_at(struct blocked *blocked, struct key_queue *queue, msec again)
{
    if (again == 0 || again == NEVER) return;
    bool armed = deadline_armed(&queue->wake);
    if (armed && agenda_at(&blocked->wakes, &queue->wake) <= again) return;
    agenda_move(&blocked->wakes, &queue->wake, again);
}

static void join_queue(struct blocked_client *client, struct bytes key, msec again)
{
    unsigned db = client->session->db;
    struct dict *table = table_of(client->all, db);
    struct key_queue *queue = dict_find(table, key);
    const struct command *row = client->call->command.row;
    if (queue == NULL) {
        queue = queue_new(table, db, key);
        queue->row = row;
    }
    const struct place *last = TAILQ_LAST(&queue->clients, places);
    if (last != NULL && last->client == client) return; /* the key was named twice */
    struct place *place = &client->places[client->count++];
    *place = (struct place){ .queue = queue, .client = client };
    TAILQ_INSERT_TAIL(&queue->clients, place, of_key);
    if (queue->row != row) queue->row = NULL;
    wake_at(client->all, queue, again);
}

static msec moved(msec at, msec by)
{
    msec to;
    return instant_after(at, by, &to) ? to : INSTANT_MAX;
}

bool blocked_block(struct blocked *blocked, const struct call *call,
                   const struct block_request *request)
{
    struct session *session = call->session;
    ensure(request->first > 0 && request->count > 0 &&
               request->first + request->count <= call->argc,
           "keys %d + %d of %d arguments", request->first, request->count, call->argc);
    size_t count = (size_t)request->count;
    struct blocked_client *client = mem_try_alloc(sizeof(*client) + count * sizeof(struct place));
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
        .is_array = request->is_array,
        .or_gone = request->or_gone,
        .or_claims = request->or_claims,
        .group = request->group,
    };
    for (int i = 0; i < request->count; i++)
        join_queue(client, call->argv[request->first + i], request->again);
    deadline_init(&client->deadline);
    if (request->until != NEVER)
        agenda_add(&blocked->deadlines, &client->deadline, moved(request->until, -blocked->set));
    session->blocked = client;
    session_wait(session, WAIT_KEY, forget_client);
    blocked->count++;
    count_flags(client, 1);
    return true;
}

void blocked_hold(struct blocked *blocked, struct session *session, const struct blocked_hold *hold)
{
    if (session_is_over(session)) {
        hold->gone(hold->ctx);
        return;
    }
    struct blocked_client *client = mem_alloc(sizeof(*client));
    *client = (struct blocked_client){ .all = blocked, .session = session, .hold = *hold };
    deadline_init(&client->deadline);
    session->blocked = client;
    session_wait(session, hold->reason, forget_client);
    blocked->count++;
}

bool blocked_answers_late(const struct session *session)
{
    const struct blocked_client *client = session->blocked;
    if (client->hold.late == NULL) return false;
    client->hold.late(client->hold.ctx);
    return true;
}

const struct saved_call *blocked_call(const struct session *session, struct call_time *time)
{
    const struct blocked_client *client = session->blocked;
    if (client == NULL || client->call == NULL) return NULL;
    *time = client->time;
    return client->call;
}

/* ---- keys that become ready ------------------------------------------------------------------ */

static void make_ready(struct blocked *blocked, struct key_queue *queue, bool for_claims)
{
    if (!queue->ready || !for_claims) queue->for_claims = for_claims;
    if (queue->ready) return;
    queue->ready = true;
    TAILQ_INSERT_TAIL(&blocked->ready, queue, by_readiness);
}

/* The database's table of keys that clients wait for, or NULL if it is empty. */
static const struct dict *queue_in(const struct blocked *blocked, int64_t db)
{
    if (db < 0 || (size_t)db >= blocked->table_count) return NULL;
    const struct dict *table = &blocked->tables[db];
    return dict_count(table) > 0 ? table : NULL;
}

static struct key_queue *find_queue(const struct blocked *blocked, int64_t db, struct bytes key)
{
    const struct dict *table = queue_in(blocked, db);
    return table != NULL ? dict_find(table, key) : NULL;
}

void blocked_ready(struct blocked *blocked, unsigned db, struct bytes key)
{
    struct key_queue *queue = find_queue(blocked, db, key);
    if (queue != NULL) make_ready(blocked, queue, false);
}

/* A pending entry may be claimed, now or later. Readers without CLAIM have nothing to find. */
static void ready_for_claims(struct blocked *blocked, int64_t db, struct bytes key)
{
    struct key_queue *queue = blocked->or_claims > 0 ? find_queue(blocked, db, key) : NULL;
    if (queue != NULL) make_ready(blocked, queue, true);
}

/* The key takes its place among ready keys although its own clients may wait for another type: it
 * may get that type later in the same transaction. Redis looks at all clients, too. */
static void ready_for(struct blocked *blocked, int64_t db, struct bytes key, enum type type)
{
    if (blocked->by_type[type] > 0) blocked_ready(blocked, (unsigned)db, key);
}

/* After SWAPDB any key may have got a value. */
static void ready_all(struct blocked *blocked, int64_t db)
{
    const struct dict *table = queue_in(blocked, db);
    if (table == NULL) return;
    struct dict_iter iter;
    struct key_queue *queue;
    dict_iter_begin(&iter, table);
    while ((queue = dict_iter_next(&iter)) != NULL)
        make_ready(blocked, queue, false);
}

/* Something happened to the key by which it may be gone, or have another type. */
static void gone(struct blocked *blocked, const struct effect *effect)
{
    if (blocked->or_gone == 0) return;
    if (effect->kind == EFFECT_FLUSH)
        ready_all(blocked, effect->db);
    else
        blocked_ready(blocked, effect->db, effect->key);
}

static void stream_effect(struct blocked *blocked, const struct effect *effect)
{
    if (effect->kind == EFFECT_STREAM_ADD || effect->kind == EFFECT_GROUP_DROP)
        ready_for(blocked, effect->db, effect->key, TYPE_STREAM);
    else if (effect->kind == EFFECT_PENDING_PUT)
        ready_for_claims(blocked, effect->db, effect->key);
}

/* DIFFERS: Redis 7.0 serves no client when a result replaces a key of another type; here it does.
 * (doc/differs.md) */
void blocked_effect(struct blocked *blocked, const struct effect *effect)
{
    switch (effect->kind) {
    case EFFECT_PUSH_HEAD:
    case EFFECT_PUSH_TAIL: ready_for(blocked, effect->db, effect->key, TYPE_LIST); break;
    case EFFECT_ZSET_PUT: ready_for(blocked, effect->db, effect->key, TYPE_ZSET); break;
    case EFFECT_REDE_PUSH:
    case EFFECT_REDE_MOVE: ready_for(blocked, effect->db, effect->key, TYPE_DEHYDRATOR); break;
    case EFFECT_SET:
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
    case EFFECT_SWAP:
        ready_all(blocked, effect->db);
        ready_all(blocked, effect->to);
        break;
    default:
        if (effect_is_of_stream(effect->kind)) stream_effect(blocked, effect);
        break;
    }
}

void blocked_wake_at(struct blocked *blocked, unsigned db, struct bytes key, msec at)
{
    struct key_queue *queue = find_queue(blocked, db, key);
    if (queue == NULL) return;
    queue->wakes_all = true;
    wake_at(blocked, queue, at);
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
    make_ready(blocked, queue, !queue->wakes_all);
    queue->wakes_all = false;
    return true;
}

bool blocked_pending(const struct blocked *blocked)
{
    return blocked->next != NULL || !TAILQ_EMPTY(&blocked->ready);
}

/* ---- serving --------------------------------------------------------------------------------- */

/* Do both find the same in a key? */
static bool want_the_same(const struct blocked_client *a, const struct blocked_client *b)
{
    if (a->call->command.row != b->call->command.row) return false;
    if (a->type != TYPE_STREAM) return true;
    return a->group > 0 && b->group > 0 &&
           bytes_equal(a->call->argv[a->group], b->call->argv[b->group]);
}

static bool is_left_out(const struct blocked *blocked, const struct blocked_client *client)
{
    return blocked->for_claims && client->type == TYPE_STREAM && !client->or_claims;
}

static bool is_skipped(const struct blocked *blocked, const struct place *place)
{
    for (unsigned i = 0; i < blocked->skipped_count; i++)
        if (want_the_same(blocked->skipped[i], place->client)) return true;
    return false;
}

/* Skips clients that want what was already tried on this key and not found, or cannot be there. */
static void find_next(struct blocked *blocked)
{
    while (blocked->next != NULL &&
           (is_skipped(blocked, blocked->next) || is_left_out(blocked, blocked->next->client)))
        blocked->next = TAILQ_NEXT(blocked->next, of_key);
}

bool blocked_next_try(struct blocked *blocked, struct blocked_try *try)
{
    find_next(blocked);
    while (blocked->next == NULL) {
        struct key_queue *queue = TAILQ_FIRST(&blocked->ready);
        if (queue == NULL) return false;
        TAILQ_REMOVE(&blocked->ready, queue, by_readiness);
        queue->ready = false; /* before its clients run, which may make it ready again */
        blocked->for_claims = queue->for_claims;
        blocked->skipped_count = 0;
        blocked->next = TAILQ_FIRST(&queue->clients);
        find_next(blocked);
    }
    const struct place *place = blocked->next;
    *try = (struct blocked_try){ .session = place->client->session,
                                 .call = place->client->call,
                                 .type = place->client->type,
                                 .or_gone = place->client->or_gone,
                                 .db = place->queue->db,
                                 .key = queue_key(place->queue),
                                 .time = &place->client->time };
    blocked->next = TAILQ_NEXT(place, of_key);
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

void blocked_skip_command(struct blocked *blocked, const struct blocked_try *try, msec again)
{
    struct key_queue *queue = find_queue(blocked, try->db, try->key);
    ensure(queue != NULL, "session %llu does not wait", (unsigned long long)try->session->id);
    wake_at(blocked, queue, again);
    const struct blocked_client *client = try->session->blocked;
    if (queue->row != NULL && client->type != TYPE_STREAM)
        blocked_skip_key(blocked); /* all its clients use this command, so skip them */
    else if (blocked->skipped_count < SKIPPED_MAX &&
             (client->group > 0 || client->type != TYPE_STREAM))
        blocked->skipped[blocked->skipped_count++] = client;
}

/* ---- deadlines ------------------------------------------------------------------------------- */

msec blocked_next_timeout(const struct blocked *blocked)
{
    msec first = agenda_next(&blocked->deadlines);
    return first == NEVER ? NEVER : moved(first, blocked->set);
}

void blocked_clock_set(struct blocked *blocked, msec by)
{
    blocked->set += by;
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

bool blocked_wants_array(const struct session *session)
{
    return session->blocked->is_array;
}

/* ---- checking -------------------------------------------------------------------------------- */

struct tally {
    size_t ready, armed;
};

static void check_place(const struct key_queue *queue, const struct place *place)
{
    const struct blocked_client *client = place->client;
    ensure(place->queue == queue, "a place belongs to another queue");
    ensure(client->session->blocked == client, "a client has no session");
    session_check(client->session);
    ensure(client->all->by_type[client->type] > 0, "nobody waits for type %d", client->type);
    ensure(queue->row == NULL || queue->row == client->call->command.row, "%s is blocked, not %s",
           client->call->command.row->name, queue->row->name);
}

static void check_queue(const struct blocked *blocked, const struct key_queue *queue,
                        struct tally *tally)
{
    const struct place *place;
    ensure(!TAILQ_EMPTY(&queue->clients), "nobody waits for a key in database %u", queue->db);
    TAILQ_FOREACH(place, &queue->clients, of_key)
    check_place(queue, place);
    tally->ready += queue->ready;
    if (!deadline_armed(&queue->wake)) return;
    tally->armed++;
    msec at = agenda_at(&blocked->wakes, &queue->wake);
    ensure(at != 0 && at != NEVER, "a key is ready at %lld", (long long)at);
}

static void check_agendas(const struct blocked *blocked, const struct tally *tally)
{
    agenda_check(&blocked->wakes);
    agenda_check(&blocked->deadlines);
    ensure(agenda_count(&blocked->wakes) == tally->armed, "%u instants of %zu keys",
           agenda_count(&blocked->wakes), tally->armed);
    ensure(agenda_count(&blocked->deadlines) <= blocked->count, "%u deadlines of %zu sessions",
           agenda_count(&blocked->deadlines), blocked->count);
}

void blocked_check(const struct blocked *blocked)
{
    struct tally tally = { 0 };
    for (unsigned db = 0; db < blocked->table_count; db++) {
        struct dict_iter iter;
        const struct key_queue *queue;
        dict_check(&blocked->tables[db]);
        dict_iter_begin(&iter, &blocked->tables[db]);
        while ((queue = dict_iter_next(&iter)) != NULL)
            check_queue(blocked, queue, &tally);
    }
    const struct key_queue *ready;
    size_t queued = 0;
    TAILQ_FOREACH(ready, &blocked->ready, by_readiness)
    queued++;
    ensure(tally.ready == queued, "%zu keys say they are ready, %zu are in the queue", tally.ready,
           queued);
    check_agendas(blocked, &tally);
}
