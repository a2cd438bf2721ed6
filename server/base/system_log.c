/* system_log: see system_log.h. A line is "<priority>Nov 29 10:00:00 ident[pid]: text" (RFC 3164).
 * Most syslog daemons receive each line as a datagram. Some use a stream instead, in which each
 * line ends with a zero byte. */
#include "server/base/system_log.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { LINE_MAX_BYTES = 4096 };

static struct sockaddr_un address = { .sun_family = AF_UNIX };
static char ident_text[64];
static int facility_bits;
static int log_socket = -1;
static int socket_type;

void system_log_close(void)
{
    if (log_socket >= 0) close(log_socket);
    log_socket = -1;
}

static bool connect_as(int type)
{
    log_socket = socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    socket_type = type;
    if (log_socket >= 0 && connect(log_socket, (struct sockaddr *)&address, sizeof(address)) == 0)
        return true;
    int error = errno;
    system_log_close();
    errno = error;
    return false;
}

static bool connect_to_daemon(void)
{
    return log_socket >= 0 || connect_as(SOCK_DGRAM) ||
           (errno == EPROTOTYPE && connect_as(SOCK_STREAM));
}

void system_log_open(const char *path, const char *ident, int facility)
{
    system_log_close();
    snprintf(address.sun_path, sizeof(address.sun_path), "%s", path != NULL ? path : "/dev/log");
    snprintf(ident_text, sizeof(ident_text), "%s", ident);
    facility_bits = facility;
    connect_to_daemon(); /* if it fails, the next line tries again */
}

void system_log_line(int priority, time_t now, const char *text)
{
    char line[LINE_MAX_BYTES], stamp[32] = "";
    struct tm local;
    if (localtime_r(&now, &local) != NULL)
        strftime(stamp, sizeof(stamp), "%b %e %H:%M:%S ", &local);
    int len = snprintf(line, sizeof(line), "<%d>%s%s[%d]: %s", facility_bits | priority, stamp,
                       ident_text, (int)getpid(), text);
    if (len < 0) return;
    if ((size_t)len >= sizeof(line)) len = sizeof(line) - 1;

    for (int tries = 0; tries < 2 && connect_to_daemon(); tries++) {
        size_t size = (size_t)len + (socket_type == SOCK_STREAM);
        ssize_t sent = send(log_socket, line, size, MSG_NOSIGNAL);
        if (sent < 0 && (errno == EAGAIN || errno == ENOBUFS)) return; /* the line is lost */
        if (sent == (ssize_t)size) return;
        system_log_close(); /* otherwise the next line would continue this one */
        if (sent >= 0) return;
    }
}
