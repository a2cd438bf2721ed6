/* replication: see replication.h. */
#include "server/replica/replication.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "server/base/log.h"
#include "server/persist/format/copy.h"
#include "server/persist/import/import.h"
#include "server/replica/follower.h"
#include "server/run/serve.h"
#include "store/mem/mem.h"

enum {
    HOST_MAX = 256,
    WHY = 320,
    USEC = 1000 * 1000,
    APPLY_USEC = 1000,  /* of a turn, for the master's stream */
    LOAD_USEC = 500,    /* between two turns while a copy is being loaded */
    RETRY_SECONDS = 10, /* after a copy that could not be loaded */
    FIRST_OFFSET = 1,
};

struct replication {
    struct replication_wiring w;
    struct backlog *backlog;
    struct feed *feed;
    struct history history;
    struct replicas *replicas;
    struct link *link;
    struct follower *follower;
    struct waits *waits;
    struct failover *failover;
    bool active; /* the backlog has the stream up to now */
    bool follows;
    bool has_position; /* the data are those of `history` at the backlog's end */
    bool loading, asks;
    char host[HOST_MAX];
    int64_t port;
    int64_t retry_usec; /* do not connect before */
    uint64_t link_id;   /* of the last connection to the master */
    int64_t link_usec;  /* when it was begun */
    uint64_t full_copies;
    /* What is synced: all bytes before `synced`; those before `marked` when the journal is synced
     * up to `mark`. */
    uint64_t synced, marked, mark;
    int64_t turned_usec; /* of a load */
    uint64_t given;      /* bytes of the copy that is being loaded */
};

/* ---- the role -------------------------------------------------------------------------------- */

static void update_role(struct replication *r)
{
    struct role *role = &r->w.dispatch->role;
    int64_t least = r->w.conf->min_replicas_to_write;
    role->replica = r->follows;
    role->stale = r->follows && link_state(r->link) != LINK_STREAM;
    role->few_replicas =
        !r->follows && least > 0 &&
        replicas_good(r->replicas, r->w.conf->min_replicas_max_lag) < (size_t)least;
    r->w.dispatch->hooks->feed = r->active && !r->follows ? r->feed : NULL;
}

void replication_begin_stream(struct replication *r)
{
    if (r->active) return;
    /* What was before is not in the backlog, so nobody can go on from it. */
    if (!r->has_position) history_begin(&r->history);
    r->active = r->has_position = true;
    feed_restart(r->feed);
    update_role(r);
}

/* Without replicas for long: gives the memory back. Nobody can go on from here later. */
static void end_stream(struct replication *r)
{
    r->active = r->has_position = false;
    backlog_restart(r->backlog, backlog_end(r->backlog));
    history_begin(&r->history);
    update_role(r);
}

static void end_blocked(void *ctx, const struct client_info *info)
{
    struct replication *r = ctx;
    serve_end_blocked(r->w.dispatch, info->session);
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
    char value[HOST_MAX + 24];
    bool same = r->follows && strcmp(r->host, host) == 0 && r->port == port;
    if (same) return;
    link_close(r->link, NULL);
    snprintf(r->host, sizeof(r->host), "%s", host);
    r->port = port;
    snprintf(value, sizeof(value), "%s %" PRId64, r->host, port);
    remember_master(r, value);
    if (!r->follows) clients_each(r->w.clients, end_blocked, r);
    /* A master's own stream has been going on up to here: a new master may know it. */
    r->follows = true;
    r->retry_usec = 0;
    log_line(LOG_NOTICE, "Following the master %s:%" PRId64, r->host, port);
    update_role(r);
    connect_link(r);
}

bool replication_promote(struct replication *r)
{
    if (!r->follows) return false;
    link_close(r->link, NULL);
    r->follows = false;
    r->host[0] = '\0';
    remember_master(r, "");
    if (r->has_position)
        history_branch(&r->history, backlog_end(r->backlog));
    else
        history_begin(&r->history);
    r->active = r->has_position = true;
    feed_restart(r->feed);
    replicas_close_all(r->replicas, "this server is a master now");
    log_line(LOG_NOTICE, "This server is a master now, with the stream %s from offset %" PRIu64,
             r->history.id, backlog_end(r->backlog));
    update_role(r);
    return true;
}

