/* waiters: a table per database of the keys that are waited for; each has a queue of its waiters in
 * the order in which they came. A session that waits has one waiter for each of its keys, and one
 * deadline in an agenda that all share.
 * Invariants: a key is in its table exactly while somebody waits for it, and in the ready queue
 * exactly while `ready` says so. */
#include "server/waiters.h"

#include <stddef.h>
#include <string.h>
#include <sys/queue.h>

#include "store/agenda.h"
#include "store/dict.h"
#include "store/ensure.h"
#include "store/mem.h"

TAILQ_HEAD(waiter_queue, waiter);

struct waited {
    TAILQ_ENTRY(waited) by_readiness;
    struct waiter_queue queue;
    unsigned types; /* what its waiters wait for: a bit for each type, never cleared */
    unsigned db;
    bool ready;
    size_t key_len;
    char key[];
};

/* One session and one key. */
struct waiter {
    TAILQ_ENTRY(waiter) of_key;
    struct waited *waited;
    struct waiting *waiting;
};

struct waiting {
    struct waiters *all;
    struct session *session;
    struct saved_call *call;
    struct deadline deadline; /* idle: it waits as long as it takes */
    void (*gone)(void *ctx);  /* NULL: nobody else has to know that it waits no more */
    void *ctx;
    enum type type;
    size_t count;
    struct waiter waiters[]; /* one for each key, however often it was named */
};

struct waiters {
    struct dict *tables; /* by database, of struct waited */
    unsigned table_count;
    TAILQ_HEAD(, waited) ready;
    struct waiter *next; /* whose turn is next; NULL: the first one's at the next ready key */
    struct agenda deadlines;
    size_t count;
};

static struct bytes waited_key(const void *element)
{
    const struct waited *waited = element;
    return bytes_of(waited->key, waited->key_len);
}

static const struct dict_type waited_type = { .key = waited_key };

struct waiters *waiters_new(void)
{
    struct waiters *waiters = mem_zalloc(sizeof(*waiters));
    TAILQ_INIT(&waiters->ready);
    agenda_init(&waiters->deadlines);
    return waiters;
}

void waiters_free(struct waiters *waiters)
{
    ensure(waiters->count == 0, "%zu sessions wait", waiters->count);
    for (unsigned db = 0; db < waiters->table_count; db++)
        dict_drop(&waiters->tables[db]);
    mem_free(waiters->tables);
    agenda_drop(&waiters->deadlines);
    mem_free(waiters);
}

size_t waiters_count(const struct waiters *waiters)
{
    return waiters->count;
}

/* ---- coming ---------------------------------------------------------------------------------- */

static struct dict *table_of(struct waiters *waiters, unsigned db)
{
    if (db >= waiters->table_count) {
        waiters->tables = mem_realloc(waiters->tables, (db + 1) * sizeof(*waiters->tables));
        while (waiters->table_count <= db)
            dict_init(&waiters->tables[waiters->table_count++], &waited_type);
    }
    return &waiters->tables[db];
}

static struct waited *waited_new(struct dict *table, unsigned db, struct bytes key)
{
    struct waited *waited = mem_alloc(sizeof(*waited) + key.len);
    *waited = (struct waited){ .db = db, .key_len = key.len };
    TAILQ_INIT(&waited->queue);
    if (key.len > 0) memcpy(waited->key, key.data, key.len);
    dict_add(table, waited);
    return waited;
}

static void wait_at(struct waiting *waiting, struct bytes key)
{
    unsigned db = waiting->session->db;
    struct dict *table = table_of(waiting->all, db);
    struct waited *waited = dict_find(table, key);
    if (waited == NULL) waited = waited_new(table, db, key);
    const struct waiter *last = TAILQ_LAST(&waited->queue, waiter_queue);
    if (last != NULL && last->waiting == waiting) return; /* the key was named twice */
    struct waiter *waiter = &waiting->waiters[waiting->count++];
    *waiter = (struct waiter){ .waited = waited, .waiting = waiting };
    TAILQ_INSERT_TAIL(&waited->queue, waiter, of_key);
    waited->types |= 1U << waiting->type;
}

