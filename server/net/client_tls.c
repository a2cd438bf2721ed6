/* client_tls: connections of tls-port: which clients may shake hands, when, and as which user; then
 * bytes through server/tls/. Depends on connection.h; client_io.c calls it through struct
 * transport.
 *
 * A handshake costs a signature, so each turn has a limited time for them, and the others wait in
 * their sockets. A connection that has sent nothing owns no memory of OpenSSL. */
#include "server/net/client_state.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "server/base/log.h"
#include "server/tls/connection.h"

enum {
    SHAKES_USEC = 500,      /* time for handshakes in one turn */
    SHAKE_SECONDS = 10,     /* a handshake that takes longer is given up */
    LOG_USEC = 1000 * 1000, /* refused connections are logged at most this often */
    NAME_SIZE = 256,
};

/* Strangers could fill the log, so lines are left out, and counted. */
static void refuse(struct client *client, const char *why)
{
    struct clients *all = client->all;
    int64_t now = clock_mono_usec();
    client_doom(client);
    if (now < all->refusals_usec) {
        all->refusals_unsaid++;
        return;
    }
    char more[64] = "";
    if (all->refusals_unsaid > 0)
        snprintf(more, sizeof(more), " (and %zu more since the last such line)",
                 all->refusals_unsaid);
    log_line(LOG_NOTICE, "Client %s closed: %s%s", client_label(client).text, why, more);
    all->refusals_usec = now + LOG_USEC;
    all->refusals_unsaid = 0;
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

/* Has a byte come, and may it begin a handshake? */
static bool begins_tls(struct client *client)
{
    unsigned char first;
    ssize_t got = recv(client->fd, &first, 1, MSG_PEEK);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return false;
    if (got <= 0)
        client_doom(client);
    else if (first != TLS_FIRST_BYTE)
        refuse(client, "it does not speak TLS, which tls-port needs (redis-cli --tls)");
    return !client->doomed;
}

/* ---- users ----------------------------------------------------------------------------------- */

/* As in Redis 8.6: INFO counts it, and ACL LOG shows it. */
static void note_stranger(struct client *client, const char *name)
{
    struct clients *all = client->all;
    all->w.stats->denied_tls_cert++;
    acl_log_add(&all->w.dispatch->acl->log,
                &(struct acl_refusal){ .reason = ACL_LOG_TLS_CERT,
                                       .object = LIT(""),
                                       .user_name = bytes_of(name, strlen(name)),
                                       .session = &client->session,
                                       .now = clock_now(all->w.clock) },
                (size_t)all->w.conf->acllog_max_len);
    log_line(LOG_VERBOSE,
             "Client %s is not logged in: no user is on that has its certificate's "
             "name, %s",
             client_label(client).text, name);
}

static void log_in_by_certificate(struct client *client)
{
    char name[NAME_SIZE];
    struct acl *acl = client->all->w.dispatch->acl;
    if (client->all->w.conf->tls_auth_clients_user != CONF_TLS_USER_CN) return;
    if (acl == NULL || !tls_peer_name(client->tls, name, sizeof(name))) return;
    if (!acl_log_in_by_name(acl, &client->session, bytes_of(name, strlen(name))))
        note_stranger(client, name);
}

/* ---- handshakes ------------------------------------------------------------------------------ */

static void welcome(struct client *client)
{
    client_begin_session(client);
    client->active_usec = client->all->turn_usec;
    log_in_by_certificate(client);
    const char *line = client_protection(client);
    if (line == NULL) return;
    outbuf_append(&client->out, line, strlen(line));
    client->session.close_after_reply = true;
    client_list_to_write(client);
    client->all->w.stats->rejected_connections++;
}

static void shake_step(struct client *client)
{
    struct clients *all = client->all;
    int64_t began = clock_mono_usec();
    enum tls_progress progress = tls_shake_hands(client->tls);
    all->shaken_usec += clock_mono_usec() - began;
    char why[256];
    switch (progress) {
    case TLS_DONE: welcome(client); break;
    case TLS_CLOSED: refuse(client, "it ended the TLS handshake"); break;
    case TLS_FAILED:
        snprintf(why, sizeof(why), "TLS handshake failed: %s", tls_fault(client->tls));
        refuse(client, why);
        break;
    case TLS_WAITS: break;
    }
    client_count_memory(client);
}

/* Goes on with the handshake if this turn has time left; true when it is complete. */
static bool shake_hands(struct client *client)
{
    struct clients *all = client->all;
    if (client->doomed || all->shaken_usec >= SHAKES_USEC) return false;
    if (client->tls == NULL) {
        if (!begins_tls(client)) return false;
        client->tls = tls_open(all->w.tls, client->fd);
        if (client->tls == NULL) refuse(client, "out of memory for TLS");
    }
    if (client->tls != NULL) shake_step(client);
    return !client->shaking && client_may_read(client);
}

/* Input that waits in the socket means that the server is late, not the client. */
static bool has_input(const struct client *client)
{
    char byte;
    return recv(client->fd, &byte, 1, MSG_PEEK) > 0;
}

void client_check_handshake(struct client *client, int64_t now)
{
    if (!client->shaking || now - client->born_usec < (int64_t)SHAKE_SECONDS * 1000000) return;
    if (!has_input(client)) refuse(client, "its TLS handshake took too long");
}

/* ---- bytes ----------------------------------------------------------------------------------- */

static void log_broken(const struct client *client)
{
    log_line(LOG_VERBOSE, "Client %s closed: TLS failed: %s", client_label(client).text,
             tls_fault(client->tls));
}

/* The end of this turn says what the client waits for on its socket. */
static void note_blocked(struct client *client)
{
    bool blocked = client->tls != NULL && tls_wants_write(client->tls);
    if (blocked == client->read_blocked) return;
    client->read_blocked = blocked;
    client_list_to_write(client);
}

static ssize_t read_tls(struct client *client, void *to, size_t size)
{
    ssize_t got = -1;
    bool ready = !client->shaking || shake_hands(client);
    if (ready) got = tls_read(client->tls, to, size);
    if (ready && got < 0 && errno != EAGAIN) {
        log_broken(client);
        client_doom(client);
    }
    note_blocked(client);
    errno = EAGAIN; /* what is wrong has been said */
    return got;
}

static ssize_t write_tls(struct client *client, const struct iovec *chunks, int count)
{
    errno = EAGAIN;
    if (client->shaking) return -1;
    ssize_t sent = tls_write(client->tls, chunks, count);
    if (sent < 0 && errno != EAGAIN) log_broken(client);
    return sent;
}

static bool is_pending(const struct client *client)
{
    return client->tls != NULL && tls_pending(client->tls);
}

const struct transport transport_tls = { read_tls, write_tls, is_pending };