void replication_configure(struct replication *r)
{
    update_role(r);
}

/* ---- the link -------------------------------------------------------------------------------- */

static bool position(void *ctx, const char **id, uint64_t *offset)
{
    struct replication *r = ctx;
    if (!r->has_position) return false;
    *id = r->history.id;
    *offset = backlog_end(r->backlog);
    return true;
}

static void goes_on(void *ctx, const char *id)
{
    struct replication *r = ctx;
    r->active = true;
    follower_begin(r->follower, link_master_is_ours(r->link), follower_db(r->follower));
    update_role(r);
    if (id == NULL || strcmp(id, r->history.id) == 0) return;
    /* The master has a new id: so have we, and our replicas have to know. */
    uint64_t end = backlog_end(r->backlog);
    struct history old = r->history;
    history_adopt(&r->history, id);
    memcpy(r->history.old_id, old.id, sizeof(old.id));
    r->history.old_end = end;
    replicas_close_all(r->replicas, "the master's stream has a new id");
}

static void answered(void *ctx, bool accepted)
{
    struct replication *r = ctx;
    link_ask_failover(r->link, false);
    failover_answered(r->failover, accepted);
}

/* ---- handing the role over ------------------------------------------------------------------- */

static void hand_over(void *ctx, const char *host, int64_t port)
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

static void ask_link(void *ctx)
{
    struct replication *r = ctx;
    r->asks = true;
}

/* Bytes that the journal has synced, for WAITAOF of the master. */
static uint64_t synced_offset(struct replication *r)
{
    struct persist *persist = r->w.dispatch->persist;
    uint64_t end = backlog_end(r->backlog);
    if (persist == NULL || !persist_listens(persist)) return 0;
    if (r->marked > r->synced && persist_synced_position(persist) >= r->mark) r->synced = r->marked;
    if (r->marked <= r->synced) {
        r->marked = end;
        r->mark = persist_position(persist);
        if (persist_synced_position(persist) >= r->mark) r->synced = r->marked;
    }
    return r->synced > 0 ? r->synced - 1 : 0;
}

static void acknowledge(struct replication *r)
{
    if (r->follows && link_state(r->link) == LINK_STREAM)
        link_acknowledge(r->link, replication_offset(r), synced_offset(r));
}

/* ---- the master's stream --------------------------------------------------------------------- */

/* The stream is broken: only a full copy can mend that. */
static void give_up_stream(struct replication *r)
{
    char why[WHY];
    snprintf(why, sizeof(why),
             "the stream at offset %" PRIu64 " can't be applied: %s. A full copy is needed",
             backlog_end(r->backlog), follower_error(r->follower));
    link_close(r->link, why);
    r->has_position = false;
    update_role(r);
}

/* True: there is more. */
static bool apply_stream(struct replication *r)
{
    struct bytes stream = link_stream(r->link);
    size_t used;
    if (stream.len == 0) return false;
    enum followed result = follower_apply(r->follower, stream.data, stream.len, APPLY_USEC, &used);
    backlog_append(r->backlog, stream.data, used);
    link_want_more(r->link, result == FOLLOW_PART);
    if (result == FOLLOW_BROKEN) {
        give_up_stream(r);
        return false;
    }
    bool more = result == FOLLOWED && used < stream.len && used > 0;
    link_stream_take(r->link, used);
    return more;
}

bool replication_turn(struct replication *r)
{
    static const struct bytes get_ack[] = { LIT("REPLCONF"), LIT("GETACK"), LIT("*") };
    bool more = r->follows && !r->loading && link_state(r->link) == LINK_STREAM && apply_stream(r);
    if (r->asks && r->follows) acknowledge(r);
    if (r->asks && !r->follows && r->active) feed_command(r->feed, get_ack, 3);
    r->asks = false;
    failover_turn(r->failover);
    if (r->active) replicas_turn(r->replicas);
    if (waits_any(r->waits)) waits_turn(r->waits);
    update_role(r);
    return more;
}

void replication_ask(struct replication *r)
{
    r->asks = true;
}

