/* client_tls: the connections of tls-port. Decides which clients may shake hands, when, and which
 * user they become; then passes bytes through server/net/tls/. Depends on connection.h; client_io.c
 * calls it through struct transport.
 *
 * A handshake computes a signature, which takes longer than many requests, so a turn spends a
 * limited time on handshakes; handshakes.h decides which come first. OpenSSL's state takes much
 * memory, so it is created only after the client's first record has arrived whole. */
#include "server/net/client_state.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "server/base/log.h"
#include "server/net/handshakes.h"
#include "server/net/tls/connection.h"

enum {
    RECORD_HEAD = 5,        /* bytes: type, version, length of the body */
    RECORD_MOST = 1 << 14,  /* bytes in the body of an unencrypted record */
    SHAKES_USEC = 500,      /* time for handshakes per turn */
    SHAKE_SECONDS = 10,     /* a longer handshake is aborted, */
    LANE_SECONDS = 30,      /* and so is one that waits longer in its lane */
    LOG_USEC = 1000 * 1000, /* interval between log lines about refused connections */
    NAME_SIZE = 256,
};

/* Anybody could fill the log, so only one line per interval is written; it counts the others. */
static void refuse(struct client *client, const char *why)
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
    log_line(LOG_NOTICE, "Client %s closed: %s%s", client_label(client).text, why, more);
    all->refusals_usec = now + LOG_USEC;
    all->refusals_unlogged = 0;
}

/* ---- the wrong port -------------------------------------------------------------------------- */

bool client_refuse_tls(struct client *client, const char *data, size_t len)
{
    bool is_first = client->session.last_command == NULL && client->input.len == 0;
    bool is_plain = client->via == &transport_plain;
    if (!is_first || !is_plain || len < 3 || data[0] != TLS_FIRST_BYTE || data[1] != 3)
        return false;
    refuse(client, "it speaks TLS, but this port does not. TLS needs tls-port");
    return true;
}

/* ---- users ----------------------------------------------------------------------------------- */

/* As in Redis 8.6: INFO counts the failure, and ACL LOG lists it. */
static void note_unknown_name(struct client *client, const char *name)
{
    struct clients *all = client->all;
    all->w.stats->denied_tls_cert++;
    acl_log_add(&all->w.engine->acl->log,
                &(struct acl_refusal){ .reason = ACL_LOG_TLS_CERT,
                                       .object = LIT(""),
                                       .user_name = bytes_of(name, strlen(name)),
                                       .session = &client->session,
                                       .now = clock_now(all->w.clock) },
                (size_t)all->w.conf->acllog_max_len);
    log_line(LOG_VERBOSE,
             "Client %s is not logged in: no enabled user matches its certificate's common name, "
             "%s",
             client_label(client).text, name);
}

/* ---- handshakes ------------------------------------------------------------------------------ */

static void end_handshake(struct client *client)
{
    client_begin_session(client);
    client->active_usec = client->all->turn_usec;
    char name[NAME_SIZE];
    struct acl *acl = client->all->w.engine->acl;
    bool by_name = client->all->w.conf->tls_auth_clients_user == CONF_TLS_USER_CN && acl != NULL &&
                   tls_peer_name(client->tls, name, sizeof(name));
    if (by_name && !acl_log_in_by_name(acl, &client->session, bytes_of(name, strlen(name))))
        note_unknown_name(client, name);
    const char *line = client_protection(client);
    if (line == NULL) return;
    outbuf_append(&client->out, line, strlen(line));
    session_close(&client->session);
    client_list_to_write(client);
    client->all->w.stats->rejected_connections++;
}

/* POLLRDHUP: has the peer closed its side, so that it can't answer? POLLIN: is input waiting? */
static bool polls(const struct client *client, short event)
{
    struct pollfd poll_for = { .fd = client->fd, .events = event };
    return poll(&poll_for, 1, 0) > 0;
}

