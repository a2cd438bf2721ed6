/* client: see client.h. A connection consists of three parts that do not know one another:
 * transport moves its bytes, requests parses and runs its requests, limits slows it down or closes
 * it. This file joins them. It accepts and ends connections, decides which user a connection
 * belongs to, and sends replies once the journal contains the changes that they reveal.
 *
 * The states of a connection are those of its session (session_state.h):
 *
 *                 clients_accept
 *             TLS |            | plain
 *                 v            v     session_wait
 *              SHAKING ---> SERVING ------------> WAITING
 *                 |   begin    |  ^                 | |
 *                 | _encrypted |  +-----------------+ |
 *                 |            |    session_wake,     |
 *                 |            |    requests_continue |
 *                 |            v                      |
 *                 |         CLOSING <-----------------+
 *                 |            |     session_close
 *                 |            | send_output
 *                 v            v
 *               ENDED <--------+---- doom, from every state
 *                 |
 *                 | write_listed
 *                 v
 *               freed
 *
 * SHAKING  The client is unknown, and its input is not parsed. The transport shakes hands, or waits
 *          for its turn to do so. A refusal or a loss dooms it.
 * SERVING  Input is read. Complete requests run at the end of the turn in which they were read, or
 *          are scheduled for the next one (enum requests_state).
 * WAITING  No request runs. Input is read, so that its end is noticed, and kept; in WAIT_OUTPUT it
 *          is not read.
 * CLOSING  After QUIT, the end of input or a malformed request. Nothing is read or run; once the
 *          last reply is sent, send_output finishes the transport and dooms it.
 * ENDED    A limit, CLIENT KILL or a lost connection has doomed it. Nothing is sent or run. It is
 *          listed to be written, because write_listed frees it at the end of the turn.
 *
 * Output has states of its own, enum output_state, because it is sent in every state but ENDED. */
#include "server/net/client.h"

#include <errno.h>
#include <inttypes.h>
#include <unistd.h>

#include "server/base/log.h"
#include "server/engine/multi.h"
#include "server/engine/session_reset.h"
#include "server/engine/settle.h"
#include "server/net/label.h"
#include "server/net/limits.h"
#include "server/net/protected_mode.h"
#include "server/net/requests.h"
#include "server/net/transport.h"
#include "store/base/ensure.h"
#include "store/mem/mem.h"

enum {
    CHECKED_PER_SECOND = 10000,  /* connections visited by each clients_housekeeping */
    REFUSALS_USEC = 1000 * 1000, /* interval between log lines about refused connections */
    WRITE_CHUNKS = 64,           /* iovecs per writev */
    WRITE_MOST = 1 << 20, /* bytes per write, so that a fast reader can't make it last long */
    TLS_FIRST_BYTE = 22,  /* the first byte of a TLS handshake; no command begins with it */
};

#define USEC 1000000

static const char TOO_MANY[] = "-ERR max number of clients reached\r\n";

/* What a turn still has to do with the output of a connection. Each state except the first is a
 * list in struct clients.
 *
 *   REST --- list_to_write ---> TO_WRITE --- sent, or the socket is full ---> REST
 *                                |  ^   ^
 *              not in the journal|  |   +--- clients_resume_turn --- SUSPENDED
 *                                v  | release_held                      ^
 *                               HELD                                    | clients_suspend_turn,
 *                                                                       | from each state */
enum output_state {
    OUTPUT_REST,      /* nothing to send, or the socket is full: in no list */
    OUTPUT_TO_WRITE,  /* send_output is due at the end of this turn */
    OUTPUT_HELD,      /* due once the journal contains the changes that the output reveals */
    OUTPUT_SUSPENDED, /* due once the request that runs turns inside has ended */
    OUTPUT_STATES,
};

TAILQ_HEAD(client_list, client);

struct client {
    struct session session; /* first, so that a session's address is its client's */
    struct clients *all;
    TAILQ_ENTRY(client) by_age, same_output;
    enum output_state output;
    bool unix_socket;
    struct transport transport;
    struct requests requests;
    struct limits limits;
    struct outbuf out;
    const struct client_source *source; /* NULL if the client only receives replies */
    char *local;                        /* our address, a NUL, and the text of session.peer */
    int64_t born_usec;                  /* monotonic */
    size_t out_peak;                    /* most bytes of unsent replies in the last second or so */
    uint64_t woken_in;                  /* number of the last request that added to its output */
};