static void tend_link(struct replication *r)
{
    int64_t now = clock_mono_usec(), timeout = r->w.conf->repl_timeout * USEC;
    if (link_state(r->link) != LINK_DOWN && link_silent_usec(r->link) > timeout)
        link_close(r->link, "silent for longer than repl-timeout");
    if (link_state(r->link) == LINK_DOWN && now >= r->retry_usec && !r->loading) connect_link(r);
    acknowledge(r);
    if (link_state(r->link) == LINK_COPY) link_keep_alive(r->link);
}

void replication_second(struct replication *r)
{
    if (r->follows) tend_link(r);
    if (r->active && !r->follows) {
        replicas_second(r->replicas, failover_wants_silence(r->failover));
    }
    int64_t gone = replicas_gone_sec(r->replicas), ttl = r->w.conf->repl_backlog_ttl;
    if (r->active && !r->follows && ttl > 0 && gone > ttl) end_stream(r);
    update_role(r);
}

/* ---- full copies ----------------------------------------------------------------------------- */

/* Lets the loop turn now and then, so that clients are served from the old data. */
static void serve_meanwhile(struct replication *r, bool wait)
{
    int64_t now = clock_mono_usec();
    if (!wait && now - r->turned_usec < LOAD_USEC) return;
    (wait ? loop_wait : loop_poll)(r->w.loop);
    r->turned_usec = clock_mono_usec();
}

static void pause_load(void *ctx)
{
    serve_meanwhile(ctx, false);
}

/* The bytes of the copy, as they come. */
static ssize_t read_copy(void *ctx, void *to, size_t size)
{
    struct replication *r = ctx;
    for (;;) {
        if (link_state(r->link) != LINK_COPY || loop_stopped(r->w.loop)) return -1;
        size_t got = link_copy_read(r->link, to, size);
        serve_meanwhile(r, got == 0 && !link_copy_ended(r->link));
        r->given += got;
        if (got > 0) return (ssize_t)got;
        if (link_copy_ended(r->link)) return 0;
    }
}

static bool fail_end(char why[WHY])
{
    snprintf(why, WHY, "it does not end where its data end");
    return false;
}

static bool load_rdb(struct replication *r, struct store *store, unsigned *db, char why[WHY])
{
    struct import *import = mem_zalloc(sizeof(*import));
    *import = (struct import){ .store = store,
                               .now = clock_now(r->w.clock),
                               .between = pause_load,
                               .ctx = r,
                               .skip_unsupported = r->w.conf->import_skip_unsupported };
    bool good = import_rdb(import, read_copy, r);
    for (unsigned i = 0; i < import->kind_count; i++)
        log_line(LOG_WARNING,
                 "Full copy: %" PRIu64 " keys of the unsupported type %s, the first is '%s'",
                 import->kinds[i].keys, import->kinds[i].name, import->kinds[i].first_key);
    if (!good) snprintf(why, WHY, "%s", import->why);
    if (good && import->end != r->given) good = fail_end(why);
    *db = import->stream_db;
    mem_free(import);
    return good;
}

static bool load_into(struct replication *r, struct store *store, unsigned *db, char why[WHY])
{
    struct copy_source source = { read_copy, pause_load, r };
    char rest;
    bool good = link_copy(r->link)->is_rdb
                    ? load_rdb(r, store, db, why)
                    : copy_load(store, &source, clock_now(r->w.clock), db, why, WHY);
    /* The end has to be there, too. */
    return good && (read_copy(r, &rest, 1) == 0 || fail_end(why));
}

/* The copy is here: from now on these are the data. */
static void take_over(struct replication *r, struct store *store, unsigned db)
{
    const struct link_copy copy = *link_copy(r->link);
    struct dispatch *dispatch = r->w.dispatch;
    store_replace(dispatch->store, store);
    if (dispatch->persist != NULL) persist_replaced(dispatch->persist);
    commit_hooks_replaced(dispatch->hooks);
    replicas_close_all(r->replicas, "the data were replaced by a full copy of the master");
    history_adopt(&r->history, copy.id);
    backlog_restart(r->backlog, copy.offset);
    r->active = r->has_position = true;
    r->synced = r->marked = 0;
    r->full_copies++;
    follower_begin(r->follower, link_master_is_ours(r->link), db);
    link_copy_done(r->link);
    update_role(r);
    acknowledge(r);
    log_line(LOG_NOTICE,
             "Full copy of the master loaded: %zu keys, %" PRIu64
             " bytes; the stream goes on at offset %" PRIu64,
             store_count(dispatch->store), copy.received, copy.offset);
}

