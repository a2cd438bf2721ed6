/* slabs: pieces of 64 KiB out of one range of addresses, and the memory behind them.
 * Knows pages and their way from and to the system; refuses to know what a slab is for.
 *
 * The range is entered in steps of 2 MiB, which are huge pages where the system gives them on
 * request; the first few are not, so that a small process stays small. Slabs come from the fullest
 * step, so that others empty. A step without slabs goes back to the system, but for a few that are
 * spared the way; more than that is never done in one call. */
#ifndef STORE_MEM_SLABS_H
#define STORE_MEM_SLABS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/base/ring.h"

enum {
    SLAB_SHIFT = 16,
    SLAB_BYTES = 1 << SLAB_SHIFT,
    STEP_SLABS = 32,
};
#define SLAB_NONE UINT32_MAX

/* Of no size until the first slab is taken, and where no addresses are to be had. */
struct slab_range {
    uintptr_t base; /* of slab 0 */
    size_t size;    /* grows: what lies behind may be anybody's */
    void *rows;     /* RING_ROW bytes per slab for its taker; zeros at first */
};
extern struct slab_range slab_range;

/* Slabs of two kinds are in different steps, so that what lasts doesn't keep others from emptying.
 */
enum slab_kind { SLAB_MOVING, SLAB_LASTING };

uint32_t slabs_take(enum slab_kind kind); /* SLAB_NONE: the system or the range has no more */
void slabs_give(uint32_t slab);

/* --- emptying steps --- */

/* Of one step, those slabs that are taken: bit i is slab first + i. */
struct slab_set {
    uint32_t first, taken;
};

/* Should the slab's step be emptied, because others have room for what is in it? Then it gives no
 * more slabs, until it is empty or stays, and here is what has to leave it. */
bool slabs_vacate(uint32_t slab, struct slab_set *leaving);
/* One such step stays after all, if the next slab would take new memory otherwise. */
bool slabs_stay(struct slab_set *staying);

/* --- memory --- */

/* Gives back what is not taken of one step. Was there such a one? */
bool slabs_trim(void);
size_t slabs_taken(void);     /* their number */
size_t slabs_committed(void); /* bytes of those that have memory, taken or not */
uint32_t slabs_entered(void); /* all slabs that were ever taken have smaller numbers */
bool slabs_is_taken(uint32_t slab);
void slabs_check(void);

#endif
