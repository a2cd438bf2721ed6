/* settle: see settle.h. Keeps a table of keys per database and one queue of all keys. */
#include "server/engine/settle.h"
#include "server/engine/multi.h"

#include <sys/queue.h>

#include "server/cmd/call/call.h"
#include "server/engine/engine.h"
#include "store/base/ensure.h"
#include "store/mem/mem.h"
#include "store/struct/dict.h"
#include "store/txn/txn_settle.h"

enum {
    COUNT_AT_ONCE = 1000, /* expired keys; with fewer, a call counts without delay */
    FEW_ARGS = 32,
};

TAILQ_HEAD(delayed_queue, delayed);

struct delayed {
    TAILQ_ENTRY(delayed) in_order;
    struct delayed_queue *queue;
    struct settle *settle;
    struct session *session;
};

/* A ready key whose blocked clients are served once the settling key is done. */
struct postponed {
    STAILQ_ENTRY(postponed) next;
    unsigned db;
    size_t key_len;
    char key[];
};

struct settling {
    TAILQ_ENTRY(settling) in_order;
    struct delayed_queue delayed;
    STAILQ_HEAD(, postponed) postponed;
    unsigned db;
    size_t key_len;
    char key[];
};

struct settle {
    struct engine *engine;
    struct dict *tables; /* by database, of struct settling */
    TAILQ_HEAD(, settling) keys;
    struct delayed_queue counting; /* sessions that wait until few expired keys are left */
    struct delayed_queue ready;    /* sessions to wake: their delay has ended */
    uint64_t counted_at;           /* total of expired keys and members at the last count */
    size_t count;                  /* number of delayed sessions */
};

static struct bytes settling_key(const void *element)
{
    const struct settling *settling = element;
    return bytes_of(settling->key, settling->key_len);
}

static const struct dict_type settling_type = { .key = settling_key };

struct settle *settle_new(struct engine *engine)
{
    struct settle *settle = mem_zalloc(sizeof(*settle));
    unsigned count = engine->store->database_count;
    settle->engine = engine;
    settle->tables = mem_alloc(count * sizeof(*settle->tables));
    for (unsigned db = 0; db < count; db++)
        dict_init(&settle->tables[db], &settling_type);
    TAILQ_INIT(&settle->keys);
    TAILQ_INIT(&settle->counting);
    TAILQ_INIT(&settle->ready);
    return settle;
}

size_t settle_count(const struct settle *settle)
{
    return settle != NULL ? settle->count : 0;
}

static void make_ready(struct settle *settle, struct delayed_queue *queue)
{
    struct delayed *delayed;
    TAILQ_FOREACH(delayed, queue, in_order)
    delayed->queue = &settle->ready;
    TAILQ_CONCAT(&settle->ready, queue, in_order);
}

static void free_postponed(struct settling *settling)
{
    struct postponed *postponed;
    while ((postponed = STAILQ_FIRST(&settling->postponed)) != NULL) {
        STAILQ_REMOVE_HEAD(&settling->postponed, next);
        mem_free(postponed);
    }
}

void settle_free(struct settle *settle)
{
    if (settle == NULL) return;
    ensure(settle->count == 0, "%zu sessions are delayed", settle->count);
    struct settling *settling;
    while ((settling = TAILQ_FIRST(&settle->keys)) != NULL) {
        TAILQ_REMOVE(&settle->keys, settling, in_order);
        free_postponed(settling);
        mem_free(settling);
    }
    for (unsigned db = 0; db < settle->engine->store->database_count; db++)
        dict_drop(&settle->tables[db]);
    mem_free(settle->tables);
    mem_free(settle);
}

/* Checks quickly whether there may be work: for most calls nothing is due. */
static bool may_need_work(const struct engine *engine, unsigned db)
{
    const struct store *store = engine->store;
    return store->policies.with[POLICY_MAXLEN] > 0 ||
           due_at_come(keyspace_next_due(store_database(store, db)), clock_now(engine->clock));
}

/* A search among the arguments of calls for keys that settle slowly. */
struct search {
    struct settle *settle;
    struct txn txn;         /* never committed, used for look-ups only */
    unsigned db;            /* the database of the calls */
    bool all_databases;     /* the calls may also use other databases */
    bool counts;            /* some call counts all keys */
    struct settling *found; /* the first such key */
};

static void search_begin(struct search *search, struct engine *engine, unsigned db)
{
    *search = (struct search){ .settle = engine->settle, .db = db };
    msec now = clock_now(engine->clock);
    txn_begin(&search->txn, engine->store, now, FROM_CLIENT);
    search->txn.no_expiry = engine_keeps_data(engine, now);
}

/* Adds the key to the queue if it settles slowly. A search adds every such key of a call and not
 * only the first, so that an EXEC is delayed once. No effect on a replica, where requests remove
 * nothing. */
