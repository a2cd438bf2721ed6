/* net: see net.h. */
#include "server/net/net.h"

#include <arpa/inet.h>
#include <errno.h>
#include <grp.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "server/base/activation.h"
#include "server/base/log.h"
#include "server/net/listening.h"
#include "store/mem/mem.h"

enum {
    MAX_LISTENERS = 2 * CONF_BIND_MAX + 1, /* port, tls-port, the unix socket */
    ACCEPTS_PER_TURN = 128,                /* more are accepted in the next turn */
    RETRY_USEC = 100 * 1000, /* pause after accept() ran out of descriptors or memory */
    LOG_USEC = 1000 * 1000,  /* interval between log lines about such failures */
    PEER_SIZE = 128,
};

struct listener {
    struct net *net;
    struct loop_io *io; /* NULL if unused */
    int fd;
    enum client_port port;
    bool stays;     /* during net_update: the new configuration contains it too */
    bool removes;   /* a unix socket that this daemon created and removes at the end */
    char *path;     /* path of a unix socket, otherwise NULL */
    char *host;     /* the word of bind, without '-'; NULL if not from bind */
    int64_t number; /* the port */
};

struct net {
    struct loop *loop;
    const struct conf *conf;
    struct clients *clients;
    struct loop_timer *retry;
    const struct host_names *names; /* host names resolved ahead; only during net_update */
    int64_t logged_usec;            /* when a failure of accept() was last logged, or 0 */
    bool passed;                    /* the service manager opened the sockets */
    struct listener listeners[MAX_LISTENERS];
};

struct reason {
    char *text;
    size_t size;
};

/* Formats the reason. Returns false, so that callers can `return fail_open(...)`. */
__attribute__((format(printf, 2, 3))) static bool fail_open(const struct reason *why,
                                                            const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(why->text, why->size, format, args);
    va_end(args);
    return false;
}

/* --- connections --- */

/* Writes the address as "ip:port", "[ip6]:port", or "path:0" for a unix socket. */
static void name_address(const struct listener *listener, const struct sockaddr_storage *address,
                         char *to, size_t size)
{
    char ip[INET6_ADDRSTRLEN] = "";
    if (address->ss_family == AF_INET) {
        const struct sockaddr_in *v4 = (const void *)address;
        inet_ntop(AF_INET, &v4->sin_addr, ip, sizeof(ip));
        snprintf(to, size, "%s:%u", ip, ntohs(v4->sin_port));
    } else if (address->ss_family == AF_INET6) {
        const struct sockaddr_in6 *v6 = (const void *)address;
        inet_ntop(AF_INET6, &v6->sin6_addr, ip, sizeof(ip));
        snprintf(to, size, "[%s]:%u", ip, ntohs(v6->sin6_port));
    } else {
        snprintf(to, size, "%s:0", listener->path);
    }
}

static void set_int(int fd, int level, int name, int64_t value)
{
    int as_int = (int)value;
    /* Ignore errors: the connection works without the option. */
    (void)setsockopt(fd, level, name, &as_int, sizeof(as_int));
}

static void want_all(struct net *net, unsigned want)
{
    for (int i = 0; i < MAX_LISTENERS; i++)
        if (net->listeners[i].io != NULL) loop_io_want(net->listeners[i].io, want);
}

static void resume_accepting(void *ctx)
{
    want_all(ctx, LOOP_READ);
}

