/* io_threads: see io_threads.h. The main thread's side. */
#include "server/net/io_threads.h"

#include <errno.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "server/base/thread.h"
#include "store/mem/mem.h"

TAILQ_HEAD(io_socket_list, io_socket);

struct io_socket {
    struct side *side;
    void *owner;      /* NULL after io_socket_free; the thread may still have the socket */
    uint64_t written; /* bytes ordered to be sent */
    bool starves;     /* a write found the ring full: in side.starving */
    TAILQ_ENTRY(io_socket) all, starving;
    _Alignas(IO_LINE) struct served served;
};

/* One thread, as the main thread sees it. */
struct side {
    _Alignas(IO_LINE) struct io_link link;
    struct io_threads *threads;
    struct io_thread *thread;
    size_t count; /* number of its sockets */
    struct io_socket_list starving;
};

struct io_threads {
    struct loop *loop;
    void (*happened)(void *owner, const struct io_news *news);
    struct loop_io *woken;
    struct loop_timer *timer;
    int wake; /* the main thread's eventfd */
    struct io_socket_list all;
    unsigned count;
    struct side *sides;
    atomic_bool asleep; /* the main thread sleeps, and must be woken for news */
};

static void forget(struct io_socket *socket)
{
    struct side *side = socket->side;
    TAILQ_REMOVE(&side->threads->all, socket, all);
    side->count--;
    mem_free(socket);
}

static struct io_socket *socket_of(struct served *served)
{
    return (struct io_socket *)((char *)served - offsetof(struct io_socket, served));
}

static void tell(struct io_socket *socket, const struct io_news *news)
{
    if (socket->owner != NULL) socket->side->threads->happened(socket->owner, news);
}

static void take_news(void *ctx)
{
    struct io_threads *threads = ctx;
    atomic_store(&threads->asleep, false);
    for (unsigned i = 0; i < threads->count; i++) {
        struct side *side = &threads->sides[i];
        const struct io_message *message;
        size_t len;
        while ((message = byte_ring_take(side->link.news, &len)) != NULL) {
            if (message->event == IO_CLOSED) {
                forget(socket_of(message->socket));
            } else if (message->event == IO_ROOM) {
                struct io_socket_list starving = TAILQ_HEAD_INITIALIZER(starving);
                TAILQ_CONCAT(&starving, &side->starving, starving);
                struct io_socket *socket;
                while ((socket = TAILQ_FIRST(&starving)) != NULL) {
                    TAILQ_REMOVE(&starving, socket, starving);
                    socket->starves = false;
                    tell(socket, &(struct io_news){ .event = IO_WRITABLE });
                }
            } else {
                struct bytes bytes = bytes_of(message->bytes, len - sizeof(*message));
                tell(socket_of(message->socket),
                     &(struct io_news){ message->event, message->error, bytes });
            }
        }
    }
}

static void on_woken(void *ctx, unsigned what)
{
    struct io_threads *threads = ctx;
    (void)what;
    thread_woken(threads->wake);
    take_news(threads);
}

/* No wake-up is lost, by the same rule on both sides: first store what you have done or that you
 * sleep, then look at what the other side has stored. The fence here and the one in may_sleep
 * ensure that at least one side sees the other's store. */
void io_threads_turn(struct io_threads *threads)
{
    bool any = false;
    atomic_store_explicit(&threads->asleep, true, memory_order_relaxed);
    atomic_thread_fence(memory_order_seq_cst);
    for (unsigned i = 0; i < threads->count; i++) {
        struct side *side = &threads->sides[i];
        byte_ring_release(side->link.news);
        bool ordered = byte_ring_publish(side->link.orders);
        bool wants_room =
            atomic_load(&side->link.wants_room) && atomic_exchange(&side->link.wants_room, false);
        if (wants_room || (ordered && atomic_load(&side->link.asleep)))
            thread_wake(side->link.wake);
        any |= byte_ring_any(side->link.news);
    }
    if (any) loop_timer_set(threads->timer, 0);
}

