/* objects: see objects.h. */
#include "tests/sim/kernel/objects.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

static struct stream *stream_at(int number)
{
    return &kernel->streams[number];
}

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* ---- streams --------------------------------------------------------------------------------- */

static int stream_new(int from_node, int to_node)
{
    for (int i = 0; i < STREAMS_MAX; i++) {
        struct stream *stream = stream_at(i);
        if (stream->used) continue;
        memset(stream, 0, offsetof(struct stream, segments));
        stream->used = true;
        stream->from_node = from_node;
        stream->to_node = to_node;
        stream->room = STREAM_BYTES;
        stream->first = stream->count = 0;
        stream->eof_at = stream->reset_at = NEVER_NS;
        stream->readers = stream->writers = 1;
        return i;
    }
    abort();
}

static void stream_release(struct stream *stream)
{
    if (stream->readers == 0 && stream->writers == 0) stream->used = false;
}

/* When a byte sent now arrives: in order, and not while the nodes are apart. */
static int64_t arrival(struct stream *stream)
{
    if (stream->from_node == stream->to_node && stream->from_node != 0) return kernel->now;
    if (kernel->apart[stream->from_node][stream->to_node]) return NEVER_NS;
    int64_t when = kernel->now + kernel_between(DICE_NET, kernel->latency_min, kernel->latency_max);
    if (when < stream->last_at) when = stream->last_at;
    stream->last_at = when;
    return when;
}

static struct segment *segment_of(struct stream *stream, uint32_t number)
{
    return &stream->segments[(stream->first + number) % SEGMENTS_MAX];
}

static uint64_t arrived(const struct stream *stream)
{
    uint64_t end = stream->taken;
    for (uint32_t i = 0; i < stream->count; i++) {
        const struct segment *segment = &stream->segments[(stream->first + i) % SEGMENTS_MAX];
        if (segment->at > kernel->now) break;
        end = segment->end;
    }
    return end - stream->taken;
}

static int64_t stream_readable_at(const struct stream *stream)
{
    int64_t first = stream->count > 0 ? stream->segments[stream->first].at : NEVER_NS;
    return earlier(first, earlier(stream->eof_at, stream->reset_at));
}

static ssize_t stream_put(struct stream *stream, const char *bytes, size_t len)
{
    uint64_t room = stream->room - (stream->sent - stream->taken);
    if (len > room) len = room;
    if (len == 0) return 0;
    for (size_t i = 0; i < len;) {
        size_t to = (stream->sent + i) % STREAM_BYTES, run = STREAM_BYTES - to;
        if (run > len - i) run = len - i;
        memcpy(stream->bytes + to, bytes + i, run);
        i += run;
    }
    stream->sent += len;
    int64_t when = arrival(stream);
    struct segment *last = stream->count > 0 ? segment_of(stream, stream->count - 1) : NULL;
    if (last != NULL && (last->at == when || stream->count == SEGMENTS_MAX)) {
        last->end = stream->sent;
        last->at = when;
    } else {
        stream->count++;
        *segment_of(stream, stream->count - 1) = (struct segment){ stream->sent, when };
    }
    return (ssize_t)len;
}

static size_t stream_take(struct stream *stream, char *to, size_t len, bool peek)
{
    uint64_t ready = arrived(stream);
    if (len > ready) len = ready;
    for (size_t i = 0; i < len;) {
        size_t from = (stream->taken + i) % STREAM_BYTES, run = STREAM_BYTES - from;
        if (run > len - i) run = len - i;
        memcpy(to + i, stream->bytes + from, run);
        i += run;
    }
    if (peek) return len;
    stream->taken += len;
    while (stream->count > 0 && segment_of(stream, 0)->end <= stream->taken) {
        stream->first = (stream->first + 1) % SEGMENTS_MAX;
        stream->count--;
    }
    return len;
}

static void stream_end(struct stream *stream)
{
    if (stream->ended) return;
    stream->ended = true;
    stream->eof_at = arrival(stream);
}

static void stream_break(struct stream *stream)
{
    stream->reset_at = earlier(stream->reset_at, arrival(stream));
}

/* ---- objects --------------------------------------------------------------------------------- */

static int watched_new(void)
{
    for (int set = 0; set < 64; set++) {
        if (kernel->watched_used[set]) continue;
        kernel->watched_used[set] = true;
        kernel->watched_end[set] = 0;
        for (int i = 0; i < WATCHED_MAX; i++)
            kernel->watched[set][i].object = NONE;
        return set;
    }
    abort();
}

