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

/* Returns false, for the caller to return. */
__attribute__((format(printf, 2, 3))) static bool refuse(const struct refusal *refusal,
                                                         const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(refusal->why, refusal->size, format, args);
    va_end(args);
    return false;
}

/* The number in an environment variable; -1: it is not there, or no number. */
static long read_number(const char *name)
{
    const char *text = getenv(name);
    if (text == NULL || *text < '0' || *text > '9') return -1;
    char *end;
    errno = 0;
    long number = strtol(text, &end, 10);
    return errno == 0 && *end == '\0' ? number : -1;
}

/* Copies the next name of a list with colons between them; returns where the rest begins. */
static const char *next_name(const char *list, char name[ACTIVATION_NAME_MAX])
{
    size_t len = strcspn(list, ":");
    snprintf(name, ACTIVATION_NAME_MAX, "%.*s", (int)len, list);
    return list + len + (list[len] == ':');
}

static bool get_option(int fd, int option, int *value)
{
    socklen_t size = sizeof(*value);
    return getsockopt(fd, SOL_SOCKET, option, value, &size) == 0;
}

static bool set_flags(int fd)
{
    int flags = fcntl(fd, F_GETFL);
    return flags >= 0 && fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0 &&
           fcntl(fd, F_SETFD, FD_CLOEXEC) == 0;
}

static bool take_socket(struct activation_socket *taken, const struct refusal *refusal)
{
    int type, domain, listens;
    int fd = taken->fd;
    if (!get_option(fd, SO_TYPE, &type) || !get_option(fd, SO_DOMAIN, &domain) ||
        !get_option(fd, SO_ACCEPTCONN, &listens))
        return refuse(refusal, "LISTEN_FDS: descriptor %d (%s) is not a socket: %s", fd,
                      taken->name, strerror(errno));
    taken->is_unix = domain == AF_UNIX;
    if (type != SOCK_STREAM || (!taken->is_unix && domain != AF_INET && domain != AF_INET6))
        return refuse(refusal,
                      "LISTEN_FDS: descriptor %d (%s) is not a stream socket of TCP or Unix. Use "
                      "ListenStream= in the socket unit",
                      fd, taken->name);
    if (!listens)
        return refuse(refusal,
                      "LISTEN_FDS: descriptor %d (%s) does not listen. Set Accept=no in the socket "
                      "unit",
                      fd, taken->name);
    return set_flags(fd) || refuse(refusal, "LISTEN_FDS: descriptor %d: %s", fd, strerror(errno));
}

bool activation_take(struct activation *taken, char *why, size_t size)
{
    const struct refusal refusal = { why, size };
    long pid = read_number("LISTEN_PID"), count = read_number("LISTEN_FDS");
    const char *set = getenv("LISTEN_FDNAMES"), *names = set != NULL ? set : "";
    taken->count = 0;
    if (pid != getpid() || count <= 0) return true;
    if (count > ACTIVATION_MAX)
        return refuse(&refusal, "LISTEN_FDS: %ld sockets; at most %d are possible", count,
                      (int)ACTIVATION_MAX);
    for (int i = 0; i < count; i++) {
        struct activation_socket *socket = &taken->sockets[taken->count++];
        *socket = (struct activation_socket){ .fd = FIRST_FD + i };
        names = next_name(names, socket->name);
        if (!take_socket(socket, &refusal)) return false;
    }
    unsetenv("LISTEN_PID");
    unsetenv("LISTEN_FDS");
    unsetenv("LISTEN_FDNAMES");
    return true;
}
