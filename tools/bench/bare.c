/* bare: a server that stores no data, to measure the limit of a load generator. What another server
 * needs in addition to bare's figures is that server's own work.
 *
 * One epoll loop parses each request completely, looks up its command, and sends a constant reply
 * of the type and length that a server full of data would send. */
#include <errno.h>
#include <getopt.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "tools/lib/server.h"

enum {
    INPUT_SIZE = 1 << 18, /* a request must fit */
    OUTPUT_SIZE = 1 << 20,
    VALUE_MAX = 1 << 16,
    EVENTS_MAX = 64,
    ANSWERS_SIZE = 256, /* a power of two */
    RANGE_ITEMS = 30,
};

struct answer {
    const char *name;
    char *reply;
    size_t name_len, reply_len;
};

struct conn {
    int fd;
    size_t len; /* of the incomplete request in `input` */
    char input[INPUT_SIZE];
};

struct bare {
    int epoll, listener;
    size_t out_len;
    struct answer answers[ANSWERS_SIZE];
    char out[OUTPUT_SIZE];
};

static volatile sig_atomic_t ended;

__attribute__((noreturn)) static void die(const char *what)
{
    fprintf(stderr, "bare: %s: %s\n", what, strerror(errno));
    exit(EXIT_FAILURE);
}

static struct answer *find_answer(struct bare *bare, const char *name, size_t len)
{
    unsigned hash = (unsigned)len;
    for (size_t i = 0; i < len; i++)
        hash = hash * 31 + (unsigned char)name[i];
    for (unsigned slot = hash;; slot++) {
        struct answer *answer = &bare->answers[slot & (ANSWERS_SIZE - 1)];
        if (answer->name == NULL) return answer;
        if (answer->name_len == len && memcmp(answer->name, name, len) == 0) return answer;
    }
}

static void add_answer(struct bare *bare, const char *name, const char *reply)
{
    struct answer *answer = find_answer(bare, name, strlen(name));
    *answer = (struct answer){
        .name = name, .name_len = strlen(name), .reply = strdup(reply), .reply_len = strlen(reply)
    };
    if (answer->reply == NULL) die("memory");
}

static void add_same(struct bare *bare, const char *const *names, const char *reply)
{
    for (; *names != NULL; names++)
        add_answer(bare, *names, reply);
}

/* Adds an array of `items` bulk strings, or with -1 a single bulk string without an array. */
static void add_texts(struct bare *bare, const char *name, int items, int text_len)
{
    char *reply = malloc((size_t)(items > 1 ? items : 1) * ((size_t)text_len + 16) + 16);
    if (reply == NULL) die("memory");
    char *to = reply;
    if (items >= 0) to += sprintf(to, "*%d\r\n", items);
    for (int i = 0; i < (items < 0 ? 1 : items); i++) {
        to += sprintf(to, "$%d\r\n", text_len);
        memset(to, 'x', (size_t)text_len);
        to += text_len;
        memcpy(to, "\r\n", 3);
        to += 2;
    }
    add_answer(bare, name, reply);
    free(reply);
}

static void add_answers(struct bare *bare, int value_size)
{
    static const char *const zero[] = { "SADD", "HSET", "ZADD", "SADDEX", "ZADDEX", NULL };
    static const char *const one[] = {
        "EXPIRE",          "HSETEX",           "DEL",     "UNLINK", "SREM", "HDEL", "ZREM",
        "ZREMRANGEBYRANK", "ZREMRANGEBYSCORE", "EVALSHA", NULL
    };
    static const char *const many[] = { "ZCARD", "DBSIZE", NULL };
    add_same(bare, zero, ":0\r\n");
    add_same(bare, one, ":1\r\n");
    add_same(bare, many, ":10\r\n");
    add_answer(bare, "PING", "+PONG\r\n");
    add_answer(bare, "INCR", ":12345678\r\n");
    add_answer(bare, "RPUSH", ":1000000\r\n");
    add_texts(bare, "GET", -1, value_size);
    add_texts(bare, "LPOP", -1, value_size);
    add_texts(bare, "ZREVRANGE", RANGE_ITEMS, (int)strlen("item:000000000"));
    add_texts(bare, "ZRANGEBYSCORE", 1, (int)strlen("job:000000000000"));
    add_texts(bare, "EVAL", -1, (int)strlen("job:000000000"));
    add_texts(bare, "FCALL", -1, (int)strlen("job:000000000"));
    add_texts(bare, "REDE.POLL", 1, value_size);
    add_texts(bare, "REDE.PULL", -1, value_size);
}

static void flush(struct bare *bare, int fd)
{
    size_t sent = 0;
    while (sent < bare->out_len) {
        ssize_t now = send(fd, bare->out + sent, bare->out_len - sent, MSG_NOSIGNAL);
        struct pollfd room = { .fd = fd, .events = POLLOUT };
        if (now >= 0)
            sent += (size_t)now;
        else if (errno == EAGAIN)
            poll(&room, 1, -1);
        else if (errno != EINTR)
            break; /* closed: the next read reports it */
    }
    bare->out_len = 0;
}

/* Reads "<mark><number>\r\n" and returns its end, or NULL if the line is incomplete. *number is -1
 * if the line is malformed. */
