/* slices: see slices.h. The state is static, because the host's callbacks pass no pointer to data
 * of ours. */
#include "server/module/slices.h"

#include "server/module/api/imported_slots.h"
#include "server/module/api/node_role.h"
#include "server/module/api/redis_api.h"
#include "server/module/keys/command_ttl.h"
#include "server/module/keys/volatile_keys.h"
#include "server/module/policies/key_policies.h"
#include "server/module/policies/node_policies.h"
#include "server/module/policies/read_ahead.h"
#include "server/module/values/due_values.h"
#include "server/module/values/held_value.h"
#include "server/module/values/lent_keys.h"

enum {
    /* When the parts of a slice end, in microseconds from its beginning. */
    POLICIES_END = 100, /* policies of keys that were written */
    READ_END = 250,     /* deadlines of changed keys, and values of keys that are about to expire */
    SLICE_END = 500,    /* all other work */

    REPLIES_USEC = 250, /* a turn that ends this soon after a slice has no slice */
    VALUES_USEC = 50,   /* at least, for values of keys that are about to expire */
    BATCH = 16,         /* keys or members between two readings of the clock */
    READS = 4,          /* batches of names between two readings */
    /* A slice leaves at most this many for the next one: clients that write faster must wait. */
    POLICIES_WAITING = 1024, /* keys */
    NAMES_WAITING = 1 << 16,
    SOON_MSEC = 1,       /* the shortest timer of the host */
    FLUSHED_NAMES = 256, /* and elements of values, freed between two readings of the clock */
};

static struct {
    struct volatile_keys known;
    /* A scan of the host for existing volatile keys. It may miss a key that changes meanwhile; the
     * change then causes an event, which volatile_keys handles. */
    RedisModuleScanCursor *cursor;       /* NULL before the first scan */
    int scanned_db;                      /* -1 if no scan runs */
    bool rescan;                         /* the running load may replace keys without events */
    bool policies_heard, scans_policies; /* a new policy applies to the keys of the scan */
    bool woken;                          /* the loop will turn without waiting */
    uint64_t left_work;                  /* when the last slice that left work ended */
    bool left_turn;                      /* the last turn with work had no slice */
    bool cron_ran;                       /* in this turn */
    bool timer_runs;
    uint64_t timer;
    msec timer_at;
} here = { .scanned_db = -1 };

const struct volatile_keys *slices_volatile_keys(void)
{
    return &here.known;
}

static void begin_scan(void)
{
    if (here.cursor == NULL)
        here.cursor = redis.ScanCursorCreate();
    else
        redis.ScanCursorRestart(here.cursor);
    here.scanned_db = 0;
}

static void note_key(RedisModuleCtx *ctx, RedisModuleString *name, RedisModuleKey *key, void *data)
{
    (void)data;
    if (key != NULL) volatile_keys_note(&here.known, ctx, name, key);
}

/* ---- waking up ------------------------------------------------------------------------------- */

static void on_timer(RedisModuleCtx *ctx, void *data)
{
    (void)ctx;
    (void)data;
    here.timer_runs = false; /* the slice follows in this turn or the next */
}

static void on_wake(void *data)
{
    (void)data;
    here.woken = false;
}

static void set_timer(RedisModuleCtx *ctx, struct due_at due)
{
    if (here.timer_runs && here.timer_at <= due.at) return;
    msec now = redis.Milliseconds();
    if (here.timer_runs) redis.StopTimer(ctx, here.timer, NULL);
    here.timer = redis.CreateTimer(ctx, due.at > now ? due.at - now : SOON_MSEC, on_timer, NULL);
    here.timer_at = due.at;
    here.timer_runs = true;
}

/* Makes the loop turn again at once or, if the host can't do that, after a millisecond. */
static void wake(RedisModuleCtx *ctx)
{
    if (here.woken) return;
    if (redis.EventLoopAddOneShot != NULL && redis.EventLoopAddOneShot(on_wake, NULL) == API_OK)
        here.woken = true;
    else
        set_timer(ctx, (struct due_at){ redis.Milliseconds() + SOON_MSEC });
}

