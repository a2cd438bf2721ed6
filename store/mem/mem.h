/* mem: the allocator of the store and the daemon. It counts the bytes in use, by usable size.
 *
 * Single-threaded: helper threads must not call it. What they allocate comes from shared.h or, for
 * the journal's manifest, from malloc. Blocks of up to 1 KiB, and powers of two up to 32 KiB, come
 * from the pool (pool.h says what that gains), and others from malloc. The pool is not used if it
 * finds no addresses, in builds with a sanitizer that watches malloc, or with -DNO_POOL. After
 * mem_use all blocks come from the allocator given there.
 *
 * Folder store/mem: memory. Start with mem.h, then blob.h. Read pool.h when memory or speed is the
 * question.
 *
 *     mem         counts bytes; lets tests fail allocations; in a module uses its host's allocator
 *     pool        serves small blocks from slabs
 *     slabs       the slabs, in huge pages
 *     relocate    moves blocks between slabs during defragmentation
 *     shared      blocks for several threads
 *     blob        a byte string that may have several owners
 *     buffer      a block that grows at its end
 *     outbuf      a list of blocks that grows at its end
 *
 * May use: store/base. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Never return NULL: when memory runs out they release the reserve, and if that is not enough, call
 * the handler and end the process. Blocks are aligned to 8 bytes. A block of 16, 32 or 64 bytes
 * from the pool lies within one cache line. */
void *mem_alloc(size_t size);
void *mem_zalloc(size_t size);
void *mem_realloc(void *old, size_t size);
void mem_free(void *p);
/* As mem_alloc, but aligned only to 4 bytes, so that sizes are rounded up less. */
void *mem_alloc_tight(size_t size);
/* As mem_alloc, aligned to a cache line; an allocator set by mem_use need not align. */
void *mem_alloc_lines(size_t size);

/* Makes room for one more element of `size` bytes in an array that holds `count` elements and has
 * room for *cap. Doubles a full array. Returns the array's address. Amortised O(1). */
void *mem_grow(void *array, size_t count, size_t *cap, size_t size);

/* For sizes that a client chooses: return NULL, and leave `old` as it is, if there is no memory.
 * For up to 32 KiB they too release the reserve. Larger blocks are refused while memory is short,
 * which leaves the rest of the reserve to mem_alloc. */
void *mem_try_alloc(size_t size);
void *mem_try_realloc(void *old, size_t size);
/* Returns true if this much can be allocated without touching the reserve. Costs one large malloc
 * and free. With a foreign allocator it is true unless memory is short. */
bool mem_has_room(size_t size);

/* Turns the reserve on or off: 8 MiB, allocated but never written to. A mem_alloc that finds no
 * memory releases the reserve, so that the command which runs can finish. From then on, until half
 * of the reserve can be allocated again, memory is short, and callers should refuse work that needs
 * more. */
void mem_keep_reserve(bool on);
/* Releases the reserve. For code that calls malloc itself, needs `wanted` bytes and found no
 * memory. Returns false if there was no reserve to release. */
bool mem_release_reserve(size_t wanted);
/* Is memory short? First tries to allocate what is missing of the reserve. */
bool mem_is_short(void);

/* Ends the process as a failed mem_alloc does, for callers that can't continue without memory. */
__attribute__((noreturn, cold)) void mem_exhausted(size_t wanted);

size_t mem_size(const void *p); /* usable bytes of the block; 0 for NULL */
size_t mem_used(void);          /* including shared.h */

/* --- moving blocks together ---
 *
 * After scattered frees, memory lies unused between small blocks. To return it to the system, walk
 * over all blocks, copy each one for which mem_sparse() is true into a new block, and free the old
 * one. Repeat until a walk moves nothing. This terminates, and leaves about 64 KiB unused per size
 * class. mem_sparse() is O(1), except that once per 2 MiB it looks at 32 slabs. */
bool mem_sparse(const void *p);
/* Returns a new block with the size and alignment of p, or NULL if the pool has run out of
 * slabs. */
void *mem_alloc_like(const void *p);
/* For tests: makes mem_sparse true for all blocks. */
void mem_all_sparse(bool on);
size_t mem_pool_waste(void); /* bytes that the pool holds and no block uses */
size_t mem_pool_spare(void); /* the part of it in entirely free slabs, which mem_trim returns */
/* Returns up to 2 MiB of free slabs to the system, or returns false if there are none. Seldom
 * needed: freeing does this whenever many slabs are free. */
bool mem_trim(void);

/* Returns the most that mem_used has been since mem_reset_peak. What shared.h contributes is looked
 * at only in these two calls. */
size_t mem_peak(void);
void mem_reset_peak(void);
size_t mem_resident(void); /* resident bytes of the process (RSS), or 0 if unknown */
/* Figures of the pool and jemalloc together. Without jemalloc only part of them is known:
 * `allocated` is mem_used without shared blocks, `active` and `resident` are mem_resident, and
 * `muzzy` is 0. Costs tens of microseconds. */
struct mem_allocators {
    size_t allocated; /* bytes in blocks, including those of libraries */
    size_t active;    /* of pages and slabs that have blocks */
    size_t resident;  /* of all pages that have memory, including the allocators' own data */
    size_t muzzy;     /* of unused pages that the system may take back at any time */
};
struct mem_allocators mem_allocators(void);
void mem_purge(void); /* asks the allocator to return unused memory to the system */
/* Starts a thread of jemalloc that returns unused memory, so that free() need not wait for the
 * system; no effect with other allocators. Call this after the process has become a daemon, because
 * fork() does not copy threads. */
void mem_purge_in_background(void);
/* Writes the allocator's own report in pieces. */
void mem_describe(void (*write)(void *ctx, const char *text), void *ctx);
const char *mem_allocator_name(void); /* "jemalloc-5.3.0", "libc", "foreign" */

/* Replaces the allocator; NULL restores our own. Call it while nothing is allocated. A few freed
 * blocks of each size up to 2 KiB are kept for reuse, and mem_used does not count them. */
struct mem_hooks {
    void *(*resize)(void *old, size_t size); /* as realloc */
    void (*release)(void *p);
    size_t (*size)(const void *p);
};
void mem_use(const struct mem_hooks *hooks);
/* Sets a handler. It is called with `ends` false when the reserve has been released, and with
 * `ends` true before the process ends for lack of memory. */
void mem_on_exhausted(void (*handler)(size_t wanted, bool ends));

/* Injects a fault: the n-th call of mem_try_* or mem_has_room from now on fails; 1 is the next one,
 * 0 none. */
void mem_fail_try(uint64_t nth);
uint64_t mem_fail_left(void); /* n, less the calls so far; 0 once it has failed */
