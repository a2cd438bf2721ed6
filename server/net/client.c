/* client: see client.h. Accepts, limits and closes connections. client_io.c reads and writes,
 * client_run.c runs requests. */
#include "server/net/client_state.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server/base/log.h"
#include "server/disk/persist.h"
#include "server/engine/memory_limit.h"
#include "server/engine/multi.h"
#include "server/engine/react/blocked.h"
#include "server/engine/react/pubsub.h"
#include "server/engine/react/tracking.h"
#include "server/engine/react/watch.h"
#include "server/engine/session_reset.h"
#include "store/base/ensure.h"
#include "store/mem/mem.h"
#include "store/mem/shared.h"

enum {
    CHECKED_PER_SECOND = 10000,  /* connections visited by each clients_housekeeping */
    REFUSALS_USEC = 1000 * 1000, /* interval between log lines about refused connections */
};

#define USEC 1000000

static const char PROTECTED[] =
    "-DENIED Redis is running in protected mode because protected mode is enabled and no password "
    "is set for the default user. In this mode connections are only accepted from the loopback "
    "interface. If you want to connect from external computers to Redis you may adopt one of the "
    "following solutions: 1) Just disable protected mode sending the command 'CONFIG SET "
    "protected-mode no' from the loopback interface by connecting to Redis from the same host the "
    "server is running, however MAKE SURE Redis is not publicly accessible from internet if you do "
    "so. Use CONFIG REWRITE to make this change permanent. 2) Alternatively you can just disable "
    "the protected mode by editing the Redis configuration file, and setting the protected mode "
    "option to 'no', and then restarting the server. 3) If you started the server manually just "
    "for testing, restart it with the '--protected-mode no' option. 4) Setup a an authentication "
    "password for the default user. NOTE: You only need to do one of the above things in order for "
    "the server to start accepting connections from the outside.\r\n";
static const char TOO_MANY[] = "-ERR max number of clients reached\r\n";

static void client_free(struct client *client);

/* Nothing to do: the timer's only purpose is to start a turn. */
static void on_pause_timer(void *ctx)
{
    (void)ctx;
}

/* ---- what the limits ask --------------------------------------------------------------------- */

static size_t client_bytes(const struct session *session)
{
    return client_usage((const struct client *)session).total;
}

static bool client_is_busy(const struct session *session)
{
    return client_has_arrived((const struct client *)session);
}

static void end_client(struct session *session)
{
    client_doom((struct client *)session);
}

static void release_client(struct session *session)
{
    struct client *client = (struct client *)session;
    client_list_to_write(client);
    client_continue(client);
}

/* ---- what the transports report -------------------------------------------------------------- */

static struct client *client_with(const struct transport *transport)
{
    return (struct client *)((uintptr_t)transport - offsetof(struct client, transport));
}

static void on_readable(struct transport *transport)
{
    client_read(client_with(transport));
}

/* Not now: this turn's changes must reach the journal first. */
static void on_writable(struct transport *transport)
{
    client_list_to_write(client_with(transport));
}

static void on_growth(struct transport *transport)
{
    limits_count(&client_with(transport)->limits);
}

static bool takes_input(const struct transport *transport)
{
    return client_may_read(client_with(transport));
}

static bool has_ended_client(const struct transport *transport)
{
    return client_is_doomed(client_with(transport));
}

void client_lost(struct client *client, struct bytes why)
{
    if (why.len > 0)
        log_line(LOG_VERBOSE, "Client %s closed: %.*s", label_of(&client->session).text,
                 (int)why.len, why.data);
    client_doom(client);
}

static void on_loss(struct transport *transport, struct bytes why)
{
    client_lost(client_with(transport), why);
}