/* ---- the host's search for expired keys ------------------------------------------------------ */

static bool search_is_suspended;

/* Suspends or resumes the search; no effect if it is in that state already, or if the host
 * refuses.
 *
 * The host searches ten times a second. While it finds many expired keys, it goes on for up to 25
 * ms, and serves no client meanwhile. During a burst the module removes all these keys anyway, in
 * shorter slices. The only switch is a subcommand of DEBUG, which a module may call even if clients
 * may not. */
static void host_search_suspend(RedisModuleCtx *ctx, bool suspended)
{
    if (suspended == search_is_suspended) return;
    search_is_suspended = suspended;
    RedisModuleCallReply *reply =
        redis.Call(ctx, "DEBUG", "cc", "SET-ACTIVE-EXPIRE", suspended ? "0" : "1");
    if (reply != NULL) redis.FreeCallReply(reply);
}

/* ---- a slice --------------------------------------------------------------------------------- */

static bool is_before(uint64_t end)
{
    return redis.MonotonicMicroseconds() < end;
}

static void apply_policies(RedisModuleCtx *ctx, uint64_t end)
{
    while (key_policies_waiting() > 0 &&
           (key_policies_waiting() > POLICIES_WAITING || is_before(end))) {
        msec now = redis.Milliseconds();
        for (int i = 0; i < BATCH; i++)
            if (!key_policies_apply(ctx, now)) return;
    }
}

/* Expires keys and members that are due, in the order of their deadlines. Returns whether more is
 * due. Reads the clock again after each batch, because time passes while keys are opened. */
static bool open_due(RedisModuleCtx *ctx, uint64_t end)
{
    do {
        msec now = redis.Milliseconds();
        for (size_t i = 0, done; i < BATCH; i += done) { /* done: roughly how much work it was */
            done = 0;
            if (!due_at_before(volatile_keys_next(&here.known), due_values_next()))
                done = due_values_run(ctx, now);
            if (done == 0) done = volatile_keys_open(&here.known, ctx, now);
            if (done == 0) done = due_values_run(ctx, now);
            if (done == 0) return false;
        }
    } while (is_before(end));
    return true;
}

static struct due_at earlier(struct due_at a, struct due_at b)
{
    return due_at_before(b, a) ? b : a;
}

static struct due_at next_of_policies(void)
{
    return earlier(key_policies_next(), read_ahead_next());
}

/* Should this turn have no slice? The host writes replies after the event in which slices run, so a
 * slice delays the replies of its turn.
 *
 * A short turn right after a slice has none: otherwise a client whose request came during the first
 * slice would wait for both. Nor has a turn in which the host's cron ran, which may itself take
 * milliseconds. But never do two turns in a row go without. With policies every turn has a slice: a
 * policy must apply right after a write, and values must be copied before their keys expire. */
static bool leaves_turn_to_replies(void)
{
    bool leaves = !here.left_turn && node_policies()->count == 0 &&
                  here.known.changes.count <= NAMES_WAITING &&
                  (here.cron_ran || is_before(here.left_work + REPLIES_USEC));
    here.left_turn = leaves;
    return leaves;
}

