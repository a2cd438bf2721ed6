/* io_thread: see io_thread.h. Code of the thread uses neither mem.h nor the loop, because both
 * belong to the main thread. The functions of the header run in the main thread. */
#include "server/net/io_thread.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server/base/clock.h"
#include "server/base/thread.h"
#include "store/mem/mem.h"
#include "store/mem/shared.h"

enum {
    EVENTS = 128,     /* the most events that one epoll_wait returns */
    LAST_READS = 4,   /* reads of ORDER_SHUT, which discards input, */
    FORGOTTEN = 4096, /* and bytes of each */
};

struct io_thread {
    struct io_link *link;
    pthread_t id;
    struct handshakes *lanes; /* written by the main thread; NULL before its first TLS socket */
    /* The fields below belong to the thread alone. */
    _Alignas(IO_LINE) int epoll;
    bool stops;
    bool owes_room;                /* IO_ROOM must be sent: the ring of news was full */
    struct handshakes *handshakes; /* copy of `lanes`, set with the first TLS socket */
    struct served_list sockets, stalled, to_read_on, posting;
};

/* Sets the events that epoll reports for the socket. On failure returns false with errno. */
static bool set_watched(struct served *socket, unsigned events)
{
    if (events == socket->watched) return true;
    /* Remove a socket without wanted events from epoll: even with an empty mask epoll would report
     * a hang-up, again and again. */
    int action = socket->watched == 0 ? EPOLL_CTL_ADD : events == 0 ? EPOLL_CTL_DEL : EPOLL_CTL_MOD;
    struct epoll_event event = { .events = events, .data.ptr = socket };
    if (epoll_ctl(socket->thread->epoll, action, socket->fd, &event) != 0) return false;
    socket->watched = events;
    return true;
}

static void post(struct served *socket, enum io_event event)
{
    socket->messages |= 1U << event;
    if (!socket->posts) TAILQ_INSERT_TAIL(&socket->thread->posting, socket, posting);
    socket->posts = true;
}

/* Posts an event with a text. A socket stores one text only, so the reason for the end of a
 * connection replaces an IO_SHAKEN that was not sent yet. */
static void post_text(struct served *socket, enum io_event event, const char *text)
{
    socket->messages &= ~(1U << IO_SHAKEN);
    mem_shared_free(socket->text);
    size_t size = strlen(text) + 1;
    socket->text = mem_shared_alloc(size);
    if (socket->text != NULL) memcpy(socket->text, text, size);
    post(socket, event);
}

/* Returns false if the ring is full. */
static bool send_message(struct io_thread *thread, struct served *socket, enum io_event event)
{
    bool has_text = event == IO_SHAKEN || event == IO_REFUSED || event == IO_BROKEN;
    const char *text = has_text && socket->text != NULL ? socket->text : "";
    size_t len = strlen(text);
    struct io_message *message = byte_ring_reserve(thread->link->news, sizeof(*message) + len);
    if (message == NULL) return false;
    *message = (struct io_message){ socket, event, socket != NULL ? socket->error : 0 };
    memcpy(message->bytes, text, len);
    byte_ring_put(thread->link->news, sizeof(*message) + len);
    return true;
}

/* Sends the posted events of the socket in the order of enum io_event. After IO_CLOSED, the last,
 * the socket belongs to the main thread. Returns false if the ring is full. */
static bool send_messages(struct served *socket)
{
    struct io_thread *thread = socket->thread;
    for (enum io_event event = IO_BYTES; event <= IO_CLOSED; event++) {
        if ((socket->messages & 1U << event) == 0) continue;
        bool last = event == IO_CLOSED;
        if (last) TAILQ_REMOVE(&thread->posting, socket, posting);
        if (!send_message(thread, socket, event)) {
            if (last) TAILQ_INSERT_HEAD(&thread->posting, socket, posting);
            return false;
        }
        if (last) return true;
        socket->messages &= ~(1U << event);
    }
    socket->posts = false;
    TAILQ_REMOVE(&thread->posting, socket, posting);
    return true;
}