/* Has the first record arrived whole? Before that, the client costs no OpenSSL memory. */
static bool has_first_record(struct client *client)
{
    unsigned char head[RECORD_HEAD];
    int waits = 0;
    ssize_t got = recv(client->fd, head, sizeof(head), MSG_PEEK);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return false;
    if (got <= 0) {
        client_doom(client);
        return false;
    }
    int record = got < RECORD_HEAD ? RECORD_HEAD : RECORD_HEAD + (head[3] << 8 | head[4]);
    if (head[0] != TLS_FIRST_BYTE || record > RECORD_HEAD + RECORD_MOST) {
        refuse(client, "it does not speak TLS, which tls-port needs (redis-cli --tls)");
        return false;
    }
    bool whole = ioctl(client->fd, FIONREAD, &waits) == 0 && waits >= record;
    /* Until the record is complete, make the socket readable only when all of it has arrived.
     * Otherwise, a partial record would start one turn after another. */
    int bytes = whole ? 1 : record;
    (void)setsockopt(client->fd, SOL_SOCKET, SO_RCVLOWAT, &bytes, sizeof(bytes));
    return whole && got == RECORD_HEAD;
}

static void begin_handshake(struct client *client)
{
    struct clients *all = client->all;
    if (!has_first_record(client)) return;
    client->tls = tls_open(all->w.tls, client->fd);
    if (client->tls == NULL)
        refuse(client, "out of memory for TLS");
    else
        handshakes_begin(all->handshakes, client);
}

static void shake_step(struct client *client)
{
    char why[256];
    switch (tls_shake_hands(client->tls)) {
    case TLS_DONE:
        handshakes_end(client->all->handshakes, client);
        end_handshake(client);
        break;
    case TLS_CLOSED: refuse(client, "it ended the TLS handshake"); break;
    case TLS_FAILED:
        snprintf(why, sizeof(why), "TLS handshake failed: %s", tls_fault(client->tls));
        refuse(client, why);
        break;
    case TLS_WAITS: break;
    }
    client_count_memory(client);
}

/* Checks for a closed peer only before the handshake: later, a client may close after sending its
 * last requests along with the end of the handshake. */
static void shake_hands(struct client *client)
{
    if (client->tls == NULL && polls(client, POLLRDHUP))
        refuse(client, "it ended the TLS handshake");
    if (client->tls == NULL && !client_is_doomed(client)) begin_handshake(client);
    if (client->tls != NULL) shake_step(client);
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
    int64_t end = clock_mono_usec() + SHAKES_USEC;
    struct client *client;
    while (clock_mono_usec() < end && (client = handshakes_next(all->handshakes)) != NULL)
        if (!client_is_doomed(client)) shake_hands(client);
}

void client_check_handshake(struct client *client, int64_t now)
{
    if (client->session.state != SESSION_SHAKING) return;
    bool waits = client->listed_to_shake;
    int64_t most = waits ? LANE_SECONDS : SHAKE_SECONDS;
    bool late = now - client->born_usec >= most * 1000000;
    if (waits && polls(client, POLLRDHUP))
        refuse(client, "it ended the TLS handshake");
    else if (late && waits)
        refuse(client, "too many of its address are in a TLS handshake");
    else if (late && !polls(client, POLLIN)) /* otherwise the server is late, not the client */
        refuse(client, "its TLS handshake took too long");
}

/* ---- bytes ----------------------------------------------------------------------------------- */

static void log_broken(const struct client *client)
{
    log_line(LOG_VERBOSE, "Client %s closed: TLS failed: %s", client_label(client).text,
             tls_fault(client->tls));
}

static ssize_t read_tls(struct client *client, void *to, size_t size)
{
    ssize_t got = -1;
    /* client_write sets the socket's events at the end of the turn, so list the client if they
     * change. */
    if (client->session.state == SESSION_SHAKING) {
        handshakes_wait(client->all->handshakes, client);
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
