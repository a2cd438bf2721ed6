/* calls_fd: the calls on descriptors that refer to objects: making and closing them, moving bytes,
 * waiting; pipes, events, timers, epoll. calls_socket.c has what sockets alone have. Such a
 * descriptor is a real one, of /dev/null, so that its number is unique. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "tests/sim/kernel/calls.h"
#include "tests/sim/kernel/kernel.h"
#include "tests/sim/kernel/objects.h"

enum { CALL_LEAST = 300, CALL_MOST = 4000 }; /* nanoseconds that a call takes */

int fd_object(int fd)
{
    if (!in_world() || fd < 0 || fd >= FDS_MAX) return NONE;
    return own_process()->fd[fd];
}

void call_done(const char *what, int fd, int64_t result)
{
    kernel_note(what, fd, result, 0);
    kernel_spend(CALL_LEAST, CALL_MOST);
    kernel_maybe_yield();
}

int fd_of(int object)
{
    int fd = REAL(open)("/dev/null", O_RDWR | O_CLOEXEC);
    if (fd < 0 || fd >= FDS_MAX) {
        if (fd >= 0) REAL(close)(fd);
        object_drop(object);
        errno = EMFILE;
        return -1;
    }
    own_process()->fd[fd] = (int16_t)object;
    return fd;
}

/* ---- creating and closing -------------------------------------------------------------------- */

int pipe2(int ends[2], int flags)
{
    if (!in_world()) return REAL(pipe2)(ends, flags);
    int reader, writer;
    object_pipe(own_process()->node, &reader, &writer);
    object_at(reader)->nonblock = object_at(writer)->nonblock = (flags & O_NONBLOCK) != 0;
    ends[0] = fd_of(reader);
    ends[1] = fd_of(writer);
    return 0;
}

int pipe(int ends[2])
{
    return pipe2(ends, 0);
}

int socketpair(int domain, int type, int protocol, int ends[2])
{
    if (!in_world()) return REAL(socketpair)(domain, type, protocol, ends);
    int one, other;
    object_pair(own_process()->node, &one, &other);
    object_at(one)->nonblock = object_at(other)->nonblock = (type & SOCK_NONBLOCK) != 0;
    ends[0] = fd_of(one);
    ends[1] = fd_of(other);
    return 0;
}

int eventfd(unsigned count, int flags)
{
    if (!in_world()) return REAL(eventfd)(count, flags);
    int object = object_new(OBJECT_EVENT, own_process()->node);
    object_at(object)->count = count;
    object_at(object)->nonblock = (flags & EFD_NONBLOCK) != 0;
    return fd_of(object);
}

int timerfd_create(int clock, int flags)
{
    if (!in_world()) return REAL(timerfd_create)(clock, flags);
    int object = object_new(OBJECT_TIMER, own_process()->node);
    object_at(object)->nonblock = (flags & TFD_NONBLOCK) != 0;
    object_at(object)->timer_wall = clock == CLOCK_REALTIME ? 1 : 0;
    object_at(object)->timer_sets = own_node()->clock_sets;
    return fd_of(object);
}

int epoll_create1(int flags)
{
    if (!in_world()) return REAL(epoll_create1)(flags);
    return fd_of(object_new(OBJECT_EPOLL, own_process()->node));
}

int epoll_create(int size)
{
    (void)size;
    return epoll_create1(0);
}

static void forget_fd(int fd)
{
    int object = fd_object(fd);
    if (object == NONE) return;
    own_process()->fd[fd] = NONE;
    for (int set = 0; set < 64 && object_at(object)->refs == 1; set++)
        for (int w = 0; kernel->watched_used[set] && w < kernel->watched_end[set]; w++)
            if (kernel->watched[set][w].object == object && kernel->watched[set][w].fd == fd)
                kernel->watched[set][w].object = NONE;
    object_drop(object);
    call_done("close", fd, 0);
}

int close(int fd)
{
    forget_fd(fd);
    return REAL(close)(fd);
}

int dup2(int from, int to)
{
    int object = fd_object(from);
    if (in_world() && from != to) forget_fd(to);
    int rc = REAL(dup2)(from, to);
    if (rc < 0 || object == NONE || from == to) return rc;
    object_keep(object);
    own_process()->fd[to] = (int16_t)object;
    return rc;
}

int dup(int from)
{
    int object = fd_object(from), fd = REAL(dup)(from);
    if (fd < 0 || object == NONE) return fd;
    object_keep(object);
    own_process()->fd[fd] = (int16_t)object;
    return fd;
}