static void send_posted(struct io_thread *thread)
{
    if (thread->owes_room && send_message(thread, NULL, IO_ROOM)) thread->owes_room = false;
    struct served *socket;
    while ((socket = TAILQ_FIRST(&thread->posting)) != NULL)
        if (!send_messages(socket)) return;
}

static void count_bytes(struct served *socket)
{
    size_t bytes = tls_bytes(socket->connection) + socket->unsent.cap, apart = 0;
    if (atomic_load_explicit(&socket->asked.anonymous, memory_order_relaxed)) apart = bytes;
    atomic_store_explicit(&socket->told.bytes, bytes - apart, memory_order_relaxed);
    if (apart != socket->apart) mem_shared_set_apart(apart - socket->apart);
    socket->apart = apart;
}

static void drop_unsent(struct served *socket)
{
    mem_shared_free(socket->unsent.data);
    memset(&socket->unsent, 0, sizeof(socket->unsent));
    count_bytes(socket);
}

static bool keep_unsent(struct served *socket, const char *data, size_t len)
{
    size_t whole = socket->unsent.len + len;
    if (socket->unsent.cap - socket->unsent.start < whole) {
        /* Once half is sent, moving the rest costs no more than sending it did. */
        bool moves = socket->unsent.start >= socket->unsent.len && socket->unsent.cap >= whole;
        size_t cap = 2 * whole;
        char *grown = moves ? socket->unsent.data : mem_shared_alloc(cap);
        if (grown == NULL) return false;
        if (socket->unsent.len > 0)
            memmove(grown, socket->unsent.data + socket->unsent.start, socket->unsent.len);
        if (!moves) {
            mem_shared_free(socket->unsent.data);
            socket->unsent.data = grown;
            socket->unsent.cap = cap;
        }
        socket->unsent.start = 0;
    }
    memcpy(socket->unsent.data + socket->unsent.start + socket->unsent.len, data, len);
    socket->unsent.len = whole;
    return true;
}

static void unstall(struct served *socket)
{
    if (socket->stalled) TAILQ_REMOVE(&socket->thread->stalled, socket, stalling);
    socket->stalled = false;
}

static void lose(struct served *socket, const char *why)
{
    if (socket->broken) return;
    socket->broken = socket->ended = true;
    unstall(socket);
    /* Count the unsent bytes as sent, or the owner would wait for them for ever. */
    atomic_fetch_add(&socket->told.sent, socket->unsent.len);
    drop_unsent(socket);
    post_text(socket, IO_BROKEN, why);
    set_watched(socket, 0);
}

static void watch(struct served *socket)
{
    bool reads = !socket->ended && !socket->stalled && !socket->handshake.waits;
    bool tls_sends = reads && socket->connection != NULL && tls_wants_write(socket->connection);
    bool sends = !socket->broken && (socket->unsent.len > 0 || tls_sends);
    unsigned events = (reads && !tls_sends ? EPOLLIN : 0U) | (sends ? EPOLLOUT : 0U);
    if (!set_watched(socket, events)) lose(socket, strerror(errno));
}

static void close_socket(struct served *socket)
{
    struct io_thread *thread = socket->thread;
    unstall(socket);
    if (socket->reads_on) TAILQ_REMOVE(&thread->to_read_on, socket, reading_on);
    socket->reads_on = false;
    handshakes_end(thread->handshakes, &socket->handshake);
    TAILQ_REMOVE(&thread->sockets, socket, same_thread);

    tls_close(socket->connection);
    socket->connection = NULL;
    drop_unsent(socket);
    set_watched(socket, 0); /* closing is not enough: a forked child may share the socket */
    close(socket->fd);
    mem_shared_free(socket->text);
    socket->text = NULL;
    socket->messages = 0;
    post(socket, IO_CLOSED);
}

