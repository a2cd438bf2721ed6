/* replication: see replication.h. */
#include "server/replica/replication.h"

#include <errno.h>
#include <inttypes.h>

#include "server/base/log.h"
#include "server/engine/unblock.h"
#include "server/replica/replication_state.h"
#include "store/mem/mem.h"

enum {
    APPLY_USEC = 1000, /* time per turn for applying the master's stream */
    FIRST_OFFSET = 1,
    MARK_BYTES = 64 * 1024,
};

/* ---- the role -------------------------------------------------------------------------------- */

void replication_update_role(struct replication *r)
{
    struct role *role = &r->w.engine->role;
    bool lacked = role->few_replicas, followed = role->replica;
    int64_t least = r->w.conf->min_replicas_to_write;
    role->replica = r->follows;
    r->w.engine->store->leases.granted_elsewhere = r->follows;
    role->stale = r->follows && link_state(r->link) != LINK_STREAM;
    role->few_replicas =
        !r->follows && least > 0 &&
        replicas_good(r->replicas, r->w.conf->min_replicas_max_lag) < (size_t)least;
    /* Clients that wait for leases may be served now. */
    if (lacked && !role->few_replicas && !role->replica)
        blocked_ready_type(r->w.engine->blocked, TYPE_LEASE);
    /* Clients that wait for a value may get the right to make it now. */
    if (followed && !role->replica) blocked_ready_type(r->w.engine->blocked, TYPE_STRING);
    bool feeds = r->active && !r->follows;
    /* A transaction can change the role between its commands. The changes that it made before are
     * part of the data, so commit them to the stream now. */
    if (!feeds && feed_pending(r->feed)) feed_commit(r->feed);
    struct commit_hooks *hooks = r->w.engine->hooks;
    /* The command that changes the role may have begun while nothing listened to effects. Listen
     * now, because the stream must receive the next effects of the transaction. */
    unsigned *mask = &r->w.engine->store->event_mask;
    if (feeds && hooks->feed == NULL) *mask = (*mask & ~(unsigned)LISTEN_BRIEF) | LISTEN_CHANGES;
    hooks->feed = feeds ? r->feed : NULL;
}

void replication_begin_stream(struct replication *r)
{
    r->is_unshared = false;
    if (r->active) return;
    /* Earlier bytes are not in the backlog, so no replica can continue from them. */
    if (!r->has_position) history_begin(&r->position.history);
    r->active = r->has_position = true;
    feed_restart(r->feed);
    replication_update_role(r);
}

/* Writes the position after PING and GETACK, which move the stream on without changing data, into
 * the journal. Otherwise a replica that has received them would be ahead of this server after a
 * restart. */
static void mark_position(struct replication *r, uint64_t bytes)
{
    if (r->w.engine->persist != NULL) persist_mark_position(r->w.engine->persist, bytes);
}

static void end_blocked(void *ctx, const struct client_info *info)
{
    struct replication *r = ctx;
    unblock_and_close(r->w.engine, info->session);
}

static void remember_master(struct replication *r, const char *value)
{
    const char *why;
    if (!conf_set(r->w.conf, conf_find("replicaof"), value, &why))
        log_line(LOG_WARNING, "Can't set replicaof: %s", why);
}

static void connect_link(struct replication *r)
{
    struct tls *tls = r->w.conf->tls_replication ? clients_tls(r->w.clients) : NULL;
    r->link_id = clients_new_id(r->w.clients);
    r->link_usec = clock_mono_usec();
    link_connect(r->link, r->host, r->port, tls);
}

void replication_follow(struct replication *r, const char *host, int64_t port)
{
    char value[MASTER_HOST_MAX + 24];
    bool same = r->follows && strcmp(r->host, host) == 0 && r->port == port;
    if (same) return;
    link_close(r->link, NULL);
    snprintf(r->host, sizeof(r->host), "%s", host);
    r->port = port;
    snprintf(value, sizeof(value), "%s %" PRId64, r->host, port);
    remember_master(r, value);
    if (!r->follows) {
        clients_each(r->w.clients, end_blocked, r);
        /* The position stays that of our own stream as a master, or that of the loaded data: the
         * new master may continue it, in the database that it has selected there. */
        bool unbranched = replication_is_unbranched(r);
        if (unbranched) r->position = r->loaded;
        follower_begin(r->follower, FOLLOW_COMMANDS,
                       unbranched ? r->position.db : feed_db(r->feed));
        r->loaded = (struct stream_position){ .offset = 0 };
        r->is_unshared = false;
    }
    r->follows = true;
    r->retry_usec = 0;
    r->bad_copies = 0;
    r->copied_usec = 0;
    log_line(LOG_NOTICE, "Following the master %s:%" PRId64, r->host, port);
    replication_update_role(r);
    connect_link(r);
}

