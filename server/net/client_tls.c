/* client_tls: the connections of tls-port. Decides which clients may shake hands, when, and which
 * user they become; then passes bytes through server/net/tls/. Depends on connection.h; client_io.c
 * calls it through struct transport.
 *
 * A turn spends a limited time on handshakes; handshakes.h decides which come first. */
#include "server/net/client_state.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "server/base/log.h"
#include "server/net/tls/connection.h"

enum {
    LOG_USEC = 1000 * 1000, /* interval between log lines about refused connections */
};

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
    all->refusals_usec = now + LOG_USEC;
    all->refusals_unlogged = 0;
}

static void refuse(struct client *client, const char *why)
{
    client_refuse(client, bytes_of(why, strlen(why)));
}

/* ---- the wrong port -------------------------------------------------------------------------- */

bool client_refuse_tls(struct client *client, const char *data, size_t len)
{
    bool is_first = client->session.last_command == NULL && client->input.len == 0;
    if (!is_first || client->encrypted || len < 3 || data[0] != TLS_FIRST_BYTE || data[1] != 3)
        return false;
    refuse(client, "it speaks TLS, but this port does not. TLS needs tls-port");
    return true;
}

/* ---- users ----------------------------------------------------------------------------------- */

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

/* ---- handshakes ------------------------------------------------------------------------------ */

void client_shaken(struct client *client, struct bytes name)
{
    struct acl *acl = client->all->w.engine->acl;
    client_begin_session(client);
    limits_count(&client->limits);
    client->active_usec = client->all->turn_usec;
    bool by_name = client->all->w.conf->tls_auth_clients_user == CONF_TLS_USER_CN && acl != NULL;
    if (by_name && name.len > 0 && !acl_log_in_by_name(acl, &client->session, name))
        note_unknown_name(client, name);
    client_list_to_write(client); /* client_write sets what is wanted of the socket */
    const char *line = client_protection(client);
    if (line == NULL) return;
    outbuf_append(&client->out, line, strlen(line));
    session_close(&client->session);
    client->all->w.stats->rejected_connections++;
}

static void end_handshake(struct client *client)
{
    char name[TLS_NAME_SIZE] = "";
    if (!tls_peer_name(client->tls, name, sizeof(name))) name[0] = '\0';
    client_shaken(client, bytes_of(name, strlen(name)));
}

static struct client *client_of_handshake(struct handshake *handshake)
{
    return (struct client *)((char *)handshake - offsetof(struct client, handshake));
}

static void shake_hands(struct client *client)
{
    struct clients *all = client->all;
    char why[HANDSHAKE_WHY];
    switch (handshake_step(all->handshakes, &client->handshake, all->w.tls, client->fd,
                           &client->tls, why)) {
    case SHAKEN_DONE: end_handshake(client); break;
    case SHAKEN_REFUSED: refuse(client, why); break;
    case SHAKEN_CLOSED: client_doom(client); break;
    case SHAKEN_WAITS: break;
    }
    limits_count(&client->limits);
    if (client_is_doomed(client)) return;
    client_list_to_write(client); /* client_write sets the socket's events at the end of the turn */
    if (client->session.state != SESSION_SHAKING)
        client_ready(client, LOOP_READ);
    else
        client->read_blocked = client->tls != NULL && tls_wants_write(client->tls);
}

void clients_shake_hands(void *ctx)
{
    struct clients *all = ctx;
    int64_t end = clock_mono_usec() + HANDSHAKES_USEC;
    struct handshake *next;
    while (clock_mono_usec() < end && (next = handshakes_next(all->handshakes)) != NULL)
        if (!client_is_doomed(client_of_handshake(next))) shake_hands(client_of_handshake(next));
    if (handshakes_any(all->handshakes)) loop_timer_set(all->shake_timer, 0);
}

void client_check_handshake(struct client *client, int64_t now)
{
    if (client->session.state != SESSION_SHAKING) return;
    const struct io_socket *socket = client_socket(client);
    bool waits = socket != NULL ? io_socket_waits_to_shake(socket) : client->handshake.waits;
    int64_t most = waits ? HANDSHAKE_LANE_SECONDS : HANDSHAKE_SECONDS;
    bool late = now - client->born_usec >= most * 1000000;
    if (waits && socket_polls(client->fd, POLLRDHUP))
        refuse(client, "it ended the TLS handshake");
    else if (late && waits)
        refuse(client, "too many connections of its address are in a TLS handshake");
    else if (late && !socket_polls(client->fd, POLLIN)) /* with input the server is late */
        refuse(client, "its TLS handshake took too long");
}

/* ---- bytes ----------------------------------------------------------------------------------- */

static void log_broken(const struct client *client)
{
    log_line(LOG_VERBOSE, "Client %s closed: TLS failed: %s", label_of(&client->session).text,
             tls_fault(client->tls));
}

static ssize_t read_tls(struct client *client, void *to, size_t size)
{
    ssize_t got = -1;
    /* client_write sets the socket's events at the end of the turn, so list the client if they
     * change. */
    if (client->session.state == SESSION_SHAKING) {
        handshakes_wait(client->all->handshakes, &client->handshake);
        loop_timer_set(client->all->shake_timer, 0);
        client->read_blocked = false;
        client_list_to_write(client);
    } else {
        got = tls_read(client->tls, to, size);
        if (got < 0 && errno != EAGAIN) {
            log_broken(client);
            client_doom(client);
        }
        bool blocked = tls_wants_write(client->tls);
        if (blocked != client->read_blocked) client_list_to_write(client);
        client->read_blocked = blocked;
    }
    errno = EAGAIN; /* the failure is logged already */
    return got;
}

static ssize_t write_tls(struct client *client, const struct iovec *chunks, int count)
{
    errno = EAGAIN;
    if (client->session.state == SESSION_SHAKING) return -1;
    ssize_t sent = tls_write(client->tls, chunks, count);
    if (sent < 0 && errno != EAGAIN) log_broken(client);
    return sent;
}

static bool is_pending(const struct client *client)
{
    return client->tls != NULL && tls_pending(client->tls);
}

const struct transport transport_tls = { read_tls, write_tls, is_pending };