/* Returns how many bytes were sent; 0 if there is no room. The socket may be lost afterwards. */
static size_t send_bytes(struct served *socket, const char *data, size_t len)
{
    struct iovec chunk = { .iov_base = (char *)(uintptr_t)data, .iov_len = len };
    ssize_t sent = socket->connection != NULL ? tls_write(socket->connection, &chunk, 1)
                                              : send(socket->fd, data, len, MSG_NOSIGNAL);
    if (sent >= 0) return (size_t)sent;
    if (errno == EAGAIN || errno == EINTR) return 0;
    lose(socket, socket->connection != NULL ? tls_fault(socket->connection) : strerror(errno));
    return 0;
}

static void note_sent(struct served *socket, size_t len)
{
    atomic_store(&socket->told.sent,
                 atomic_load_explicit(&socket->told.sent, memory_order_relaxed) + len);
    if (socket->unsent.len == 0 && atomic_load(&socket->asked.asks_for_flush) &&
        atomic_exchange(&socket->asked.asks_for_flush, false))
        post(socket, IO_WRITABLE);
}

/* Returns how many bytes may be read now. */
static size_t room_to_read(const struct served *socket)
{
    if (socket->messages != 0) return 0; /* events that were posted must be sent before new bytes */
    if (!atomic_load_explicit(&socket->asked.wanted, memory_order_acquire)) return 0;
    bool anonymous = atomic_load_explicit(&socket->asked.anonymous, memory_order_relaxed);
    size_t most = anonymous ? IO_ANON_READ : IO_READ_MOST;
    uint64_t unread = socket->got - atomic_load_explicit(&socket->asked.read, memory_order_acquire);
    uint64_t limit = most * IO_UNREAD_READS;
    if (unread >= limit) return 0;
    return limit - unread < most ? (size_t)(limit - unread) : most;
}

static void read_on(struct served *socket)
{
    if (socket->reads_on || !tls_pending(socket->connection)) return;
    TAILQ_INSERT_TAIL(&socket->thread->to_read_on, socket, reading_on);
    socket->reads_on = true;
}

static void read_socket(struct served *socket)
{
    struct byte_ring *news = socket->thread->link->news;
    size_t room = room_to_read(socket);
    struct io_message *message =
        room > 0 ? byte_ring_reserve(news, sizeof(*message) + IO_READ_MOST) : NULL;
    if (message == NULL) {
        if (!socket->stalled) TAILQ_INSERT_TAIL(&socket->thread->stalled, socket, stalling);
        socket->stalled = true;
        return;
    }
    ssize_t got = socket->connection != NULL ? tls_read(socket->connection, message->bytes, room)
                                             : recv(socket->fd, message->bytes, room, 0);
    if (got > 0) {
        *message = (struct io_message){ socket, IO_BYTES, 0 };
        byte_ring_put(news, sizeof(*message) + (size_t)got);
        socket->got += (uint64_t)got;
    } else if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
        /* Nothing has arrived. */
    } else if (got < 0 && socket->connection != NULL) {
        lose(socket, tls_fault(socket->connection));
    } else {
        socket->error = got < 0 ? errno : 0;
        socket->ended = true;
        post(socket, IO_END);
    }
    if (socket->connection != NULL && !socket->ended) read_on(socket);
    count_bytes(socket);
}

/* Reads what TLS has read ahead, and sockets that had to wait. */
static void read_listed(struct io_thread *thread)
{
    struct served_list listed = TAILQ_HEAD_INITIALIZER(listed);
    struct served *socket, *next;
    TAILQ_CONCAT(&listed, &thread->to_read_on, reading_on);
    while ((socket = TAILQ_FIRST(&listed)) != NULL) {
        TAILQ_REMOVE(&listed, socket, reading_on);
        socket->reads_on = false;
        if (!socket->ended && !socket->stalled) read_socket(socket);
        watch(socket);
    }
    for (socket = TAILQ_FIRST(&thread->stalled); socket != NULL; socket = next) {
        next = TAILQ_NEXT(socket, stalling);
        if (room_to_read(socket) == 0) continue;
        if (byte_ring_reserve(thread->link->news, sizeof(struct io_message) + IO_READ_MOST) == NULL)
            return;
        unstall(socket);
        read_socket(socket);
        watch(socket);
    }
}

