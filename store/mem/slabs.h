/* slabs: pieces of 64 KiB (slabs) from one range of addresses, and the memory behind them.
 *
 * The range grows in steps of 2 MiB, 32 slabs, which become huge pages if the system supports that
 * (madvise). The first few steps use small pages, so that a small process stays small. Slabs are
 * taken from the fullest step, so that other steps become empty. An empty step is returned to the
 * system, except for a few spare ones. No call returns more than one step.
 *
 * Huge pages save 4 to 14 % of a request's CPU time. Emptying whole steps keeps them after many
 * deletes, which saves 12 % of GET (doc/performance.md, "Which optimizations helped"). */
#pragma once

#include <stddef.h>

#include "store/base/ring.h"

enum {
    SLAB_SHIFT = 16,
    SLAB_BYTES = 1 << SLAB_SHIFT,
    STEP_SLABS = 32,
};
#define SLAB_NONE UINT32_MAX

/* The size is 0 until the first slab is taken, and if no addresses are available. */
struct slab_range {
    uintptr_t base; /* of slab 0 */
    size_t size;    /* grows; addresses after it may belong to others */
    void *rows;     /* a table of RING_ROW bytes per slab for the caller, zeroed at first */
};
extern struct slab_range slab_range;

uint32_t slabs_take(void); /* SLAB_NONE without memory or addresses */
void slabs_give(uint32_t slab);

/* Sets a function that prepares memory before it is needed. The first touch of a huge page takes
 * tenths of a millisecond, because the kernel clears the page, and many milliseconds where a
 * hypervisor must find memory for it. Whenever a new step of huge pages comes into use, `announce`
 * therefore receives the memory of the next one to four steps, if there are addresses for them.
 * Another thread can touch this memory in advance without changing its bytes. Forked children call
 * `announce` too. NULL disables it. */
void slabs_on_next(void (*announce)(void *ctx, void *memory, size_t size), void *ctx);

/* --- emptying steps --- */

/* The taken slabs of one step: bit i is slab first + i. */
struct slab_set {
    uint32_t first, taken;
};

/* Begins to empty the slab's step, if it is no fuller than the average partly used step and the
 * others have room for its slabs. If so, returns true and sets *leaving to the slabs to empty; no
 * slab is taken from the step until it is empty or slabs_stay is called. */
bool slabs_vacate(uint32_t slab, struct slab_set *leaving);
/* If the next slab would need new memory and a step is being emptied, stops emptying that step,
 * sets *staying to its slabs, and returns true. */
bool slabs_stay(struct slab_set *staying);

/* --- memory --- */

/* Returns the free slabs of one step to the system, or returns false if there are none. */
bool slabs_trim(void);
size_t slabs_taken(void);     /* number of slabs in use */
size_t slabs_committed(void); /* bytes of slabs that have memory, taken or not */
uint32_t slabs_entered(void); /* an upper bound of all slab numbers so far, plus one */
bool slabs_is_taken(uint32_t slab);
void slabs_check(void);