/* Reserves an order, waiting while the ring is full. This can't deadlock: the thread takes orders
 * even while its ring of news is full, so the ring of orders empties. */
static struct io_order *wait_for_order(struct side *side, size_t len)
{
    struct io_order *order;
    while ((order = byte_ring_reserve(side->link.orders, sizeof(*order) + len)) == NULL) {
        byte_ring_publish(side->link.orders);
        thread_wake(side->link.wake);
        nanosleep(&(struct timespec){ .tv_nsec = 50 * 1000 }, NULL);
    }
    return order;
}

static void give_order(struct side *side, struct served *socket, enum io_order_kind kind)
{
    *wait_for_order(side, 0) = (struct io_order){ socket, kind };
    byte_ring_put(side->link.orders, sizeof(struct io_order));
}

struct io_socket *io_socket_new(struct io_threads *threads, int fd, struct tls *tls,
                                const char *peer, void *owner)
{
    struct io_socket *socket = mem_alloc_lines(sizeof(*socket));
    struct side *side = &threads->sides[0]; /* the one with the fewest sockets */
    for (unsigned i = 1; i < threads->count; i++)
        if (threads->sides[i].count < side->count) side = &threads->sides[i];
    *socket = (struct io_socket){ .side = side, .owner = owner };
    if (tls != NULL) { /* the threads together have HANDSHAKES_MOST in progress per lane */
        unsigned most = (HANDSHAKES_MOST + (unsigned)(side - threads->sides)) / threads->count;
        io_thread_prepare_tls(side->thread, most > 0 ? most : 1);
    }
    served_init(&socket->served, side->thread, fd, tls, peer);
    TAILQ_INSERT_TAIL(&threads->all, socket, all);
    side->count++;
    io_socket_want(socket, true, true);
    give_order(side, &socket->served, ORDER_ADD);
    return socket;
}

void io_socket_free(struct io_socket *socket)
{
    if (socket->starves) TAILQ_REMOVE(&socket->side->starving, socket, starving);
    socket->starves = false;
    socket->owner = NULL;
    give_order(socket->side, &socket->served, ORDER_CLOSE);
}

void io_socket_shut(struct io_socket *socket)
{
    give_order(socket->side, &socket->served, ORDER_SHUT);
}

static uint64_t unsent(const struct io_socket *socket)
{
    return socket->written - atomic_load_explicit(&socket->served.told.sent, memory_order_acquire);
}

bool io_socket_is_flushed(struct io_socket *socket)
{
    if (unsent(socket) == 0) return true;
    atomic_store(&socket->served.asked.asks_for_flush, true);
    return socket->written == atomic_load(&socket->served.told.sent);
}

ssize_t io_socket_write(struct io_socket *socket, const struct iovec *chunks, int count)
{
    struct side *side = socket->side;
    struct byte_ring *orders = side->link.orders;
    size_t wanted = 0;
    for (int i = 0; i < count; i++)
        wanted += chunks[i].iov_len;
    uint64_t before = unsent(socket);
    bool anonymous = atomic_load_explicit(&socket->served.asked.anonymous, memory_order_relaxed);
    size_t most = anonymous ? IO_ANON_UNSENT : IO_UNSENT;
    if (before >= most && io_socket_is_flushed(socket)) before = 0;
    size_t len = before < most ? most - (size_t)before : 0;
    if (len > IO_ORDER_MOST) len = IO_ORDER_MOST;
    if (len > wanted) len = wanted;
    struct io_order *order = NULL;
    if (len > 0) {
        order = byte_ring_reserve(orders, sizeof(*order) + len);
        if (order == NULL) {
            if (!socket->starves) TAILQ_INSERT_TAIL(&side->starving, socket, starving);
            socket->starves = true;
            atomic_store(&side->link.main_starves, true);
            order = byte_ring_reserve(orders, sizeof(*order) + len); /* there may be room by now */
        }
    }
    if (order == NULL) {
        errno = EAGAIN;
        return -1;
    }
    *order = (struct io_order){ &socket->served, ORDER_SEND };
    char *to = order->bytes;
    for (size_t left = len, some; left > 0; left -= some, to += some, chunks++) {
        some = chunks->iov_len < left ? chunks->iov_len : left;
        memcpy(to, chunks->iov_base, some);
    }
    byte_ring_put(orders, sizeof(*order) + len);
    socket->written += len;
    /* Ask for a flush before the order is published. The thread then sees the question at the
     * latest when it has sent the bytes of this order. */
    if (len < wanted) atomic_store(&socket->served.asked.asks_for_flush, true);
    return (ssize_t)len;
}

