/* replica_copies: the full copies that replicas get before the stream. One child at a time makes a
 * copy in one form, for all replicas that wait for that form. See replicas_state.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "server/base/log.h"
#include "server/replica/replicas_state.h"

enum { USEC = 1000 * 1000, COPY_A_TURN = 1 << 20 };

/* ---- beginning and ending -------------------------------------------------------------------- */

static enum full_copy_form form_for(const struct replica *replica)
{
    bool marked = replica->abilities & REPLICA_TAKES_MARK;
    if (replica->functions_only) return marked ? COPY_FUNCTIONS : COPY_FUNCTIONS_SIZED;
    if (!marked) return COPY_RDB_SIZED;
    if (replica->abilities & REPLICA_IS_OURS) return COPY_OWN;
    if (replica->abilities & REPLICA_READS_VALKEY) return COPY_VALKEY;
    return replica->abilities & REPLICA_READS_REDIS_8 ? COPY_REDIS_8 : COPY_RDB;
}

/* Replicas that wait for a child share it with others that ask within the delay. */
static bool copy_is_due(const struct replicas *all, enum full_copy_form form)
{
    const struct conf *conf = all->w.conf;
    int64_t first = INT64_MAX, waiting = 0;
    const struct replica *replica;
    TAILQ_FOREACH(replica, &all->list, in_order)
    {
        if (replica->state != WAITING || form_for(replica) != form) continue;
        waiting++;
        if (replica->since_usec < first) first = replica->since_usec;
    }
    int64_t most = conf->repl_diskless_sync_max_replicas;
    if (waiting == 0 || (most > 0 && waiting >= most)) return waiting > 0;
    return clock_mono_usec() - first >= conf->repl_diskless_sync_delay * USEC;
}

static void begin_copying(struct replica *replica)
{
    struct replicas *all = replica->all;
    char line[HISTORY_ID + 48];
    uint64_t offset = backlog_end(all->w.backlog);
    /* Redis counts the last byte, not the next one. */
    snprintf(line, sizeof(line), "FULLRESYNC %s %" PRIu64, all->w.history->id, offset - 1);
    if (!replica->is_old) resp_status(&replica->session->out, line);
    replica->state = COPYING;
    replica->copied = 0;
    replica->has_copy = false;
    replica->sent = offset; /* `applied` stays: redis-cli --replica discards its copy */
    clients_source_ready(replica->session);
}

/* The replica logs the reason. */
static void refuse_copy(struct replica *replica, const char *why)
{
    char line[128];
    int len = snprintf(line, sizeof(line), "ERR can't begin a full copy: %s", why);
    resp_error(&replica->session->out, line, (size_t)len);
    replica->closes = true;
    session_close(replica->session);
    session_notify(replica->session);
}

static void begin_copy(struct replicas *all, enum full_copy_form form)
{
    struct replica *replica;
    int error = full_copy_begin(all->copy, form, all->w.stream_db(all->w.ctx));
    if (error != 0)
        log_line(LOG_WARNING, "Can't begin a full copy for replicas: %s", strerror(error));
    TAILQ_FOREACH(replica, &all->list, in_order)
    {
        if (replica->state != WAITING || form_for(replica) != form) continue;
        if (error == 0)
            begin_copying(replica);
        else if (!replica->closes)
            refuse_copy(replica, strerror(error));
    }
    if (error != 0) return;
    all->report.copies_begun++;
    all->report.last_fork_usec = full_copy_report(all->copy).fork_usec;
    all->report.forked_usec = clock_mono_usec();
}

void replica_copies_begin(struct replicas *all)
{
    if (!all->copies_wait) all->copy_room = COPY_A_TURN;
    for (unsigned form = 0; form < COPY_FORMS && full_copy_state(all->copy) == COPY_IDLE; form++)
        if (copy_is_due(all, form)) begin_copy(all, form);
}

static void fail_copy(struct replicas *all)
{
    struct replica *replica;
    log_line(LOG_WARNING,
             "The child process that wrote a full copy failed: its replicas have to reconnect");
    TAILQ_FOREACH(replica, &all->list, in_order)
    if (replica->state == COPYING) replicas_close(replica);
    full_copy_reset(all->copy);
}

void replica_copies_update(struct replicas *all)
{
    enum full_copy_state state = full_copy_state(all->copy);
    uint64_t least = backlog_end(full_copy_bytes(all->copy)); /* the first byte still needed */
    size_t readers = 0;
    const struct replica *replica;
    TAILQ_FOREACH(replica, &all->list, in_order)
    {
        if (replica->state != COPYING) continue;
        readers++;
        if (replica->copied < least) least = replica->copied;
    }
    if (state == COPY_FAILED)
        fail_copy(all);
    else if (state == COPY_RUNS && readers == 0)
        full_copy_cancel(all->copy);
    else if (state == COPY_WHOLE && readers == 0)
        full_copy_reset(all->copy);
    else if (state != COPY_IDLE)
        full_copy_taken(all->copy, least);
}

/* ---- sending --------------------------------------------------------------------------------- */

/* A thousand replicas that copy at once take turns, so that clients need not wait for them. */
int replica_copies_peek(const struct replica *replica, struct iovec *chunks, int max)
{
    struct replicas *all = replica->all;
    int count = replicas_view(full_copy_bytes(all->copy), replica->copied, chunks, max);
    if (count == 0 || all->copy_room > 0) return count;
    if (!all->copies_wait) loop_timer_set(all->next_turn, 0);
    all->copies_wait = true;
    return 0;
}

static void send_copies_on(void *ctx)
{
    struct replicas *all = ctx;
    struct replica *replica;
    all->copies_wait = false;
    all->copy_room = COPY_A_TURN;
    TAILQ_FOREACH(replica, &all->list, in_order)
    if (replica->state == COPYING) clients_source_ready(replica->session);
}

void replica_copies_sent(struct replica *replica, size_t len)
{
    struct replicas *all = replica->all;
    replica->copied += len;
    all->copy_room -= len < all->copy_room ? len : all->copy_room;
    bool whole = full_copy_state(all->copy) == COPY_WHOLE &&
                 replica->copied == backlog_end(full_copy_bytes(all->copy));
    if (!whole) return;
    replica->heard_usec = clock_mono_usec();
    replica->state = COPIED;
    /* After a copy of known length the stream may follow at once; otherwise the replica could not
     * tell where the copy ends. */
    bool at_once =
        replica->is_old || replica->has_copy || full_copy_form(all->copy) == COPY_RDB_SIZED;
    if (at_once && !replica->copy_only) replicas_go_online(replica);
}

static void on_progress(void *ctx)
{
    struct replicas *all = ctx;
    struct replica *replica;
    TAILQ_FOREACH(replica, &all->list, in_order)
    {
        if (replica->state != COPYING) continue;
        replica_copies_sent(replica, 0); /* the copy may be whole now */
        clients_source_ready(replica->session);
    }
}

bool replica_copies_make(struct replicas *all)
{
    all->copy = full_copy_new(all->w.loop, all->w.store, on_progress, all);
    all->next_turn = loop_timer_new(all->w.loop, send_copies_on, all);
    return all->copy != NULL && all->next_turn != NULL;
}

void replica_copies_free(struct replicas *all)
{
    loop_timer_free(all->next_turn);
    full_copy_free(all->copy);
}