static void accept_ready(void *ctx, unsigned what)
{
    (void)what;
    const struct listener *listener = ctx;
    struct net *net = listener->net;
    for (int i = 0; i < ACCEPTS_PER_TURN; i++) {
        struct sockaddr_storage from = { 0 }, here = { 0 };
        socklen_t size = sizeof(from), here_size = sizeof(here);
        int fd =
            accept4(listener->fd, (struct sockaddr *)&from, &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)) {
            /* Stop accepting for RETRY_USEC. Trying again at once would keep the CPU busy; new
             * clients can wait in the kernel's backlog. */
            int error = errno;
            int64_t now = clock_mono_usec();
            if (net->logged_usec == 0 || now - net->logged_usec >= LOG_USEC) {
                net->logged_usec = now;
                log_line(LOG_WARNING, "Can't accept connections: %s. Trying again every 100 ms. %s",
                         strerror(error),
                         error == EMFILE || error == ENFILE
                             ? "Raise the limit of open files (LimitNOFILE in a unit), or lower "
                               "maxclients"
                             : "Free memory on this machine, or lower maxmemory");
            }
            want_all(net, 0);
            loop_timer_set(net->retry, RETRY_USEC);
            return;
        }
        if (fd < 0 && errno == EAGAIN) return;
        if (fd < 0) continue; /* this peer has disconnected already: accept the next */

        char peer[PEER_SIZE], local[PEER_SIZE];
        name_address(listener, &from, peer, sizeof(peer));
        getsockname(fd, (struct sockaddr *)&here, &here_size);
        name_address(listener, &here, local, sizeof(local));
        int64_t keepalive = net->conf->tcp_keepalive;
        if (listener->port != PORT_UNIX) set_int(fd, IPPROTO_TCP, TCP_NODELAY, 1);
        if (listener->port != PORT_UNIX && keepalive != 0) {
            /* The intervals of Redis: a first probe after tcp-keepalive seconds of silence, then
             * three probes at a third of that interval. */
            set_int(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
            set_int(fd, IPPROTO_TCP, TCP_KEEPIDLE, keepalive);
            set_int(fd, IPPROTO_TCP, TCP_KEEPINTVL, keepalive < 3 ? 1 : keepalive / 3);
            set_int(fd, IPPROTO_TCP, TCP_KEEPCNT, 3);
        }
        clients_accept(net->clients, fd, peer, local, listener->port);
    }
}

/* --- listening --- */

static char *copy_text(const char *text)
{
    size_t size = strlen(text) + 1;
    return memcpy(mem_alloc(size), text, size);
}

/* Takes over a listening socket and begins to accept its connections. `path` is the path of a unix
 * socket, or NULL. */
static struct listener *add_listener(struct net *net, int fd, enum client_port port,
                                     const char *path)
{
    struct listener *listener = net->listeners;
    while (listener->io != NULL)
        listener++;
    *listener = (struct listener){ .net = net, .fd = fd, .port = port };
    if (path != NULL) listener->path = copy_text(path);
    listener->io = loop_io_new(net->loop, fd, accept_ready, listener);
    loop_io_want(listener->io, LOOP_READ);

    struct sockaddr_storage here = { 0 };
    socklen_t size = sizeof(here);
    char name[PEER_SIZE];
    getsockname(fd, (struct sockaddr *)&here, &size);
    name_address(listener, &here, name, sizeof(name));
    log_line(LOG_NOTICE, "Listening on %s%s", path != NULL ? path : name,
             port == PORT_TLS ? " (TLS)" : "");
    return listener;
}

static void close_listener(struct listener *listener)
{
    loop_io_free(listener->io);
    close(listener->fd);
    if (listener->removes) unlink(listener->path);
    mem_free(listener->path);
    mem_free(listener->host);
    *listener = (struct listener){ .io = NULL };
}

static int64_t port_of(const struct net *net, enum client_port kind)
{
    return kind == PORT_TLS ? net->conf->tls_port : net->conf->port;
}

/* Listens on one word of bind. */
static bool listen_tcp(struct net *net, const char *word, enum client_port kind,
                       const struct reason *why)
{
    const char *host = word + (word[0] == '-');
    /* Keep a listener that net_update has found for this word. Clear its mark, so that a second,
     * equal word does not match it too. */
    for (int i = 0; i < MAX_LISTENERS; i++) {
        struct listener *listener = &net->listeners[i];
        if (!listener->stays || listener->port != kind || listener->number != port_of(net, kind) ||
            strcmp(listener->host, host) != 0)
            continue;
        listener->stays = false;
        return true;
    }
    struct listening listening = { .port = (uint16_t)port_of(net, kind),
                                   .backlog = net->conf->tcp_backlog,
                                   .names = net->names };
    int fd = listening_open(&listening, word);
    if (fd < 0)
        return listening.left_out ||
               fail_open(why, "Could not create server TCP listening socket %s:%u: %s", host,
                         listening.port, listening.why);
    struct listener *listener = add_listener(net, fd, kind, NULL);
    listener->host = copy_text(host);
    listener->number = port_of(net, kind);
    return true;
}

