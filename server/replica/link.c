/* link: see link.h. This file moves bytes: it connects the socket, sends, receives, and keeps what
 * has arrived. link_handshake.c decides what to say. */
#include "server/replica/link_state.h"

#include <errno.h>
#include <inttypes.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server/base/clock.h"
#include "server/base/log.h"
#include "server/disk/format/file_kind.h"
#include "server/engine/observe/stats.h"
#include "server/net/tls/connection.h"
#include "store/base/bytes.h"
#include "store/mem/mem.h"

enum {
    READ_MIN = 64 * 1024,
    AHEAD_MAX = 4 << 20, /* received bytes not yet taken; beyond this the socket is not read */
};

static void take_addresses(void *ctx, const struct addrinfo *list, int error);

struct link *link_new(const struct link_wiring *wiring)
{
    struct link *link = mem_zalloc(sizeof(*link));
    link->w = *wiring;
    link->fd = -1;
    link->down_usec = -1;
    link->resolver = resolver_new(wiring->loop, take_addresses, link);
    return link;
}

void link_free(struct link *link)
{
    if (link == NULL) return;
    link_close(link, NULL);
    resolver_free(link->resolver);
    mem_free(link);
}

/* Has the master replied to PSYNC with FULLRESYNC, but the copy not arrived completely? */
static bool awaits_copy(const struct link *link)
{
    return link->state == LINK_COPY ||
           (link->state == LINK_CONNECTING && link->step == STEP_COPY_HEAD);
}

void link_close(struct link *link, const char *why)
{
    if (why != NULL) log_line(LOG_WARNING, "Master %s: %s", link->name, why);
    if (link->state == LINK_DOWN) return;
    link->lost_copy = why != NULL && awaits_copy(link);
    resolver_drop(link->resolver);
    loop_io_free(link->io);
    tls_close(link->tls);
    if (link->fd >= 0) close(link->fd);
    mem_free(link->data);
    link->io = NULL;
    link->tls = NULL;
    link->fd = -1;
    link->data = NULL;
    link->start = link->len = link->cap = 0;
    link->wants_more = false;
    /* A failed attempt to connect again must not restart the count. */
    if (link->state == LINK_STREAM) link->down_usec = clock_mono_usec();
    link->state = LINK_DOWN;
}

void link_end(struct link *link)
{
    link_close(link, NULL);
    link->down_usec = -1;
}

bool link_take_lost_copy(struct link *link)
{
    bool lost = link->lost_copy;
    link->lost_copy = false;
    return lost;
}

uint64_t link_effects_from(const struct link *link)
{
    return link->effects_from;
}

void link_fail(struct link *link, const char *format, ...)
{
    char why[LINE_MAX_LEN];
    va_list values;
    va_start(values, format);
    vsnprintf(why, sizeof(why), format, values);
    va_end(values);
    link_close(link, why);
}

/* ---- sending --------------------------------------------------------------------------------- */

static const char *fault_of(const struct link *link)
{
    return link->tls != NULL && errno == EPROTO ? tls_fault(link->tls) : strerror(errno);
}

/* Sends a message at once. Messages are small and rare, so a message that can't be sent as a whole
 * means that the link is broken. */
static void send_text(struct link *link, const char *text, size_t len)
{
    struct iovec chunk = { .iov_base = (char *)(uintptr_t)text, .iov_len = len };
    ssize_t sent = link->tls != NULL ? tls_write(link->tls, &chunk, 1)
                                     : send(link->fd, text, len, MSG_NOSIGNAL);
    if (sent != (ssize_t)len) link_fail(link, "can't send: %s", fault_of(link));
}

void link_send_words(struct link *link, const char *const *words)
{
    char text[2 * LINE_MAX_LEN];
    int count = 0;
    while (words[count] != NULL)
        count++;
    size_t len = (size_t)snprintf(text, sizeof(text), "*%d\r\n", count);
    for (int i = 0; i < count && len < sizeof(text); i++)
        len += (size_t)snprintf(text + len, sizeof(text) - len, "$%zu\r\n%s\r\n", strlen(words[i]),
                                words[i]);
    if (len < sizeof(text))
        send_text(link, text, len);
    else
        link_close(link, "masterauth, masteruser or replica-announce-ip is too long");
}

/* ---- receiving ------------------------------------------------------------------------------- */

static void take(struct link *link, size_t len)
{
    link->start += len;
    link->len -= len;
    if (link->len == 0) link->start = 0;
}

/* Removes the next complete line from the received bytes and copies it without its line end.
 * Returns false if no complete line has arrived or the line is too long. */