int close_from(unsigned first, unsigned last)
{
    for (unsigned fd = first; fd < FDS_MAX && fd <= last; fd++)
        forget_fd((int)fd);
    return (int)REAL(syscall)(SYS_close_range, first, last, 0);
}

int fcntl(int fd, int command, ...)
{
    va_list rest;
    va_start(rest, command);
    long argument = va_arg(rest, long);
    va_end(rest);
    int object = fd_object(fd);
    if (object == NONE || (command != F_GETFL && command != F_SETFL))
        return REAL(fcntl)(fd, command, argument);
    if (command == F_GETFL) return O_RDWR | (object_at(object)->nonblock ? O_NONBLOCK : 0);
    object_at(object)->nonblock = (argument & O_NONBLOCK) != 0;
    return 0;
}

int fcntl64(int fd, int command, ...)
{
    va_list rest;
    va_start(rest, command);
    long argument = va_arg(rest, long);
    va_end(rest);
    return fcntl(fd, command, argument);
}

int ioctl(int fd, unsigned long what, ...)
{
    va_list rest;
    va_start(rest, what);
    void *argument = va_arg(rest, void *);
    va_end(rest);
    int object = fd_object(fd);
    if (object == NONE) return REAL(ioctl)(fd, what, argument);
    if (what == FIONREAD) *(int *)argument = (int)object_waiting_bytes(object);
    if (what == FIONBIO) object_at(object)->nonblock = *(int *)argument != 0;
    return 0;
}

/* ---- bytes ----------------------------------------------------------------------------------- */

static ssize_t take_count(struct object *object, void *to, size_t len)
{
    if (len < sizeof(uint64_t)) {
        errno = EINVAL;
        return -1;
    }
    if (object->kind == OBJECT_TIMER && object->timer_cancel &&
        object->timer_sets != kernel->nodes[object->node].clock_sets) {
        object->timer_sets = kernel->nodes[object->node].clock_sets;
        errno = ECANCELED;
        return -1;
    }
    if (object->kind == OBJECT_TIMER && object->timer_at <= kernel->now) {
        object->count = 1;
        if (object->timer_every > 0) {
            uint64_t more = (uint64_t)((kernel->now - object->timer_at) / object->timer_every);
            object->count += more;
            object->timer_at += (int64_t)object->count * object->timer_every;
        } else {
            object->timer_at = NEVER_NS;
        }
    }
    if (object->count == 0) {
        errno = EAGAIN;
        return -1;
    }
    memcpy(to, &object->count, sizeof(object->count));
    object->count = 0;
    return sizeof(object->count);
}

static ssize_t take(int fd, int number, void *to, size_t len, int flags)
{
    struct object *object = object_at(number);
    if (object->kind == OBJECT_SOCKET && object->node != object->peer_node && len > 1 &&
        kernel_chance(DICE_NET, own_node()->small_reads))
        len = 1;
    for (;;) {
        ssize_t got = object->kind == OBJECT_EVENT || object->kind == OBJECT_TIMER
                          ? take_count(object, to, len)
                          : object_take(number, to, len, (flags & MSG_PEEK) != 0);
        if (got >= 0 || errno != EAGAIN || object->nonblock || (flags & MSG_DONTWAIT)) {
            int error = errno;
            if (got > 0) kernel_note_bytes("taken", to, (size_t)got);
            call_done("take", fd, got);
            errno = error;
            return got;
        }
        kernel_waiting(WAIT_READ, NEVER_NS)->object = number;
        kernel_wait();
    }
}

static ssize_t put(int fd, int number, const void *bytes, size_t len, int flags)
{
    struct object *object = object_at(number);
    for (size_t sum = 0;;) {
        ssize_t sent;
        if (object->kind == OBJECT_EVENT) {
            uint64_t more;
            memcpy(&more, bytes, sizeof(more));
            object->count += more;
            sent = sizeof(more);
        } else {
            sent = object_put(number, (const char *)bytes + sum, len - sum);
        }
        bool waits = !object->nonblock && !(flags & MSG_DONTWAIT);
        if (sent > 0) sum += (size_t)sent;
        if (!waits || sum == len || (sent < 0 && errno != EAGAIN)) {
            int error = errno;
            if (sum > 0) kernel_note_bytes("put", bytes, sum);
            call_done("send", fd, sum > 0 ? (ssize_t)sum : sent);
            errno = error;
            return sum > 0 ? (ssize_t)sum : sent;
        }
        kernel_waiting(WAIT_WRITE, NEVER_NS)->object = number;
        kernel_wait();
    }
}