struct clients {
    struct clients_wiring w;
    struct all_transports *transports;
    struct all_requests *requests;
    struct all_limits *limits;
    struct client_list by_age, output[OUTPUT_STATES];
    struct client *next_checked; /* where housekeeping continues */
    size_t count;
    size_t doomed; /* number of clients to close at the end of this turn */
    uint64_t last_id;
    int64_t refusals_usec;    /* monotonic: until then, refuse_client logs nothing */
    size_t refusals_unlogged; /* since its last log line */
};

static bool is_doomed(const struct client *client)
{
    return client->session.state == SESSION_ENDED;
}

static void enter_output(struct client *client, enum output_state state)
{
    struct client_list *lists = client->all->output;
    if (client->output != OUTPUT_REST) TAILQ_REMOVE(&lists[client->output], client, same_output);
    client->output = state;
    if (state != OUTPUT_REST) TAILQ_INSERT_TAIL(&lists[state], client, same_output);
}

static void list_to_write(struct client *client)
{
    if (client->output == OUTPUT_REST) enter_output(client, OUTPUT_TO_WRITE);
}

/* Closes the connection at the end of the turn. */
static void doom(struct client *client)
{
    client->all->doomed += !is_doomed(client);
    limits_end(&client->limits);
    session_end(&client->session);
    list_to_write(client);
}

static void client_changed(struct session *session);

/* Returns the session's client, or NULL if it has no connection here. */
static struct client *client_of(struct session *session)
{
    return session->changed == client_changed ? (struct client *)session : NULL;
}

/* ---- reading --------------------------------------------------------------------------------- */

static bool may_read(const struct client *client)
{
    switch (client->session.state) {
    case SESSION_SERVING: return true;
    case SESSION_WAITING: return client->session.waits_for != WAIT_OUTPUT;
    case SESSION_SHAKING: return !transport_waits_to_shake(&client->transport);
    default: return false;
    }
}

static void want(struct client *client, bool room)
{
    transport_want(&client->transport, may_read(client), room, limits_is_anon(&client->limits));
}

/* Ends a client whose connection is lost, and logs why unless that is empty. */
static void end_lost(struct client *client, struct bytes why)
{
    if (why.len > 0)
        log_line(LOG_VERBOSE, "Client %s closed: %.*s", label_of(&client->session).text,
                 (int)why.len, why.data);
    doom(client);
}

/* Closes a client before its first request. Anybody can cause such refusals, so at most one is
 * logged per REFUSALS_USEC, with the number of those not logged since the last line. */
static void refuse_client(struct client *client, struct bytes why)
{
    struct clients *all = client->all;
    int64_t now = clock_mono_usec();
    doom(client);
    if (now < all->refusals_usec) {
        all->refusals_unlogged++;
        return;
    }
    char more[64] = "";
    if (all->refusals_unlogged > 0)
        snprintf(more, sizeof(more), " (and %zu more since the last such line)",
                 all->refusals_unlogged);
    log_line(LOG_NOTICE, "Client %s closed: %.*s%s", label_of(&client->session).text, (int)why.len,
             why.data, more);
    all->refusals_usec = now + REFUSALS_USEC;
    all->refusals_unlogged = 0;
}

static void read_input(struct client *client)
{
    struct requests_room room = { .kind = ROOM_NONE };
    if (may_read(client)) room = requests_room(&client->requests);
    if (room.kind != ROOM_NONE) {
        ssize_t got = transport_read(&client->transport, room.data, room.size);
        client->all->w.stats->reads++;
        if (got > 0) {
            requests_touch(&client->requests);
            client->all->w.stats->bytes_in += (size_t)got;
            bool is_handshake = room.kind == ROOM_SHARED && room.data[0] == TLS_FIRST_BYTE &&
                                got >= 3 && room.data[1] == 3 &&
                                !transport_is_encrypted(&client->transport) &&
                                requests_are_first(&client->requests);
            if (is_handshake)
                refuse_client(client,
                              LIT("it speaks TLS, but this port does not. TLS needs tls-port"));
            else
                requests_got(&client->requests, &room, (size_t)got);
        } else if (got == 0) {
            /* Requests that arrived before the end of file are still answered. */
            session_close(&client->session); /* a waiting client receives no reply */
            /* Stop polling: the socket stays readable at end of file. */
            want(client, transport_waits_for_room(&client->transport));
            list_to_write(client);
        } else if (errno != EAGAIN && errno != EINTR) {
            const char *why = strerror(errno);
            end_lost(client, bytes_of(why, strlen(why)));
        }
    }
    transport_read_on(&client->transport);
}