void io_socket_make_room(struct io_socket *socket)
{
    wait_for_order(socket->side, IO_ORDER_MOST);
}

void io_socket_read(struct io_socket *socket, size_t len)
{
    uint64_t read = atomic_load_explicit(&socket->served.asked.read, memory_order_relaxed);
    atomic_store_explicit(&socket->served.asked.read, read + len, memory_order_release);
}

void io_socket_want(struct io_socket *socket, bool on, bool anonymous)
{
    if (atomic_load_explicit(&socket->served.asked.wanted, memory_order_relaxed) != on)
        atomic_store_explicit(&socket->served.asked.wanted, on, memory_order_release);
    if (atomic_load_explicit(&socket->served.asked.anonymous, memory_order_relaxed) != anonymous)
        atomic_store_explicit(&socket->served.asked.anonymous, anonymous, memory_order_relaxed);
}

bool io_socket_waits_to_shake(const struct io_socket *socket)
{
    return atomic_load_explicit(&socket->served.told.waits_to_shake, memory_order_relaxed);
}

size_t io_socket_bytes(const struct io_socket *socket)
{
    return mem_size(socket) +
           atomic_load_explicit(&socket->served.told.bytes, memory_order_relaxed);
}

static void drop(struct side *side)
{
    if (side->link.wake >= 0) close(side->link.wake);
    byte_ring_free(side->link.orders);
    byte_ring_free(side->link.news);
}

struct io_threads *io_threads_new(struct loop *loop, unsigned count,
                                  void (*happened)(void *owner, const struct io_news *news))
{
    int wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), error = 0;
    if (wake < 0) return NULL;
    struct io_threads *threads = mem_zalloc(sizeof(*threads));
    threads->loop = loop;
    threads->happened = happened;
    threads->wake = wake;
    TAILQ_INIT(&threads->all);
    threads->woken = loop_io_new(loop, wake, on_woken, threads);
    loop_io_want(threads->woken, LOOP_READ);
    threads->timer = loop_timer_new(loop, take_news, threads);
    threads->sides = mem_alloc_lines(count * sizeof(*threads->sides));
    memset(threads->sides, 0, count * sizeof(*threads->sides));
    for (; threads->count < count && error == 0; threads->count += error == 0) {
        struct side *side = &threads->sides[threads->count];
        struct io_link *link = &side->link;
        TAILQ_INIT(&side->starving);
        side->threads = threads;
        link->orders = byte_ring_new(IO_RING);
        link->news = byte_ring_new(IO_RING);
        link->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        link->main_wake = wake;
        link->main_asleep = &threads->asleep;
        if (link->wake >= 0 && link->orders != NULL && link->news != NULL)
            side->thread = io_thread_start(link);
        if (side->thread != NULL) continue;
        error = errno;
        drop(side);
    }
    if (error == 0) return threads;
    io_threads_free(threads);
    errno = error;
    return NULL;
}

void io_threads_free(struct io_threads *threads)
{
    if (threads == NULL) return;
    for (unsigned i = 0; i < threads->count; i++) {
        struct side *side = &threads->sides[i];
        give_order(side, NULL, ORDER_STOP);
        byte_ring_publish(side->link.orders);
        thread_wake(side->link.wake);
        io_thread_join(side->thread);
        drop(side);
    }
    while (!TAILQ_EMPTY(&threads->all))
        forget(TAILQ_FIRST(&threads->all));
    loop_io_free(threads->woken);
    loop_timer_free(threads->timer);
    close(threads->wake);
    mem_free(threads->sides);
    mem_free(threads);
}