static bool listen_all_tcp(struct net *net, enum client_port kind, const struct reason *why)
{
    if (port_of(net, kind) == 0) return true;
    const char *rest = net->conf->bind;
    char word[LISTENING_WORD];
    for (int words = 0; listening_next_word(&rest, word); words++) {
        if (words == CONF_BIND_MAX)
            return fail_open(why, "bind: more than %d addresses", (int)CONF_BIND_MAX);
        if (!listen_tcp(net, word, kind, why)) return false;
    }
    if (*rest == '\0') return true;
    return fail_open(why, "bind: address is too long (%zu characters)", strcspn(rest, " "));
}

static bool listen_unix(struct net *net, const struct reason *why)
{
    const char *path = net->conf->unixsocket;
    if (path[0] == '\0') return true;
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    size_t size = strlen(path) + 1;
    if (size > sizeof(address.sun_path))
        return fail_open(why, "Failed opening Unix socket: %s: path longer than %zu bytes", path,
                         sizeof(address.sun_path) - 1);
    memcpy(address.sun_path, path, size);
    /* Remove the socket file of a daemon that was killed: such a socket refuses connections. A
     * socket in use, or a file of another kind, stays, and bind() then reports the error. */
    struct stat there;
    bool is_socket = lstat(path, &there) == 0 && S_ISSOCK(there.st_mode);
    int probe = is_socket ? socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0) : -1;
    if (probe >= 0) {
        int rc = connect(probe, (const struct sockaddr *)&address, sizeof(address));
        if (rc < 0 && errno == ECONNREFUSED) unlink(path);
        close(probe);
    }
    const char *step, *group = net->conf->unixsocketgroup;
    const struct group *owner = group[0] != '\0' ? getgrnam(group) : NULL;
    if (group[0] != '\0' && owner == NULL)
        return fail_open(why, "Failed opening Unix socket: unixsocketgroup: no group '%s'", group);
    /* Set the mode by umask, so that no client can connect between bind() and a later chmod(). With
     * unixsocketgroup nobody may connect until the group owns the socket: umask 0777, then chown,
     * then chmod. */
    mode_t perm = (mode_t)net->conf->unixsocketperm, usual = umask(0);
    if (perm == 0) perm = ~usual & 0777;
    umask(owner != NULL ? 0777 : ~perm & 0777);
    int fd = listening_open_at((struct sockaddr *)&address, sizeof(address), net->conf->tcp_backlog,
                               &step);
    umask(usual);
    if (fd >= 0 && owner != NULL &&
        (chown(path, (uid_t)-1, owner->gr_gid) != 0 || chmod(path, perm) != 0)) {
        step = "unixsocketgroup";
        int error = errno;
        close(fd);
        unlink(path);
        errno = error;
        fd = -1;
    }
    if (fd < 0)
        return fail_open(why, "Failed opening Unix socket: %s: %s: %s", path, step,
                         strerror(errno));
    add_listener(net, fd, PORT_UNIX, path)->removes = true;
    return true;
}

/* --- sockets that the service manager has opened --- */