static bool take_line(struct link *link, char line[LINE_MAX_LEN])
{
    const char *from = link->data + link->start;
    const char *end = link->len > 0 ? memchr(from, '\n', link->len) : NULL;
    if (end == NULL) {
        if (link->len >= LINE_MAX_LEN) link_close(link, "sent no line where one was expected");
        return false;
    }
    size_t whole = (size_t)(end + 1 - from), len = whole - 1;
    if (len > 0 && from[len - 1] == '\r') len--;
    if (len >= LINE_MAX_LEN) {
        link_close(link, "sent a line that is too long");
        return false;
    }
    for (size_t i = 0; i < len; i++)
        line[i] = (char)(from[i] >= ' ' && from[i] <= '~' ? from[i] : '?');
    line[len] = '\0';
    take(link, whole);
    return true;
}

/* Sets the events that the loop reports. TLS may have read bytes ahead, for which the socket no
 * longer becomes readable: then asks whether the socket is writable, which the loop reports at
 * once. */
static void update_wants(struct link *link)
{
    if (link->io == NULL) return;
    unsigned want = link->len < AHEAD_MAX || link->wants_more ? LOOP_READ : 0;
    if (link->tls != NULL && (tls_wants_write(link->tls) || (want != 0 && tls_pending(link->tls))))
        want |= LOOP_WRITE;
    loop_io_want(link->io, want);
}

static void receive(struct link *link)
{
    if (link->start > 0 && link->cap - link->start - link->len < READ_MIN) {
        memmove(link->data, link->data + link->start, link->len);
        link->start = 0;
    }
    if (link->cap - link->len < READ_MIN) {
        link->cap = 2 * (link->len + READ_MIN);
        link->data = mem_realloc(link->data, link->cap);
    }
    char *to = link->data + link->start + link->len;
    size_t room = link->cap - link->start - link->len;
    ssize_t got = link->tls != NULL ? tls_read(link->tls, to, room) : recv(link->fd, to, room, 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
        update_wants(link);
        return;
    }
    if (got <= 0) {
        bool copies = got == 0 && awaits_copy(link);
        link_fail(link, "connection lost: %s%s", got == 0 ? "closed by the master" : fault_of(link),
                  copies ? " before the end of its full copy. Its log has the reason" : "");
        return;
    }
    link->heard_usec = clock_mono_usec();
    link->len += (size_t)got;
    link->w.stats->repl_bytes_in += (uint64_t)got;
    if (link->state == LINK_COPY) link->copy.received += (uint64_t)got;
    char line[LINE_MAX_LEN];
    while (link->state == LINK_CONNECTING && take_line(link, line))
        link_answer(link, line);
    if (link->state != LINK_DOWN) update_wants(link);
}

static void begin_handshake(struct link *link)
{
    link->shakes_hands = false;
    loop_io_want(link->io, LOOP_READ);
    link->step = STEP_PING;
    link_ask(link);
}

static void shake_hands(struct link *link)
{
    switch (tls_shake_hands(link->tls)) {
    case TLS_DONE: begin_handshake(link); break;
    case TLS_WAITS:
        loop_io_want(link->io, tls_wants_write(link->tls) ? LOOP_WRITE : LOOP_READ);
        break;
    case TLS_CLOSED: link_close(link, "TLS handshake failed: closed by the master"); break;
    case TLS_FAILED: link_fail(link, "TLS handshake failed: %s", tls_fault(link->tls)); break;
    }
}

