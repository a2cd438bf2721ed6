/* waiters: see waiters.h. A table per database of the keys that clients wait for; each key has a
 * queue of its clients in the order in which they blocked. A blocked session has one entry (struct
 * waiter) for each of its keys, and one deadline in an agenda for all sessions. A second agenda
 * holds the keys that become ready at a time. Invariants: a key is in its table exactly while a
 * client waits for it, and in the ready queue exactly while `ready` is set. */
#include "server/react/waiters.h"

#include <stddef.h>
#include <string.h>
#include <sys/queue.h>

#include "store/struct/agenda.h"
#include "store/struct/dict.h"
#include "store/base/ensure.h"
#include "store/mem/mem.h"

enum { VAIN_MAX = 4 };

TAILQ_HEAD(waiter_queue, waiter);

struct waited {
    TAILQ_ENTRY(waited) by_readiness;
    struct waiter_queue queue;
    struct deadline wake;      /* idle: only effects make it ready */
    const struct command *row; /* the command of all its clients; NULL once they have differed */
    unsigned types;            /* types that its clients wait for, one bit each; never cleared */
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
    struct deadline deadline; /* idle: no timeout */
    void (*gone)(void *ctx);  /* NULL: no callback when it is unblocked */
    void *ctx;
    enum type type;
    int64_t usec;  /* the time that runs of the call have taken so far */
    bool is_array; /* the reply at a timeout */
    size_t count;
    struct waiter waiters[]; /* one for each distinct key */
};

struct waiters {
    struct dict *tables; /* by database, of struct waited */
    unsigned table_count;
    TAILQ_HEAD(, waited) ready;
    struct waiter *next; /* has the next turn; NULL: the first client of the next ready key */
    const struct command *vain[VAIN_MAX]; /* commands for which the current key has nothing */
    unsigned vain_count;
    struct agenda wakes;     /* of keys */
    struct agenda deadlines; /* of sessions, minus `set` */
    msec set;                /* by how much the system clock was set while clients were blocked */
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
    agenda_init(&waiters->wakes);
    agenda_init(&waiters->deadlines);
    return waiters;
}

void waiters_free(struct waiters *waiters)
{
    ensure(waiters->count == 0, "%zu sessions wait", waiters->count);
    for (unsigned db = 0; db < waiters->table_count; db++)
        dict_drop(&waiters->tables[db]);
    mem_free(waiters->tables);
    agenda_drop(&waiters->wakes);
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
    deadline_init(&waited->wake);
    if (key.len > 0) memcpy(waited->key, key.data, key.len);
    dict_add(table, waited);
    return waited;
}

/* Makes the key ready at this time, or earlier. */
static void wake_at(struct waiters *waiters, struct waited *waited, msec again)
{
    if (again == 0 || again == NEVER) return;
    bool armed = deadline_armed(&waited->wake);
    if (armed && agenda_at(&waiters->wakes, &waited->wake) <= again) return;
    agenda_move(&waiters->wakes, &waited->wake, again);
}

static void wait_at(struct waiting *waiting, struct bytes key, msec again)
{
    unsigned db = waiting->session->db;
    struct dict *table = table_of(waiting->all, db);
    struct waited *waited = dict_find(table, key);
    const struct command *row = waiting->call->command.row;
    if (waited == NULL) {
        waited = waited_new(table, db, key);
        waited->row = row;
    }
    const struct waiter *last = TAILQ_LAST(&waited->queue, waiter_queue);
    if (last != NULL && last->waiting == waiting) return; /* the key was named twice */
    struct waiter *waiter = &waiting->waiters[waiting->count++];
    *waiter = (struct waiter){ .waited = waited, .waiting = waiting };
    TAILQ_INSERT_TAIL(&waited->queue, waiter, of_key);
    waited->types |= 1U << waiting->type;
    if (waited->row != row) waited->row = NULL;
    wake_at(waiting->all, waited, again);
}

