/* limits: see limits.h. */
#include "server/net/limits.h"

#include <inttypes.h>

#include "server/base/log.h"
#include "server/engine/multi.h"
#include "server/net/label.h"
#include "store/base/ensure.h"
#include "store/mem/mem.h"

enum {
    CLASSES = 24,        /* magnitudes of memory: below 2 KiB, below 4 KiB, ... */
    SMALLEST_CLASS = 10, /* magnitude of the first class: less than 2^11 bytes */
    PERCENT = 100,
    /* Limits before AUTH, so that many unauthenticated clients can't use up the memory. DIFFERS:
     * Redis accepts more input from them. (doc/differs.md) */
    ANON_UNREAD = 1024,     /* bytes of unread replies, as in Redis */
    ANON_QUERY = 64 * 1024, /* bytes of unanswered input; fits the longest AUTH or HELLO */
    PENALTY_FIRST_MSEC = 50,
    PENALTY_DOUBLINGS = 6,
};

/* DIFFERS: Redis keeps reading from a client that does not read its replies. Here a client with
 * more unsent bytes than this waits (WAIT_OUTPUT) until at most half of this is left.
 * (doc/differs.md) */
#define STALL_BYTES ((size_t)64 << 20)

TAILQ_HEAD(limits_list, limits);

struct all_limits {
    struct limits_wiring w;
    /* The connections that maxmemory-clients may close, by magnitude of their memory. */
    struct limits_list by_memory[CLASSES];
    size_t counted;  /* memory of all connections; 0 without maxmemory-clients */
    bool counts_all; /* maxmemory-clients was not 0 at the last call of all_limits_switched */
    struct loop_timer *soft_timer, *penalty_timer;
    /* When each client over its soft limit will be closed, and when each penalty for a failed login
     * ends. In milliseconds of the monotonic clock. */
    struct agenda soft_ends, penalty_ends;
};

static void close_lagging(void *all_limits);
static void end_penalties(void *all_limits);

struct all_limits *all_limits_new(const struct limits_wiring *wiring)
{
    struct all_limits *all = mem_zalloc(sizeof(*all));
    all->w = *wiring;
    for (int class = 0; class < CLASSES; class ++)
        TAILQ_INIT(&all->by_memory[class]);
    all->counts_all = wiring->conf->maxmemory_clients != 0;
    all->soft_timer = loop_timer_new(wiring->loop, close_lagging, all);
    all->penalty_timer = loop_timer_new(wiring->loop, end_penalties, all);
    agenda_init(&all->soft_ends);
    agenda_init(&all->penalty_ends);
    return all;
}

void all_limits_free(struct all_limits *all)
{
    loop_timer_free(all->soft_timer);
    loop_timer_free(all->penalty_timer);
    agenda_drop(&all->soft_ends);
    agenda_drop(&all->penalty_ends);
    mem_free(all);
}

void limits_init(struct limits *limits, struct all_limits *all, struct session *session)
{
    *limits = (struct limits){ .all = all, .session = session, .counts = all->counts_all };
    deadline_init(&limits->soft_end);
    deadline_init(&limits->penalty_end);
}

static void forget_memory(struct limits *limits);

void limits_drop(struct limits *limits)
{
    forget_memory(limits);
    pace_forget(&limits->lag);
    agenda_cancel(&limits->all->soft_ends, &limits->soft_end);
    agenda_cancel(&limits->all->penalty_ends, &limits->penalty_end);
}

void limits_end(struct limits *limits)
{
    pace_forget(&limits->lag);
}

static bool has_ended(const struct limits *limits)
{
    return limits->session->state == SESSION_ENDED;
}

static struct outbuf *out_of(const struct limits *limits)
{
    return limits->session->out.out;
}

bool limits_must_log_in(const struct limits *limits)
{
    return limits->session->state == SESSION_SHAKING ||
           engine_needs_auth(limits->all->w.engine, limits->session);
}

/* ---- memory ---------------------------------------------------------------------------------- */

static void leave_class(struct limits *limits)
{
    if (!limits->is_classed) return;
    TAILQ_REMOVE(&limits->all->by_memory[limits->memory_class], limits, same_class);
    limits->is_classed = false;
}