static void run_slice(RedisModuleCtx *ctx, bool opens)
{
    int db = redis.GetSelectedDb(ctx);
    uint64_t begin = redis.MonotonicMicroseconds(), end = begin + SLICE_END;
    if (opens) apply_policies(ctx, begin + POLICIES_END);
    bool left = true;
    while (left && here.known.changes.count > 0 &&
           (here.known.changes.count > NAMES_WAITING || is_before(begin + READ_END)))
        for (int i = 0; left && i < READS; i++)
            left = volatile_keys_read(&here.known, ctx);
    if (opens && !due_at_is_never(read_ahead_next())) {
        uint64_t least = redis.MonotonicMicroseconds() + VALUES_USEC, upto = begin + READ_END;
        while (is_before(upto > least ? upto : least))
            if (!read_ahead_run(ctx, redis.Milliseconds())) break;
    }
    bool more = opens && open_due(ctx, end);
    host_search_suspend(ctx, more);
    if (opens) apply_policies(ctx, end);
    while (here.scanned_db >= 0 && is_before(end)) {
        if (redis.SelectDb(ctx, here.scanned_db) != API_OK) { /* that was the last one */
            here.scanned_db = -1;
            here.scans_policies = false;
        } else if (redis.Scan(ctx, here.cursor, note_key, NULL) == 0) {
            redis.ScanCursorRestart(here.cursor);
            here.scanned_db++;
        }
    }
    bool garbage;
    do
        garbage = due_keys_reclaim(&here.known.keys, FLUSHED_NAMES) ||
                  due_keys_reclaim(due_values_keys(), FLUSHED_NAMES) ||
                  held_value_reclaim(FLUSHED_NAMES) || lent_keys_reclaim(FLUSHED_NAMES) ||
                  read_ahead_reclaim(FLUSHED_NAMES);
    while (garbage && is_before(end));
    more = more || here.scanned_db >= 0 || garbage;
    redis.SelectDb(ctx, db);
    struct due_at next = next_of_policies();
    bool policies_due = !due_at_is_never(next) && due_at_come(next, redis.Milliseconds());
    if (!more && here.known.changes.count == 0 && !(opens && policies_due)) return;
    here.left_work = redis.MonotonicMicroseconds();
    wake(ctx);
}

static struct due_at next_work(void)
{
    return earlier(earlier(volatile_keys_next(&here.known), due_values_next()), next_of_policies());
}

static void on_loop(RedisModuleCtx *ctx, struct api_event event, uint64_t what, void *data)
{
    (void)event;
    (void)data;
    if (what != EVENTLOOP_BEFORE_SLEEP) {
        here.cron_ran = false;
        return;
    }
    command_ttl_new_turn();
    msec now = redis.Milliseconds();
    struct due_at next = next_work();
    bool due = due_at_come(next, now);
    bool works = here.known.changes.count > 0 || here.scanned_db >= 0 ||
                 here.known.keys.flushed != NULL || due_values_keys()->flushed != NULL ||
                 held_value_released() || lent_keys_dropped() || read_ahead_flushed();
    bool waits = due_at_is_never(next) || (here.timer_runs && here.timer_at <= next.at);
    if (!due) host_search_suspend(ctx, false);
    if (!due && !works && waits) return;
    enum node_role role = node_role(ctx);
    bool opens = role == NODE_MASTER, runs = role != NODE_WAITING && (works || (due && opens));
    if (!opens) host_search_suspend(ctx, false);
    if (runs && leaves_turn_to_replies())
        wake(ctx);
    else if (runs)
        run_slice(ctx, opens);
    next = next_work();
    if (opens && !due_at_is_never(next) && !here.woken) set_timer(ctx, next);
}

/* ---- events ---------------------------------------------------------------------------------- */

static int on_key(RedisModuleCtx *ctx, int class, const char *event, RedisModuleString *name)
{
    volatile_keys_event(&here.known, ctx, class, event, name);
    return API_OK;
}

static void on_flush(RedisModuleCtx *ctx, struct api_event event, uint64_t what, void *data)
{
    (void)ctx;
    (void)event;
    const struct api_flush *flush = data;
    if (what != FLUSHDB_STARTS) return;
    due_keys_flush(&here.known.keys, flush->db);
    due_keys_flush(due_values_keys(), flush->db);
    read_ahead_flush(flush->db);
}