/* ---- what the requests and the limits ask ---------------------------------------------------- */

static void end_client(struct session *session)
{
    doom((struct client *)session);
}

/* Called after the requests of a turn. Lists the client for send_output if there are replies to
 * send, or if send_output must close the client or stop reading it. */
static void end_requests(struct session *session)
{
    struct client *client = (struct client *)session;
    if (session->state == SESSION_CLOSING || session->waits_for == WAIT_OUTPUT ||
        limits_anon_is_full(&client->limits) ||
        (client->out.len > 0 && !transport_waits_for_room(&client->transport)))
        list_to_write(client);
}

static void forget_pause(struct session *session)
{
    requests_forget_pause(&((struct client *)session)->requests);
}

static void pause_client(struct session *session)
{
    session_wait(session, WAIT_PAUSE, forget_pause);
}

static size_t client_bytes(const struct session *session);

static bool client_is_busy(const struct session *session)
{
    return requests_are_busy(&((const struct client *)session)->requests);
}

static void release_client(struct session *session)
{
    struct client *client = (struct client *)session;
    list_to_write(client);
    requests_continue(&client->requests);
}

/* ---- what the transports report -------------------------------------------------------------- */

static struct client *client_with(const struct transport *transport)
{
    return (struct client *)((uintptr_t)transport - offsetof(struct client, transport));
}

static void on_readable(struct transport *transport)
{
    read_input(client_with(transport));
}

/* Lists the client instead of writing now: the changes of this turn must reach the journal before
 * their replies are sent. */
static void on_writable(struct transport *transport)
{
    list_to_write(client_with(transport));
}

static void on_growth(struct transport *transport)
{
    limits_count(&client_with(transport)->limits);
}

static bool takes_input(const struct transport *transport)
{
    return may_read(client_with(transport));
}

static bool has_ended_client(const struct transport *transport)
{
    return is_doomed(client_with(transport));
}

static void on_loss(struct transport *transport, struct bytes why)
{
    end_lost(client_with(transport), why);
}

static void on_refusal(struct transport *transport, struct bytes why)
{
    refuse_client(client_with(transport), why);
}

static void begin_encrypted(struct transport *transport, struct bytes name);

static const struct transport_owner transport_owner = {
    .readable = on_readable,
    .writable = on_writable,
    .grown = on_growth,
    .reads = takes_input,
    .shaken = begin_encrypted,
    .refused = on_refusal,
    .lost = on_loss,
    .has_ended = has_ended_client,
};

/* ---- all connections ------------------------------------------------------------------------- */

struct clients *clients_new(const struct clients_wiring *wiring)
{
    struct clients *all = mem_zalloc(sizeof(*all));
    all->w = *wiring;
    TAILQ_INIT(&all->by_age);
    for (int state = 0; state < OUTPUT_STATES; state++)
        TAILQ_INIT(&all->output[state]);
    all->transports = all_transports_new(wiring->loop, wiring->tls, &transport_owner);
    all->limits = all_limits_new(&(struct limits_wiring){
        .loop = wiring->loop,
        .clock = wiring->clock,
        .conf = wiring->conf,
        .engine = wiring->engine,
        .stats = wiring->stats,
        .owner = { client_bytes, client_is_busy, end_client, release_client } });
    all->requests = all_requests_new(
        &(struct requests_wiring){ .loop = wiring->loop,
                                   .clock = wiring->clock,
                                   .conf = wiring->conf,
                                   .engine = wiring->engine,
                                   .stats = wiring->stats,
                                   .owner = { end_client, end_requests, pause_client } });
    return all;
}