static void search_key(struct search *search, unsigned db, struct bytes key)
{
    struct settle *settle = search->settle;
    if (settle->engine->role.replica) return;
    struct settling *settling = NULL;
    if (!TAILQ_EMPTY(&settle->keys)) settling = dict_find(&settle->tables[db], key);
    if (settling == NULL) {
        txn_call(&search->txn, db);
        const struct entry *entry = keyspace_find(search->txn.ks, key);
        if (entry == NULL || !txn_settles_slowly(&search->txn, entry)) return;
        settling = mem_alloc(sizeof(*settling) + key.len);
        *settling = (struct settling){ .db = db, .key_len = key.len };
        if (key.len > 0) memcpy(settling->key, key.data, key.len);
        TAILQ_INIT(&settling->delayed);
        STAILQ_INIT(&settling->postponed);
        dict_add(&settle->tables[db], settling);
        TAILQ_INSERT_TAIL(&settle->keys, settling, in_order);
    }
    if (search->found == NULL) search->found = settling;
}

static void search_call(void *ctx, const struct call *call)
{
    struct search *search = ctx;
    const struct command *row = call->command.row;
    int few[FEW_ARGS], *positions = few;
    if (call->argc > FEW_ARGS) positions = mem_alloc((size_t)call->argc * sizeof(*positions));
    int count = command_keys(row, call->argc, call->argv, positions);
    unsigned from = search->all_databases ? 0 : search->db;
    unsigned to = search->all_databases ? search->txn.store->database_count : search->db + 1;
    for (unsigned db = from; db < to; db++)
        if (may_need_work(search->settle->engine, db))
            for (int i = 0; i < count; i++)
                search_key(search, db, call->argv[positions[i]]);
    if (positions != few) mem_free(positions);
    if (row->flags & COUNTS_KEYS)
        search->counts |= row->counts_keys == NULL || row->counts_keys(call);
}

/* Are too many keys expired to count them in one step? Where expired keys are hidden instead of
 * removed, only those that are not hidden yet count. */
static bool counts_slowly(struct engine *engine)
{
    msec now = clock_now(engine->clock);
    if (engine->loading) return false;
    if (engine_keeps_overdue(engine, now))
        return store_count_to_hide(engine->store, now, COUNT_AT_ONCE) >= COUNT_AT_ONCE;
    return store_count_due(engine->store, now, COUNT_AT_ONCE) >= COUNT_AT_ONCE;
}

static void forget_delay(struct session *session)
{
    struct delayed *delayed = session->delayed;
    TAILQ_REMOVE(delayed->queue, delayed, in_order);
    delayed->settle->count--;
    session->delayed = NULL;
    mem_free(delayed);
}

bool settle_delays(struct engine *engine, const struct call *call)
{
    enum { ALWAYS_SEARCH = RUNS_QUEUE | OTHER_DATABASES | COUNTS_KEYS };
    struct settle *settle = engine->settle;
    struct session *session = call->session;
    unsigned flags = call->command.row->flags;
    if (settle == NULL || engine->loading) return false;
    if (engine->role.replica && !(flags & (RUNS_QUEUE | COUNTS_KEYS))) return false;
    if (!(flags & ALWAYS_SEARCH) && !may_need_work(engine, session->db)) return false;

    struct search search;
    search_begin(&search, engine, session->db);
    /* A command may overwrite a key in another database. The old value is then deleted as a whole
     * and needs no settling, unless keyspace events or logs must name its expired members. */
    bool names = (engine->store->event_mask & LISTEN_MEMBERS) ||
                 engine->store->policies.with[POLICY_EXPIRED] > 0;
    search.all_databases = (flags & OTHER_DATABASES) && names;
    if (!(flags & RUNS_QUEUE)) {
        search_call(&search, call);
    } else if (!multi_broken(session) && !session->watch_touched) { /* else no command will run */
        search.all_databases = multi_flags(call) & OTHER_DATABASES;
        multi_each(session, search_call, &search);
    }
    struct delayed_queue *queue = NULL;
    if (search.found != NULL)
        queue = &search.found->delayed;
    else if (search.counts && counts_slowly(engine))
        queue = &settle->counting;
    if (queue == NULL) return false;
    if (session_is_over(session)) return true; /* closed by a message: the request never runs */
    struct delayed *delayed = mem_alloc(sizeof(*delayed));
    *delayed = (struct delayed){ .queue = queue, .settle = settle, .session = session };
    TAILQ_INSERT_TAIL(queue, delayed, in_order);
    session->delayed = delayed;
    settle->count++;
    session_wait(session, WAIT_SETTLING, forget_delay);
    return true;
}

