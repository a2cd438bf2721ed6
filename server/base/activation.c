/* activation: see activation.h. */
#include "server/base/activation.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { FIRST_FD = 3 };

struct refusal {
    char *why;
    size_t size;
};

/* Formats the reason. Returns false, so that callers can `return refuse(...)`. */
__attribute__((format(printf, 2, 3))) static bool refuse(const struct refusal *refusal,
                                                         const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(refusal->why, refusal->size, format, args);
    va_end(args);
    return false;
}

/* Returns the number in an environment variable; -1 if it is unset or not a number. */
static long read_number(const char *name)
{
    const char *text = getenv(name);
    if (text == NULL || *text < '0' || *text > '9') return -1;
    char *end;
    errno = 0;
    long number = strtol(text, &end, 10);
    return errno == 0 && *end == '\0' ? number : -1;
}

static bool get_option(int fd, int option, int *value)
{
    socklen_t size = sizeof(*value);
    return getsockopt(fd, SOL_SOCKET, option, value, &size) == 0;
}

bool activation_take(struct activation *taken, char *why, size_t size)
{
    const struct refusal refusal = { why, size };
    long pid = read_number("LISTEN_PID"), count = read_number("LISTEN_FDS");
    const char *set = getenv("LISTEN_FDNAMES"), *names = set != NULL ? set : "";
    taken->count = 0;
    if (pid != getpid() || count <= 0) return true;
    if (count > ACTIVATION_MAX)
        return refuse(&refusal, "LISTEN_FDS: %ld sockets, but at most %d are supported", count,
                      (int)ACTIVATION_MAX);
    for (int i = 0; i < count; i++) {
        struct activation_socket *socket = &taken->sockets[taken->count++];
        *socket = (struct activation_socket){ .fd = FIRST_FD + i };
        size_t len = strcspn(names, ":");
        snprintf(socket->name, sizeof(socket->name), "%.*s", (int)len, names);
        names += len + (names[len] == ':');

        int fd = socket->fd, type, domain, listens, flags;
        if (!get_option(fd, SO_TYPE, &type) || !get_option(fd, SO_DOMAIN, &domain) ||
            !get_option(fd, SO_ACCEPTCONN, &listens))
            return refuse(&refusal, "LISTEN_FDS: descriptor %d (%s) is not a socket: %s", fd,
                          socket->name, strerror(errno));
        socket->is_unix = domain == AF_UNIX;
        if (type != SOCK_STREAM || (!socket->is_unix && domain != AF_INET && domain != AF_INET6))
            return refuse(
                &refusal,
                "LISTEN_FDS: descriptor %d (%s) is neither a TCP nor a Unix stream socket. Use "
                "ListenStream= in the socket unit",
                fd, socket->name);
        if (!listens)
            return refuse(
                &refusal,
                "LISTEN_FDS: descriptor %d (%s) does not listen. Set Accept=no in the socket unit",
                fd, socket->name);
        flags = fcntl(fd, F_GETFL);
        if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0 ||
            fcntl(fd, F_SETFD, FD_CLOEXEC) != 0)
            return refuse(&refusal, "LISTEN_FDS: descriptor %d: %s", fd, strerror(errno));
    }
    unsetenv("LISTEN_PID");
    unsetenv("LISTEN_FDS");
    unsetenv("LISTEN_FDNAMES");
    return true;
}