bool clients_start_threads(struct clients *all)
{
    int64_t count = all->w.conf->io_threads - 1; /* the main thread counts, as in Redis */
    return count == 0 || all_transports_start_threads(all->transports, (unsigned)count);
}

/* --- opening and closing a connection --- */

static bool client_has_gone(struct session *session)
{
    return transport_peer_has_gone(&client_of(session)->transport);
}

static void client_changed(struct session *session)
{
    struct client *client = client_of(session);
    client->woken_in = all_requests_number(client->all->requests);
    limits_check_output(&client->limits);
    limits_count(&client->limits);
    if (!transport_waits_for_room(&client->transport)) list_to_write(client);
    requests_wake(&client->requests);
}

void clients_login_failed(struct session *session)
{
    struct client *client = client_of(session);
    if (client != NULL) limits_login_failed(&client->limits);
}

void clients_login_done(struct session *session)
{
    struct client *client = client_of(session);
    if (client != NULL) limits_login_done(&client->limits);
}

bool clients_is_local(const struct session *session)
{
    if (session->changed != client_changed) return false;
    const struct client *client = (const struct client *)session;
    return client->unix_socket || peer_is_loopback(client->session.peer);
}

static void begin_session(struct client *client)
{
    session_end_handshake(&client->session);
    client->session.authenticated = true;
    struct acl *acl = client->all->w.engine->acl;
    if (acl != NULL) acl_begin_session(acl, &client->session);
}

/* The handshake is complete: decides which user the client becomes. */
static void begin_encrypted(struct transport *transport, struct bytes name)
{
    struct client *client = client_with(transport);
    struct acl *acl = client->all->w.engine->acl;
    begin_session(client);
    limits_count(&client->limits);
    requests_touch(&client->requests);
    bool by_name = client->all->w.conf->tls_auth_clients_user == CONF_TLS_USER_CN && acl != NULL;
    if (by_name && name.len > 0 && !acl_log_in_by_name(acl, &client->session, name)) {
        /* As in Redis 8.6: INFO counts the failure, and ACL LOG lists it. */
        struct clients *all = client->all;
        all->w.stats->denied_tls_cert++;
        acl_log_add(&acl->log,
                    &(struct acl_refusal){ .reason = ACL_LOG_TLS_CERT,
                                           .object = LIT(""),
                                           .user_name = name,
                                           .session = &client->session,
                                           .now = clock_now(all->w.clock) },
                    (size_t)all->w.conf->acllog_max_len);
        log_line(LOG_VERBOSE,
                 "Client %s is not logged in: no enabled user matches its certificate's common "
                 "name, %.*s",
                 label_of(&client->session).text, (int)name.len, name.data);
    }
    list_to_write(client); /* send_output sets what is wanted of the socket */
    const char *refusal =
        protected_mode_refusal(client->all->w.conf, acl, client->session.peer, false);
    if (refusal == NULL) return;
    outbuf_append(&client->out, refusal, strlen(refusal));
    session_close(&client->session);
    client->all->w.stats->rejected_connections++;
}

static void refuse_connection(struct clients *all, int fd, const char *line)
{
    /* The buffer of a new socket has space for the line. An error means that the peer has closed,
     * which does not matter here. */
    ssize_t ignored = write(fd, line, strlen(line));
    (void)ignored;
    close(fd);
    all->w.stats->rejected_connections++;
}