static bool open_passed(struct net *net, const struct activation *passed, const struct reason *why)
{
    for (size_t i = 0; i < passed->count; i++) {
        const struct activation_socket *socket = &passed->sockets[i];
        char path[PEER_SIZE];
        bool tls = strcmp(socket->name, "tls") == 0;
        if (tls && clients_tls(net->clients) == NULL)
            return fail_open(why, "The socket unit names a socket 'tls', and TLS is off. Set "
                                  "tls-port and the certificates, or remove "
                                  "FileDescriptorName=tls");
        if (socket->is_unix) { /* "path", or "@name" for an abstract socket */
            struct sockaddr_un here = { 0 };
            socklen_t len = sizeof(here);
            getsockname(socket->fd, (struct sockaddr *)&here, &len);
            size_t head = offsetof(struct sockaddr_un, sun_path);
            int shown = len > head ? (int)(len - head) : 0;
            if (shown > 0 && here.sun_path[0] == '\0')
                snprintf(path, sizeof(path), "@%.*s", shown - 1, here.sun_path + 1);
            else
                snprintf(path, sizeof(path), "%.*s", shown, here.sun_path);
        }
        enum client_port port = tls ? PORT_TLS : socket->is_unix ? PORT_UNIX : PORT_TCP;
        add_listener(net, socket->fd, port, socket->is_unix ? path : NULL);
    }
    log_line(LOG_NOTICE, "These sockets come from the service manager: bind, port and unixsocket "
                         "are not used");
    return true;
}

struct net *net_open(struct loop *loop, const struct conf *conf, struct clients *clients, char *why,
                     size_t why_size)
{
    struct net *net = mem_zalloc(sizeof(*net));
    net->loop = loop;
    net->conf = conf;
    net->clients = clients;
    net->retry = loop_timer_new(loop, resume_accepting, net);
    struct reason reason = { why, why_size };
    struct activation passed;
    bool good = activation_take(&passed, why, why_size);
    net->passed = good && passed.count > 0;
    if (net->passed) {
        good = open_passed(net, &passed, &reason);
    } else if (good) {
        int64_t port = conf->port != 0 ? conf->port : conf->tls_port;
        good = listen_all_tcp(net, PORT_TCP, &reason) && listen_all_tcp(net, PORT_TLS, &reason) &&
               listen_unix(net, &reason);
        if (good && net->listeners[0].io == NULL && port != 0 && conf->bind[0] != '\0')
            good = fail_open(&reason,
                             "Failed listening on port %d (TCP): this machine has none of the "
                             "addresses '%s'",
                             (int)port, conf->bind);
        else if (good && net->listeners[0].io == NULL)
            good = fail_open(&reason, "Configured to not listen anywhere");
    }
    if (good) return net;
    net_close(net);
    return NULL;
}

/* Keeps the sockets of addresses that are in both configurations. Closes the others before opening
 * new ones, because a new address may include an old one ("*" includes "127.0.0.1") and bind()
 * would then fail. */
bool net_update(struct net *net, const struct host_names *names, char *why, size_t why_size)
{
    struct reason reason = { why, why_size };
    if (net->passed)
        return fail_open(&reason, "the sockets come from the service manager. Change the socket "
                                  "unit");
    for (int i = 0; i < MAX_LISTENERS; i++) {
        struct listener *listener = &net->listeners[i];
        if (listener->host == NULL) continue;
        int64_t number = port_of(net, listener->port);
        const char *rest = net->conf->bind;
        char word[LISTENING_WORD];
        bool named = false;
        while (!named && listening_next_word(&rest, word))
            named = strcmp(word + (word[0] == '-'), listener->host) == 0;
        listener->stays = named && number == listener->number;
        if (!listener->stays) close_listener(listener);
    }
    net->names = names;
    bool good = listen_all_tcp(net, PORT_TCP, &reason) && listen_all_tcp(net, PORT_TLS, &reason);
    net->names = NULL;
    for (int i = 0; i < MAX_LISTENERS; i++)
        net->listeners[i].stays = false;
    return good;
}

void net_close(struct net *net)
{
    if (net == NULL) return;
    for (int i = 0; i < MAX_LISTENERS; i++)
        if (net->listeners[i].io != NULL) close_listener(&net->listeners[i]);
    loop_timer_free(net->retry);
    mem_free(net);
}
