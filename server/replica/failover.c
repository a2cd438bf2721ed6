/* failover: see failover.h. */
#include "server/replica/failover.h"

#include <inttypes.h>
#include <netdb.h>

#include "server/base/log.h"
#include "server/base/resolver.h"
#include "store/mem/mem.h"

struct failover {
    struct failover_wiring w;
    enum failover_state state;
    struct failover_goal goal;
    bool is_late; /* the timeout has passed */
    struct loop_timer *timer;
    struct resolver *resolver;
    struct failover_goal named; /* the goal whose host is being resolved, if `found` is set */
    void (*found)(void *ctx, enum failover_target target, const struct failover_goal *goal);
    void *found_ctx; /* for the caller of failover_resolve */
};

static void find_named(void *ctx, const struct addrinfo *list, int error);

static void pass_time(void *ctx)
{
    struct failover *failover = ctx;
    failover->is_late = true;
    failover_turn(failover);
}

struct failover *failover_new(const struct failover_wiring *wiring)
{
    struct failover *failover = mem_zalloc(sizeof(*failover));
    failover->w = *wiring;
    failover->timer = loop_timer_new(wiring->loop, pass_time, failover);
    failover->resolver = resolver_new(wiring->loop, find_named, failover);
    return failover;
}

void failover_free(struct failover *failover)
{
    if (failover == NULL) return;
    loop_timer_free(failover->timer);
    resolver_free(failover->resolver);
    mem_free(failover);
}

enum failover_state failover_state(const struct failover *failover)
{
    return failover->state;
}

const char *failover_name(enum failover_state state)
{
    static const char *const names[] = { [FAILOVER_NONE] = "no-failover",
                                         [FAILOVER_WAITS] = "waiting-for-sync",
                                         [FAILOVER_RUNS] = "failover-in-progress" };
    return names[state];
}

bool failover_wants_silence(const struct failover *failover)
{
    return failover->state == FAILOVER_WAITS && failover->goal.ttl > 0;
}

/* ---- finding the replica --------------------------------------------------------------------- */

struct search {
    const char *host; /* NULL for any replica that has received the whole stream */
    int64_t port;
    uint64_t end; /* offset of the end of the stream */
    bool synced;  /* a replica with a journal must have synced it up to there */
    enum failover_target found;
    bool has_port;               /* a replica has this port */
    bool has_all;                /* the replica found has the whole stream */
    struct failover_goal *named; /* receives the address of that replica; NULL if not needed */
};

static void check_replica(void *ctx, const struct replica_info *info)
{
    struct search *search = ctx;
    bool online = info->is_online;
    bool is_synced = !search->synced || info->synced == 0 || info->synced == search->end;
    bool has_all = info->applied == search->end && is_synced;
    if (info->port == search->port) search->has_port = true;
    if (search->found == TARGET_ONLINE) return;
    if (search->host == NULL
            ? !(online && has_all)
            : strcasecmp(search->host, info->address) != 0 || search->port != info->port)
        return;
    search->found = online ? TARGET_ONLINE : TARGET_NOT_ONLINE;
    search->has_all = online && has_all;
    if (!search->has_all || search->named == NULL) return;
    snprintf(search->named->host, sizeof(search->named->host), "%s", info->address);
    search->named->port = info->port;
}

static void search_replica(const struct failover *failover, struct search *search)
{
    search->end = backlog_end(failover->w.backlog);
    search->synced = failover->w.conf->appendfsync == CONF_FSYNC_ALWAYS;
    replicas_each(failover->w.replicas, check_replica, search);
}

static enum failover_target search_addresses(const struct failover *failover,
                                             struct failover_goal *goal,
                                             const struct addrinfo *list)
{
    struct search search = { .port = goal->port };
    for (const struct addrinfo *at = list; at != NULL && search.found == TARGET_UNKNOWN;
         at = at->ai_next) {
        char address[NI_MAXHOST];
        if (getnameinfo(at->ai_addr, at->ai_addrlen, address, sizeof(address), NULL, 0,
                        NI_NUMERICHOST) != 0)
            continue;
        search.host = address;
        search_replica(failover, &search);
        if (search.found != TARGET_UNKNOWN)
            snprintf(goal->host, sizeof(goal->host), "%.*s", (int)sizeof(goal->host) - 1, address);
    }
    return search.found;
}