bool settle_postpones(struct engine *engine, const struct blocked_try *try)
{
    if (engine->settle == NULL || !may_need_work(engine, try->db)) return false;
    struct search search;
    search_begin(&search, engine, try->db);
    struct call call = saved_call_again(try->call, try->session);
    search_call(&search, &call);
    struct settling *settling = search.found;
    if (settling == NULL) return false;
    struct postponed *postponed;
    STAILQ_FOREACH(postponed, &settling->postponed, next)
    if (postponed->db == try->db &&
        bytes_equal(bytes_of(postponed->key, postponed->key_len), try->key))
        return true;
    postponed = mem_alloc(sizeof(*postponed) + try->key.len);
    *postponed = (struct postponed){ .db = try->db, .key_len = try->key.len };
    if (try->key.len > 0) memcpy(postponed->key, try->key.data, try->key.len);
    STAILQ_INSERT_TAIL(&settling->postponed, postponed, next);
    return true;
}

bool settle_slice(struct settle *settle, size_t amount)
{
    if (settle == NULL || settle->engine->loading) return false;
    struct engine *engine = settle->engine;
    msec now = clock_now(engine->clock);
    if (!TAILQ_EMPTY(&settle->counting)) {
        bool keeps = engine_keeps_overdue(engine, now);
        /* Hide expired keys for calls that wait to count; there may be more. */
        if (keeps && store_hide(engine->store, now, amount) == amount) return true;
        /* To know whether these calls must wait longer, the due keys have to be counted, which
         * costs as much as expiring some of them. While expired keys are being removed, count only
         * when COUNT_AT_ONCE more keys or members have expired, or none is due. After CONFIG
         * RESETSTAT the total may be below counted_at: then count, too. */
        uint64_t expired = engine->store->stats.expired_keys + engine->store->stats.expired_members;
        bool few = expired >= settle->counted_at && expired - settle->counted_at < COUNT_AT_ONCE;
        if (keeps || !few || store_next_due(engine->store) > now) {
            settle->counted_at = expired;
            if (!counts_slowly(engine)) make_ready(settle, &settle->counting);
        }
    }
    bool worked = !TAILQ_EMPTY(&settle->keys);

    if (worked) {
        struct settling *first = TAILQ_FIRST(&settle->keys);
        bool done = engine->role.replica; /* a new replica leaves the rest to its master */
        if (!done) {
            struct txn txn;
            txn_begin(&txn, engine->store, clock_now(engine->clock), FROM_EXPIRY);
            txn_call(&txn, first->db);
            struct entry *entry = keyspace_find(txn.ks, settling_key(first));
            done = entry == NULL || txn_settle_some(&txn, &entry, amount) == 0;
            txn_commit(&txn);
        }
        TAILQ_REMOVE(&settle->keys, first, in_order);
        if (done) {
            /* Blocked clients whose service was postponed are served after a pause, if there is
             * one. */
            dict_remove(&settle->tables[first->db], settling_key(first));
            make_ready(settle, &first->delayed);
            const struct postponed *postponed;
            STAILQ_FOREACH(postponed, &first->postponed, next)
            blocked_wake_at(engine->blocked, postponed->db,
                            bytes_of(postponed->key, postponed->key_len), clock_now(engine->clock));
            free_postponed(first);
            mem_free(first);
        } else {
            TAILQ_INSERT_TAIL(&settle->keys, first, in_order);
        }
    }

    const struct delayed *delayed;
    size_t woken = 0;
    for (; woken < amount && (delayed = TAILQ_FIRST(&settle->ready)) != NULL; woken++)
        session_wake(delayed->session);
    return worked || woken > 0;
}

static size_t check_queue(const struct settle *settle, const struct delayed_queue *queue)
{
    const struct delayed *delayed;
    size_t count = 0;
    TAILQ_FOREACH(delayed, queue, in_order)
    {
        ensure(delayed->queue == queue && delayed->settle == settle,
               "a delayed session is in another queue");
        ensure(delayed->session->delayed == delayed, "session %llu is not marked as delayed",
               (unsigned long long)delayed->session->id);
        session_check(delayed->session);
        count++;
    }
    return count;
}

void settle_check(const struct settle *settle)
{
    const struct settling *settling;
    size_t count = check_queue(settle, &settle->counting), keys = 0;
    count += check_queue(settle, &settle->ready);
    TAILQ_FOREACH(settling, &settle->keys, in_order)
    {
        ensure(dict_find(&settle->tables[settling->db], settling_key(settling)) == settling,
               "a key that settles is in no table");
        count += check_queue(settle, &settling->delayed);
        keys++;
    }
    for (unsigned db = 0; db < settle->engine->store->database_count; db++)
        keys -= dict_count(&settle->tables[db]);
    ensure(keys == 0, "the queue and the tables differ by %zd keys", (ssize_t)keys);
    ensure(count == settle->count, "%zu sessions are delayed, count %zu", count, settle->count);
}