static void on_swap(RedisModuleCtx *ctx, struct api_event event, uint64_t what, void *data)
{
    (void)ctx;
    (void)event;
    (void)what;
    const struct api_swap *swap = data;
    due_keys_swap(&here.known.keys, (unsigned)swap->first, (unsigned)swap->second);
    due_keys_swap(due_values_keys(), (unsigned)swap->first, (unsigned)swap->second);
    read_ahead_swap((unsigned)swap->first, (unsigned)swap->second);
}

/* Each loaded key causes an event, so a load needs no scan. The exception is a replica that loads
 * its master's data: it may load them aside, and keep its own keys if that fails. So it scans its
 * keys afterwards. */
static void on_loading(RedisModuleCtx *ctx, struct api_event event, uint64_t what, void *data)
{
    (void)ctx;
    (void)event;
    (void)data;
    here.known.loading = what != LOADING_ENDED && what != LOADING_FAILED;
    if (what == LOADING_REPL_STARTS) here.rescan = true;
    if (what == LOADING_RDB_STARTS || what == LOADING_AOF_STARTS) here.scanned_db = -1;
    if ((what != LOADING_ENDED && what != LOADING_FAILED) || !here.rescan) return;
    here.rescan = false;
    read_ahead_flush(-1);
    begin_scan();
}

/* For events of writes. This is subscribed only once there are policies, because every write causes
 * such an event. */
static int on_write(RedisModuleCtx *ctx, int class, const char *event, RedisModuleString *name)
{
    (void)class;
    read_ahead_written(api_event_db(ctx, event, name), api_bytes(name));
    key_policies_event(ctx, event, name);
    return API_OK;
}

/* Called for each key of the scan, and each key that is opened to check its deadline. */
static void on_open(RedisModuleCtx *ctx, RedisModuleString *name, RedisModuleKey *key)
{
    due_values_note((unsigned)redis.GetSelectedDb(ctx), api_bytes(name), key);
    if (here.scans_policies && here.scanned_db >= 0) key_policies_existing(ctx, name);
}

static void on_policies(RedisModuleCtx *ctx)
{
    lent_keys_use_policies(node_policies());
    if (node_policies()->count == 0) return;
    if (!here.policies_heard) redis.SubscribeToKeyspaceEvents(ctx, POLICY_EVENTS, on_write);
    here.policies_heard = here.scans_policies = true;
    begin_scan();
}

static void on_slots_taken(void)
{
    begin_scan();
}

static void on_cron(RedisModuleCtx *ctx, struct api_event event, uint64_t what, void *data)
{
    (void)ctx;
    (void)event;
    (void)what;
    (void)data;
    here.cron_ran = true;
}

static bool subscribe(RedisModuleCtx *ctx, uint64_t id, api_on_event on_event)
{
    const struct api_event event = { .id = id, .data_version = 1 };
    return redis.SubscribeToServerEvent(ctx, event, on_event) == API_OK;
}

bool slices_start(RedisModuleCtx *ctx)
{
    volatile_keys_init(&here.known);
    here.known.on_open = on_open;
    here.known.on_expired = key_policies_expired;
    here.known.on_deadline = read_ahead_deadline;
    read_ahead_init();
    bool subscribed =
        command_ttl_start(ctx) &&
        redis.SubscribeToKeyspaceEvents(ctx, VOLATILE_EVENTS, on_key) == API_OK &&
        subscribe(ctx, EVENT_ID_FLUSHDB, on_flush) && subscribe(ctx, EVENT_ID_SWAPDB, on_swap) &&
        subscribe(ctx, EVENT_ID_LOADING, on_loading) &&
        subscribe(ctx, EVENT_ID_EVENTLOOP, on_loop) && subscribe(ctx, EVENT_ID_CRON_LOOP, on_cron);
    if (!subscribed)
        redis.Log(ctx, "warning", "this server can't report changes of keys to modules");
    imported_slots_start(ctx, on_slots_taken);
    begin_scan();
    return subscribed && node_policies_start(ctx, on_policies);
}
