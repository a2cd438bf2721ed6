/* byte_ring: see byte_ring.h. A position is the number of bytes since the ring was made: it never
 * wraps, and its remainder modulo the ring's size is the offset in `data`.
 *
 * The two threads exchange positions with sequential consistency, because of sleep: a thread
 * publishes and then checks whether the other thread sleeps. With a weaker order it could miss that
 * the other thread is just falling asleep, and would not wake it. */
#include "server/net/byte_ring.h"

#include <stdatomic.h>
#include <sys/mman.h>

#include "store/base/ensure.h"
#include "store/mem/mem.h"

enum { LINE = 64, HEAD = 8, SKIPPED = -1 };

/* `put` and `room_until` are used only by the thread that puts, `taken` and `known` only by the one
 * that takes; they exchange `published` and `released`. Each group is on a cache line of its own,
 * so that no line moves between the cores for every record. */
struct byte_ring {
    char *data;
    size_t size;
    _Alignas(LINE) size_t put;   /* end of the records put, published or not */
    size_t room_until;           /* end of the free room when `released` was last read */
    _Alignas(LINE) size_t taken; /* end of the records taken */
    size_t known;                /* end of the records when `published` was last read */
    _Alignas(LINE) atomic_size_t published;
    _Alignas(LINE) atomic_size_t released;
};

struct byte_ring *byte_ring_new(size_t size)
{
    ensure((size & (size - 1)) == 0, "a ring of %zu bytes", size);
    char *data = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (data == MAP_FAILED) return NULL;
    struct byte_ring *ring = mem_alloc_lines(sizeof(*ring));
    *ring = (struct byte_ring){ .data = data, .size = size, .room_until = size };
    return ring;
}

void byte_ring_free(struct byte_ring *ring)
{
    if (ring == NULL) return;
    munmap(ring->data, ring->size);
    mem_free(ring);
}

static size_t whole(size_t len)
{
    return HEAD + ((len + HEAD - 1) & ~(size_t)(HEAD - 1));
}

static int64_t *head_at(const struct byte_ring *ring, size_t at)
{
    return (int64_t *)(void *)(ring->data + (at & (ring->size - 1)));
}

/* Returns the bytes from here to the end of the ring. */
static size_t straight(const struct byte_ring *ring, size_t at)
{
    return ring->size - (at & (ring->size - 1));
}

void *byte_ring_reserve(struct byte_ring *ring, size_t size)
{
    size_t needed = whole(size), tail = straight(ring, ring->put);
    bool skips = tail < needed;
    if (skips) needed += tail;
    if (ring->room_until - ring->put < needed) {
        ring->room_until = atomic_load(&ring->released) + ring->size;
        if (ring->room_until - ring->put < needed) return NULL;
    }
    if (skips) {
        *head_at(ring, ring->put) = SKIPPED;
        ring->put += tail;
    }
    return (char *)head_at(ring, ring->put) + HEAD;
}

void byte_ring_put(struct byte_ring *ring, size_t used)
{
    *head_at(ring, ring->put) = (int64_t)used;
    ring->put += whole(used);
}

bool byte_ring_publish(struct byte_ring *ring)
{
    if (atomic_load_explicit(&ring->published, memory_order_relaxed) == ring->put) return false;
    atomic_store(&ring->published, ring->put);
    return true;
}

bool byte_ring_any(struct byte_ring *ring)
{
    if (ring->taken == ring->known) ring->known = atomic_load(&ring->published);
    if (ring->taken != ring->known && *head_at(ring, ring->taken) == SKIPPED)
        ring->taken += straight(ring, ring->taken);
    return ring->taken != ring->known;
}

void *byte_ring_take(struct byte_ring *ring, size_t *len)
{
    if (!byte_ring_any(ring)) return NULL;
    int64_t *head = head_at(ring, ring->taken);
    *len = (size_t)*head;
    ring->taken += whole(*len);
    return (char *)head + HEAD;
}

void byte_ring_release(struct byte_ring *ring)
{
    if (atomic_load_explicit(&ring->released, memory_order_relaxed) != ring->taken)
        atomic_store(&ring->released, ring->taken);
}
