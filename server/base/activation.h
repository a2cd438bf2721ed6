/* activation: takes over the listening sockets that the service manager has opened for the daemon,
 * as sd_listen_fds(3) does. Learns of them from environment variables. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum { ACTIVATION_MAX = 17, ACTIVATION_NAME_MAX = 256 };

struct activation_socket {
    int fd;                         /* listening, non-blocking and close-on-exec */
    bool is_unix;                   /* else IPv4 or IPv6 */
    char name[ACTIVATION_NAME_MAX]; /* from LISTEN_FDNAMES; "" if it has no name */
};

struct activation {
    size_t count; /* 0 if no sockets were passed to this process */
    struct activation_socket sockets[ACTIVATION_MAX];
};

/* Takes over the sockets that LISTEN_PID, LISTEN_FDS and LISTEN_FDNAMES describe, then unsets these
 * variables, so that a second call finds none. Returns false with the reason in `why` if the daemon
 * can't serve one of the sockets; the daemon must then not start. */
bool activation_take(struct activation *taken, char *why, size_t size);