enum failover_target failover_target(const struct failover *failover, struct failover_goal *goal)
{
    struct search search = { .host = goal->host, .port = goal->port };
    search_replica(failover, &search);
    if (search.found != TARGET_UNKNOWN || !search.has_port) return search.found;
    struct addrinfo *list = resolver_parse(goal->host, goal->port);
    if (list == NULL) return TARGET_MAYBE_NAMED;
    search.found = search_addresses(failover, goal, list);
    freeaddrinfo(list);
    return search.found;
}

bool failover_resolve(struct failover *failover, const struct failover_goal *goal,
                      void (*found)(void *ctx, enum failover_target target,
                                    const struct failover_goal *goal),
                      void *ctx)
{
    if (failover->found != NULL || resolver_begin(failover->resolver, goal->host, goal->port) != 0)
        return false;
    failover->named = *goal;
    failover->found = found;
    failover->found_ctx = ctx;
    return true;
}

static void find_named(void *ctx, const struct addrinfo *list, int error)
{
    struct failover *failover = ctx;
    struct failover_goal goal = failover->named;
    enum failover_target target = TARGET_UNKNOWN;
    if (error == 0) target = search_addresses(failover, &goal, list);
    failover->found(failover->found_ctx, target, &goal);
}

void failover_stop_resolving(struct failover *failover)
{
    resolver_drop(failover->resolver);
    failover->found = NULL;
}

/* ---- the steps ------------------------------------------------------------------------------- */

void failover_begin(struct failover *failover, const struct failover_goal *goal)
{
    failover->goal = *goal;
    failover->is_late = false;
    failover->state = FAILOVER_WAITS;
    failover->w.pause->failover = true;
    loop_timer_set_msec(failover->timer, goal->ttl > 0 ? goal->ttl : -1);
    log_line(LOG_NOTICE, "Failover: writes are paused until %s has caught up",
             goal->host[0] != '\0' ? "the replica" : "a replica");
}

static void end(struct failover *failover)
{
    failover->state = FAILOVER_NONE;
    failover->w.pause->failover = false;
    loop_timer_set(failover->timer, -1);
}

void failover_abort(struct failover *failover, const char *why)
{
    enum failover_state state = failover->state;
    if (state == FAILOVER_NONE) return;
    log_line(LOG_NOTICE, "Failover aborted in state %s: %s", failover_name(state), why);
    end(failover);
    if (state == FAILOVER_RUNS) failover->w.take_back(failover->w.ctx);
}

static void hand_over(struct failover *failover)
{
    const struct failover_goal *goal = &failover->goal;
    log_line(LOG_NOTICE, "Failover to the replica %s:%" PRId64, goal->host, goal->port);
    loop_timer_set(failover->timer, -1);
    failover->state = FAILOVER_RUNS;
    failover->w.hand_over(failover->w.ctx, goal->host, goal->port);
}

void failover_turn(struct failover *failover)
{
    if (failover->state != FAILOVER_WAITS) return;
    struct failover_goal *goal = &failover->goal;
    if (failover->is_late) {
        if (goal->force)
            hand_over(failover);
        else
            failover_abort(failover, "no replica has caught up in time");
        return;
    }
    struct search search = { .named = goal };
    if (goal->host[0] != '\0') {
        search.host = goal->host;
        search.port = goal->port;
        search.named = NULL;
    }
    search_replica(failover, &search);
    if (search.has_all) hand_over(failover);
}

void failover_answered(struct failover *failover, bool accepted)
{
    if (failover->state != FAILOVER_RUNS) return;
    if (accepted)
        end(failover);
    else
        failover_abort(failover, "the replica refuses to become the master");
}
