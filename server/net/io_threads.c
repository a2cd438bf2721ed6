/* io_threads: see io_threads.h. The main thread's side. */
#include "server/net/io_threads.h"

#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "server/base/thread.h"
#include "server/net/io_state.h"
#include "store/base/ensure.h"
#include "store/mem/mem.h"

/* ---- events ---------------------------------------------------------------------------------- */

static void forget(struct io_socket *socket)
{
    struct io_thread *thread = socket->thread;
    TAILQ_REMOVE(&thread->threads->all, socket, all);
    thread->count--;
    mem_free(socket);
}

static void tell(struct io_socket *socket, const struct io_news *news)
{
    if (socket->owner != NULL) socket->thread->threads->happened(socket->owner, news);
}

static void feed_starving(struct io_thread *thread)
{
    struct io_socket_list starving = TAILQ_HEAD_INITIALIZER(starving);
    TAILQ_CONCAT(&starving, &thread->starving, starving);
    struct io_socket *socket;
    while ((socket = TAILQ_FIRST(&starving)) != NULL) {
        TAILQ_REMOVE(&starving, socket, starving);
        socket->starves = false;
        tell(socket, &(struct io_news){ .event = IO_WRITABLE });
    }
}

static void take_message(struct io_thread *thread, const struct io_message *message, size_t len)
{
    if (message->event == IO_CLOSED) {
        forget(message->socket);
    } else if (message->event == IO_ROOM) {
        feed_starving(thread);
    } else {
        struct bytes bytes = bytes_of(message->bytes, len - sizeof(*message));
        tell(message->socket,
             &(struct io_news){ (enum io_event)message->event, message->error, bytes });
    }
}

static void take_news(void *ctx)
{
    struct io_threads *threads = ctx;
    atomic_store(&threads->asleep, false);
    for (unsigned i = 0; i < threads->count; i++) {
        struct io_thread *thread = &threads->threads[i];
        const struct io_message *message;
        size_t len;
        while ((message = byte_ring_take(thread->news, &len)) != NULL)
            take_message(thread, message, len);
    }
}

static void on_woken(void *ctx, unsigned what)
{
    struct io_threads *threads = ctx;
    (void)what;
    thread_woken(threads->wake);
    take_news(threads);
}

/* ---- a turn ---------------------------------------------------------------------------------- */

/* Each side first stores what it has done, or that it sleeps, and then looks at what the other has
 * stored. The fence here and the one in may_sleep make sure that at least one of them sees it. */
void io_threads_turn(struct io_threads *threads)
{
    bool any = false;
    atomic_store_explicit(&threads->asleep, true, memory_order_relaxed);
    atomic_thread_fence(memory_order_seq_cst);
    for (unsigned i = 0; i < threads->count; i++) {
        struct io_thread *thread = &threads->threads[i];
        byte_ring_release(thread->news);
        bool ordered = byte_ring_publish(thread->orders);
        bool wants_room =
            atomic_load(&thread->wants_room) && atomic_exchange(&thread->wants_room, false);
        if (wants_room || (ordered && atomic_load(&thread->asleep))) thread_wake(thread->wake);
        any |= byte_ring_any(thread->news);
    }
    if (any) loop_timer_set(threads->timer, 0);
}

/* ---- orders ---------------------------------------------------------------------------------- */

/* Waits if the ring is full: the thread never waits for us, so it will take the orders. */
static struct io_order *wait_for_order(struct io_thread *thread, size_t len)
{
    struct io_order *order;
    while ((order = byte_ring_reserve(thread->orders, sizeof(*order) + len)) == NULL) {
        byte_ring_publish(thread->orders);
        thread_wake(thread->wake);
        nanosleep(&(struct timespec){ .tv_nsec = 50 * 1000 }, NULL);
    }
    return order;
}

static void give_order(struct io_socket *socket, enum io_order_kind kind)
{
    *wait_for_order(socket->thread, 0) = (struct io_order){ socket, kind };
    byte_ring_put(socket->thread->orders, sizeof(struct io_order));
}