bool waiters_block(struct waiters *waiters, const struct call *call, const struct wait *wait)
{
    struct session *session = call->session;
    ensure(session->waiting == NULL, "session %llu waits already", (unsigned long long)session->id);
    ensure(wait->first > 0 && wait->count > 0 && wait->first + wait->count <= call->argc,
           "keys %d + %d of %d arguments", wait->first, wait->count, call->argc);
    size_t count = (size_t)wait->count;
    struct waiting *waiting = mem_try_alloc(sizeof(*waiting) + count * sizeof(struct waiter));
    struct saved_call *saved = waiting != NULL ? saved_call_new(call) : NULL;
    if (saved == NULL) {
        mem_free(waiting);
        return false;
    }
    *waiting =
        (struct waiting){ .all = waiters, .session = session, .call = saved, .type = wait->type };
    for (int i = 0; i < wait->count; i++)
        wait_at(waiting, call->argv[wait->first + i]);
    deadline_init(&waiting->deadline);
    if (wait->until != NEVER) agenda_add(&waiters->deadlines, &waiting->deadline, wait->until);
    session->waiting = waiting;
    waiters->count++;
    return true;
}

void waiters_hold(struct waiters *waiters, struct session *session, void (*gone)(void *ctx),
                  void *ctx)
{
    ensure(session->waiting == NULL, "session %llu waits already", (unsigned long long)session->id);
    struct waiting *waiting = mem_alloc(sizeof(*waiting));
    *waiting = (struct waiting){ .all = waiters, .session = session, .gone = gone, .ctx = ctx };
    deadline_init(&waiting->deadline);
    session->waiting = waiting;
    waiters->count++;
}

/* ---- going ----------------------------------------------------------------------------------- */

static void leave(struct waiters *waiters, struct waiter *waiter)
{
    struct waited *waited = waiter->waited;
    if (waiters->next == waiter) waiters->next = TAILQ_NEXT(waiter, of_key);
    TAILQ_REMOVE(&waited->queue, waiter, of_key);
    if (!TAILQ_EMPTY(&waited->queue)) return;
    if (waited->ready) TAILQ_REMOVE(&waiters->ready, waited, by_readiness);
    dict_remove(&waiters->tables[waited->db], waited_key(waited));
    mem_free(waited);
}

void waiters_forget(struct session *session)
{
    struct waiting *waiting = session->waiting;
    if (waiting == NULL) return;
    struct waiters *waiters = waiting->all;
    for (size_t i = 0; i < waiting->count; i++)
        leave(waiters, &waiting->waiters[i]);
    agenda_cancel(&waiters->deadlines, &waiting->deadline);
    waiters->count--;
    session->waiting = NULL;
    if (waiting->gone != NULL) waiting->gone(waiting->ctx);
    mem_free(waiting->call);
    mem_free(waiting);
}

/* ---- keys that become ready ------------------------------------------------------------------ */

static void make_ready(struct waiters *waiters, struct waited *waited)
{
    if (waited->ready) return;
    waited->ready = true;
    TAILQ_INSERT_TAIL(&waiters->ready, waited, by_readiness);
}

/* A database's table of waited-for keys, or NULL when nobody waits there. */
static const struct dict *waited_in(const struct waiters *waiters, int64_t db)
{
    if (db < 0 || (size_t)db >= waiters->table_count) return NULL;
    const struct dict *table = &waiters->tables[db];
    return dict_count(table) > 0 ? table : NULL;
}

static struct waited *find(const struct waiters *waiters, int64_t db, struct bytes key)
{
    const struct dict *table = waited_in(waiters, db);
    return table != NULL ? dict_find(table, key) : NULL;
}

static void ready_for(struct waiters *waiters, int64_t db, struct bytes key, unsigned types)
{
    struct waited *waited = find(waiters, db, key);
    if (waited != NULL && (waited->types & types)) make_ready(waiters, waited);
}

void waiters_ready(struct waiters *waiters, unsigned db, struct bytes key)
{
    ready_for(waiters, db, key, UINT32_MAX);
}

/* Another set of keys is there now. */
static void ready_all(struct waiters *waiters, int64_t db)
{
    const struct dict *table = waited_in(waiters, db);
    if (table == NULL) return;
    struct dict_iter iter;
    struct waited *waited;
    dict_iter_begin(&iter, table);
    while ((waited = dict_iter_next(&iter)) != NULL)
        make_ready(waiters, waited);
}