void clients_accept(struct clients *all, int fd, const char *peer, const char *local,
                    enum client_port port)
{
    /* Over maxclients, a TLS client receives no error, as in Redis: it could only read one after a
     * handshake, which a full server should not pay for. */
    if (all->count >= (size_t)all->w.conf->maxclients) {
        refuse_connection(all, fd, port == PORT_TLS ? "" : TOO_MANY);
        return;
    }
    const char *refusal =
        protected_mode_refusal(all->w.conf, all->w.engine->acl, peer, port == PORT_UNIX);
    if (port != PORT_TLS && refusal != NULL) {
        refuse_connection(all, fd, refusal);
        return;
    }
    struct client *client = mem_zalloc(sizeof(*client));
    client->all = all;
    client->unix_socket = port == PORT_UNIX;
    size_t local_size = strlen(local) + 1, peer_size = strlen(peer) + 1;
    client->local = mem_alloc(local_size + peer_size);
    memcpy(client->local, local, local_size);
    memcpy(client->local + local_size, peer, peer_size);
    client->born_usec = clock_mono_usec();
    outbuf_init(&client->out);
    client->out.optional = true;
    session_init(&client->session, &client->out);
    limits_init(&client->limits, all->limits, &client->session);
    requests_init(&client->requests, all->requests, &client->session, &client->limits);
    client->session.id = ++all->last_id;
    client->session.peer = client->local + local_size;
    client->session.changed = client_changed;
    client->session.has_gone = client_has_gone;
    if (port == PORT_TLS)
        session_begin_handshake(&client->session);
    else
        begin_session(client);
    TAILQ_INSERT_TAIL(&all->by_age, client, by_age);
    all->count++;
    all->w.stats->connections++;
    transport_open(&client->transport, all->transports, fd, port == PORT_TLS, client->session.peer,
                   limits_is_anon(&client->limits));
    limits_count(&client->limits);
}

static void client_free(struct client *client)
{
    struct clients *all = client->all;
    if (all->next_checked == client) all->next_checked = TAILQ_NEXT(client, by_age);
    enter_output(client, OUTPUT_REST);
    limits_drop(&client->limits);
    if (client->source != NULL) client->source->gone(client->source->ctx);
    TAILQ_REMOVE(&all->by_age, client, by_age);
    all->count--;
    all->doomed -= is_doomed(client);
    session_drop(&client->session, all->w.engine->watch, all->w.pubsub,
                 all->w.engine->hooks->tracking, all->w.engine->observer->monitor);
    transport_close(&client->transport);
    requests_drop(&client->requests);
    outbuf_drop(&client->out);
    mem_free(client->local);
    mem_free(client);
}

/* ---- sending --------------------------------------------------------------------------------- */

static ssize_t send_chunks(struct client *client, const struct iovec *chunks, int count)
{
    ssize_t sent = transport_write(&client->transport, chunks, count);
    client->all->w.stats->writes++;
    if (sent < 0 && (errno == EAGAIN || errno == EINTR)) return 0;
    if (sent < 0) {
        doom(client);
        return -1;
    }
    if (sent > 0) requests_touch(&client->requests);
    return sent;
}

/* Writes at most WRITE_MOST bytes of replies. If no reply is left, also writes bytes of the source,
 * once. The client may be doomed afterwards. */
static void send_output(struct client *client)
{
    struct iovec chunks[WRITE_CHUNKS];
    const struct client_source *source = client->source;
    if (client->out.len > 0) {
        if (client->out.len > client->out_peak) client->out_peak = client->out.len;
        int count = outbuf_peek(&client->out, chunks, WRITE_CHUNKS), used = 0;
        for (size_t left = WRITE_MOST; used < count && left > 0; used++) {
            if (chunks[used].iov_len > left) chunks[used].iov_len = left;
            left -= chunks[used].iov_len;
        }
        ssize_t sent = send_chunks(client, chunks, used);
        if (sent < 0) return;
        client->all->w.stats->bytes_out += (uint64_t)sent;
        if (sent > 0) outbuf_consume(&client->out, (size_t)sent);
    }
    int count = client->out.len == 0 && source != NULL
                    ? source->peek(source->ctx, chunks, WRITE_CHUNKS)
                    : 0;
    if (count > 0) {
        ssize_t sent = send_chunks(client, chunks, count);
        if (sent < 0) return;
        client->all->w.stats->repl_bytes_out += (uint64_t)sent;
        if (sent > 0) source->sent(source->ctx, (size_t)sent);
    }

    bool blocked =
        client->out.len > 0 || (source != NULL && source->peek(source->ctx, chunks, 1) > 0);
    /* Ask even if `blocked` is set already: an I/O thread may have accepted all bytes without
     * having sent them, and it calls `writable` for that only if transport_is_flushed has asked. */
    if (blocked || client->session.state == SESSION_CLOSING)
        blocked |= !transport_is_flushed(&client->transport);
    if (!limits_note_sent(&client->limits, blocked)) return;
    if (!blocked && client->session.state == SESSION_CLOSING) {
        transport_finish(&client->transport);
        doom(client);
        return;
    }
    if (client->session.waits_for == WAIT_OUTPUT && limits_may_resume(&client->limits)) {
        session_end_wait(&client->session);
        requests_wake(&client->requests);
        transport_read_on(&client->transport);
    }
    want(client, blocked);
}