static void count_as_anon(struct limits *limits, size_t uncounted)
{
    size_t *sum = &limits->all->w.engine->uncounted;
    *sum = *sum - limits->uncounted + uncounted;
    limits->uncounted = uncounted;
    limits->counts = limits->all->counts_all || uncounted != 0;
}

void limits_count_now(struct limits *limits)
{
    bool limited = limits->all->counts_all;
    bool anon = limits_is_anon(limits);
    if (!anon && !limited) {
        count_as_anon(limits, 0);
        return;
    }
    size_t bytes = limits->all->w.owner.bytes(limits->session);
    count_as_anon(limits, anon ? bytes : 0);
    if (!limited) return;
    struct all_limits *all = limits->all;
    bool may_go = !limits->session->no_evict && !limits->exempt && !has_ended(limits);
    unsigned magnitude = bytes > 0 ? 63 - (unsigned)__builtin_clzll(bytes) : 0;
    unsigned class = magnitude > SMALLEST_CLASS ? magnitude - SMALLEST_CLASS : 0;
    if (class >= CLASSES) class = CLASSES - 1;
    all->counted = all->counted - limits->counted + bytes;
    limits->counted = bytes;
    if (limits->is_classed && may_go && class == limits->memory_class) return;
    leave_class(limits);
    if (!may_go) return;
    limits->memory_class = (uint8_t) class;
    limits->is_classed = true;
    TAILQ_INSERT_TAIL(&all->by_memory[class], limits, same_class);
}

static void forget_memory(struct limits *limits)
{
    leave_class(limits);
    limits->all->counted -= limits->counted;
    limits->counted = 0;
    count_as_anon(limits, 0);
}

void limits_exempt(struct limits *limits)
{
    limits->exempt = true;
}

bool all_limits_switched(struct all_limits *all)
{
    bool counts_all = all->w.conf->maxmemory_clients != 0;
    bool switched = counts_all != all->counts_all;
    all->counts_all = counts_all;
    return switched;
}

void limits_recount(struct limits *limits)
{
    forget_memory(limits);
    limits_count(limits);
}

struct session *all_limits_victim(struct all_limits *all)
{
    const struct conf *conf = all->w.conf;
    int64_t limit = conf->maxmemory_clients; /* if negative, percent of maxmemory */
    size_t most =
        limit >= 0 ? (size_t)limit : (size_t)((double)conf->maxmemory * (double)-limit / PERCENT);
    if (most == 0 || all->counted <= most) return NULL;
    struct limits *largest = NULL;
    for (int class = CLASSES - 1; class >= 0 && largest == NULL; class --)
        largest = TAILQ_FIRST(&all->by_memory[class]);
    if (largest == NULL) return NULL;
    log_line(LOG_NOTICE,
             "Client %s closed: it uses %zu bytes, and all clients together %zu, which is more "
             "than maxmemory-clients",
             label_of(largest->session).text, largest->counted, all->counted);
    all->w.stats->evicted_clients++;
    forget_memory(largest);
    return largest->session;
}

/* ---- unanswered input ------------------------------------------------------------------------ */

void limits_check_input(struct limits *limits, size_t len)
{
    const struct all_limits *all = limits->all;
    len += multi_bytes(limits->session);
    bool anon = len > ANON_QUERY && limits_is_anon(limits);
    bool over = len > (size_t)all->w.conf->client_query_buffer_limit || anon;
    if (!over || has_ended(limits)) return;
    /* VERBOSE, so that unauthenticated clients can't fill the log. */
    log_line(anon ? LOG_VERBOSE : LOG_WARNING,
             "Client %s closed: %zu bytes of unanswered input exceed %s",
             label_of(limits->session).text, len,
             anon ? "the limit for unauthenticated clients"
                  : "client-query-buffer-limit. Send smaller requests, or raise it");
    all->w.stats->closed_query_buffer++;
    all->w.owner.close(limits->session);
}

/* ---- unread output --------------------------------------------------------------------------- */

static const struct conf_output_limit *output_limit(const struct limits *limits)
{
    bool subscribed = session_subscriptions(limits->session) > 0;
    const struct conf *conf = limits->all->w.conf;
    return &conf->output_limits[subscribed ? CONF_LIMIT_PUBSUB : CONF_LIMIT_NORMAL];
}

void limits_bound_output(struct limits *limits)
{
    limits->session->out.limit = (size_t)output_limit(limits)->hard;
}

