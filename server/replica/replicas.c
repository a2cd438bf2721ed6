/* replicas: see replicas.h. */
#include "server/replica/replicas.h"

#include <errno.h>
#include <inttypes.h>

#include "server/base/log.h"
#include "server/replica/replicas_state.h"
#include "store/mem/mem.h"

enum { USEC = 1000 * 1000 };

/* ---- sending --------------------------------------------------------------------------------- */

int replicas_view(const struct backlog *backlog, uint64_t offset, struct iovec *chunks, int max)
{
    int count = 0;
    struct bytes view;
    while (count < max && (view = backlog_view(backlog, offset)).len > 0) {
        chunks[count++] =
            (struct iovec){ .iov_base = (char *)(uintptr_t)view.data, .iov_len = view.len };
        offset += view.len;
    }
    return count;
}

static int peek_source(void *ctx, struct iovec *chunks, int max)
{
    struct replica *replica = ctx;
    const struct replicas *all = replica->all;
    if (replica->state == COPYING) return replica_copies_peek(replica, chunks, max);
    if (replica->state == ONLINE) return replicas_view(all->w.backlog, replica->sent, chunks, max);
    return 0;
}

void replicas_go_online(struct replica *replica)
{
    replica->state = ONLINE;
    log_line(LOG_NOTICE, "Replica %s: online. It receives the stream from offset %" PRIu64 " on",
             replica->session->peer, replica->sent);
    clients_source_ready(replica->session);
}

static void note_sent(void *ctx, size_t len)
{
    struct replica *replica = ctx;
    if (replica->state == ONLINE) {
        replica->sent += len;
        return;
    }
    replica_copies_sent(replica, len);
}

static void forget_replica(void *ctx)
{
    struct replica *replica = ctx;
    struct replicas *all = replica->all;
    if (replica->state != HANDSHAKE)
        log_line(LOG_NOTICE, "Replica %s: connection closed", replica->session->peer);
    replica->session->replica = NULL;
    TAILQ_REMOVE(&all->list, replica, in_order);
    if (TAILQ_EMPTY(&all->list)) all->left_usec = clock_mono_usec();
    mem_free(replica);
}

/* ---- what a replica reports ------------------------------------------------------------------ */

struct replica *replicas_of(struct replicas *all, struct session *session)
{
    if (session->replica != NULL) return session->replica;
    struct replica *replica = mem_zalloc(sizeof(*replica));
    replica->all = all;
    replica->session = session;
    replica->source = (struct client_source){ peek_source, note_sent, forget_replica, replica };
    replica->heard_usec = clock_mono_usec();
    session->replica = replica;
    TAILQ_INSERT_TAIL(&all->list, replica, in_order);
    clients_attach(session, &replica->source);
    return replica;
}

struct replica_options *replica_options(struct replica *replica)
{
    return &replica->options;
}

bool replica_set_address(struct replica *replica, struct bytes address)
{
    if (address.len == 0 || address.len >= ADDRESS_MAX) return false;
    for (size_t i = 0; i < address.len; i++)
        if (address.data[i] <= ' ' || address.data[i] >= 0x7f || address.data[i] == ',')
            return false;
    memcpy(replica->address, address.data, address.len);
    replica->address[address.len] = '\0';
    return true;
}

bool replica_has_asked(const struct replica *replica)
{
    return replica->state != HANDSHAKE;
}

void replica_acknowledge(struct replica *replica, uint64_t applied, uint64_t synced)
{
    uint64_t end = backlog_end(replica->all->w.backlog);
    replica->heard_usec = clock_mono_usec();
    if (replica->state == COPYING) replica->has_copy = true;
    if (replica->state == COPIED && !replica->options.copy_only) replicas_go_online(replica);
    if (applied > replica->applied && applied <= end) replica->applied = applied;
    if (synced > replica->synced && synced <= end) replica->synced = synced;
}

static void wait_for_copy(struct replica *replica)
{
    replica->state = WAITING;
    replica->since_usec = clock_mono_usec();
    replica->all->w.stats->full_syncs++;
}

void replica_sync(struct replica *replica, const char *id, uint64_t offset)
{
    struct replicas *all = replica->all;
    const struct backlog *backlog = all->w.backlog;
    bool has_bytes = offset >= backlog_begin(backlog) && offset <= backlog_end(backlog);
    if (has_bytes && history_has(all->w.history, id, offset)) {
        char line[HISTORY_ID + 16];
        all->w.stats->partial_syncs++;
        if (replica->options.abilities & REPLICA_CONTINUES)
            snprintf(line, sizeof(line), "CONTINUE %s", all->w.history->id);
        else
            snprintf(line, sizeof(line), "CONTINUE");
        resp_status(&replica->session->out, line);
        replica->sent = replica->applied = offset;
        log_line(LOG_NOTICE,
                 "Replica %s: continues from offset %" PRIu64 ", %" PRIu64 " bytes behind",
                 replica->session->peer, offset, backlog_end(all->w.backlog) - offset);
        replicas_go_online(replica);
        return;
    }
    if (strcmp(id, "?") != 0) {
        all->w.stats->refused_partial_syncs++;
        log_line(LOG_NOTICE,
                 "Replica %s: gets a full copy, because it asks for offset %" PRIu64
                 " of %.40s, and the backlog has %" PRIu64 " to %" PRIu64 " of %s",
                 replica->session->peer, offset, id, backlog_begin(all->w.backlog),
                 backlog_end(all->w.backlog), all->w.history->id);
    }
    wait_for_copy(replica);
}

