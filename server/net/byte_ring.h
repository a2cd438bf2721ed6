/* byte_ring: a lock-free queue of records of any length, from exactly one writing thread to exactly
 * one reading thread. Depends on store/mem.
 *
 * The ring holds the bytes themselves and no pointers: a thread reads a socket directly into the
 * ring, and the other thread uses the bytes where they lie, so they cross to the other core once.
 * Records become visible in groups, by byte_ring_publish, because each visible change costs the
 * other core a cache miss. A record is contiguous; if it does not fit before the end of the ring,
 * it is put at the beginning, and the space before the end is skipped. The algorithm is Lamport's
 * queue ("Proving the Correctness of Multiprocess Programs", 1977). */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct byte_ring;

/* Allocates a ring of `size` bytes: a power of two, at least four times the longest record. Returns
 * NULL with errno if memory runs out. The `size` bytes do not count in mem_used, like the stacks of
 * threads. byte_ring_new and byte_ring_free use mem.h: call them in the thread that owns mem.h,
 * while no other thread uses the ring. */
struct byte_ring *byte_ring_new(size_t size);
void byte_ring_free(struct byte_ring *ring);

/* ---- the thread that puts ---- */

/* Returns space for a record of up to `size` bytes, aligned to 8 bytes, or NULL until the other
 * thread has released enough. */
void *byte_ring_reserve(struct byte_ring *ring, size_t size);
/* Ends the reserved record, of which `used` bytes were filled. The other thread does not see it
 * before byte_ring_publish. */
void byte_ring_put(struct byte_ring *ring, size_t used);
/* Shows the records put so far to the other thread. Returns false if it sees all of them
 * already. */
bool byte_ring_publish(struct byte_ring *ring);

/* ---- the thread that takes ---- */

/* Returns the next published record and its length, or NULL if there is none. The record stays in
 * place until byte_ring_release. */
void *byte_ring_take(struct byte_ring *ring, size_t *len);
/* Would byte_ring_take return a record? */
bool byte_ring_any(struct byte_ring *ring);
/* Lets the other thread overwrite all taken records. */
void byte_ring_release(struct byte_ring *ring);