static void shake(struct served *socket)
{
    char why[HANDSHAKE_WHY], name[TLS_NAME_SIZE] = "";
    atomic_store_explicit(&socket->told.waits_to_shake, false, memory_order_relaxed);
    switch (handshake_step(socket->thread->handshakes, &socket->handshake, socket->tls, socket->fd,
                           &socket->connection, why)) {
    case SHAKEN_DONE:
        socket->shaken = true;
        if (!tls_peer_name(socket->connection, name, sizeof(name))) name[0] = '\0';
        post_text(socket, IO_SHAKEN, name);
        read_on(socket);
        break;
    case SHAKEN_WAITS: break;
    case SHAKEN_REFUSED:
        socket->broken = socket->ended = true;
        post_text(socket, IO_REFUSED, why);
        break;
    case SHAKEN_CLOSED: lose(socket, "closed by the client"); break;
    }
    count_bytes(socket);
    watch(socket);
}

static bool any_shakes(const struct io_thread *thread)
{
    return thread->handshakes != NULL && handshakes_any(thread->handshakes);
}

static void take_orders(struct io_thread *thread)
{
    const struct io_order *order;
    char forgotten[FORGOTTEN];
    size_t size;
    while ((order = byte_ring_take(thread->link->orders, &size)) != NULL) {
        struct served *socket = order->socket;
        size_t len = size - sizeof(*order), sent = 0;
        switch (order->kind) {
        case ORDER_ADD:
            TAILQ_INSERT_TAIL(&thread->sockets, socket, same_thread);
            if (socket->tls != NULL) thread->handshakes = thread->lanes;
            watch(socket);
            break;
        case ORDER_SEND:
            if (socket->unsent.len == 0 && !socket->broken)
                sent = send_bytes(socket, order->bytes, len);
            if (!socket->broken && sent < len &&
                !keep_unsent(socket, order->bytes + sent, len - sent))
                lose(socket, "out of memory");
            note_sent(socket, socket->broken ? len : sent);
            count_bytes(socket);
            watch(socket);
            break;
        case ORDER_SHUT:
            if (socket->connection != NULL) tls_close_notify(socket->connection);
            shutdown(socket->fd, SHUT_WR);
            for (int i = 0; i < LAST_READS; i++)
                if (recv(socket->fd, forgotten, sizeof(forgotten), 0) <= 0) break;
            break;
        case ORDER_CLOSE: close_socket(socket); break;
        case ORDER_STOP: thread->stops = true; break;
        }
    }
    byte_ring_release(thread->link->orders);
    if (atomic_load(&thread->link->main_starves) &&
        atomic_exchange(&thread->link->main_starves, false))
        thread->owes_room = true;
}

static bool has_work(struct io_thread *thread)
{
    return byte_ring_any(thread->link->orders) || !TAILQ_EMPTY(&thread->to_read_on) ||
           any_shakes(thread);
}

/* Prepares to sleep. Returns true if there is nothing to do until epoll reports something. The
 * order prevents a lost wake-up: first store that the thread sleeps or waits for space, then look
 * for work once more (see io_threads_turn). */
static bool may_sleep(struct io_thread *thread)
{
    if (has_work(thread)) return false;
    atomic_store(&thread->link->asleep, true);
    if (thread->owes_room || !TAILQ_EMPTY(&thread->stalled) || !TAILQ_EMPTY(&thread->posting)) {
        atomic_store_explicit(&thread->link->wants_room, true, memory_order_relaxed);
        atomic_thread_fence(memory_order_seq_cst);
        send_posted(thread);
        read_listed(thread);
        send_posted(thread); /* ends that were just read */
    }
    return !has_work(thread);
}

