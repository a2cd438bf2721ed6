/* pool: blocks of up to 1 KiB in size classes of 4 bytes, and tables of powers of two up to 32 KiB,
 * from slabs that hold one class each. Slab allocation after Bonwick (1994).
 *
 * A new block is one of the few of its class that were freed last, or else comes from the class's
 * current slab. When the current slab is full, the fullest other slab with room becomes current.
 * Sparse slabs thus receive no blocks and become empty, and an empty slab can serve another class
 * or return to the system.
 *
 * Compared with malloc, this saves 6 to 10 % of the bytes per item, and with huge pages (slabs.h) 5
 * to 12 % of the CPU time of reads and writes (doc/performance.md, "what the allocator layers
 * gain").
 *
 * A block is aligned to the largest power of two that divides its class size: 4 for 36, 8 for 40,
 * 64 for 192. A block whose content must be aligned to 8 bytes therefore needs an even number of
 * words. Single-threaded. */
#pragma once

#include "store/mem/slabs.h"

enum {
    POOL_WORD = 4,
    POOL_SMALL = 1024, /* any size up to this */
    POOL_TABLE = 32768,
    POOL_TABLES = POOL_SMALL / POOL_WORD, /* its class; each further class is twice as large */
    POOL_CLASSES = POOL_TABLES + 6,       /* classes up to POOL_TABLES are sizes in words */
    POOL_RECENT = 7,                      /* with their count they fill one cache line */
};

/* State of a slab. Positions count words of the slab from 1, so that 0 means none. */
struct slab {
    struct ring_link link;
    uint16_t words; /* size of its blocks; 0 while the slab has no class */
    uint16_t class;
    bool recycles; /* its freed blocks may join the recent ones */
    uint8_t state;
    uint16_t free;   /* first of the list of freed blocks, linked through their first bytes */
    uint16_t fresh;  /* blocks after this position were never used */
    uint16_t used;   /* blocks in use, counting recent ones */
    uint16_t floor;  /* a free that finds at most this many used may change the slab's state */
    uint16_t blocks; /* number of blocks, used or not */
    char unused[RING_ROW - sizeof(struct ring_link) - 8 * sizeof(uint16_t)];
};

/* Per class: the blocks that were freed last. Their slabs count them as used. */
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

/* Return the class for a block of 1 to POOL_SMALL bytes, aligned to 8 bytes, or to a word. */
static inline size_t pool_small_class(size_t size)
{
    return (size + 2 * POOL_WORD - 1) / (2 * POOL_WORD) * 2;
}
static inline size_t pool_tight_class(size_t size)
{
    return (size + POOL_WORD - 1) / POOL_WORD;
}

/* Returns the class for tables of exactly this many bytes, or 0. */
size_t pool_table_class(size_t size);

/* The slow parts of pool_alloc and pool_free. */
void *pool_alloc_slab(size_t class);
void pool_free_slab(struct slab *slab, void *block);

/* Returns a recently freed block of the class, or NULL. */
static inline void *pool_reuse(size_t class)
{
    struct pool_recent *recent = &pool_recent[class];
    return recent->count != 0 ? recent->blocks[--recent->count] : NULL;
}

/* Allocates a block of the class. Returns NULL if no slab is available. */
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

/* Returns true if moving the block elsewhere helps to free memory. Its slab, or its whole step of
 * 2 MiB, is then marked: it gives out no more blocks until it is empty, unless a new slab would be
 * needed otherwise. O(1), except that marking a step visits its 32 slabs. */
bool pool_sparse(const void *block);

size_t pool_used(void);      /* bytes in blocks */
size_t pool_committed(void); /* bytes of slabs with blocks, and of free slabs that have memory */
size_t pool_spare(void);     /* bytes of free slabs that have memory */
/* Returns some unused memory to the system, or returns false if there is none. */
bool pool_trim(void);
void pool_check(void);
