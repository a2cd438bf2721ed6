/* mem: the only malloc of the store and the daemon.
 * Knows how many bytes are out; refuses to know what for.
 * Blocks of up to 1 KiB and powers of two up to 32 KiB are the pool's, where no sanitizer watches.
 * Counts usable sizes (what the allocator really gave). Single-threaded counters: helper threads
 * must not allocate here. */
#ifndef STORE_MEM_MEM_H
#define STORE_MEM_MEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Blocks are aligned to 8 bytes; one of 16, 32 or 64 lies in one cache line.
 * Never NULL: without memory the reserve is given up; when that does not do either, the handler is
 * called and the process ends. */
void *mem_alloc(size_t size);
void *mem_zalloc(size_t size);
void *mem_realloc(void *old, size_t size);
void mem_free(void *p);
/* As mem_alloc, beginning on a cache line; a foreign allocator may not honour that. */
void *mem_alloc_lines(size_t size);

/* NULL when the allocator has no such block: for sizes that a client chooses. While memory is short
 * only small blocks are given, so that what is left of the reserve is for mem_alloc. */
void *mem_try_alloc(size_t size);
void *mem_try_realloc(void *old, size_t size);
/* Could so much be had at once, beside the reserve? It costs a large allocation. */
bool mem_has_room(size_t size);

/* From now on some MiB are kept aside, untouched; or no longer. A mem_alloc that finds no memory
 * gives them up: then memory is short, and who asks refuses what needs more of it. */
void mem_keep_reserve(bool on);
/* Tries to have the reserve again. O(1), but for that. */
bool mem_is_short(void);

/* The end, as when mem_alloc finds nothing: for who cannot go on without what mem_try_* refused. */
__attribute__((noreturn, cold)) void mem_exhausted(size_t wanted);

size_t mem_size(const void *p); /* bytes that the block really holds; 0 for NULL */
size_t mem_used(void);

/* --- moving blocks together ---
 * Small blocks that have been freed here and there leave memory that nobody else can have. Who
 * walks over blocks, copies each for which mem_sparse() is true into a new one and frees it, gives
 * it back. Walks until one has moved nothing come to an end, at less than 64 KiB unused per size
 * of block and a few MiB in all. O(1), but for 32 slabs once in 2 MiB. */
bool mem_sparse(const void *p);
/* A new block of the same size and alignment as this one; NULL: there is none. */
void *mem_alloc_like(const void *p);
/* For tests: from now on all blocks are sparse. */
void mem_all_sparse(bool on);
size_t mem_pool_waste(void); /* bytes that are kept for small blocks, and in none */
size_t mem_pool_spare(void); /* of these in slabs where there are none at all: for mem_trim */
/* Gives back up to 2 MiB of them that are wholly unused. Is there more? As a rule that isn't
 * needed: freeing does it by itself when there is much. */
bool mem_trim(void);

size_t mem_peak(void);
void mem_reset_peak(void);
size_t mem_resident(void); /* bytes of the process that are in memory; 0: unknown */
void mem_purge(void);      /* asks the allocator to give back what it holds unused */
/* From now on what is unused goes back in a thread of the allocator's, and nobody who frees much
 * waits for it. Threads are not inherited: after the last fork. */
void mem_purge_aside(void);
/* The allocator's own report, piece by piece. */
void mem_describe(void (*write)(void *ctx, const char *text), void *ctx);
const char *mem_allocator_name(void); /* "jemalloc-5.3.0", "libc", "foreign" */

/* Another engine's allocator underneath, or NULL for our own. Call while nothing is allocated. */
struct mem_hooks {
    void *(*resize)(void *old, size_t size); /* as realloc */
    void (*release)(void *p);
    size_t (*size)(const void *p);
};
void mem_use(const struct mem_hooks *hooks);
/* Called as memory becomes short, and before the process ends for the lack of it. */
void mem_on_exhausted(void (*handler)(size_t wanted, bool ends));

/* Fault injection: the n-th mem_try_* call from now fails (1 = the next); 0 turns it off. */
void mem_fail_try(uint64_t nth);

#endif