/* The data that were there stay until the whole copy is loaded. */
void replication_load(struct replication *r)
{
    char why[WHY] = "";
    unsigned db = 0;
    if (!r->follows || r->loading || !link_copy_begins(r->link)) return;
    r->loading = true;
    r->given = 0;
    r->turned_usec = clock_mono_usec();
    struct dispatch *dispatch = r->w.dispatch;
    struct store *store = store_new(dispatch->store->database_count);
    store->counts_access = dispatch->store->counts_access;
    bool good = load_into(r, store, &db, why);
    r->loading = false;
    if (good && r->follows) {
        take_over(r, store, db);
        return;
    }
    store_free(store);
    if (loop_stopped(r->w.loop) || link_state(r->link) != LINK_COPY) return;
    char text[WHY + 64];
    snprintf(text, sizeof(text), "its full copy can't be loaded: %s. The data stay as they were",
             why);
    link_close(r->link, text);
    r->retry_usec = clock_mono_usec() + RETRY_SECONDS * USEC;
}

/* ---- making and reporting -------------------------------------------------------------------- */

/* A master's own stream selects its database anew behind each copy. */
static unsigned stream_db(void *ctx)
{
    struct replication *r = ctx;
    if (r->follows) return follower_db(r->follower);
    feed_restart(r->feed);
    return 0;
}

static bool make_parts(struct replication *r)
{
    const struct replication_wiring *w = &r->w;
    r->backlog = backlog_new();
    backlog_restart(r->backlog, FIRST_OFFSET);
    r->feed = feed_new(r->backlog);
    r->replicas = replicas_new(&(struct replicas_wiring){ .loop = w->loop,
                                                          .conf = w->conf,
                                                          .store = w->dispatch->store,
                                                          .clients = w->clients,
                                                          .backlog = r->backlog,
                                                          .feed = r->feed,
                                                          .stats = w->dispatch->stats,
                                                          .history = &r->history,
                                                          .stream_db = stream_db,
                                                          .ctx = r });
    r->link = link_new(&(struct link_wiring){ .loop = w->loop,
                                              .conf = w->conf,
                                              .stats = w->dispatch->stats,
                                              .position = position,
                                              .goes_on = goes_on,
                                              .answered = answered,
                                              .ctx = r });
    r->follower = follower_new(
        &(struct follower_wiring){ .dispatch = w->dispatch, .ask = ask_link, .ctx = r });
    r->waits = waits_new(w->loop, w->dispatch->blocked, r->replicas, w->dispatch->persist);
    r->failover = failover_new(&(struct failover_wiring){ .loop = w->loop,
                                                          .replicas = r->replicas,
                                                          .backlog = r->backlog,
                                                          .pause = &w->dispatch->pause,
                                                          .hand_over = hand_over,
                                                          .take_back = take_back,
                                                          .ctx = r });
    return r->replicas != NULL && history_begin(&r->history);
}

struct replication *replication_new(const struct replication_wiring *wiring)
{
    struct replication *r = mem_zalloc(sizeof(*r));
    r->w = *wiring;
    if (make_parts(r)) return r;
    int error = errno;
    replication_free(r);
    errno = error;
    return NULL;
}

void replication_free(struct replication *r)
{
    if (r == NULL) return;
    if (r->w.dispatch->hooks != NULL) r->w.dispatch->hooks->feed = NULL;
    failover_free(r->failover);
    waits_free(r->waits);
    follower_free(r->follower);
    link_free(r->link);
    replicas_free(r->replicas);
    feed_free(r->feed);
    backlog_free(r->backlog);
    mem_free(r);
}

void replication_start(struct replication *r)
{
    char host[HOST_MAX];
    int64_t port;
    if (sscanf(r->w.conf->replicaof, "%255s %" SCNd64, host, &port) == 2)
        replication_follow(r, host, port);
    update_role(r);
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
    return &r->history;
}

const struct backlog *replication_backlog(const struct replication *r)
{
    return r->backlog;
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
    return r->w.dispatch->persist != NULL && persist_listens(r->w.dispatch->persist);
}

uint64_t replication_offset(const struct replication *r)
{
    return backlog_end(r->backlog) - 1;
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
