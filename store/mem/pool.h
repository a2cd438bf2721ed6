/* pool: blocks of up to 1 KiB in classes of 8 bytes, and tables of powers of two up to 32 KiB, out
 * of slabs that hold one class each. Knows blocks and how full each slab is; refuses to know what
 * is in a block and who counts them.
 *
 * A block comes from those few of its class that were freed last, else from the class's current
 * slab. When that is full, the fullest other one with room is the next. So sparse slabs empty, and
 * an empty one may hold another class, or go back to the system.
 *
 * Blocks are aligned to the largest power of two that divides their class: 8 for 40, 64 for 192.
 * One thread only. */
#ifndef STORE_MEM_POOL_H
#define STORE_MEM_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/mem/slabs.h"

enum {
    POOL_WORD = 8,
    POOL_SMALL = 1024, /* up to here any size */
    POOL_TABLE = 32768,
    POOL_TABLES = 128, /* the class of 1024 bytes, from which on each is twice as large */
    POOL_CLASSES = POOL_TABLES + 6, /* up to there they are the sizes in words */
    POOL_RECENT = 7,                /* with their number one cache line */
};

/* What is known of a slab. Positions are words of the slab, and one more, so that 0 is nowhere. */
struct slab {
    struct ring_link link;
    uint16_t words; /* of a block; 0: the slab has no class */
    uint8_t class;
    bool recycles; /* its freed blocks may be used again before all others */
    uint8_t place;
    uint16_t free;  /* the first free block that was in use before; it begins with the next one's */
    uint16_t fresh; /* the blocks from here on never were (no one more) */
    uint16_t used;  /* blocks, with those that wait among the recent ones */
    uint16_t floor; /* a free that finds no more than these in use changes the slab's place */
    uint16_t room;  /* blocks, used or not */
    char unused[RING_ROW - sizeof(struct ring_link) - 8 * sizeof(uint16_t) - 1];
};

/* Of one class, the blocks that were freed last, though their slabs still count them. */
struct pool_recent {
    size_t count;
    void *blocks[POOL_RECENT];
};
extern struct pool_recent pool_recent[POOL_CLASSES];

static inline bool pool_owns(const void *p)
{
    return (uintptr_t)p - slab_range.base < slab_range.size;
}

static inline struct slab *pool_slab_of(const void *block)
{
    return (struct slab *)slab_range.rows + (((uintptr_t)block - slab_range.base) >> SLAB_SHIFT);
}

static inline size_t pool_block_size(const void *block)
{
    return (size_t)pool_slab_of(block)->words * POOL_WORD;
}

/* The class for blocks of 1 to POOL_SMALL bytes. */
static inline size_t pool_small_class(size_t size)
{
    return (size + POOL_WORD - 1) / POOL_WORD;
}

/* The class for blocks of just so many bytes; 0: none. */
size_t pool_table_class(size_t size);

void *pool_alloc_slab(size_t class);
void pool_free_slab(struct slab *slab, void *block);

/* A block that was freed just now; NULL: there is none. */
static inline void *pool_reuse(size_t class)
{
    struct pool_recent *recent = &pool_recent[class];
    return recent->count != 0 ? recent->blocks[--recent->count] : NULL;
}

/* Any block of the class; NULL: no slab is to be had. */
static inline void *pool_alloc(size_t class)
{
    void *block = pool_reuse(class);
    return block != NULL ? block : pool_alloc_slab(class);
}

static inline void pool_free(void *block)
{
    struct slab *slab = pool_slab_of(block);
    struct pool_recent *recent = &pool_recent[slab->class];
    if (recent->count < POOL_RECENT && slab->recycles)
        recent->blocks[recent->count++] = block;
    else
        pool_free_slab(slab, block);
}

/* Would it save memory to copy the block into a new one and free it? If so, no new one will be in
 * its slab until all blocks there have moved, unless blocks are wanted that nobody has freed. Who
 * moves all blocks for which this is true, again and again, comes to an end, and has then emptied
 * what can be. O(1), but for once in 2 MiB, when all slabs of a step begin to leave. */
bool pool_sparse(const void *block);

size_t pool_used(void);      /* bytes in blocks */
size_t pool_committed(void); /* bytes of the slabs behind them, and of free ones with memory */
size_t pool_spare(void);     /* of these of the free ones */
/* Gives back some memory that no block uses. Is there more? */
bool pool_trim(void);
void pool_check(void);

#endif