static struct io_thread *least_busy(struct io_threads *threads)
{
    struct io_thread *best = &threads->threads[0];
    for (unsigned i = 1; i < threads->count; i++)
        if (threads->threads[i].count < best->count) best = &threads->threads[i];
    return best;
}

/* The threads together have HANDSHAKES_MOST in progress. */
static void prepare_handshake(struct io_socket *socket, const char *peer)
{
    struct io_thread *thread = socket->thread;
    const struct io_threads *threads = thread->threads;
    unsigned most = (HANDSHAKES_MOST + (unsigned)(thread - threads->threads)) / threads->count;
    if (thread->lanes == NULL) thread->lanes = handshakes_new(most > 0 ? most : 1);
    handshake_init(&socket->handshake, peer);
}

struct io_socket *io_socket_new(struct io_threads *threads, int fd, struct tls *tls,
                                const char *peer, void *owner)
{
    struct io_socket *socket = mem_alloc_lines(sizeof(*socket));
    *socket = (struct io_socket){
        .thread = least_busy(threads), .owner = owner, .tls = tls, .fd = fd, .shaken = tls == NULL
    };
    if (tls != NULL) prepare_handshake(socket, peer);
    TAILQ_INSERT_TAIL(&threads->all, socket, all);
    socket->thread->count++;
    io_socket_want(socket, true, true);
    give_order(socket, ORDER_ADD);
    return socket;
}

void io_socket_free(struct io_socket *socket)
{
    if (socket->starves) TAILQ_REMOVE(&socket->thread->starving, socket, starving);
    socket->starves = false;
    socket->owner = NULL;
    give_order(socket, ORDER_CLOSE);
}

void io_socket_shut(struct io_socket *socket)
{
    give_order(socket, ORDER_SHUT);
}

/* ---- writing --------------------------------------------------------------------------------- */

static uint64_t unsent(const struct io_socket *socket)
{
    return socket->written - atomic_load_explicit(&socket->sent, memory_order_acquire);
}

bool io_socket_is_flushed(struct io_socket *socket)
{
    if (unsent(socket) == 0) return true;
    atomic_store(&socket->asks_for_flush, true);
    return socket->written == atomic_load(&socket->sent);
}

static void wait_for_room(struct io_socket *socket)
{
    struct io_thread *thread = socket->thread;
    if (!socket->starves) TAILQ_INSERT_TAIL(&thread->starving, socket, starving);
    socket->starves = true;
    atomic_store(&thread->main_starves, true);
}

static size_t length_of(const struct iovec *chunks, int count)
{
    size_t len = 0;
    for (int i = 0; i < count; i++)
        len += chunks[i].iov_len;
    return len;
}

static void copy_chunks(char *to, size_t most, const struct iovec *chunks)
{
    for (size_t len; most > 0; most -= len, to += len, chunks++) {
        len = chunks->iov_len < most ? chunks->iov_len : most;
        memcpy(to, chunks->iov_base, len);
    }
}

/* How many of `wanted` bytes one order may bring. */
static size_t room_for(struct io_socket *socket, size_t wanted)
{
    uint64_t before = unsent(socket);
    bool anonymous = atomic_load_explicit(&socket->anonymous, memory_order_relaxed);
    size_t most = anonymous ? IO_ANON_UNSENT : IO_UNSENT;
    if (before >= most && io_socket_is_flushed(socket)) before = 0;
    size_t room = before < most ? most - (size_t)before : 0;
    if (room > IO_ORDER_MOST) room = IO_ORDER_MOST;
    return wanted < room ? wanted : room;
}