static msec moved(msec at, msec by)
{
    msec to;
    return instant_after(at, by, &to) ? to : INSTANT_MAX;
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
    *waiting = (struct waiting){
        .all = waiters,
        .session = session,
        .call = saved,
        .type = wait->type,
        .usec = wait->usec,
        .is_array = wait->is_array,
    };
    for (int i = 0; i < wait->count; i++)
        wait_at(waiting, call->argv[wait->first + i], wait->again);
    deadline_init(&waiting->deadline);
    if (wait->until != NEVER)
        agenda_add(&waiters->deadlines, &waiting->deadline, moved(wait->until, -waiters->set));
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
    agenda_cancel(&waiters->wakes, &waited->wake);
    dict_remove(&waiters->tables[waited->db], waited_key(waited));
    mem_free(waited);
}

const struct saved_call *waiters_call(const struct session *session, int64_t *usec)
{
    const struct waiting *waiting = session->waiting;
    if (waiting == NULL || waiting->call == NULL) return NULL;
    *usec = waiting->usec;
    return waiting->call;
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

/* The database's table of keys that clients wait for, or NULL if it is empty. */
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

/* After SWAPDB any key may have got a value. */
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

/* DIFFERS: Redis 7.0 serves no client when a result replaces a key of another type; here it does.
 * (doc/differs.md) */
void waiters_effect(struct waiters *waiters, const struct effect *effect)
{
    switch (effect->kind) {
    case EFFECT_PUSH_HEAD:
    case EFFECT_PUSH_TAIL: ready_for(waiters, effect->db, effect->key, 1U << TYPE_LIST); break;
    case EFFECT_ZSET_PUT: ready_for(waiters, effect->db, effect->key, 1U << TYPE_ZSET); break;
    case EFFECT_REDE_PUSH:
    case EFFECT_REDE_MOVE:
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

void waiters_wake_at(struct waiters *waiters, unsigned db, struct bytes key, msec at)
{
    struct waited *waited = find(waiters, db, key);
    if (waited != NULL) wake_at(waiters, waited, at);
}

msec waiters_next_wake(const struct waiters *waiters)
{
    return agenda_next(&waiters->wakes);
}

bool waiters_wake(struct waiters *waiters, msec now)
{
    char *wake = (char *)agenda_pop_due(&waiters->wakes, now);
    if (wake == NULL) return false;
    make_ready(waiters, (struct waited *)(wake - offsetof(struct waited, wake)));
    return true;
}

bool waiters_pending(const struct waiters *waiters)
{
    return waiters->next != NULL || !TAILQ_EMPTY(&waiters->ready);
}

/* ---- serving --------------------------------------------------------------------------------- */

static bool is_in_vain(const struct waiters *waiters, const struct waiter *waiter)
{
    for (unsigned i = 0; i < waiters->vain_count; i++)
        if (waiters->vain[i] == waiter->waiting->call->command.row) return true;
    return false;
}

/* Skips the clients whose command the key has nothing for. */
static void find_next(struct waiters *waiters)
{
    while (waiters->next != NULL && is_in_vain(waiters, waiters->next))
        waiters->next = TAILQ_NEXT(waiters->next, of_key);
}

bool waiters_next_turn(struct waiters *waiters, struct turn *turn)
{
    find_next(waiters);
    if (waiters->next == NULL) {
        struct waited *waited = TAILQ_FIRST(&waiters->ready);
        if (waited == NULL) return false;
        TAILQ_REMOVE(&waiters->ready, waited, by_readiness);
        waited->ready = false; /* before the turns, which may make it ready again */
        waiters->vain_count = 0;
        waiters->next = TAILQ_FIRST(&waited->queue);
    }
    const struct waiter *waiter = waiters->next;
    *turn = (struct turn){ .session = waiter->waiting->session,
                           .call = waiter->waiting->call,
                           .type = waiter->waiting->type,
                           .db = waiter->waited->db,
                           .key = waited_key(waiter->waited),
                           .usec = &waiter->waiting->usec };
    waiters->next = TAILQ_NEXT(waiter, of_key);
    return true;
}

void waiters_skip_key(struct waiters *waiters)
{
    waiters->next = NULL;
}

void waiters_in_vain(struct waiters *waiters, const struct turn *turn, msec again)
{
    struct waited *waited = find(waiters, turn->db, turn->key);
    ensure(waited != NULL, "session %llu does not wait", (unsigned long long)turn->session->id);
    wake_at(waiters, waited, again);
    if (waited->row != NULL)
        waiters_skip_key(waiters); /* all its clients use this command, so skip them */
    else if (waiters->vain_count < VAIN_MAX)
        waiters->vain[waiters->vain_count++] = turn->call->command.row;
}

/* ---- deadlines ------------------------------------------------------------------------------- */

msec waiters_next_late(const struct waiters *waiters)
{
    msec first = agenda_next(&waiters->deadlines);
    return first == NEVER ? NEVER : moved(first, waiters->set);
}

void waiters_clock_set(struct waiters *waiters, msec by)
{
    waiters->set += by;
}

msec waiters_next_due(const struct waiters *waiters)
{
    msec wake = waiters_next_wake(waiters), late = waiters_next_late(waiters);
    return wake < late ? wake : late;
}

struct session *waiters_first_due(const struct waiters *waiters, msec now)
{
    if (!instant_due(waiters_next_late(waiters), now)) return NULL;
    char *deadline = (char *)agenda_first(&waiters->deadlines);
    return ((struct waiting *)(deadline - offsetof(struct waiting, deadline)))->session;
}

bool waiters_wants_array(const struct session *session)
{
    return session->waiting->is_array;
}

/* ---- checking -------------------------------------------------------------------------------- */

struct tally {
    size_t ready, armed;
};

static void check_waiter(const struct waited *waited, const struct waiter *waiter)
{
    const struct waiting *waiting = waiter->waiting;
    ensure(waiter->waited == waited, "a waiter is another key's");
    ensure(waiting->session->waiting == waiting, "a waiter has no session");
    ensure(waited->types >> waiting->type & 1, "types %x", waited->types);
    ensure(waited->row == NULL || waited->row == waiting->call->command.row, "%s waits, not %s",
           waiting->call->command.row->name, waited->row->name);
}

static void check_waited(const struct waiters *waiters, const struct waited *waited,
                         struct tally *tally)
{
    const struct waiter *waiter;
    ensure(!TAILQ_EMPTY(&waited->queue), "nobody waits for a key in database %u", waited->db);
    TAILQ_FOREACH(waiter, &waited->queue, of_key)
    check_waiter(waited, waiter);
    tally->ready += waited->ready;
    if (!deadline_armed(&waited->wake)) return;
    tally->armed++;
    msec at = agenda_at(&waiters->wakes, &waited->wake);
    ensure(at != 0 && at != NEVER, "a key is ready at %lld", (long long)at);
}

static void check_agendas(const struct waiters *waiters, const struct tally *tally)
{
    agenda_check(&waiters->wakes);
    agenda_check(&waiters->deadlines);
    ensure(agenda_count(&waiters->wakes) == tally->armed, "%u instants of %zu keys",
           agenda_count(&waiters->wakes), tally->armed);
    ensure(agenda_count(&waiters->deadlines) <= waiters->count, "%u deadlines of %zu sessions",
           agenda_count(&waiters->deadlines), waiters->count);
}

void waiters_check(const struct waiters *waiters)
{
    struct tally tally = { 0 };
    for (unsigned db = 0; db < waiters->table_count; db++) {
        struct dict_iter iter;
        const struct waited *waited;
        dict_check(&waiters->tables[db]);
        dict_iter_begin(&iter, &waiters->tables[db]);
        while ((waited = dict_iter_next(&iter)) != NULL)
            check_waited(waiters, waited, &tally);
    }
    const struct waited *ready;
    size_t queued = 0;
    TAILQ_FOREACH(ready, &waiters->ready, by_readiness)
    queued++;
    ensure(tally.ready == queued, "%zu keys say they are ready, %zu are in the queue", tally.ready,
           queued);
    check_agendas(waiters, &tally);
}
