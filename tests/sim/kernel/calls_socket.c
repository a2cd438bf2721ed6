/* calls_socket: the calls on sockets alone: addresses, listening, connecting, options. */
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "tests/sim/kernel/calls.h"
#include "tests/sim/kernel/kernel.h"
#include "tests/sim/kernel/objects.h"

int socket(int domain, int type, int protocol)
{
    if (!in_world() || domain == AF_UNIX) return REAL(socket)(domain, type, protocol);
    int object = object_new(OBJECT_SOCKET, own_process()->node);
    object_at(object)->nonblock = (type & SOCK_NONBLOCK) != 0;
    return fd_of(object);
}

/* 127.0.0.1 is the node itself; 10.0.0.N is node N. */
static int node_of(const struct sockaddr *address, uint16_t *port)
{
    if (address->sa_family != AF_INET) return NONE;
    const struct sockaddr_in *in = (const struct sockaddr_in *)(const void *)address;
    uint32_t host = ntohl(in->sin_addr.s_addr);
    *port = ntohs(in->sin_port);
    if (host >> 24 == 127 || host == 0) return own_process()->node;
    if (host >> 8 != 0x0a0000 || (host & 255) >= NODES_MAX) return NONE;
    return (int)(host & 255);
}

static void put_address(int node, uint16_t port, struct sockaddr *to, socklen_t *size)
{
    struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(port) };
    in.sin_addr.s_addr = htonl(0x0a000000U + (uint32_t)node);
    memcpy(to, &in, *size < sizeof(in) ? *size : sizeof(in));
    *size = sizeof(in);
}

int bind(int fd, const struct sockaddr *address, socklen_t size)
{
    int object = fd_object(fd);
    if (object == NONE) return REAL(bind)(fd, address, size);
    uint16_t port;
    if (node_of(address, &port) == NONE) {
        errno = EADDRNOTAVAIL;
        return -1;
    }
    object_at(object)->port = port;
    return 0;
}

int listen(int fd, int backlog)
{
    int object = fd_object(fd);
    if (object == NONE) return REAL(listen)(fd, backlog);
    object_at(object)->kind = OBJECT_LISTENER;
    object_at(object)->listening = true;
    return 0;
}

int accept4(int fd, struct sockaddr *address, socklen_t *size, int flags)
{
    int listener = fd_object(fd);
    if (listener == NONE) return REAL(accept4)(fd, address, size, flags);
    int accepted = object_accept(listener);
    if (accepted == NONE) {
        call_done("accept", fd, -1);
        errno = EAGAIN;
        return -1;
    }
    struct object *object = object_at(accepted);
    object->nonblock = (flags & SOCK_NONBLOCK) != 0;
    if (address != NULL) put_address(object->peer_node, object->peer_port, address, size);
    int made = fd_of(accepted);
    call_done("accept", fd, made);
    return made;
}

int accept(int fd, struct sockaddr *address, socklen_t *size)
{
    return accept4(fd, address, size, 0);
}

int connect(int fd, const struct sockaddr *address, socklen_t size)
{
    int object = fd_object(fd);
    if (object == NONE) return REAL(connect)(fd, address, size);
    uint16_t port;
    int node = node_of(address, &port);
    call_done("connect", fd, node);
    if (node == NONE) {
        errno = ENETUNREACH;
        return -1;
    }
    object_connect(object, node, port);
    errno = EINPROGRESS;
    return -1;
}

int getsockname(int fd, struct sockaddr *address, socklen_t *size)
{
    int object = fd_object(fd);
    if (object == NONE) return REAL(getsockname)(fd, address, size);
    put_address(object_at(object)->node, object_at(object)->port, address, size);
    return 0;
}

int getpeername(int fd, struct sockaddr *address, socklen_t *size)
{
    int object = fd_object(fd);
    if (object == NONE) return REAL(getpeername)(fd, address, size);
    put_address(object_at(object)->peer_node, object_at(object)->peer_port, address, size);
    return 0;
}

int setsockopt(int fd, int level, int name, const void *value, socklen_t size)
{
    return fd_object(fd) == NONE ? REAL(setsockopt)(fd, level, name, value, size) : 0;
}

/* A connection attempt is over once SO_ERROR is asked for. */
static int end_of_connecting(struct object *object)
{
    if (object->refused) return ECONNREFUSED;
    if (object->connecting && object->connected_at <= kernel->now) object->connecting = false;
    return object->connecting ? EINPROGRESS : 0;
}

int getsockopt(int fd, int level, int name, void *value, socklen_t *size)
{
    int object = fd_object(fd);
    if (object == NONE) return REAL(getsockopt)(fd, level, name, value, size);
    int result = name == SO_ERROR ? end_of_connecting(object_at(object)) : 0;
    memset(value, 0, *size);
    memcpy(value, &result, *size < sizeof(result) ? *size : sizeof(result));
    return 0;
}

int shutdown(int fd, int how)
{
    int object = fd_object(fd);
    if (object == NONE) return REAL(shutdown)(fd, how);
    if (how != SHUT_RD) object_shut(object);
    call_done("shutdown", fd, how);
    return 0;
}