ssize_t read(int fd, void *to, size_t len)
{
    int object = fd_object(fd);
    return object == NONE ? REAL(read)(fd, to, len) : take(fd, object, to, len, 0);
}

ssize_t recv(int fd, void *to, size_t len, int flags)
{
    int object = fd_object(fd);
    return object == NONE ? REAL(recv)(fd, to, len, flags) : take(fd, object, to, len, flags);
}

ssize_t recvfrom(int fd, void *to, size_t len, int flags, struct sockaddr *from, socklen_t *size)
{
    int object = fd_object(fd);
    if (object == NONE) return REAL(recvfrom)(fd, to, len, flags, from, size);
    return take(fd, object, to, len, flags);
}

ssize_t write(int fd, const void *bytes, size_t len)
{
    int object = fd_object(fd);
    return object == NONE ? file_write(fd, bytes, len) : put(fd, object, bytes, len, 0);
}

ssize_t send(int fd, const void *bytes, size_t len, int flags)
{
    int object = fd_object(fd);
    return object == NONE ? REAL(send)(fd, bytes, len, flags) : put(fd, object, bytes, len, flags);
}

ssize_t sendto(int fd, const void *bytes, size_t len, int flags, const struct sockaddr *to,
               socklen_t size)
{
    int object = fd_object(fd);
    if (object == NONE) return REAL(sendto)(fd, bytes, len, flags, to, size);
    return put(fd, object, bytes, len, flags);
}

ssize_t writev(int fd, const struct iovec *pieces, int count)
{
    int object = fd_object(fd);
    if (object == NONE) return REAL(writev)(fd, pieces, count);
    ssize_t sum = 0;
    for (int i = 0; i < count; i++) {
        if (pieces[i].iov_len == 0) continue;
        ssize_t sent = put(fd, object, pieces[i].iov_base, pieces[i].iov_len, 0);
        if (sent < 0) return sum > 0 ? sum : -1;
        sum += sent;
        if ((size_t)sent < pieces[i].iov_len) break;
    }
    return sum;
}

ssize_t readv(int fd, const struct iovec *pieces, int count)
{
    int object = fd_object(fd);
    if (object == NONE) return REAL(readv)(fd, pieces, count);
    ssize_t sum = 0;
    for (int i = 0; i < count; i++) {
        if (sum > 0 && object_waiting_bytes(object) == 0) break;
        ssize_t got = take(fd, object, pieces[i].iov_base, pieces[i].iov_len, 0);
        if (got <= 0) return sum > 0 ? sum : got;
        sum += got;
        if ((size_t)got < pieces[i].iov_len) break;
    }
    return sum;
}