static const char *take_header(const char *at, const char *end, char mark, long *number)
{
    if (at == end) return NULL;
    *number = *at == mark ? 0 : -1;
    for (at++; at < end && *at >= '0' && *at <= '9'; at++)
        *number = *number * 10 + (*at - '0');
    if (end - at < 2) return NULL;
    if (*at != '\r' || *number < 0) *number = -1;
    return at + 2;
}

/* Answers one request and returns its end. Returns NULL if it is incomplete, or malformed
 * (*broken). */
static const char *take_request(struct bare *bare, int fd, const char *at, const char *end,
                                bool *broken)
{
    long words, len;
    const char *name = NULL;
    size_t name_len = 0;
    at = take_header(at, end, '*', &words);
    if (at == NULL) return NULL;
    for (*broken = words<1; words> 0; words--) {
        at = take_header(at, end, '$', &len);
        if (at == NULL) return NULL;
        *broken = len < 0 || len > INPUT_SIZE;
        if (*broken || end - at < len + 2) return NULL;
        if (name == NULL) {
            name = at;
            name_len = (size_t)len;
        }
        at += len + 2;
    }
    if (*broken) return NULL;

    const struct answer *found = find_answer(bare, name, name_len);
    const char *reply = found->name != NULL ? found->reply : "+OK\r\n";
    size_t reply_len = found->name != NULL ? found->reply_len : 5;
    if (bare->out_len + reply_len > OUTPUT_SIZE) flush(bare, fd);
    memcpy(bare->out + bare->out_len, reply, reply_len);
    bare->out_len += reply_len;

    return at;
}

/* Returns false if the connection must be closed. */
static bool serve_conn(struct bare *bare, struct conn *conn)
{
    ssize_t got = recv(conn->fd, conn->input + conn->len, INPUT_SIZE - conn->len, 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return true;
    if (got <= 0) return false;
    conn->len += (size_t)got;
    const char *at = conn->input, *end = at + conn->len, *next;
    bool broken = false;
    while ((next = take_request(bare, conn->fd, at, end, &broken)) != NULL)
        at = next;
    flush(bare, conn->fd);
    conn->len = (size_t)(end - at);
    memmove(conn->input, at, conn->len);
    return !broken && conn->len < INPUT_SIZE;
}

static void add_conn(struct bare *bare)
{
    int fd = accept4(bare->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) return;
    int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    struct conn *conn = malloc(sizeof(*conn));
    if (conn == NULL) die("memory");
    conn->fd = fd;
    conn->len = 0;
    struct epoll_event event = { .events = EPOLLIN, .data.ptr = conn };
    if (epoll_ctl(bare->epoll, EPOLL_CTL_ADD, fd, &event) != 0) die("epoll");
} // NOLINT(clang-analyzer-unix.Malloc): epoll has the pointer to conn

static void serve_all(struct bare *bare)
{
    struct epoll_event events[EVENTS_MAX], first = { .events = EPOLLIN };
    if (epoll_ctl(bare->epoll, EPOLL_CTL_ADD, bare->listener, &first) != 0) die("epoll");
    while (!ended) {
        int count = epoll_wait(bare->epoll, events, EVENTS_MAX, -1);
        for (int i = 0; i < count; i++) {
            struct conn *conn = events[i].data.ptr;
            if (conn == NULL) {
                add_conn(bare);
            } else if (!serve_conn(bare, conn)) {
                close(conn->fd);
                free(conn);
            }
        }
    }
}

static void on_signal(int signal_number)
{
    (void)signal_number;
    ended = 1;
}

int main(int argc, char **argv)
{
    static struct bare bare;
    struct link_target target;
    long long value_size = 8;
    server_default(&target);
    for (int option; (option = getopt(argc, argv, SERVER_OPTIONS "d:")) != -1;) {
        if (option == 'd')
            value_size = server_count_option("bare", optarg, 1);
        else if (!server_option(&target, option, optarg) || option == 'a' || option == 'h') {
            fputs("usage: bare [-p port] [-s socket] [-d bytes of a value: 8]\n", stderr);
            return 2;
        }
    }
    add_answers(&bare, (int)(value_size < VALUE_MAX ? value_size : VALUE_MAX));
    struct sigaction on_end = { .sa_handler = on_signal };
    sigaction(SIGINT, &on_end, NULL);
    sigaction(SIGTERM, &on_end, NULL);

    struct sockaddr_un path = { .sun_family = AF_UNIX };
    struct sockaddr_in local = { .sin_family = AF_INET,
                                 .sin_port = htons((uint16_t)atoi(target.port)),
                                 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    bool is_unix = target.unix_path != NULL;
    bare.epoll = epoll_create1(EPOLL_CLOEXEC);
    bare.listener =
        socket(is_unix ? AF_UNIX : AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    int on = 1;
    if (bare.listener < 0) die("socket");
    setsockopt(bare.listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (is_unix) strncpy(path.sun_path, target.unix_path, sizeof(path.sun_path) - 1);
    const void *address = is_unix ? (const void *)&path : (const void *)&local;
    if (bind(bare.listener, address, is_unix ? sizeof(path) : sizeof(local)) != 0) die("bind");
    if (listen(bare.listener, SOMAXCONN) != 0) die("listen");
    serve_all(&bare);
    if (target.unix_path != NULL) unlink(target.unix_path);
    return EXIT_SUCCESS;
}