void replica_sync_old(struct replica *replica)
{
    replica->options.abilities &= ~(unsigned)REPLICA_IS_OURS;
    replica->is_old = true;
    wait_for_copy(replica);
}

void replicas_close(struct replica *replica)
{
    replica->closes = true;
    clients_kill(replica->all->w.clients, replica->session, NULL);
}

/* ---- at work --------------------------------------------------------------------------------- */

/* Returns the number of bytes that a replica may lag, or 0 for no limit. As in Redis, a limit below
 * the size of the backlog is raised to that size. */
static uint64_t hard_limit(const struct conf *conf)
{
    uint64_t hard = (uint64_t)conf->output_limits[CONF_LIMIT_REPLICA].hard;
    uint64_t size = (uint64_t)conf->repl_backlog_size;
    return hard > 0 && hard < size ? size : hard;
}

static bool lags_too_far(struct replica *replica, uint64_t lag)
{
    const struct replicas *all = replica->all;
    const struct conf *conf = all->w.conf;
    const struct conf_output_limit *limit = &conf->output_limits[CONF_LIMIT_REPLICA];
    uint64_t hard = hard_limit(conf), soft = (uint64_t)limit->soft;
    /* The bytes of the burst that this replica has not been sent. */
    uint64_t from = replica->sent > all->burst_from ? replica->sent : all->burst_from;
    uint64_t burst_left = all->burst_end > from ? all->burst_end - from : 0;
    if (hard > 0 && lag > hard + burst_left) return true;
    if (soft == 0 || lag <= soft) {
        replica->over_soft_usec = 0;
        return false;
    }
    int64_t now = clock_mono_usec();
    if (replica->over_soft_usec == 0) replica->over_soft_usec = now;
    return (now - replica->over_soft_usec) / USEC >= limit->soft_seconds;
}

void replicas_turn(struct replicas *all)
{
    struct backlog *backlog = all->w.backlog;
    uint64_t end = backlog_end(backlog), size = (uint64_t)all->w.conf->repl_backlog_size;
    uint64_t least = end; /* the first byte that a replica still needs */
    /* One command can have effects that exceed the hard limit; Redis would send the short command
     * itself (BITOP). Closing the replica would not help, because a full copy is no smaller. So a
     * replica may lag by one such burst. */
    uint64_t hard = hard_limit(all->w.conf);
    if (hard > 0 && end > all->turned_at && end - all->turned_at > hard) {
        all->burst_from = all->turned_at;
        all->burst_end = end;
    }
    all->turned_at = end;
    replica_copies_begin(all);
    struct replica *replica;
    TAILQ_FOREACH(replica, &all->list, in_order)
    {
        if (replica->state < COPYING || replica->options.copy_only || replica->closes) continue;
        if (replica->sent < least) least = replica->sent;
        if (replica->sent == end) continue;
        if (lags_too_far(replica, end - replica->sent)) {
            log_line(LOG_WARNING,
                     "Replica %s closed: it is %" PRIu64
                     " bytes behind, more than client-output-buffer-limit replica allows",
                     replica->session->peer, end - replica->sent);
            replicas_close(replica);
        } else if (replica->state == ONLINE) {
            clients_source_ready(replica->session);
        }
    }
    replica_copies_update(all);
    uint64_t keep = end > size ? end - size : 0;
    all->lag = least < keep ? (size_t)(keep - least) : 0;
    backlog_trim(backlog, keep - all->lag);
}

/* Returns the bytes that do not count towards maxmemory, as in Redis: each eviction adds to the
 * stream, so if they counted, evicting would create more of them. */
size_t replicas_lag_bytes(const struct replicas *all)
{
    const struct backlog *copy = full_copy_bytes(all->copy);
    return all->lag + (size_t)(backlog_end(copy) - backlog_begin(copy));
}

