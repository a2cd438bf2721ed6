#include "tools/lib/link.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "store/base/number.h"

enum { READ_SIZE = 1 << 16, COMMAND_MAX = 4096, REPLY_WAIT_MSEC = 60000 };

__attribute__((noreturn)) static void die(const char *what, const char *why)
{
    fprintf(stderr, "%s: %s\n", what, why);
    exit(EXIT_FAILURE);
}

void link_open(struct link *link, const struct link_target *target)
{
    memset(link, 0, sizeof(*link));
    if (target->unix_path != NULL) {
        const char *path = target->unix_path;
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        if (strlen(path) >= sizeof(address.sun_path)) die(path, "path too long");
        memcpy(address.sun_path, path, strlen(path) + 1);
        link->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (link->fd < 0 || connect(link->fd, (struct sockaddr *)&address, sizeof(address)) != 0)
            die(path, strerror(errno));
    } else {
        struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *list;
        int error = getaddrinfo(target->host, target->port, &hints, &list), on = 1;
        if (error != 0) die(target->host, gai_strerror(error));
        link->fd = -1;
        for (const struct addrinfo *at = list; at != NULL && link->fd < 0; at = at->ai_next) {
            int fd = socket(at->ai_family, at->ai_socktype | SOCK_CLOEXEC, at->ai_protocol);
            if (fd >= 0 && connect(fd, at->ai_addr, at->ai_addrlen) == 0)
                link->fd = fd;
            else if (fd >= 0)
                close(fd);
        }
        freeaddrinfo(list);
        if (link->fd < 0) die(target->host, strerror(errno));
        setsockopt(link->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    }
    outbuf_init(&link->out);
    resp_reply_init(&link->reply);
    if (target->password == NULL) return;
    link_command(link, "AUTH %s", target->password);
    link_expect(link, "AUTH");
}

void link_close(struct link *link)
{
    close(link->fd);
    outbuf_drop(&link->out);
    resp_reply_drop(&link->reply);
    free(link->in);
}

static void append_header(struct outbuf *out, char mark, size_t count)
{
    char *to = outbuf_reserve(out, NUMBER_INT64_MAX_CHARS + 3);
    to[0] = mark;
    size_t len = 1 + number_print_uint64(to + 1, count);
    memcpy(to + len, "\r\n", 2);
    outbuf_commit(out, len + 2);
}

void link_command(struct link *link, const char *format, ...)
{
    char text[COMMAND_MAX];
    va_list values;
    va_start(values, format);
    int len = vsnprintf(text, sizeof(text), format, values);
    va_end(values);
    if (len < 0 || len >= COMMAND_MAX) die(format, "command too long");
    size_t words = 1;
    for (const char *p = text; *p != '\0'; p++)
        words += *p == ' ';
    append_header(&link->out, '*', words);
    for (char *word = text; words > 0; words--) {
        size_t word_len = strcspn(word, " ");
        append_header(&link->out, '$', word_len);
        outbuf_append(&link->out, word, word_len);
        outbuf_append(&link->out, "\r\n", 2);
        word += word_len + 1;
    }
}

void link_flush(struct link *link)
{
    while (link->out.len > 0) {
        struct iovec iov[16];
        ssize_t sent = writev(link->fd, iov, outbuf_peek(&link->out, iov, 16));
        if (sent < 0 && errno == EINTR) continue;
        if (sent < 0) die("write", strerror(errno));
        outbuf_consume(&link->out, (size_t)sent);
    }
}

void link_wait(struct link *link, int64_t until_usec)
{
    int64_t left = until_usec - wall_usec();
    if (left <= 0 || link->in_used < link->in_len) return;
    struct timespec timeout = { .tv_sec = left / 1000000, .tv_nsec = left % 1000000 * 1000 };
    struct pollfd wait = { .fd = link->fd, .events = POLLIN };
    ppoll(&wait, 1, &timeout, NULL);
}

const struct resp_node *link_reply(struct link *link, int timeout_msec)
{
    link_flush(link);
    for (;;) {
        const char *start = link->in + link->in_used;
        size_t left = link->in_len - link->in_used;
        if (left > 0) {
            switch (resp_reply_parse(&link->reply, start, left)) {
            case REPLY_WHOLE: link->in_used += link->reply.consumed; return link->reply.nodes;
            case REPLY_MALFORMED: die("reply", "not RESP");
            case REPLY_PARTIAL: break;
            }
            memmove(link->in, start, left);
        }
        link->in_len = left;
        link->in_used = 0;

        struct pollfd wait = { .fd = link->fd, .events = POLLIN };
        if (poll(&wait, 1, timeout_msec) == 0) return NULL;
        if (link->in_cap - link->in_len < READ_SIZE) {
            link->in_cap += READ_SIZE;
            link->in = realloc(link->in, link->in_cap);
            if (link->in == NULL) die("memory", strerror(ENOMEM));
        }
        ssize_t got = read(link->fd, link->in + link->in_len, READ_SIZE);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) die("connection", got < 0 ? strerror(errno) : "closed by the server");
        link->in_len += (size_t)got;
    }
}

const struct resp_node *link_expect(struct link *link, const char *what)
{
    const struct resp_node *reply = link_reply(link, REPLY_WAIT_MSEC);
    if (reply == NULL) die(what, "no reply within a minute");
    if (reply->type == REPLY_ERROR) {
        fprintf(stderr, "%s: %.*s\n", what, (int)reply->len, reply->text);
        exit(EXIT_FAILURE);
    }
    return reply;
}

int64_t wall_usec(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

int64_t link_clock_offset_usec(struct link *link)
{
    int64_t best_span = INT64_MAX, offset = 0;
    for (int i = 0; i < 20; i++) {
        int64_t before = wall_usec();
        link_command(link, "TIME");
        link_expect(link, "TIME");
        int64_t after = wall_usec(), seconds = 0, micros = 0;
        const struct resp_node *nodes = link->reply.nodes;
        number_parse_int64(nodes[1].text, nodes[1].len, &seconds);
        number_parse_int64(nodes[2].text, nodes[2].len, &micros);
        if (after - before >= best_span) continue;
        best_span = after - before;
        offset = seconds * 1000000 + micros - (before + after) / 2;
    }
    return offset;
}