static void socket_ready(struct served *socket, unsigned events)
{
    if (!socket->shaken) {
        handshakes_wait(socket->thread->handshakes, &socket->handshake);
        atomic_store_explicit(&socket->told.waits_to_shake, true, memory_order_relaxed);
    } else {
        bool tls_sends = socket->connection != NULL && tls_wants_write(socket->connection);
        bool can_send = (events & (EPOLLOUT | EPOLLHUP | EPOLLERR)) != 0;
        size_t sent = 0;
        if (can_send && socket->unsent.len > 0)
            sent =
                send_bytes(socket, socket->unsent.data + socket->unsent.start, socket->unsent.len);
        if (sent > 0) {
            socket->unsent.start += sent;
            socket->unsent.len -= sent;
            if (socket->unsent.len == 0) drop_unsent(socket);
            note_sent(socket, sent);
        }
        if (!socket->ended && ((events & ~(unsigned)EPOLLOUT) != 0 || tls_sends))
            read_socket(socket);
    }
    watch(socket);
}

static void *run(void *ctx)
{
    struct io_thread *thread = ctx;
    struct io_link *link = thread->link;
    struct epoll_event events[EVENTS];
    while (!thread->stops) {
        take_orders(thread);
        if (any_shakes(thread)) {
            int64_t end = clock_mono_usec() + HANDSHAKES_USEC;
            struct handshake *next;
            while (clock_mono_usec() < end && (next = handshakes_next(thread->handshakes)) != NULL)
                shake((struct served *)((char *)next - offsetof(struct served, handshake)));
        }
        send_posted(thread);
        read_listed(thread);
        bool sleeps = !thread->stops && may_sleep(thread);

        if (byte_ring_publish(link->news) && atomic_load(link->main_asleep) &&
            atomic_exchange(link->main_asleep, false))
            thread_wake(link->main_wake);
        int count = epoll_wait(thread->epoll, events, EVENTS, sleeps ? -1 : 0);
        atomic_store_explicit(&link->asleep, false, memory_order_relaxed);
        for (int i = 0; i < count; i++) {
            if (events[i].data.ptr != NULL)
                socket_ready(events[i].data.ptr, events[i].events);
            else
                thread_woken(link->wake);
        }
    }
    struct served *socket;
    while ((socket = TAILQ_FIRST(&thread->sockets)) != NULL)
        close_socket(socket);
    return NULL;
}

static void drop_thread(struct io_thread *thread)
{
    if (thread->epoll >= 0) close(thread->epoll);
    handshakes_free(thread->lanes);
    mem_free(thread);
}

struct io_thread *io_thread_start(struct io_link *link)
{
    struct io_thread *thread = mem_alloc_lines(sizeof(*thread));
    *thread = (struct io_thread){ .link = link, .epoll = epoll_create1(EPOLL_CLOEXEC) };
    TAILQ_INIT(&thread->sockets);
    TAILQ_INIT(&thread->stalled);
    TAILQ_INIT(&thread->to_read_on);
    TAILQ_INIT(&thread->posting);
    struct epoll_event wake = { .events = EPOLLIN, .data.ptr = NULL };
    bool watched =
        thread->epoll >= 0 && epoll_ctl(thread->epoll, EPOLL_CTL_ADD, link->wake, &wake) == 0;
    int error = watched ? thread_start(&thread->id, run, thread) : errno;
    if (error == 0) return thread;
    drop_thread(thread);
    errno = error;
    return NULL;
}

void io_thread_join(struct io_thread *thread)
{
    pthread_join(thread->id, NULL);
    drop_thread(thread);
}

void io_thread_prepare_tls(struct io_thread *thread, unsigned most)
{
    if (thread->lanes == NULL) thread->lanes = handshakes_new(most);
}

void served_init(struct served *socket, struct io_thread *thread, int fd, struct tls *tls,
                 const char *peer)
{
    *socket = (struct served){ .thread = thread, .tls = tls, .fd = fd, .shaken = tls == NULL };
    if (tls != NULL) handshake_init(&socket->handshake, peer);
}