/* Stops asking the loop whether the client's socket is writable. Call when output must wait for
 * something else: a writable socket would end each wait of the loop at once, so that the loop would
 * turn without pause and use a whole core. send_output asks again. */
static void ignore_room(struct client *client)
{
    if (transport_waits_for_room(&client->transport)) want(client, false);
}

/* Does the output reveal a change that is not in the journal yet? */
static bool waits_for_journal(const struct client *client, uint64_t safe)
{
    const struct clients *all = client->all;
    if (is_doomed(client)) return false;
    bool woken_by_open = all_requests_are_suspended(all->requests) &&
                         client->woken_in == all_requests_number(all->requests);
    return client->session.durable_at > safe || woken_by_open;
}

static void release_held(struct clients *all, uint64_t safe)
{
    struct client *client, *next;
    for (client = TAILQ_FIRST(&all->output[OUTPUT_HELD]); client != NULL; client = next) {
        next = TAILQ_NEXT(client, same_output);
        if (!waits_for_journal(client, safe)) enter_output(client, OUTPUT_TO_WRITE);
    }
}

static void write_listed(struct clients *all, uint64_t safe)
{
    struct client *client;
    while ((client = TAILQ_FIRST(&all->output[OUTPUT_TO_WRITE])) != NULL) {
        if (limits_has_penalty(&client->limits) &&
            !is_doomed(client)) { /* listed again when the penalty ends */
            enter_output(client, OUTPUT_REST);
            ignore_room(client);
            continue;
        }
        bool hold = waits_for_journal(client, safe);
        if (hold)
            ignore_room(client);
        else if (!is_doomed(client))
            send_output(client);
        if (is_doomed(client)) {
            client_free(client);
            continue;
        }
        enter_output(client, hold ? OUTPUT_HELD : OUTPUT_REST);
    }
}

bool clients_have_output(const struct clients *all)
{
    return !TAILQ_EMPTY(&all->output[OUTPUT_TO_WRITE]);
}

void clients_run(struct clients *all)
{
    bool any;
    do {
        struct session *session;
        all_requests_run(all->requests);
        for (any = false; (session = all_requests_next_to_read(all->requests)) != NULL; any = true)
            read_input((struct client *)session);
    } while (any);
}

void clients_turn(struct clients *all)
{
    if (!all_requests_are_suspended(all->requests)) all_requests_check_pause(all->requests);
    if (clients_have_output(all)) all_requests_set_time(all->requests, clock_mono_usec());
    uint64_t safe = persist_safe_position(all->w.persist);
    release_held(all, safe);
    write_listed(all, safe);

    struct client *client;
    struct session *victim;
    bool evicted = false;
    if (all_limits_switched(all->limits)) {
        TAILQ_FOREACH(client, &all->by_age, by_age)
        limits_recount(&client->limits);
    }
    for (; (victim = all_limits_victim(all->limits)) != NULL; evicted = true)
        clients_kill(all, victim, NULL);
    if (evicted) {
        release_held(all, safe);
        write_listed(all, safe);
    }

    all_transports_turn(all->transports);
}

void clients_suspend_turn(struct clients *all)
{
    struct client *client = (struct client *)all_requests_suspend(all->requests);
    if (client == NULL) return;
    enter_output(client, OUTPUT_SUSPENDED);
    ignore_room(client);
}

void clients_resume_turn(struct clients *all)
{
    struct client *client = (struct client *)all_requests_resume(all->requests);
    if (client != NULL) enter_output(client, OUTPUT_TO_WRITE);
}

void clients_free(struct clients *all)
{
    if (all == NULL) return;
    if (all_requests_are_suspended(all->requests)) { /* the process exits within a long request */
        clients_resume_turn(all);
        struct session *session = all_requests_running(all->requests);
        if (session != NULL) end_client(session);
    }
    struct client *client;
    while ((client = TAILQ_FIRST(&all->by_age)) != NULL) {
        bool safe = client->session.durable_at <= persist_safe_position(all->w.persist);
        if (safe && !is_doomed(client) && client->out.len > 0) {
            transport_make_room(&client->transport);
            send_output(client);
        }
        client_free(client);
    }
    all_transports_free(all->transports);
    all_requests_free(all->requests);
    all_limits_free(all->limits);
    mem_free(all);
}