int object_new(enum object_kind kind, int node)
{
    for (int i = 0; i < OBJECTS_MAX; i++) {
        struct object *object = object_at(i);
        if (object->kind != OBJECT_FREE) continue;
        if (i >= kernel->objects_end) kernel->objects_end = i + 1;
        *object = (struct object){ .kind = kind,
                                   .refs = 1,
                                   .node = node,
                                   .in = NONE,
                                   .out = NONE,
                                   .peer = NONE,
                                   .listener = NONE,
                                   .timer_at = NEVER_NS };
        if (kind == OBJECT_EPOLL) object->set = watched_new();
        if (kind == OBJECT_SOCKET && node == 0)
            kernel->driver_sockets[i / 64] |= (uint64_t)1 << i % 64;
        return i;
    }
    abort();
}

void object_keep(int number)
{
    object_at(number)->refs++;
}

static void unwatch(int number)
{
    for (int set = 0; set < 64; set++)
        for (int w = 0; kernel->watched_used[set] && w < kernel->watched_end[set]; w++)
            if (kernel->watched[set][w].object == number) kernel->watched[set][w].object = NONE;
}

static void drop_streams(struct object *object, bool silent)
{
    if (object->out != NONE) {
        struct stream *out = stream_at(object->out);
        if (!silent) {
            /* Unread input makes the kernel send a reset in place of an end. */
            bool unread = object->in != NONE && arrived(stream_at(object->in)) > 0;
            if (unread && object->kind == OBJECT_SOCKET)
                stream_break(out);
            else
                stream_end(out);
        }
        out->writers--;
        stream_release(out);
    }
    if (object->in != NONE) {
        struct stream *in = stream_at(object->in);
        in->readers--;
        in->taken = in->sent; /* what is under way is dropped */
        in->count = 0;
        stream_release(in);
    }
    object->in = object->out = NONE;
}

static void close_object(int number, bool silent)
{
    struct object *object = object_at(number);
    unwatch(number);
    if (object->kind == OBJECT_EPOLL) kernel->watched_used[object->set] = false;
    kernel->driver_sockets[number / 64] &= ~((uint64_t)1 << number % 64);
    drop_streams(object, silent);
    if (object->kind == OBJECT_SOCKET && object->peer != NONE) object_at(object->peer)->peer = NONE;
    if (object->kind == OBJECT_LISTENER)
        for (int i = 0; i < kernel->objects_end; i++)
            if (object_at(i)->kind == OBJECT_SOCKET && object_at(i)->listener == number)
                close_object(i, silent);
    object->kind = OBJECT_FREE;
}

void object_drop(int number)
{
    if (--object_at(number)->refs == 0) close_object(number, false);
}

void object_vanish(int number)
{
    close_object(number, true);
}

void objects_forget_node(int node)
{
    for (int i = 0; i < kernel->objects_end; i++) {
        struct object *object = object_at(i);
        if (object->kind != OBJECT_FREE && object->node == node) close_object(i, true);
    }
}

int64_t object_timer_left(const struct object *timer)
{
    if (timer->timer_at == NEVER_NS) return 0;
    return timer->timer_at > kernel->now ? timer->timer_at - kernel->now : 1;
}

int64_t object_readable_at(int number)
{
    const struct object *object = object_at(number);
    switch (object->kind) {
    case OBJECT_EVENT: return object->count > 0 ? 0 : NEVER_NS;
    case OBJECT_TIMER:
        if (object->timer_cancel && object->timer_sets != kernel->nodes[object->node].clock_sets)
            return 0;
        return object->count > 0 ? 0 : object->timer_at;
    case OBJECT_LISTENER: {
        int64_t first = NEVER_NS;
        for (int i = 0; i < kernel->objects_end; i++)
            if (object_at(i)->kind == OBJECT_SOCKET && object_at(i)->listener == number)
                first = earlier(first, object_at(i)->connected_at);
        return first;
    }
    case OBJECT_SOCKET:
        if (object->refused) return object->connected_at;
        if (object->connecting) return NEVER_NS;
        return object->in == NONE ? 0 : stream_readable_at(stream_at(object->in));
    case OBJECT_PIPE:
        return object->in == NONE ? NEVER_NS : stream_readable_at(stream_at(object->in));
    case OBJECT_EPOLL: return object_epoll_at(number);
    case OBJECT_FREE: break;
    }
    return NEVER_NS;
}