/* Returns the instant at which the output will have exceeded the soft limit for soft_seconds,
 * rounded up to a millisecond. NEVER while the output is below the soft limit. */
static msec soft_end(struct limits *limits)
{
    const struct conf_output_limit *limit = output_limit(limits);
    if (limit->soft == 0 || out_of(limits)->len < (size_t)limit->soft) {
        limits->over_soft_usec = 0;
        return NEVER;
    }
    if (limits->over_soft_usec == 0) limits->over_soft_usec = clock_mono_usec();
    msec ttl, at;
    if (__builtin_mul_overflow(limit->soft_seconds, (msec)1000, &ttl)) return NEVER;
    return instant_after(limits->over_soft_usec / 1000 + 1, ttl, &at) ? at : NEVER;
}

static void arm_timer(const struct agenda *ends, struct loop_timer *timer)
{
    msec next = agenda_next(ends);
    if (next == NEVER) return;
    int64_t left = next * 1000 - clock_mono_usec();
    loop_timer_set(timer, left > 0 ? left : 0);
}

static void watch_soft(struct limits *limits)
{
    struct all_limits *all = limits->all;
    msec at = soft_end(limits);
    bool armed = deadline_armed(&limits->soft_end);
    if (at == NEVER) {
        agenda_cancel(&all->soft_ends, &limits->soft_end);
    } else if (!armed || agenda_at(&all->soft_ends, &limits->soft_end) != at) {
        agenda_move(&all->soft_ends, &limits->soft_end, at);
        if (agenda_first(&all->soft_ends) == &limits->soft_end)
            arm_timer(&all->soft_ends, all->soft_timer);
    }
}

static void close_unread(struct limits *limits)
{
    limits->all->w.stats->closed_output_buffer++;
    outbuf_drop(out_of(limits));
    limits->all->w.owner.close(limits->session);
}

static void close_over(struct limits *limits, const char *limit)
{
    log_line(LOG_WARNING,
             "Client %s closed: %zu bytes of unread replies exceed the %s limit of "
             "client-output-buffer-limit. Read the replies sooner, or raise it",
             label_of(limits->session).text, out_of(limits)->len, limit);
    close_unread(limits);
}

/* Closes the clients that were over their soft limit for too long. CONFIG SET may have changed the
 * limits since, so each client's deadline is computed again first. */
static void close_lagging(void *ctx)
{
    struct all_limits *all = ctx;
    msec now = clock_mono_usec() / 1000;
    char *due;
    while ((due = (char *)agenda_pop_due(&all->soft_ends, now)) != NULL) {
        struct limits *limits = (struct limits *)(due - offsetof(struct limits, soft_end));
        msec at = soft_end(limits);
        if (has_ended(limits) || all->w.owner.is_busy(limits->session)) continue;
        if (at <= now)
            close_over(limits, "soft");
        else if (at != NEVER)
            agenda_add(&all->soft_ends, &limits->soft_end, at);
    }
    arm_timer(&all->soft_ends, all->soft_timer);
}

void limits_check_output(struct limits *limits)
{
    struct all_limits *all = limits->all;
    struct outbuf *out = out_of(limits);
    if (has_ended(limits)) {
        outbuf_drop(out); /* bytes appended after it was closed */
        return;
    }
    if (out->lost) {
        log_line(
            LOG_WARNING,
            "Client %s closed: out of memory for its replies (%zu bytes unread). Set maxmemory "
            "and client-output-buffer-limit to less than this machine has",
            label_of(limits->session).text, out->len);
        close_unread(limits);
        return;
    }
    peak_note(&all->w.stats->output, out->bytes);
    size_t hard = (size_t)output_limit(limits)->hard;
    if (hard > 0 && out->len >= hard) {
        close_over(limits, "hard");
        return;
    }
    watch_soft(limits);
    struct engine *engine = all->w.engine;
    if (engine->pace.publishes && hard > 0 && out->len >= hard - hard / 4)
        pace_filled(&engine->pace, &limits->lag, clock_now(all->w.clock));
}

void limits_check_unread(struct limits *limits)
{
    limits_check_output(limits);
    if (out_of(limits)->len > STALL_BYTES && limits->session->state == SESSION_SERVING)
        session_wait(limits->session, WAIT_OUTPUT, NULL);
}