/* The daemon makes these two calls without libc's function, and closes ranges of descriptors. */
long syscall(long number, ...)
{
    long a[6];
    va_list rest;
    va_start(rest, number);
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(rest, long);
    va_end(rest);
    if (in_world() && number == SYS_recvfrom && fd_object((int)a[0]) != NONE)
        return take((int)a[0], fd_object((int)a[0]), (void *)a[1], (size_t)a[2], (int)a[3]);
    if (in_world() && number == SYS_sendto && fd_object((int)a[0]) != NONE)
        return put((int)a[0], fd_object((int)a[0]), (void *)a[1], (size_t)a[2], (int)a[3]);
    if (in_world() && number == SYS_close_range) return close_from((unsigned)a[0], (unsigned)a[1]);
    if (in_world() && number == SYS_getrandom) return call_getrandom((void *)a[0], (size_t)a[1]);
    return REAL(syscall)(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

/* ---- waiting --------------------------------------------------------------------------------- */

static int64_t end_of(int msec)
{
    return msec < 0 ? NEVER_NS : kernel->now + (int64_t)msec * 1000000;
}

int epoll_ctl(int set_fd, int what, int fd, struct epoll_event *event)
{
    int set = fd_object(set_fd), object = fd_object(fd);
    if (set == NONE) return REAL(epoll_ctl)(set_fd, what, fd, event);
    if (object == NONE) {
        errno = EPERM;
        return -1;
    }
    int *end = &kernel->watched_end[object_at(set)->set];
    struct watched *all = kernel->watched[object_at(set)->set], *found = NULL, *room = NULL;
    for (int i = 0; i < *end; i++) {
        if (all[i].object == object && all[i].fd == fd) found = &all[i];
        if (all[i].object == NONE && room == NULL) room = &all[i];
    }
    if (what == EPOLL_CTL_ADD && found == NULL && room == NULL && *end < WATCHED_MAX)
        room = &all[(*end)++];
    if (what == EPOLL_CTL_ADD && (found != NULL || room == NULL)) {
        errno = found != NULL ? EEXIST : ENOSPC;
        return -1;
    }
    if (what != EPOLL_CTL_ADD && found == NULL) {
        errno = ENOENT;
        return -1;
    }
    if (what == EPOLL_CTL_DEL)
        found->object = NONE;
    else
        *(found != NULL ? found : room) = (struct watched){
            .fd = fd, .object = object, .events = event->events, .data = event->data.u64
        };
    kernel_spend(CALL_LEAST, CALL_MOST);
    return 0;
}

int epoll_wait(int fd, struct epoll_event *events, int most, int msec)
{
    int set = fd_object(fd);
    if (set == NONE) return REAL(epoll_wait)(fd, events, most, msec);
    int64_t until = end_of(msec);
    for (;;) {
        run_signals();
        int count = object_epoll_ready(set, events, most);
        if (count > 0 || kernel->now >= until) {
            call_done("epoll", fd, count);
            return count;
        }
        kernel_waiting(WAIT_EPOLL, until)->object = set;
        kernel_wait();
    }
}

int epoll_pwait(int fd, struct epoll_event *events, int most, int msec, const sigset_t *mask)
{
    (void)mask;
    return epoll_wait(fd, events, most, msec);
}

static short ready_of(const struct polled *polled)
{
    short ready = 0;
    if (object_readable_at(polled->object) <= kernel->now) ready |= POLLIN;
    if (object_writable_at(polled->object) <= kernel->now) ready |= POLLOUT;
    return ready & polled->events;
}

int poll(struct pollfd *fds, nfds_t count, int msec)
{
    if (!in_world()) return REAL(poll)(fds, count, msec);
    int64_t until = end_of(msec);
    for (;;) {
        if (own_process()->pending != 0) {
            run_signals();
            errno = EINTR;
            return -1;
        }
        int ready = 0;
        struct polled polled[POLL_MAX];
        for (nfds_t i = 0; i < count; i++) {
            if (i == POLL_MAX) abort();
            polled[i] = (struct polled){ fd_object(fds[i].fd), fds[i].events };
            fds[i].revents = polled[i].object == NONE ? 0 : ready_of(&polled[i]);
            ready += fds[i].revents != 0;
        }
        if (ready > 0 || kernel->now >= until) {
            call_done("poll", (int)count, ready);
            return ready;
        }
        struct actor *actor = kernel_waiting(WAIT_POLL, until);
        memcpy(actor->polled, polled, sizeof(polled));
        actor->polled_count = (int)count;
        kernel_wait();
    }
}

/* ---- timers ---------------------------------------------------------------------------------- */

static int64_t nanoseconds(const struct timespec *span)
{
    if (span->tv_sec > 9000000000) return NEVER_NS; /* more does not fit */
    return (int64_t)span->tv_sec * 1000000000 + span->tv_nsec;
}

int timerfd_settime(int fd, int flags, const struct itimerspec *when, struct itimerspec *before)
{
    int number = fd_object(fd);
    if (number == NONE) return REAL(timerfd_settime)(fd, flags, when, before);
    struct object *object = object_at(number);
    struct node *node = own_node();
    int64_t value = nanoseconds(&when->it_value);
    object->count = 0;
    object->timer_every = nanoseconds(&when->it_interval);
    if (object->timer_wall != 0) object->timer_wall = 1;
    if (value == 0 || value == NEVER_NS) {
        object->timer_at = NEVER_NS;
    } else if (flags & TFD_TIMER_ABSTIME) {
        object->timer_at = object->timer_wall == 0 ? value : value - node_wall(node) + kernel->now;
        if (object->timer_wall != 0) object->timer_wall = value;
    } else {
        object->timer_at = kernel->now + value;
    }
    object->timer_cancel = (flags & TFD_TIMER_CANCEL_ON_SET) != 0;
    call_done("timer", fd, value);
    if (!object->timer_cancel || object->timer_sets == node->clock_sets) return 0;
    object->timer_sets = node->clock_sets;
    errno = ECANCELED;
    return -1;
}