int64_t object_writable_at(int number)
{
    const struct object *object = object_at(number);
    if (object->kind == OBJECT_EVENT) return 0;
    if (object->kind != OBJECT_SOCKET && object->kind != OBJECT_PIPE) return NEVER_NS;
    if (object->connecting) return object->connected_at;
    if (object->out == NONE) return 0;
    const struct stream *out = stream_at(object->out);
    bool full = out->sent - out->taken >= out->room;
    if (out->readers == 0 || object->shut) return 0;
    int64_t broken = object->in == NONE ? NEVER_NS : stream_at(object->in)->reset_at;
    return full ? broken : 0;
}

int64_t object_epoll_at(int number)
{
    int set = object_at(number)->set;
    int64_t first = NEVER_NS;
    for (int i = 0; i < kernel->watched_end[set]; i++) {
        const struct watched *watched = &kernel->watched[set][i];
        if (watched->object == NONE) continue;
        if (watched->events & EPOLLIN) first = earlier(first, object_readable_at(watched->object));
        if (watched->events & EPOLLOUT) first = earlier(first, object_writable_at(watched->object));
        const struct object *object = object_at(watched->object);
        if (object->in != NONE) first = earlier(first, stream_at(object->in)->reset_at);
    }
    return first;
}

int object_epoll_ready(int number, struct epoll_event *events, int most)
{
    int set = object_at(number)->set, end = kernel->watched_end[set], count = 0;
    int start = (int)kernel_roll(DICE_SCHEDULE, WATCHED_MAX);
    if (start >= end) start = 0;
    for (int i = 0; i < end && count < most; i++) {
        const struct watched *watched = &kernel->watched[set][(start + i) % end];
        if (watched->object == NONE) continue;
        const struct object *object = object_at(watched->object);
        uint32_t ready = 0;
        if ((watched->events & EPOLLIN) && object_readable_at(watched->object) <= kernel->now)
            ready |= EPOLLIN;
        if ((watched->events & EPOLLOUT) && object_writable_at(watched->object) <= kernel->now)
            ready |= EPOLLOUT;
        if (object->in != NONE && stream_at(object->in)->reset_at <= kernel->now)
            ready |= EPOLLERR | EPOLLHUP | (watched->events & EPOLLIN);
        if (object->refused && object->connected_at <= kernel->now) ready |= EPOLLERR | EPOLLHUP;
        if (ready == 0) continue;
        events[count].events = ready;
        events[count++].data.u64 = watched->data;
    }
    return count;
}

/* The driver's next socket from `from` on; NONE. */
static int next_driver_socket(int from)
{
    for (int word = from / 64; word * 64 < kernel->objects_end; word++) {
        uint64_t bits = kernel->driver_sockets[word];
        if (word == from / 64) bits &= ~(uint64_t)0 << from % 64;
        if (bits != 0) return word * 64 + __builtin_ctzll(bits);
    }
    return NONE;
}

int64_t objects_news_at(void)
{
    int64_t first = NEVER_NS;
    for (int i = next_driver_socket(0); i != NONE; i = next_driver_socket(i + 1))
        first = earlier(first, object_readable_at(i));
    return first;
}

int objects_first_news(void)
{
    int i = next_driver_socket(0);
    while (i != NONE && object_readable_at(i) > kernel->now)
        i = next_driver_socket(i + 1);
    return i;
}

/* ---- pipes and connections ------------------------------------------------------------------- */

void object_pipe(int node, int *reader, int *writer)
{
    *reader = object_new(OBJECT_PIPE, node);
    *writer = object_new(OBJECT_PIPE, node);
    object_at(*reader)->in = object_at(*writer)->out = stream_new(node, node);
}

static void join(int one, int other)
{
    struct object *a = object_at(one), *b = object_at(other);
    a->peer = other;
    b->peer = one;
    a->peer_node = b->node;
    b->peer_node = a->node;
    a->out = b->in = stream_new(a->node, b->node);
    b->out = a->in = stream_new(b->node, a->node);
}

void object_pair(int node, int *one, int *other)
{
    *one = object_new(OBJECT_SOCKET, node);
    *other = object_new(OBJECT_SOCKET, node);
    join(*one, *other);
}

static int find_listener(int node, uint16_t port)
{
    for (int i = 0; i < kernel->objects_end; i++) {
        const struct object *object = object_at(i);
        if (object->kind == OBJECT_LISTENER && object->listening && object->node == node &&
            object->port == port)
            return i;
    }
    return NONE;
}