void replicas_second(struct replicas *all, bool silent)
{
    static const struct bytes ping[] = { LIT("PING") };
    int64_t now = clock_mono_usec();
    struct replica *replica;
    TAILQ_FOREACH(replica, &all->list, in_order)
    {
        /* An empty line keeps a waiting replica from giving up. */
        if (replica->state == WAITING) {
            outbuf_append(replica->session->out.out, "\n", 1);
            clients_source_ready(replica->session);
        }
        if (replica->state == COPYING || replica->state == COPIED) {
            /* The replica reads its copy, or sends empty lines while it loads the copy. */
            struct client_info info;
            if (!clients_info(replica->session, &info)) continue;
            replica->heard_usec = now - info.idle_sec * USEC;
        }
        if (replica->state < COPYING || (replica->is_old && replica->state == ONLINE)) continue;
        if (now - replica->heard_usec <= all->w.conf->repl_timeout * USEC) continue;
        log_line(LOG_WARNING, "Replica %s closed: %s for longer than repl-timeout",
                 replica->session->peer,
                 replica->state == COPYING ? "it has read nothing of its full copy" : "silent");
        replicas_close(replica);
    }
    if (TAILQ_EMPTY(&all->list) || silent) return;
    if (now - all->pinged_usec < all->w.conf->repl_ping_replica_period * USEC) return;
    all->pinged_usec = now;
    feed_command(all->w.feed, ping, 1);
}

void replicas_close_all(struct replicas *all, const char *why)
{
    struct replica *replica;
    all->left_usec = clock_mono_usec(); /* repl-backlog-ttl begins */
    if (replicas_count(all) == 0) return;
    log_line(LOG_NOTICE, "Closing the connections of all replicas: %s", why);
    TAILQ_FOREACH(replica, &all->list, in_order)
    if (replica->state != HANDSHAKE) replicas_close(replica);
    full_copy_cancel(all->copy);
}

/* ---- making and reporting -------------------------------------------------------------------- */

struct replicas *replicas_new(const struct replicas_wiring *wiring)
{
    struct replicas *all = mem_zalloc(sizeof(*all));
    all->w = *wiring;
    TAILQ_INIT(&all->list);
    if (replica_copies_make(all)) return all;
    int error = errno;
    replicas_free(all);
    errno = error;
    return NULL;
}

void replicas_free(struct replicas *all)
{
    if (all == NULL) return;
    replica_copies_free(all);
    mem_free(all);
}

size_t replicas_count(const struct replicas *all)
{
    const struct replica *replica;
    size_t count = 0;
    TAILQ_FOREACH(replica, &all->list, in_order) count += replica->state != HANDSHAKE;
    return count;
}

static int64_t lag_sec(const struct replica *replica)
{
    return (clock_mono_usec() - replica->heard_usec) / USEC;
}

size_t replicas_good(const struct replicas *all, int64_t seconds)
{
    const struct replica *replica;
    size_t count = 0;
    TAILQ_FOREACH(replica, &all->list, in_order)
    count += replica->state == ONLINE && lag_sec(replica) <= seconds;
    return count;
}

size_t replicas_that_have(const struct replicas *all, uint64_t offset, bool synced)
{
    const struct replica *replica;
    size_t count = 0;
    TAILQ_FOREACH(replica, &all->list, in_order)
    {
        uint64_t had = synced ? replica->synced : replica->applied;
        /* Offset 0 stands for a write from before the stream began, which the full copy contains: a
         * replica that has synced any byte has synced that copy. */
        count += replica->state == ONLINE && had >= offset && (!synced || had > 0);
    }
    return count;
}

int64_t replicas_gone_sec(const struct replicas *all)
{
    if (!TAILQ_EMPTY(&all->list) || all->left_usec == 0) return -1;
    return (clock_mono_usec() - all->left_usec) / USEC;
}

static const char *const state_names[] = {
    [HANDSHAKE] = "handshake", [WAITING] = "wait_bgsave", [COPYING] = "send_bulk",
    [COPIED] = "send_bulk",    [ONLINE] = "online",
};

void replicas_each(const struct replicas *all,
                   void (*visit)(void *ctx, const struct replica_info *info), void *ctx)
{
    const struct replica *replica;
    char address[ADDRESS_MAX];
    TAILQ_FOREACH(replica, &all->list, in_order)
    {
        if (replica->state == HANDSHAKE) continue;
        snprintf(address, sizeof(address), "%s",
                 replica->address[0] != '\0' ? replica->address : replica->session->peer);
        char *port = replica->address[0] != '\0' ? NULL : strrchr(address, ':');
        if (port != NULL) *port = '\0';
        visit(ctx, &(struct replica_info){ .address = address,
                                           .port = replica->options.port,
                                           .lag_sec = lag_sec(replica),
                                           .state = state_names[replica->state],
                                           .is_online = replica->state == ONLINE,
                                           .applied = replica->applied,
                                           .synced = replica->synced,
                                           .sent = replica->sent,
                                           .session = replica->session });
    }
}

struct replicas_report replicas_report(const struct replicas *all)
{
    struct replicas_report report = all->report;
    report.copied_memory = (size_t)full_copy_report(all->copy).copied_memory;
    report.bytes = backlog_bytes(full_copy_bytes(all->copy));
    return report;
}

struct forks replicas_forks(const struct replicas *all, const struct persist_report *persist)
{
    const struct replicas_report *own = &all->report;
    bool own_is_last = own->forked_usec > persist->forked_usec;
    return (struct forks){ .count = own->copies_begun + persist->forks,
                           .last_usec =
                               own_is_last ? own->last_fork_usec : persist->last_fork_usec };
}