bool replication_promote(struct replication *r)
{
    if (!r->follows) return false;
    link_end(r->link);
    r->follows = false;
    r->host[0] = '\0';
    remember_master(r, "");
    if (r->has_position)
        history_branch(&r->position.history, backlog_end(r->backlog));
    else
        history_begin(&r->position.history);
    r->active = r->has_position = true;
    if (r->position.effects_from > backlog_end(r->backlog))
        r->position.effects_from = backlog_end(r->backlog);
    feed_restart(r->feed);
    replicas_close_all(r->replicas, "this server is now a master");
    log_line(LOG_NOTICE, "This server is now a master, with the stream %s from offset %" PRIu64,
             r->position.history.id, backlog_end(r->backlog));
    /* The former master may have granted leases whose effects did not arrive. */
    tokens_distrust(&r->w.engine->store->tokens);
    leases_hush(&r->w.engine->store->leases, clock_now(r->w.clock));
    replication_update_role(r);
    return true;
}

/* ---- the link -------------------------------------------------------------------------------- */

static bool position(void *ctx, const char **id, uint64_t *offset)
{
    struct replication *r = ctx;
    if (!r->has_position) return false;
    *id = r->position.history.id;
    *offset = backlog_end(r->backlog);
    return true;
}

void replication_stream_begins(struct replication *r, uint64_t offset, unsigned db)
{
    uint64_t from = link_effects_from(r->link), commands = from > offset ? from - offset : 0;
    r->position.effects_from = from;
    follower_begin(r->follower, from == LINK_NO_EFFECTS ? FOLLOW_COMMANDS : commands, db);
}

static void continues(void *ctx, const char *id)
{
    struct replication *r = ctx;
    r->active = true;
    replication_stream_begins(r, backlog_end(r->backlog), follower_db(r->follower));
    replication_update_role(r);
    if (id == NULL || strcmp(id, r->position.history.id) == 0) return;
    /* The master's id has changed, so ours changes too, and our replicas must learn it. */
    uint64_t end = backlog_end(r->backlog);
    struct history old = r->position.history;
    history_adopt(&r->position.history, id);
    memcpy(r->position.history.old_id, old.id, sizeof(old.id));
    r->position.history.old_end = end;
    replicas_close_all(r->replicas, "the master's stream has a new ID");
}

static void answered(void *ctx, bool accepted)
{
    struct replication *r = ctx;
    link_ask_failover(r->link, false);
    failover_answered(r->failover, accepted);
}

/* ---- handing the role over ------------------------------------------------------------------- */

static void take_over_by(void *ctx, const char *host, int64_t port)
{
    struct replication *r = ctx;
    link_ask_failover(r->link, true);
    replication_follow(r, host, port);
}

static void take_back(void *ctx)
{
    struct replication *r = ctx;
    link_ask_failover(r->link, false);
    replication_promote(r);
}

/* Called before a unit of the master's stream commits. Appends the unit to the backlog at once, so
 * that the unit's record in the journal states the position after the unit. If only a part of the
 * unit was applied, the data has no position in the stream any more. */
static void end_unit(void *ctx, struct bytes unit, bool good)
{
    struct replication *r = ctx;
    if (good)
        backlog_append(r->backlog, unit.data, unit.len);
    else
        r->has_position = false;
}

static void ask_link(void *ctx)
{
    struct replication *r = ctx;
    r->asks = true;
}