bool object_connect(int socket, int node, uint16_t port)
{
    struct object *object = object_at(socket);
    object->connecting = true;
    object->peer_node = node;
    object->peer_port = port;
    object->port = (uint16_t)(20000 + socket);
    int64_t way = kernel_between(DICE_NET, kernel->latency_min, kernel->latency_max);
    object->connected_at = kernel->now + 2 * way;
    int listener = find_listener(node, port);
    if (kernel->apart[object->node][node]) {
        object->connected_at = NEVER_NS; /* the caller's patience decides */
        return true;
    }
    if (listener == NONE) {
        object->refused = true;
        return false;
    }
    int accepted = object_new(OBJECT_SOCKET, node);
    struct object *other = object_at(accepted);
    other->refs = 0; /* until accept */
    other->listener = listener;
    other->connected_at = kernel->now + way;
    other->order = kernel->next_order++;
    other->port = port;
    other->peer_port = object->port;
    join(socket, accepted);
    return true;
}

int object_accept(int listener)
{
    int first = NONE;
    for (int i = 0; i < kernel->objects_end; i++) {
        const struct object *object = object_at(i);
        if (object->kind != OBJECT_SOCKET || object->listener != listener ||
            object->connected_at > kernel->now)
            continue;
        if (first == NONE || object->order < object_at(first)->order) first = i;
    }
    if (first == NONE) return NONE;
    object_at(first)->listener = NONE;
    object_at(first)->refs = 1;
    return first;
}

static bool is_broken(const struct object *object)
{
    return object->in != NONE && stream_at(object->in)->reset_at <= kernel->now;
}

ssize_t object_put(int number, const void *bytes, size_t len)
{
    struct object *object = object_at(number);
    if (object->connecting && object->connected_at > kernel->now) {
        errno = EAGAIN;
        return -1;
    }
    if (is_broken(object)) {
        errno = ECONNRESET;
        return -1;
    }
    struct stream *out = object->out == NONE ? NULL : stream_at(object->out);
    if (out == NULL || object->shut || (object->kind == OBJECT_PIPE && out->readers == 0)) {
        errno = EPIPE;
        return -1;
    }
    if (out->readers == 0) {
        /* The bytes are lost. A host that is up answers with a reset. */
        if (object->in != NONE && !kernel->nodes[object->peer_node].off)
            stream_break(stream_at(object->in));
        return (ssize_t)len;
    }
    ssize_t put = stream_put(out, bytes, len);
    if (put > 0 || len == 0) return put;
    errno = EAGAIN;
    return -1;
}

ssize_t object_take(int number, void *to, size_t len, bool peek)
{
    struct object *object = object_at(number);
    if (object->connecting) {
        errno = object->refused ? ECONNREFUSED : EAGAIN;
        return -1;
    }
    if (object->in == NONE) return 0;
    struct stream *in = stream_at(object->in);
    size_t got = stream_take(in, to, len, peek);
    if (got > 0 || len == 0) return (ssize_t)got;
    if (in->reset_at <= kernel->now) {
        errno = ECONNRESET;
        return -1;
    }
    if (in->eof_at <= kernel->now && in->count == 0) return 0;
    errno = EAGAIN;
    return -1;
}

size_t object_waiting_bytes(int number)
{
    const struct object *object = object_at(number);
    return object->in == NONE ? 0 : arrived(stream_at(object->in));
}

void object_shut(int number)
{
    struct object *object = object_at(number);
    if (object->shut || object->out == NONE) return;
    object->shut = true;
    stream_end(stream_at(object->out));
}

void object_reset(int number)
{
    struct object *object = object_at(number);
    if (object->out != NONE) stream_break(stream_at(object->out));
    if (object->in != NONE) stream_break(stream_at(object->in));
}

/* Sends again what asked for connections between these two. */
static void connect_again(int one, int other)
{
    for (int i = 0; i < kernel->objects_end; i++) {
        struct object *object = object_at(i);
        if (object->kind != OBJECT_SOCKET || !object->connecting) continue;
        if (object->connected_at != NEVER_NS) continue;
        if ((object->node == one && object->peer_node == other) ||
            (object->node == other && object->peer_node == one))
            object_connect(i, object->peer_node, object->peer_port);
    }
}

void objects_cut(int one, int other, bool apart)
{
    kernel->apart[one][other] = kernel->apart[other][one] = apart;
    if (apart) return;
    connect_again(one, other);
    for (int i = 0; i < STREAMS_MAX; i++) {
        struct stream *stream = stream_at(i);
        bool between = (stream->from_node == one && stream->to_node == other) ||
                       (stream->from_node == other && stream->to_node == one);
        if (!stream->used || !between) continue;
        int64_t when = arrival(stream);
        for (uint32_t s = 0; s < stream->count; s++)
            if (segment_of(stream, s)->at == NEVER_NS) segment_of(stream, s)->at = when;
        if (stream->eof_at == NEVER_NS && stream->ended) stream->eof_at = when;
    }
}