ssize_t io_socket_write(struct io_socket *socket, const struct iovec *chunks, int count)
{
    size_t wanted = length_of(chunks, count), len = room_for(socket, wanted);
    struct byte_ring *orders = socket->thread->orders;
    struct io_order *order = NULL;
    if (len > 0) {
        order = byte_ring_reserve(orders, sizeof(*order) + len);
        if (order == NULL) {
            wait_for_room(socket);
            order = byte_ring_reserve(orders, sizeof(*order) + len); /* it may have come just now */
        }
    }
    if (order == NULL) {
        errno = EAGAIN;
        return -1;
    }
    *order = (struct io_order){ socket, ORDER_SEND };
    copy_chunks(order->bytes, len, chunks);
    byte_ring_put(orders, sizeof(*order) + len);
    socket->written += len;
    /* Before the order is published, so that the thread knows it when it has sent all. */
    if (len < wanted) atomic_store(&socket->asks_for_flush, true);
    return (ssize_t)len;
}

void io_socket_make_room(struct io_socket *socket)
{
    wait_for_order(socket->thread, IO_ORDER_MOST);
}

/* ---- reading --------------------------------------------------------------------------------- */

void io_socket_read(struct io_socket *socket, size_t len)
{
    uint64_t read = atomic_load_explicit(&socket->read, memory_order_relaxed);
    atomic_store_explicit(&socket->read, read + len, memory_order_release);
}

void io_socket_want(struct io_socket *socket, bool on, bool anonymous)
{
    if (atomic_load_explicit(&socket->wanted, memory_order_relaxed) != on)
        atomic_store_explicit(&socket->wanted, on, memory_order_release);
    if (atomic_load_explicit(&socket->anonymous, memory_order_relaxed) != anonymous)
        atomic_store_explicit(&socket->anonymous, anonymous, memory_order_relaxed);
}

bool io_socket_waits_to_shake(const struct io_socket *socket)
{
    return atomic_load_explicit(&socket->waits_to_shake, memory_order_relaxed);
}

size_t io_socket_bytes(const struct io_socket *socket)
{
    return mem_size(socket) + atomic_load_explicit(&socket->bytes, memory_order_relaxed);
}

/* ---- starting and ending --------------------------------------------------------------------- */

static int start(struct io_threads *threads, struct io_thread *thread)
{
    TAILQ_INIT(&thread->starving);
    TAILQ_INIT(&thread->sockets);
    TAILQ_INIT(&thread->stalled);
    TAILQ_INIT(&thread->to_read_on);
    TAILQ_INIT(&thread->posting);
    thread->threads = threads;
    thread->orders = byte_ring_new(IO_RING);
    thread->news = byte_ring_new(IO_RING);
    thread->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    thread->epoll = io_thread_watch(thread->wake);
    if (thread->wake < 0 || thread->epoll < 0 || thread->orders == NULL || thread->news == NULL)
        return errno;
    return thread_start(&thread->id, io_thread_run, thread);
}

static void drop(struct io_thread *thread)
{
    if (thread->epoll >= 0) close(thread->epoll);
    if (thread->wake >= 0) close(thread->wake);
    byte_ring_free(thread->orders);
    byte_ring_free(thread->news);
    handshakes_free(thread->lanes);
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
    threads->threads = mem_alloc_lines(count * sizeof(*threads->threads));
    memset(threads->threads, 0, count * sizeof(*threads->threads));
    for (; threads->count < count && error == 0; threads->count += error == 0) {
        error = start(threads, &threads->threads[threads->count]);
        if (error != 0) drop(&threads->threads[threads->count]);
    }
    if (error == 0) return threads;
    io_threads_free(threads);
    errno = error;
    return NULL;
}

static void stop(struct io_thread *thread)
{
    struct io_socket nobody = { .thread = thread };
    give_order(&nobody, ORDER_STOP);
    byte_ring_publish(thread->orders);
    thread_wake(thread->wake);
    pthread_join(thread->id, NULL);
}

void io_threads_free(struct io_threads *threads)
{
    if (threads == NULL) return;
    for (unsigned i = 0; i < threads->count; i++) {
        stop(&threads->threads[i]);
        drop(&threads->threads[i]);
    }
    while (!TAILQ_EMPTY(&threads->all))
        forget(TAILQ_FIRST(&threads->all));
    loop_io_free(threads->woken);
    loop_timer_free(threads->timer);
    close(threads->wake);
    mem_free(threads->threads);
    mem_free(threads);
}