void replication_acknowledge(struct replication *r)
{
    if (!r->follows || link_state(r->link) != LINK_STREAM) return;

    /* For the master's WAITAOF: up to which offset are base and journal synced? */
    struct persist *persist = r->w.engine->persist;
    uint64_t synced = 0;
    if (persist != NULL && persist_listens(persist)) {
        if (r->marked > r->synced && persist_has_synced(persist, r->mark)) r->synced = r->marked;
        if (r->marked <= r->synced) {
            r->marked = backlog_end(r->backlog);
            r->mark = persist_position(persist);
            if (persist_has_synced(persist, r->mark)) r->synced = r->marked;
        }
        if (r->synced > 0) synced = r->synced - 1;
    }
    link_acknowledge(r->link, replication_offset(r), synced);
}

/* ---- a turn ---------------------------------------------------------------------------------- */

bool replication_turn(struct replication *r)
{
    static const struct bytes get_ack[] = { LIT("REPLCONF"), LIT("GETACK"), LIT("*") };
    struct bytes stream = link_stream(r->link);
    size_t used;
    bool more = false; /* bytes are left that could be applied at once */
    if (stream.len > 0 && r->follows && !r->loading) {
        enum followed result =
            follower_apply(r->follower, stream.data, stream.len, APPLY_USEC, &used);
        link_want_more(r->link, result == FOLLOW_PART);
        if (result == FOLLOW_BROKEN) { /* only a full copy can repair that */
            char why[WHY];
            snprintf(why, sizeof(why),
                     "the stream at offset %" PRIu64 " can't be applied: %s. A full copy is needed",
                     backlog_end(r->backlog), follower_error(r->follower));
            link_close(r->link, why);
            r->has_position = false;
            replication_delay_copy(r);
            replication_update_role(r);
        } else {
            more = result == FOLLOWED && used < stream.len && used > 0;
            link_stream_take(r->link, used);
        }
    }
    replication_note_lost_copy(r);
    if (r->asks && r->follows) replication_acknowledge(r);
    if (r->asks && !r->follows && r->active) {
        feed_command(r->feed, get_ack, 3);
        mark_position(r, 1);
    }
    r->asks = false;
    failover_turn(r->failover);
    if (r->active) {
        replicas_turn(r->replicas);
        size_t lag = replicas_lag_bytes(r->replicas), *sum = &r->w.engine->uncounted;
        *sum = *sum - r->uncounted + lag;
        r->uncounted = lag;
    }
    waits_turn(r->waits);
    replication_update_role(r);
    return more;
}

void replication_ask(struct replication *r)
{
    r->asks = true;
}

void replication_second(struct replication *r)
{
    int64_t now = clock_mono_usec(), timeout = r->w.conf->repl_timeout * USEC;
    if (r->follows) {
        if (link_state(r->link) != LINK_DOWN && link_silent_usec(r->link) > timeout)
            link_close(r->link, "silent for longer than repl-timeout");
        replication_note_lost_copy(r);
        if (link_state(r->link) == LINK_DOWN && now >= r->retry_usec && !r->loading)
            connect_link(r);
        replication_acknowledge(r);
        if (link_state(r->link) == LINK_COPY) link_keep_alive(r->link);
    }
    if (r->active) replicas_second(r->replicas, r->follows || failover_wants_silence(r->failover));
    int64_t gone = replicas_gone_sec(r->replicas), ttl = r->w.conf->repl_backlog_ttl;
    if (r->active && !r->follows && ttl > 0 && gone > ttl) {
        /* Free the backlog. A replica that returns later needs a full copy. */
        r->active = r->has_position = false;
        feed_restart(r->feed);
        backlog_restart(r->backlog, backlog_end(r->backlog));
        history_begin(&r->position.history);
    }
    /* Without replicas nobody needs the exact position, so it is written less often. */
    if (!r->w.engine->busy) mark_position(r, replicas_count(r->replicas) > 0 ? 1 : MARK_BYTES);
    replication_update_role(r);
}

/* ---- making and reporting -------------------------------------------------------------------- */

/* Returns the database that the stream has selected, for a full copy. On a master that is always 0:
 * feed_restart makes the stream select its database again after the copy. */
static unsigned stream_db(void *ctx)
{
    struct replication *r = ctx;
    if (r->follows) return follower_db(r->follower);
    feed_restart(r->feed);
    return 0;
}