/* DIFFERS: Redis 7.0 wakes nobody for a result that is stored over a key of another type; here it
 * is as good as any other. (doc/differs.md) */
void waiters_effect(struct waiters *waiters, const struct effect *effect)
{
    switch (effect->kind) {
    case EFFECT_PUSH_HEAD:
    case EFFECT_PUSH_TAIL: ready_for(waiters, effect->db, effect->key, 1U << TYPE_LIST); break;
    case EFFECT_ZSET_PUT: ready_for(waiters, effect->db, effect->key, 1U << TYPE_ZSET); break;
    case EFFECT_REDE_PUSH:
        ready_for(waiters, effect->db, effect->key, 1U << TYPE_DEHYDRATOR);
        break;
    case EFFECT_RENAME: waiters_ready(waiters, effect->db, effect->a); break;
    case EFFECT_COPY: waiters_ready(waiters, (unsigned)effect->to, effect->a); break;
    case EFFECT_MOVE: waiters_ready(waiters, (unsigned)effect->to, effect->key); break;
    case EFFECT_SWAP:
        ready_all(waiters, effect->db);
        ready_all(waiters, effect->to);
        break;
    default: break;
    }
}

bool waiters_pending(const struct waiters *waiters)
{
    return waiters->next != NULL || !TAILQ_EMPTY(&waiters->ready);
}

/* ---- serving --------------------------------------------------------------------------------- */

bool waiters_next_turn(struct waiters *waiters, struct turn *turn)
{
    if (waiters->next == NULL) {
        struct waited *waited = TAILQ_FIRST(&waiters->ready);
        if (waited == NULL) return false;
        TAILQ_REMOVE(&waiters->ready, waited, by_readiness);
        waited->ready = false; /* before the turns, which may make it ready anew */
        waiters->next = TAILQ_FIRST(&waited->queue);
    }
    const struct waiter *waiter = waiters->next;
    *turn = (struct turn){ .session = waiter->waiting->session,
                           .call = waiter->waiting->call,
                           .type = waiter->waiting->type,
                           .db = waiter->waited->db,
                           .key = waited_key(waiter->waited) };
    waiters->next = TAILQ_NEXT(waiter, of_key);
    return true;
}

void waiters_skip_key(struct waiters *waiters)
{
    waiters->next = NULL;
}

/* ---- deadlines ------------------------------------------------------------------------------- */

msec waiters_next_due(const struct waiters *waiters)
{
    return agenda_next(&waiters->deadlines);
}

struct session *waiters_first_due(const struct waiters *waiters, msec now)
{
    if (!instant_due(agenda_next(&waiters->deadlines), now)) return NULL;
    char *deadline = (char *)agenda_first(&waiters->deadlines);
    return ((struct waiting *)(deadline - offsetof(struct waiting, deadline)))->session;
}

/* ---- checking -------------------------------------------------------------------------------- */

static size_t check_waited(const struct waited *waited)
{
    size_t count = 0;
    const struct waiter *waiter;
    TAILQ_FOREACH(waiter, &waited->queue, of_key)
    {
        ensure(waiter->waited == waited, "waiter %zu is another key's", count);
        ensure(waiter->waiting->session->waiting == waiter->waiting, "waiter %zu has no session",
               count);
        ensure(waited->types >> waiter->waiting->type & 1, "types %x", waited->types);
        count++;
    }
    ensure(count > 0, "nobody waits for a key in database %u", waited->db);
    return waited->ready;
}

void waiters_check(const struct waiters *waiters)
{
    size_t said = 0, queued = 0;
    for (unsigned db = 0; db < waiters->table_count; db++) {
        struct dict_iter iter;
        const struct waited *waited;
        dict_check(&waiters->tables[db]);
        dict_iter_begin(&iter, &waiters->tables[db]);
        while ((waited = dict_iter_next(&iter)) != NULL)
            said += check_waited(waited);
    }
    const struct waited *ready;
    TAILQ_FOREACH(ready, &waiters->ready, by_readiness)
    queued++;
    ensure(said == queued, "%zu keys say they are ready, %zu are in the queue", said, queued);
    agenda_check(&waiters->deadlines);
    ensure(agenda_count(&waiters->deadlines) <= waiters->count, "%u deadlines of %zu sessions",
           agenda_count(&waiters->deadlines), waiters->count);
}