static void on_ready(void *ctx, unsigned what)
{
    struct link *link = ctx;
    if (!link->connected) {
        int error = 0, on = 1;
        socklen_t size = sizeof(error);
        if (getsockopt(link->fd, SOL_SOCKET, SO_ERROR, &error, &size) < 0) error = errno;
        if (error != 0) {
            link_fail(link, "can't connect: %s", strerror(error));
            return;
        }
        setsockopt(link->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
        setsockopt(link->fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
        link->connected = true;
        link->heard_usec = clock_mono_usec();
        if (link->shakes_hands)
            shake_hands(link);
        else
            begin_handshake(link);
    } else if (link->shakes_hands) {
        shake_hands(link);
    } else if ((what & LOOP_READ) || link->tls != NULL) {
        receive(link);
    }
}

static void connect_to(struct link *link, const struct addrinfo *list)
{
    /* Use the first address that accepts the attempt. */
    const char *why = "no address";
    for (const struct addrinfo *at = list; at != NULL; at = at->ai_next) {
        int fd = socket(at->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        if (fd >= 0 && (connect(fd, at->ai_addr, at->ai_addrlen) == 0 || errno == EINPROGRESS)) {
            link->fd = fd;
            break;
        }
        why = strerror(errno);
        if (fd >= 0) close(fd);
    }
    if (link->fd < 0) {
        link_fail(link, "can't connect: %s", why);
        return;
    }
    if (link->wanted_tls != NULL && (link->tls = tls_connect(link->wanted_tls, link->fd)) == NULL) {
        link_close(link, "can't connect: out of memory for TLS");
        return;
    }
    link->shakes_hands = link->tls != NULL;
    link->heard_usec = clock_mono_usec();
    link->io = loop_io_new(link->w.loop, link->fd, on_ready, link);
    loop_io_want(link->io, LOOP_WRITE);
}

static void take_addresses(void *ctx, const struct addrinfo *list, int error)
{
    struct link *link = ctx;
    if (error == 0)
        connect_to(link, list);
    else
        link_fail(link, "can't connect: %s", gai_strerror(error));
}

void link_connect(struct link *link, const char *host, int64_t port, struct tls *tls)
{
    link_close(link, NULL);
    link->lost_copy = false;
    snprintf(link->name, sizeof(link->name), "%s:%" PRId64, host, port);
    link->wanted_tls = tls;
    link->state = LINK_CONNECTING;
    link->step = STEP_PING;
    link->connected = false;
    link->heard_usec = clock_mono_usec();
    struct addrinfo *list = resolver_parse(host, port);
    int error = 0;
    if (list != NULL) {
        connect_to(link, list);
        freeaddrinfo(list);
    } else if ((error = resolver_begin(link->resolver, host, port)) != 0) {
        link_fail(link, "can't connect: %s", gai_strerror(error));
    }
}

void link_ask_failover(struct link *link, bool on)
{
    link->asks_failover = on;
}

/* ---- state, copy and stream ------------------------------------------------------------------ */

enum link_state link_state(const struct link *link)
{
    return link->state;
}

const char *link_step(const struct link *link)
{
    switch (link->state) {
    case LINK_DOWN: return "connect";
    case LINK_CONNECTING: return link->connected ? "handshake" : "connecting";
    case LINK_COPY: return "sync";
    case LINK_STREAM: return "connected";
    }
    return "";
}

int64_t link_silent_usec(const struct link *link)
{
    return clock_mono_usec() - link->heard_usec;
}

int64_t link_down_usec(const struct link *link)
{
    return link->down_usec < 0 ? -1 : clock_mono_usec() - link->down_usec;
}

int link_socket(const struct link *link, char *local, size_t size)
{
    struct sockaddr_storage own;
    socklen_t len = sizeof(own);
    char host[NI_MAXHOST] = "", port[NI_MAXSERV] = "";
    if (link->fd >= 0 && getsockname(link->fd, (struct sockaddr *)&own, &len) == 0)
        getnameinfo((struct sockaddr *)&own, len, host, sizeof(host), port, sizeof(port),
                    NI_NUMERICHOST | NI_NUMERICSERV);
    snprintf(local, size, strchr(host, ':') != NULL ? "[%s]:%s" : "%s:%s", host, port);
    return link->fd;
}

const struct link_copy *link_copy(const struct link *link)
{
    return &link->copy;
}

bool link_copy_begins(struct link *link)
{
    const char *head = link->data + link->start;
    if (link->state != LINK_COPY || link->len < FILE_RDB_HEAD) return false;
    if (link->copy_read == 0)
        link->copy.is_rdb = file_kind_of_head(head, FILE_RDB_HEAD) == FILE_REDIS_RDB;
    return true;
}

size_t link_copy_ready(const struct link *link)
{
    if (link->state != LINK_COPY) return 0;
    /* Hold back the last bytes if they may be the mark that ends the copy. */
    uint64_t left = link->has_mark ? (link->len > MARK ? link->len - MARK : 0)
                                   : link->copy.length - link->copy_read;
    return link->len < left ? link->len : (size_t)left;
}

size_t link_copy_read(struct link *link, void *to, size_t size)
{
    size_t ready = link_copy_ready(link), len = ready < size ? ready : size;
    if (len == 0) return 0;
    memcpy(to, link->data + link->start, len);
    link->copy_read += len;
    take(link, len);
    update_wants(link);
    return len;
}

bool link_copy_ended(const struct link *link)
{
    if (link->state != LINK_COPY) return false;
    if (!link->has_mark) return link->copy_read == link->copy.length;
    return link->len == MARK && memcmp(link->data + link->start, link->mark, MARK) == 0;
}

void link_copy_done(struct link *link)
{
    if (link->has_mark) take(link, MARK);
    link->state = LINK_STREAM;
    link->down_usec = -1;
    update_wants(link);
}

struct bytes link_stream(const struct link *link)
{
    if (link->state != LINK_STREAM) return bytes_of("", 0);
    return bytes_of(link->data + link->start, link->len);
}

void link_stream_take(struct link *link, size_t len)
{
    take(link, len);
    update_wants(link);
}

void link_want_more(struct link *link, bool on)
{
    if (link->wants_more == on) return;
    link->wants_more = on;
    update_wants(link);
}

void link_acknowledge(struct link *link, uint64_t applied, uint64_t synced)
{
    char last[24], safe[24];
    if (link->state != LINK_STREAM) return;
    snprintf(last, sizeof(last), "%" PRIu64, applied);
    snprintf(safe, sizeof(safe), "%" PRIu64, synced);
    const char *words[] = { "REPLCONF", "ACK", last, "FACK", safe, NULL };
    link_send_words(link, words);
}

void link_keep_alive(struct link *link)
{
    if (link->state == LINK_COPY) send_text(link, "\n", 1);
}
