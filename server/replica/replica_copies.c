/* replica_copies: the full copies that replicas receive before the stream. One child at a time
 * makes one copy, for all replicas that wait for a copy of that form. See replicas_state.h. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "server/base/log.h"
#include "server/replica/replicas_state.h"

enum { USEC = 1000 * 1000, COPY_A_TURN = 1 << 20 };

/* ---- beginning and ending -------------------------------------------------------------------- */

/* Chooses the form of a replica's copy. A client that wants only the copy stores it as a backup, so
 * it receives a whole copy or an error. A replica that is a Redis server receives as much as that
 * Redis can hold. */
static struct full_copy_form form_for(const struct replica *replica)
{
    const struct conf *conf = replica->all->w.conf;
    bool marked = replica->options.abilities & REPLICA_TAKES_MARK;
    struct full_copy_form form = { .sized = !marked,
                                   .functions_only = replica->options.functions_only };
    if (replica->options.functions_only) return form;
    if (marked && replica->options.abilities & REPLICA_IS_OURS)
        form.reader = COPY_FOR_US;
    else if (marked && replica->options.abilities & REPLICA_READS_VALKEY)
        form.reader = COPY_FOR_VALKEY_9;
    else if (marked && replica->options.abilities & REPLICA_READS_REDIS_8)
        form.reader = COPY_FOR_REDIS_8;
    else if (replica->options.copy_only)
        form.reader = (enum full_copy_reader)conf->rdb_copy_for;
    form.must_be_whole =
        replica->options.copy_only && form.reader != COPY_FOR_US && !conf->rdb_copy_lossy;
    return form;
}

static bool waits_for(const struct replica *replica, struct full_copy_form form)
{
    struct full_copy_form own = form_for(replica);
    return replica->state == WAITING && !replica->closes && own.reader == form.reader &&
           own.sized == form.sized && own.functions_only == form.functions_only &&
           own.must_be_whole == form.must_be_whole;
}

static void begin_copy(struct replicas *all, struct full_copy_form form)
{
    struct replica *replica;
    int error = full_copy_begin(all->copy, form, all->w.stream_db(all->w.ctx));
    if (error != 0)
        log_line(LOG_WARNING, "Can't begin a full copy for replicas: %s", strerror(error));
    TAILQ_FOREACH(replica, &all->list, in_order)
    {
        if (!waits_for(replica, form)) continue;
        if (error == 0) {
            /* Redis counts the last byte, not the next one. */
            uint64_t offset = backlog_end(all->w.backlog);
            char line[HISTORY_ID + 48];
            snprintf(line, sizeof(line), "FULLRESYNC %s %" PRIu64, all->w.history->id, offset - 1);
            if (!replica->is_old) resp_status(&replica->session->out, line);
            replica->state = COPYING;
            replica->copied = 0;
            replica->has_copy = false;
            /* Leave `applied`: a receiver such as redis-cli --replica discards its copy. */
            replica->sent = offset;
            clients_source_ready(replica->session);
            continue;
        }
        /* The replica logs the reason. */
        char line[128];
        int len = snprintf(line, sizeof(line), "ERR can't begin a full copy: %s", strerror(error));
        resp_error(&replica->session->out, line, (size_t)len);
        replica->closes = true;
        session_close(replica->session);
        session_notify(replica->session);
    }
    if (error != 0) return;
    all->report.copies_begun++;
    all->report.last_fork_usec = full_copy_report(all->copy).fork_usec;
    all->report.forked_usec = clock_mono_usec();
}

void replica_copies_begin(struct replicas *all)
{
    if (!all->copies_wait) all->copy_room = COPY_A_TURN;
    const struct conf *conf = all->w.conf;
    const struct replica *replica, *other;
    TAILQ_FOREACH(replica, &all->list, in_order)
    {
        if (full_copy_state(all->copy) != COPY_IDLE) return;
        struct full_copy_form form = form_for(replica);
        if (!waits_for(replica, form)) continue;
        /* Replicas that ask at about the same time share a child: the copy begins when
         * repl-diskless-sync-delay has passed since the first request, or when
         * repl-diskless-sync-max-replicas wait. */
        int64_t first = INT64_MAX, waiting = 0, most = conf->repl_diskless_sync_max_replicas;
        TAILQ_FOREACH(other, &all->list, in_order)
        {
            if (!waits_for(other, form)) continue;
            waiting++;
            if (other->since_usec < first) first = other->since_usec;
        }
        bool has_waited = clock_mono_usec() - first >= conf->repl_diskless_sync_delay * USEC;
        if (has_waited || (most > 0 && waiting >= most)) begin_copy(all, form);
    }
}

void replica_copies_update(struct replicas *all)
{
    enum full_copy_state state = full_copy_state(all->copy);
    uint64_t least = backlog_end(full_copy_bytes(all->copy)); /* the first byte still needed */
    size_t readers = 0;
    struct replica *replica;
    TAILQ_FOREACH(replica, &all->list, in_order)
    {
        if (replica->state != COPYING) continue;
        readers++;
        if (replica->copied < least) least = replica->copied;
    }
    if (state == COPY_FAILED) {
        log_line(LOG_WARNING,
                 "The child process that wrote a full copy failed: its replicas have to reconnect");
        TAILQ_FOREACH(replica, &all->list, in_order)
        if (replica->state == COPYING) replicas_close(replica);
        full_copy_reset(all->copy);
    } else if (state == COPY_RUNS && readers == 0)
        full_copy_cancel(all->copy);
    else if ((state == COPY_WHOLE || state == COPY_REFUSED) && readers == 0)
        full_copy_reset(all->copy);
    else if (state != COPY_IDLE)
        full_copy_taken(all->copy, least);
}

/* ---- sending --------------------------------------------------------------------------------- */

/* All replicas together may send about COPY_A_TURN bytes in a turn, because many replicas that copy
 * at once must not delay clients. */
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
    enum full_copy_state state = full_copy_state(all->copy);
    bool has_ended = state == COPY_WHOLE || state == COPY_REFUSED;
    if (!has_ended || replica->copied != backlog_end(full_copy_bytes(all->copy))) return;
    replica->heard_usec = clock_mono_usec();
    replica->state = COPIED;
    if (state == COPY_REFUSED) {
        replicas_close(replica);
        return;
    }
    /* If the replica knows the length of the copy, the stream may follow at once. Otherwise it must
     * not: the replica could not tell where the copy ends. */
    bool at_once = replica->is_old || replica->has_copy || full_copy_form(all->copy).sized;
    if (at_once && !replica->options.copy_only) replicas_go_online(replica);
}

static void on_progress(void *ctx)
{
    struct replicas *all = ctx;
    struct replica *replica;
    bool refused = full_copy_state(all->copy) == COPY_REFUSED;
    TAILQ_FOREACH(replica, &all->list, in_order)
    {
        if (replica->state != COPYING) continue;
        if (refused)
            log_line(LOG_WARNING, "Client %s gets no RDB: %s", replica->session->peer,
                     full_copy_refusal(all->copy));
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