bool limits_anon_is_full(const struct limits *limits)
{
    return out_of(limits)->len > ANON_UNREAD && limits_is_anon(limits);
}

bool limits_note_sent(struct limits *limits, bool blocked)
{
    if (blocked && limits_anon_is_full(limits)) {
        log_line(LOG_VERBOSE,
                 "Client %s closed: it is unauthenticated and does not read its replies",
                 label_of(limits->session).text);
        limits->all->w.stats->closed_output_buffer++;
        limits->all->w.owner.close(limits->session);
        return false;
    }
    limits_count(limits);
    if (limits->over_soft_usec != 0) watch_soft(limits);
    if (limits->lag.state == LAG_NONE) return true;
    /* Let expiry continue once the client has read enough. */
    size_t hard = (size_t)output_limit(limits)->hard;
    if (hard == 0 || out_of(limits)->len == 0)
        pace_forget(&limits->lag);
    else if (out_of(limits)->len <= hard / 2)
        pace_halved(&limits->lag);
    return true;
}

bool limits_may_resume(const struct limits *limits)
{
    return out_of(limits)->len <= STALL_BYTES / 2;
}

/* ---- failed logins --------------------------------------------------------------------------- */

static void end_penalties(void *ctx)
{
    struct all_limits *all = ctx;
    msec now = clock_mono_usec() / 1000;
    char *due;
    while ((due = (char *)agenda_pop_due(&all->penalty_ends, now)) != NULL)
        all->w.owner.released(
            ((struct limits *)(due - offsetof(struct limits, penalty_end)))->session);
    arm_timer(&all->penalty_ends, all->penalty_timer);
}

/* Begins the penalty, or extends a running one: one call may fail several times (EXEC with several
 * AUTHs), and the delays add up. */
void limits_login_failed(struct limits *limits)
{
    struct all_limits *all = limits->all;
    if (has_ended(limits)) return;
    unsigned doublings =
        limits->login_failures < PENALTY_DOUBLINGS ? limits->login_failures : PENALTY_DOUBLINGS;
    limits->login_failures++;
    msec begin = clock_mono_usec() / 1000 + 1;
    if (deadline_armed(&limits->penalty_end))
        begin = agenda_at(&all->penalty_ends, &limits->penalty_end);
    agenda_move(&all->penalty_ends, &limits->penalty_end,
                begin + ((msec)PENALTY_FIRST_MSEC << doublings));
    if (limits->session->state == SESSION_SERVING)
        session_wait(limits->session, WAIT_PENALTY, NULL);
    if (agenda_first(&all->penalty_ends) == &limits->penalty_end)
        arm_timer(&all->penalty_ends, all->penalty_timer);
}

void limits_login_done(struct limits *limits)
{
    limits->login_failures = 0;
}

bool limits_has_penalty(const struct limits *limits)
{
    return deadline_armed(&limits->penalty_end);
}

/* ---- checking -------------------------------------------------------------------------------- */

void limits_check(const struct limits *limits, struct limits_tally *tally)
{
    const struct session *session = limits->session;
    bool penalty = limits_has_penalty(limits);
    ensure(session->waits_for != WAIT_PENALTY || penalty,
           "client %" PRIu64 " waits for a penalty not armed", session->id);
    ensure(!penalty || session->waits_for == WAIT_PENALTY || session_is_over(session),
           "client %" PRIu64 " has a penalty in state %d", session->id, session->state);
    ensure(limits->counts == (limits->all->counts_all || limits->uncounted != 0),
           "client %" PRIu64 " is counted: %d", session->id, limits->counts);
    tally->classed += limits->is_classed;
    tally->counted += limits->counted;
}

void all_limits_check(const struct all_limits *all, const struct limits_tally *tally)
{
    size_t classed = 0;
    const struct limits *limits;
    for (int class = 0; class < CLASSES; class ++)
        TAILQ_FOREACH(limits, &all->by_memory[class], same_class)
    classed++;
    ensure(classed == tally->classed && all->counted == tally->counted,
           "%zu classed with %zu bytes; their clients: %zu with %zu", classed, all->counted,
           tally->classed, tally->counted);
    agenda_check(&all->soft_ends);
    agenda_check(&all->penalty_ends);
}