struct replication *replication_new(const struct replication_wiring *w)
{
    struct replication *r = mem_zalloc(sizeof(*r));
    r->w = *w;
    r->backlog = backlog_new();
    backlog_restart(r->backlog, FIRST_OFFSET);
    r->feed = feed_new(r->backlog);
    r->replicas = replicas_new(&(struct replicas_wiring){ .loop = w->loop,
                                                          .conf = w->conf,
                                                          .store = w->engine->store,
                                                          .clients = w->clients,
                                                          .backlog = r->backlog,
                                                          .feed = r->feed,
                                                          .stats = w->engine->stats,
                                                          .history = &r->position.history,
                                                          .stream_db = stream_db,
                                                          .ctx = r });
    r->link = link_new(&(struct link_wiring){ .loop = w->loop,
                                              .conf = w->conf,
                                              .stats = w->engine->stats,
                                              .position = position,
                                              .continues = continues,
                                              .answered = answered,
                                              .ctx = r });
    r->follower = follower_new(&(struct follower_wiring){
        .engine = w->engine, .ask = ask_link, .applied = end_unit, .ctx = r });
    r->ack_timer = loop_timer_new(w->loop, replication_acknowledge_again, r);
    r->waits = waits_new(w->loop, w->engine->blocked, r->replicas, w->engine->persist);
    r->failover = failover_new(&(struct failover_wiring){ .loop = w->loop,
                                                          .conf = w->conf,
                                                          .replicas = r->replicas,
                                                          .backlog = r->backlog,
                                                          .pause = &w->engine->pause,
                                                          .hand_over = take_over_by,
                                                          .take_back = take_back,
                                                          .ctx = r });
    if (r->replicas != NULL && history_begin(&r->position.history)) return r;
    int error = errno;
    replication_free(r);
    errno = error;
    return NULL;
}

void replication_free(struct replication *r)
{
    if (r == NULL) return;
    if (r->w.engine->hooks != NULL) r->w.engine->hooks->feed = NULL;
    loop_timer_free(r->ack_timer);
    failover_free(r->failover);
    waits_free(r->waits);
    follower_free(r->follower);
    link_free(r->link);
    replicas_free(r->replicas);
    feed_free(r->feed);
    backlog_free(r->backlog);
    mem_free(r);
}

struct link *replication_link(const struct replication *r)
{
    return r->link;
}

struct replicas *replication_replicas(const struct replication *r)
{
    return r->replicas;
}

const struct history *replication_history(const struct replication *r)
{
    return &r->position.history;
}

bool replication_took_over(const struct replication *r, const char *id, uint64_t offset)
{
    return history_had(&r->position.history, id, offset) ||
           history_had(&r->loaded.history, id, offset);
}

const struct backlog *replication_backlog(const struct replication *r)
{
    return r->backlog;
}

struct engine *replication_engine(const struct replication *r)
{
    return r->w.engine;
}

struct failover *replication_failover(const struct replication *r)
{
    return r->failover;
}

struct waits *replication_waits(const struct replication *r)
{
    return r->waits;
}

bool replication_has_journal(const struct replication *r)
{
    return r->w.engine->persist != NULL && persist_listens(r->w.engine->persist);
}

uint64_t replication_offset(const struct replication *r)
{
    return backlog_end(r->backlog) - 1;
}

uint64_t replication_effects_from(const struct replication *r)
{
    return r->position.effects_from;
}

struct replication_report replication_report(const struct replication *r)
{
    int64_t down = link_down_usec(r->link);
    bool connected = link_state(r->link) != LINK_DOWN;
    const struct link_copy *copy = link_copy(r->link);
    return (struct replication_report){
        .follows = r->follows,
        .host = r->host,
        .port = r->port,
        .link = link_state(r->link),
        .step = link_step(r->link),
        .silent_sec = connected ? link_silent_usec(r->link) / USEC : -1,
        .down_sec = down < 0 ? -1 : down / USEC,
        .received_offset = replication_offset(r) + link_stream(r->link).len,
        .link_id = r->link_id,
        .link_sec = (clock_mono_usec() - r->link_usec) / USEC,
        .db = follower_db(r->follower),
        .copy_received = copy->received,
        .copy_total = copy->length,
        .loading = r->loading,
        .active = r->active,
        .failed_commands = follower_failed(r->follower),
        .full_copies = r->full_copies,
    };
}