/* Anybody could fill the log, so only one line per interval is written; it counts the others. */
void client_refuse(struct client *client, struct bytes why)
{
    struct clients *all = client->all;
    int64_t now = clock_mono_usec();
    client_doom(client);
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

static void on_refusal(struct transport *transport, struct bytes why)
{
    client_refuse(client_with(transport), why);
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
    for (int place = 0; place < INPUT_PLACES; place++)
        TAILQ_INIT(&all->input[place]);
    for (int place = 0; place < OUTPUT_PLACES; place++)
        TAILQ_INIT(&all->output[place]);
    TAILQ_INIT(&all->paused);
    all->run_timer = loop_timer_new(wiring->loop, clients_run_listed, all);
    all->pause_timer = loop_timer_new(wiring->loop, on_pause_timer, all);
    all->transports = all_transports_new(wiring->loop, wiring->tls, &transport_owner);
    all->limits = all_limits_new(&(struct limits_wiring){
        .loop = wiring->loop,
        .clock = wiring->clock,
        .conf = wiring->conf,
        .engine = wiring->engine,
        .stats = wiring->stats,
        .owner = { client_bytes, client_is_busy, end_client, release_client } });
    all->scratch = mem_alloc(CLIENT_SCRATCH);
    all->turn_usec = clock_mono_usec();
    window_init(&all->window);
    return all;
}

bool clients_start_threads(struct clients *all)
{
    int64_t count = all->w.conf->io_threads - 1; /* the main thread counts, as in Redis */
    return count == 0 || all_transports_start_threads(all->transports, (unsigned)count);
}

void clients_free(struct clients *all)
{
    if (all == NULL) return;
    if (all->suspended != NULL) { /* the process exits within a long request */
        clients_resume_turn(all);
        if (clients_running(all) != NULL) client_doom(clients_running(all));
    }
    struct client *client;
    while ((client = TAILQ_FIRST(&all->by_age)) != NULL) {
        bool safe = client->session.durable_at <= persist_safe_position(all->w.persist);
        if (safe && !client_is_doomed(client) && client->out.len > 0) {
            transport_make_room(&client->transport);
            client_write(client);
        }
        client_free(client);
    }
    all_transports_free(all->transports);
    loop_timer_free(all->run_timer);
    loop_timer_free(all->pause_timer);
    all_limits_free(all->limits);
    mem_free(all->scratch);
    window_drop(&all->window);
    mem_free(all);
}

/* --- opening and closing a connection --- */

static void client_changed(struct session *session);

struct client *client_of(struct session *session)
{
    return session->changed == client_changed ? (struct client *)session : NULL;
}

static bool client_has_gone(struct session *session)
{
    return transport_peer_has_gone(&client_of(session)->transport);
}

static void client_changed(struct session *session)
{
    struct client *client = client_of(session);
    client->woken_in = client->all->request;
    limits_check_output(&client->limits);
    limits_count(&client->limits);
    if (!transport_waits_for_room(&client->transport)) client_list_to_write(client);
    if (client->input.len > 0 && session->state == SESSION_SERVING) client_list_to_run(client);
}

static bool is_loopback(const char *peer)
{
    return strncmp(peer, "127.", 4) == 0 || strncmp(peer, "[::1]:", 6) == 0;
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
    return client->unix_socket || is_loopback(client->peer);
}

static bool is_protected(const struct clients *all, const char *peer, bool unix_socket)
{
    const struct acl *acl = all->w.engine->acl;
    bool is_open = acl == NULL || acl->main_user->nopass;
    return all->w.conf->protected_mode && is_open && !unix_socket && !is_loopback(peer);
}

static void begin_session(struct client *client)
{
    session_end_handshake(&client->session);
    client->session.authenticated = true;
    struct acl *acl = client->all->w.engine->acl;
    if (acl != NULL) acl_begin_session(acl, &client->session);
}

/* As in Redis 8.6: INFO counts the failure, and ACL LOG lists it. */
static void note_unknown_name(struct client *client, struct bytes name)
{
    struct clients *all = client->all;
    all->w.stats->denied_tls_cert++;
    acl_log_add(&all->w.engine->acl->log,
                &(struct acl_refusal){ .reason = ACL_LOG_TLS_CERT,
                                       .object = LIT(""),
                                       .user_name = name,
                                       .session = &client->session,
                                       .now = clock_now(all->w.clock) },
                (size_t)all->w.conf->acllog_max_len);
    log_line(LOG_VERBOSE,
             "Client %s is not logged in: no enabled user matches its certificate's common name, "
             "%.*s",
             label_of(&client->session).text, (int)name.len, name.data);
}

/* The handshake is complete: decides which user the client becomes. */
static void begin_encrypted(struct transport *transport, struct bytes name)
{
    struct client *client = client_with(transport);
    struct acl *acl = client->all->w.engine->acl;
    begin_session(client);
    limits_count(&client->limits);
    client->active_usec = client->all->turn_usec;
    bool by_name = client->all->w.conf->tls_auth_clients_user == CONF_TLS_USER_CN && acl != NULL;
    if (by_name && name.len > 0 && !acl_log_in_by_name(acl, &client->session, name))
        note_unknown_name(client, name);
    client_list_to_write(client); /* client_write sets what is wanted of the socket */
    if (!is_protected(client->all, client->peer, client->unix_socket)) return;
    outbuf_append(&client->out, PROTECTED, strlen(PROTECTED));
    session_close(&client->session);
    client->all->w.stats->rejected_connections++;
}

static void refuse_connection(struct clients *all, int fd, const char *line)
{
    /* The buffer of a new socket has room for the line. An error means that the peer has closed,
     * which does not matter here. */
    ssize_t ignored = write(fd, line, strlen(line));
    (void)ignored;
    close(fd);
    all->w.stats->rejected_connections++;
}

static char *keep_text(const char *text)
{
    size_t size = strlen(text) + 1;
    return memcpy(mem_alloc(size), text, size);
}

void clients_accept(struct clients *all, int fd, const char *peer, const char *local,
                    enum client_port port)
{
    /* Over maxclients, a TLS client gets no error, as in Redis: it could only read one after a
     * handshake, which costs too much here. */
    if (all->count >= (size_t)all->w.conf->maxclients) {
        refuse_connection(all, fd, port == PORT_TLS ? "" : TOO_MANY);
        return;
    }
    if (port != PORT_TLS && is_protected(all, peer, port == PORT_UNIX)) {
        refuse_connection(all, fd, PROTECTED);
        return;
    }
    struct client *client = mem_zalloc(sizeof(*client));
    client->all = all;
    client->unix_socket = port == PORT_UNIX;
    client->peer = keep_text(peer);
    client->local = keep_text(local);
    client->born_usec = client->active_usec = clock_mono_usec();
    resp_reader_init(&client->reader);
    outbuf_init(&client->out);
    client->out.optional = true;
    session_init(&client->session, &client->out);
    limits_init(&client->limits, all->limits, &client->session, &client->out);
    client->session.id = ++all->last_id;
    client->session.peer = client->peer;
    client->session.changed = client_changed;
    client->session.has_gone = client_has_gone;
    if (port == PORT_TLS)
        session_begin_handshake(&client->session);
    else
        begin_session(client);
    TAILQ_INSERT_TAIL(&all->by_age, client, by_age);
    all->count++;
    all->w.stats->connections++;
    transport_open(&client->transport, all->transports, fd, port == PORT_TLS, client->peer,
                   client_is_anon(client));
    limits_count(&client->limits);
}

static void client_free(struct client *client)
{
    struct clients *all = client->all;
    if (all->next_checked == client) all->next_checked = TAILQ_NEXT(client, by_age);
    client_place_input(client, INPUT_AT_REST);
    client_place_output(client, OUTPUT_AT_REST);
    limits_drop(&client->limits);
    if (client->source != NULL) client->source->gone(client->source->ctx);
    TAILQ_REMOVE(&all->by_age, client, by_age);
    all->count--;
    all->doomed -= client_is_doomed(client);
    monitor_forget(all->w.engine->observer->monitor, &client->session);
    if (all->w.engine->hooks->tracking != NULL)
        tracking_forget(all->w.engine->hooks->tracking, &client->session);
    session_reset(&client->session, all->w.engine->watch, all->w.pubsub);
    transport_close(&client->transport);
    resp_reader_drop(&client->reader);
    outbuf_drop(&client->out);
    mem_free(client->input.data);
    blob_free(client->input.big);
    mem_free(client->peer);
    mem_free(client->local);
    mem_free(client);
}

void client_list_to_write(struct client *client)
{
    if (client->output_place == OUTPUT_AT_REST) client_place_output(client, OUTPUT_TO_WRITE);
}

void client_doom(struct client *client)
{
    client->all->doomed += !client_is_doomed(client);
    limits_end(&client->limits);
    session_end(&client->session);
    client_list_to_write(client);
}

/* Does the output reveal a change that is not in the journal yet? */
static bool waits_for_journal(const struct client *client, uint64_t safe)
{
    const struct clients *all = client->all;
    if (client_is_doomed(client)) return false;
    bool woken_by_open = all->suspended != NULL && client->woken_in == all->request;
    return client->session.durable_at > safe || woken_by_open;
}

/* Writes to clients whose changes are in the journal, and closes doomed ones. */
static void release_held(struct clients *all, uint64_t safe)
{
    struct client *client, *next;
    for (client = TAILQ_FIRST(&all->output[OUTPUT_HELD]); client != NULL; client = next) {
        next = TAILQ_NEXT(client, same_output);
        if (!waits_for_journal(client, safe)) client_place_output(client, OUTPUT_TO_WRITE);
    }
}

/* Writes to, holds back or frees each client that has output. */
static void write_listed(struct clients *all, uint64_t safe)
{
    struct client *client;
    while ((client = TAILQ_FIRST(&all->output[OUTPUT_TO_WRITE])) != NULL) {
        if (limits_has_penalty(&client->limits) &&
            !client_is_doomed(client)) { /* listed again when the penalty ends */
            client_place_output(client, OUTPUT_AT_REST);
            client_ignore_room(client);
            continue;
        }
        bool hold = waits_for_journal(client, safe);
        if (hold)
            client_ignore_room(client);
        else if (!client_is_doomed(client))
            client_write(client);
        if (client_is_doomed(client)) {
            client_free(client);
            continue;
        }
        client_place_output(client, hold ? OUTPUT_HELD : OUTPUT_AT_REST);
    }
}

bool clients_have_output(const struct clients *all)
{
    return !TAILQ_EMPTY(&all->output[OUTPUT_TO_WRITE]);
}

/* Closes the largest clients until all together are within maxmemory-clients. False: none had to
 * go. */
static bool evict(struct clients *all)
{
    struct client *client;
    struct session *victim;
    bool any = false;
    if (all_limits_switched(all->limits)) {
        TAILQ_FOREACH(client, &all->by_age, by_age)
        limits_recount(&client->limits);
    }
    for (; (victim = all_limits_victim(all->limits)) != NULL; any = true)
        clients_kill(all, victim, NULL);
    return any;
}

void clients_turn(struct clients *all)
{
    if (all->suspended == NULL) clients_check_pause(all);
    if (!TAILQ_EMPTY(&all->output[OUTPUT_TO_WRITE])) all->turn_usec = clock_mono_usec();
    uint64_t safe = persist_safe_position(all->w.persist);
    release_held(all, safe);
    write_listed(all, safe);
    if (evict(all)) {
        release_held(all, safe);
        write_listed(all, safe);
    }
    all_transports_turn(all->transports);
}

void clients_kill(struct clients *all, struct session *victim, const struct session *self)
{
    struct client *client = client_of(victim);
    ensure(client != NULL && client->all == all, "session %" PRIu64, victim->id);
    if (victim == self) {
        session_close(victim);
        return;
    }
    /* The connection is closed at the end of the turn. Until then the client must not get messages
     * or elements, which would be lost. */
    pubsub_forget(all->w.pubsub, victim);
    client_doom(client);
}

void clients_attach(struct session *session, const struct client_source *source)
{
    struct client *client = client_of(session);
    ensure(client != NULL && client->source == NULL, "session %" PRIu64, session->id);
    client->source = source;
    limits_exempt(&client->limits);
    client_list_to_write(client);
}

/* Replicas come first: the change should be on its way to them before the client has its reply. */
void clients_source_ready(struct session *session)
{
    struct client *client = client_of(session);
    if (client->output_place != OUTPUT_AT_REST) return;
    client->output_place = OUTPUT_TO_WRITE;
    TAILQ_INSERT_HEAD(&client->all->output[OUTPUT_TO_WRITE], client, same_output);
}

/* --- limits --- */

static void check_idle(struct client *client, int64_t now)
{
    int64_t timeout = client->all->w.conf->timeout;
    if (client->source != NULL || client->session.monitoring) return;
    if (timeout == 0 || (now - client->active_usec) / USEC <= timeout) return;
    if (session_subscriptions(&client->session) > 0 || client_has_arrived(client)) return;
    if (session_is_blocked(&client->session)) return;
    log_line(LOG_VERBOSE, "Client %s closed: idle for longer than timeout",
             label_of(&client->session).text);
    client_doom(client);
}

void clients_housekeeping(struct clients *all)
{
    int64_t now = clock_mono_usec();
    all->turn_usec = now; /* part of a large argument, or of a TLS handshake, reads no clock */
    size_t left = all->count < CHECKED_PER_SECOND ? all->count : CHECKED_PER_SECOND;
    struct client *client = all->next_checked;
    for (; left > 0; left--) {
        if (client == NULL) client = TAILQ_FIRST(&all->by_age);
        peak_note(&all->w.stats->input, client->input.cap + client->input.big_len);
        if (client->out.len > 0 && !client_has_arrived(client))
            limits_check_output(&client->limits);
        if (!client_is_doomed(client))
            transport_check_handshake(&client->transport, now - client->born_usec);
        if (!client_is_doomed(client)) check_idle(client, now);
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
    return all->paused_count + settle_count(engine->settle) + engine->preparing.count;
}

struct client_usage client_usage(const struct client *client)
{
    const struct session *session = &client->session;
    struct client_usage usage = {
        .output = client->out.bytes + client->out.shared, /* shared blocks count in full */
        .multi = multi_bytes(session) + watch_bytes(session),
    };
    usage.total = mem_size(client) + mem_size(client->peer) + mem_size(client->local) +
                  mem_size(client->input.data) + mem_size(client->input.big) + usage.output +
                  mem_size(client->reader.args) + mem_size(session->name) +
                  mem_size(session->lib_name) + mem_size(session->lib_version) + usage.multi +
                  session_subscription_bytes(session) + blocked_bytes(session) +
                  tracking_bytes(session) + transport_bytes(&client->transport);
    return usage;
}

size_t client_bytes_being_run(const struct client *client)
{
    const struct arrival *arrival = &client->arrival;
    return client_has_arrived(client) && arrival->data != NULL ? arrival->len : 0;
}

static void fill_info(struct client *client, int64_t now, struct client_info *info)
{
    const struct client_input *input = &client->input;
    struct client_usage usage = client_usage(client);
    *info = (struct client_info){
        .session = &client->session,
        .id = client->session.id,
        .peer = client->peer,
        .local = client->local,
        .fd = transport_fd(&client->transport),
        .age_sec = (now - client->born_usec) / USEC,
        .idle_sec = (now - client->active_usec) / USEC,
        .unix_socket = client->unix_socket,
        .query_used = client_input_bytes(client) + client_bytes_being_run(client),
        .query_free = input->cap - input->len,
        .arguments = client_running_bytes(client),
        .events = !transport_waits_for_room(&client->transport) ? "r"
                  : client_may_read(client)                     ? "rw"
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
        if (client_is_doomed(client)) continue;
        struct client_info info;
        fill_info(client, now, &info);
        visit(ctx, &info);
    }
}

struct session *clients_find(struct clients *all, uint64_t id)
{
    struct client *client;
    TAILQ_FOREACH(client, &all->by_age, by_age)
    if (client->session.id == id && !client_is_doomed(client)) return &client->session;
    return NULL;
}

static void add_memory(void *ctx, const struct client_info *info)
{
    *(size_t *)ctx += info->memory;
}

size_t clients_bytes(struct clients *all)
{
    size_t bytes = 0;
    clients_each(all, add_memory, &bytes);
    return bytes;
}

uint64_t clients_new_id(struct clients *all)
{
    return ++all->last_id;
}

size_t clients_uncounted(const struct clients *all)
{
    return memory_limit_uncounted(all->w.engine);
}

bool clients_info(struct session *session, struct client_info *info)
{
    if (session->changed != client_changed) return false;
    fill_info((struct client *)session, clock_mono_usec(), info);
    return true;
}