void clients_kill(struct clients *all, struct session *victim, const struct session *self)
{
    struct client *client = client_of(victim);
    ensure(client != NULL && client->all == all, "session %" PRIu64, victim->id);
    if (victim == self) {
        session_close(victim);
        return;
    }
    /* The connection is closed at the end of the turn. Until then nobody may send a message or
     * serve an element to this client, because either would be lost. */
    pubsub_forget(all->w.pubsub, victim);
    doom(client);
}

void clients_attach(struct session *session, const struct client_source *source)
{
    struct client *client = client_of(session);
    ensure(client != NULL && client->source == NULL, "session %" PRIu64, session->id);
    client->source = source;
    limits_exempt(&client->limits);
    list_to_write(client);
}

/* Puts the client, which is a link to a replica, before the others unless it is listed already: a
 * change should be on its way to replicas before the client that made it receives its reply. */
void clients_source_ready(struct session *session)
{
    struct client *client = client_of(session);
    if (client->output != OUTPUT_REST) return;
    client->output = OUTPUT_TO_WRITE;
    TAILQ_INSERT_HEAD(&client->all->output[OUTPUT_TO_WRITE], client, same_output);
}

/* --- every second --- */

void clients_housekeeping(struct clients *all)
{
    int64_t now = clock_mono_usec(), timeout = all->w.conf->timeout;
    /* requests_touch notes this time. A turn without requests and replies does not set it. */
    all_requests_set_time(all->requests, now);
    size_t left = all->count < CHECKED_PER_SECOND ? all->count : CHECKED_PER_SECOND;
    struct client *client = all->next_checked;
    for (; left > 0; left--) {
        if (client == NULL) client = TAILQ_FIRST(&all->by_age);
        const struct session *session = &client->session;
        requests_note_peak(&client->requests);
        if (client->out.len > 0 && !requests_are_busy(&client->requests))
            limits_check_output(&client->limits);
        if (!is_doomed(client))
            transport_check_handshake(&client->transport, now - client->born_usec);
        bool is_idle =
            timeout != 0 && (now - requests_active_usec(&client->requests)) / USEC > timeout &&
            client->source == NULL && !session->monitoring && session_subscriptions(session) == 0 &&
            !requests_are_busy(&client->requests) && !session_is_blocked(session);
        if (is_idle && !is_doomed(client)) {
            log_line(LOG_VERBOSE, "Client %s closed: idle for longer than timeout",
                     label_of(session).text);
            doom(client);
        }
        client->out_peak = client->out.len;
        client = TAILQ_NEXT(client, by_age);
    }
    all->next_checked = client;
}

/* --- views for CLIENT and INFO --- */

void clients_use_tls(struct clients *all, struct tls *tls)
{
    all_transports_use_tls(all->transports, tls);
}

struct tls *clients_tls(const struct clients *all)
{
    return all_transports_tls(all->transports);
}

size_t clients_count(const struct clients *all)
{
    return all->count - all->doomed;
}

size_t clients_paused(const struct clients *all)
{
    const struct engine *engine = all->w.engine;
    return all_requests_paused(all->requests) + settle_count(engine->settle) +
           engine->preparing.count;
}

struct client_usage {
    size_t total;
    size_t output, multi; /* included in total */
};

static struct client_usage client_usage(const struct client *client)
{
    const struct session *session = &client->session;
    struct client_usage usage = {
        .output = client->out.bytes + client->out.shared, /* shared blocks count in full */
        .multi = multi_bytes(session) + watch_bytes(session),
    };
    usage.total = mem_size(client) + mem_size(client->local) + requests_bytes(&client->requests) +
                  usage.output + mem_size(session->name) + mem_size(session->lib_name) +
                  mem_size(session->lib_version) + usage.multi +
                  session_subscription_bytes(session) + blocked_bytes(session) +
                  tracking_bytes(session) + transport_bytes(&client->transport);
    return usage;
}

static size_t client_bytes(const struct session *session)
{
    return client_usage((const struct client *)session).total;
}

static void fill_info(struct client *client, int64_t now, struct client_info *info)
{
    struct requests_usage requests = requests_usage(&client->requests);
    struct client_usage usage = client_usage(client);
    *info = (struct client_info){
        .session = &client->session,
        .id = client->session.id,
        .peer = client->session.peer,
        .local = client->local,
        .fd = transport_fd(&client->transport),
        .age_sec = (now - client->born_usec) / USEC,
        .idle_sec = (now - requests_active_usec(&client->requests)) / USEC,
        .unix_socket = client->unix_socket,
        .query_used = requests.used,
        .query_free = requests.free,
        .arguments = requests.arguments,
        .events = !transport_waits_for_room(&client->transport) ? "r"
                  : may_read(client)                            ? "rw"
                                                                : "w",
        .multi = usage.multi,
        .out_pending = client->out.len,
        .out_first = outbuf_first_len(&client->out),
        .out_first_size = outbuf_first_size(&client->out),
        .out_peak = client->out.len > client->out_peak ? client->out.len : client->out_peak,
        .out_chunks = client->out.chunks,
        .out_memory = usage.output,
        .memory = usage.total,
    };
}

void clients_each(struct clients *all, void (*visit)(void *ctx, const struct client_info *info),
                  void *ctx)
{
    int64_t now = clock_mono_usec();
    struct client *client;
    TAILQ_FOREACH(client, &all->by_age, by_age)
    {
        if (is_doomed(client)) continue;
        struct client_info info;
        fill_info(client, now, &info);
        visit(ctx, &info);
    }
}

struct session *clients_find(struct clients *all, uint64_t id)
{
    struct client *client;
    TAILQ_FOREACH(client, &all->by_age, by_age)
    if (client->session.id == id && !is_doomed(client)) return &client->session;
    return NULL;
}

size_t clients_bytes(struct clients *all)
{
    size_t bytes = 0;
    const struct client *client;
    TAILQ_FOREACH(client, &all->by_age, by_age)
    if (!is_doomed(client)) bytes += client_bytes(&client->session);
    return bytes;
}

uint64_t clients_new_id(struct clients *all)
{
    return ++all->last_id;
}

bool clients_info(struct session *session, struct client_info *info)
{
    if (session->changed != client_changed) return false;
    fill_info((struct client *)session, clock_mono_usec(), info);
    return true;
}

/* --- checking --- */

void clients_check(struct clients *all)
{
    struct requests_tally requests = { 0 };
    struct limits_tally limits = { 0 };
    size_t reading_on = 0, doomed = 0, count = 0, output[OUTPUT_STATES] = { 0 };
    const struct client *client;
    TAILQ_FOREACH(client, &all->by_age, by_age)
    {
        const struct session *session = &client->session;
        session_check(session);
        ensure(!is_doomed(client) || client->output != OUTPUT_REST,
               "client %" PRIu64 " has ended, but is not listed to be freed", session->id);
        ensure(session->waits_for != WAIT_OUTPUT || transport_waits_for_room(&client->transport) ||
                   client->output != OUTPUT_REST || requests_are_busy(&client->requests),
               "client %" PRIu64 " waits to be read, but no write is due", session->id);
        reading_on += transport_check(&client->transport);
        requests_check(&client->requests, &requests);
        limits_check(&client->limits, &limits);
        doomed += is_doomed(client);
        output[client->output]++;
        count++;
    }
    ensure(count == all->count && doomed == all->doomed, "%zu doomed of %zu, not %zu of %zu",
           doomed, count, all->doomed, all->count);
    for (int state = OUTPUT_REST + 1; state < OUTPUT_STATES; state++) {
        size_t listed = 0;
        TAILQ_FOREACH(client, &all->output[state], same_output)
        listed++;
        ensure(listed == output[state], "output in state %d: %zu listed, %zu clients", state,
               listed, output[state]);
    }
    all_transports_check(all->transports, reading_on);
    all_requests_check(all->requests, &requests);
    all_limits_check(all->limits, &limits);
    blocked_check(all->w.engine->blocked);
    if (all->w.engine->settle != NULL) settle_check(all->w.engine->settle);
}
