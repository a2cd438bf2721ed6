/* pool: blocks in slabs. The states of a slab, and what ends each:
 *
 *     NOWHERE    without a class                       next_slab: CURRENT
 *     CURRENT    new blocks of its class come from it  retire_current: a ring, FULL or NOWHERE
 *     1 to 16    a ring: from n - 1 to n sixteenths    pool_free_slab: a lower ring
 *                of its blocks are in use              next_slab: CURRENT
 *                                                      leaves_class: LEAVING
 *     FULL       all blocks are in use                 pool_free_slab: a ring
 *     LEAVING    being emptied; other slabs of its     next_slab, if the class needs it: CURRENT
 *                class have room for its blocks
 *     VACATED    being emptied with its whole step     next_slab, if memory is needed: a ring, FULL
 *
 * leaves_step moves a slab from any state but NOWHERE to VACATED. A slab that is not CURRENT
 * becomes NOWHERE when its last block is freed.
 *
 * Invariant: all blocks of the slabs that are being emptied fit into the class's other slabs and
 * the free slabs of other steps. */
#include "store/mem/pool.h"

#include "store/base/ensure.h"

enum {
    BINS = 16,
    /* A slab's state: 1 to BINS are rings by fullness, or ... */
    NOWHERE = 0, /* the slab has no class */
    LEAVING = BINS + 1,
    CURRENT, /* CURRENT and the following ones have no ring */
    FULL,
    VACATED,
    SLAB_WORDS = SLAB_BYTES / POOL_WORD,
    /* Begin to empty a step only while at most one slab in 2^LEAVING_SHIFT is leaving. */
    LEAVING_SHIFT = 4,
};

_Static_assert(sizeof(struct slab) == RING_ROW, "slabs are rows of a ring's table");

struct pool_class {
    struct slab *slab; /* the current slab, or no_slab, which is full and has no blocks */
    char *memory;      /* its memory, minus one word */
    size_t end;        /* words that its blocks fill */
    size_t blocks;     /* in use or recent */
    size_t leaving;    /* those of them in slabs that are being emptied */
    size_t staying;    /* number of slabs that are not being emptied */
    struct rings rings;
};

static struct slab no_slab; /* never written to */
static struct pool_class classes[POOL_CLASSES] = {
    [0 ... POOL_CLASSES - 1] = { .slab = &no_slab },
};
static size_t leaving_slabs;

struct pool_recent pool_recent[POOL_CLASSES] __attribute__((aligned(64)));

static struct slab *slab_at(uint32_t number)
{
    return (struct slab *)slab_range.rows + number;
}

static uint32_t number_of(const struct slab *slab)
{
    return (uint32_t)(slab - (const struct slab *)slab_range.rows);
}

static struct pool_class *class_of(const struct slab *slab)
{
    return &classes[slab->class];
}

static bool in_ring(unsigned state)
{
    return state >= 1 && state <= LEAVING;
}

static bool is_staying(unsigned state)
{
    return state != NOWHERE && state != LEAVING && state != VACATED;
}

static bool is_going(unsigned state)
{
    return state == LEAVING || state == VACATED;
}

static unsigned bin_of(const struct slab *slab)
{
    return slab->used == slab->blocks ? FULL : 1 + slab->used * (unsigned)BINS / slab->blocks;
}

/* Returns the smallest number of used blocks with which a slab stays in this state. For a slab that
 * is being emptied that is the number of all its blocks, so that every free updates `leaving`. */
static unsigned floor_of(unsigned state, unsigned blocks)
{
    if (state == NOWHERE || state == CURRENT) return 0;
    if (state > BINS) return blocks;
    return state == 1 ? 1 : ((state - 1) * blocks + BINS - 1) / BINS;
}

static void flush_recent(size_t class)
{
    struct pool_recent *recent = &pool_recent[class];
    while (recent->count > 0) {
        void *block = recent->blocks[--recent->count];
        pool_free_slab(pool_slab_of(block), block);
    }
}

/* Moves the slab to a state. This may dissolve the slab: when it stops recycling, the recent blocks
 * of its class are freed, and these may have been its last ones. */
static void slab_put(struct slab *slab, unsigned state)
{
    struct pool_class *class = class_of(slab);
    unsigned old = slab->state;
    if (state == old) return;
    if (in_ring(old)) ring_remove(&class->rings, old, slab_range.rows, number_of(slab));
    if (in_ring(state)) ring_append(&class->rings, state, slab_range.rows, number_of(slab));
    class->staying += is_staying(state);
    class->staying -= is_staying(old);
    class->leaving += is_going(state) ? slab->used : 0u;
    class->leaving -= is_going(old) ? slab->used : 0u;
    leaving_slabs += state == LEAVING;
    leaving_slabs -= old == LEAVING;
    bool recycled = slab->recycles;
    slab->state = (uint8_t)state;
    /* Blocks of sparse slabs are not recycled, so that these slabs become empty. */
    slab->recycles = is_staying(state) && state > BINS / 2 && slab->class <= POOL_TABLES;
    slab->floor = (uint16_t)floor_of(state, slab->blocks);
    if (recycled && !slab->recycles) flush_recent(slab->class);
}

static void slab_dissolve(struct slab *slab)
{
    slab_put(slab, NOWHERE);
    *slab = (struct slab){ .state = NOWHERE };
    slabs_give(number_of(slab));
}

static void retire_current(struct pool_class *class)
{
    struct slab *slab = class->slab;
    if (slab == &no_slab) return;
    class->slab = &no_slab;
    class->end = 0;
    if (slab->used == 0)
        slab_dissolve(slab);
    else
        slab_put(slab, bin_of(slab));
}

static size_t words_of(size_t class)
{
    return class <= POOL_TABLES ? class : (size_t)POOL_TABLES << (class - POOL_TABLES);
}

size_t pool_table_class(size_t size)
{
    if (size <= POOL_SMALL || size > POOL_TABLE || (size & (size - 1)) != 0) return 0;
    return POOL_TABLES + (size_t)__builtin_ctzll(size / POOL_SMALL);
}

static bool next_slab(struct pool_class *class)
{
    retire_current(class);
    struct slab *slab;
    if (class->rings.filled != 0) {
        /* Prefer the fullest slab, and a leaving one to a new one. */
        uint64_t bins = class->rings.filled & ((UINT64_C(1) << LEAVING) - 1);
        unsigned state = bins != 0 ? 63 - (unsigned)__builtin_clzll(bins) : LEAVING;
        slab = slab_at(class->rings.first[state]);
    } else {
        /* Stop emptying a step before a new one is mapped. */
        struct slab_set back;
        bool stay = slabs_stay(&back);
        for (unsigned i = 0; stay && i < STEP_SLABS; i++) {
            struct slab *one = slab_at(back.first + i);
            if (back.taken >> i & 1) slab_put(one, bin_of(one));
        }
        uint32_t number = slabs_take();
        if (number == SLAB_NONE) return false;
        slab = slab_at(number);
        slab->class = (uint16_t)(class - classes);
        slab->words = (uint16_t)words_of(slab->class);
        slab->blocks = (uint16_t)(SLAB_WORDS / slab->words);
    }
    slab_put(slab, CURRENT);
    class->slab = slab;
    class->end = (size_t)slab->blocks * slab->words;
    class->memory = (char *)slab_range.base + (size_t)number_of(slab) * SLAB_BYTES - POOL_WORD;
    return true;
}

static void *block_at(const struct pool_class *class, size_t at)
{
    return class->memory + at * POOL_WORD;
}

void *pool_alloc_slab(size_t number)
{
    struct pool_class *class = &classes[number];
    struct slab *slab = class->slab;
    if (slab->free == 0 && slab->fresh >= class->end) {
        if (!next_slab(class)) return NULL;
        slab = class->slab;
    }
    slab->used++;
    class->blocks++;
    if (slab->free != 0) {
        uint16_t *block = block_at(class, slab->free);
        slab->free = *block;
        /* Prefetch the block that the next call returns; it may not be in the cache. */
        __builtin_prefetch(block_at(class, slab->free), 1);
        return block;
    }
    slab->fresh = (uint16_t)(slab->fresh + slab->words);
    return block_at(class, (size_t)slab->fresh - slab->words + 1);
}

void pool_free_slab(struct slab *slab, void *block)
{
    ensure(slab->used != 0, "double free: block of %u words, slab in state %u", slab->words,
           slab->state);
    *(uint16_t *)block = slab->free;
    slab->free = (uint16_t)(((uintptr_t)block & (SLAB_BYTES - 1)) / POOL_WORD + 1);
    class_of(slab)->blocks--;
    if (slab->used-- > slab->floor) return;

    bool going = is_going(slab->state);
    if (going) class_of(slab)->leaving--;
    if (slab->used == 0)
        slab_dissolve(slab);
    else if (!going)
        slab_put(slab, bin_of(slab));
}

/* Begins to empty the slab if that saves memory: its class has room for the blocks in other slabs,
 * and the slab is no fuller than the average of its class. */
static bool leaves_class(struct slab *slab)
{
    struct pool_class *class = class_of(slab);
    if (slab->state == FULL) return false;
    if (class->slab->used < slab->used) retire_current(class);
    if (slab->state == CURRENT) return false;
    size_t blocks = class->blocks - class->leaving;
    size_t others = (class->staying - 1) * slab->blocks;
    if (blocks + class->leaving > others) return false;
    if (slab->used * class->staying > blocks) return false;
    slab_put(slab, LEAVING);
    return true;
}

static bool leaves_step(const struct slab *slab)
{
    struct slab_set going;
    if (leaving_slabs > slabs_taken() >> LEAVING_SHIFT) return false;
    if (!slabs_vacate(number_of(slab), &going)) return false;
    for (unsigned i = 0; i < STEP_SLABS; i++) {
        struct slab *one = slab_at(going.first + i);
        if ((going.taken >> i & 1) == 0) continue;
        if (one->state == CURRENT) retire_current(class_of(one));
        if (one->state != NOWHERE) slab_put(one, VACATED);
    }
    return true;
}

bool pool_sparse(const void *block)
{
    struct slab *slab = pool_slab_of(block);
    return is_going(slab->state) || leaves_class(slab) || leaves_step(slab);
}

size_t pool_used(void)
{
    size_t words = 0;
    for (size_t class = 1; class < POOL_CLASSES; class ++)
        words += words_of(class) * (classes[class].blocks - pool_recent[class].count);
    return words * POOL_WORD;
}

size_t pool_committed(void)
{
    return slabs_committed();
}

size_t pool_spare(void)
{
    return slabs_committed() - slabs_taken() * SLAB_BYTES;
}

bool pool_trim(void)
{
    for (size_t class = 1; class < POOL_CLASSES; class ++) {
        flush_recent(class);
        if (classes[class].slab->used == 0) retire_current(&classes[class]);
    }
    return slabs_trim();
}

static void check_state(uint32_t number, const struct slab *slab)
{
    const struct pool_class *class = class_of(slab);
    ensure((slab->state == CURRENT) == (class->slab == slab), "slab %u", number);
    ensure(slab->floor == floor_of(slab->state, slab->blocks), "slab %u", number);
    if (slab->state != CURRENT && !is_going(slab->state))
        ensure(slab->state == bin_of(slab), "slab %u of %u in %u", number, slab->used, slab->state);
    ensure(slab->state == CURRENT || slab->used > 0, "slab %u", number);
    if (!in_ring(slab->state)) return;
    ensure(ring_filled(&class->rings, slab->state), "slab %u in %u", number, slab->state);
    ensure(ring_link_at(slab_range.rows, slab->link.next)->prev == number, "slab %u", number);
    ensure(ring_link_at(slab_range.rows, slab->link.prev)->next == number, "slab %u", number);
    const struct slab *next = slab_at(slab->link.next);
    ensure(next->state == slab->state && next->class == slab->class, "slab %u", number);
}

struct tally {
    size_t blocks, leaving, staying;
};

void pool_check(void)
{
    struct tally tallies[POOL_CLASSES] = { 0 };
    size_t leaving = 0;
    slabs_check();
    for (uint32_t number = 0; number < slabs_entered(); number++) {
        const struct slab *slab = slab_at(number);
        ensure((slab->state != NOWHERE) == slabs_is_taken(number), "slab %u", number);
        ensure(slab->words == words_of(slab->class), "slab %u", number);
        ensure((slab->state != NOWHERE) == (slab->class != 0), "slab %u", number);
        leaving += slab->state == LEAVING;
        if (slab->state == NOWHERE) continue;

        const char *memory =
            (const char *)slab_range.base + (size_t)number * SLAB_BYTES - POOL_WORD;
        unsigned count = 0, never = slab->blocks - slab->fresh / (unsigned)slab->words;
        for (unsigned at = slab->free; at != 0;
             at = *(const uint16_t *)(const void *)(memory + (size_t)at * POOL_WORD)) {
            ensure((at - 1) % slab->words == 0 && at - 1 < slab->fresh, "slab %u: free block at %u",
                   number, at);
            ensure(count++ < slab->blocks, "slab %u: cycle in the free list", number);
        }
        ensure(slab->used + count + never == slab->blocks, "slab %u: %u, %u and %u of %u", number,
               slab->used, count, never, slab->blocks);

        check_state(number, slab);
        struct tally *tally = &tallies[slab->class];
        tally->blocks += slab->used;
        tally->leaving += is_going(slab->state) ? slab->used : 0u;
        tally->staying += is_staying(slab->state);
    }
    ensure(leaving == leaving_slabs, "%zu slabs are leaving, not %zu", leaving, leaving_slabs);

    for (size_t number = 1; number < POOL_CLASSES; number++) {
        const struct pool_class *class = &classes[number];
        const struct pool_recent *recent = &pool_recent[number];
        const struct tally *tally = &tallies[number];
        ensure(tally->blocks == class->blocks && tally->leaving == class->leaving &&
                   tally->staying == class->staying,
               "class %zu: %zu blocks, %zu leaving, %zu slabs", number, tally->blocks,
               tally->leaving, tally->staying);
        ensure(recent->count <= POOL_RECENT && recent->count <= class->blocks, "class %zu: %zu",
               number, recent->count);
        for (size_t i = 0; i < recent->count; i++) {
            const struct slab *slab = pool_slab_of(recent->blocks[i]);
            ensure(slab->class == number && slab->recycles, "class %zu: slab %u", number,
                   number_of(slab));
        }
    }
    ensure(no_slab.used == 0 && no_slab.free == 0 && no_slab.fresh == 0, "no_slab was changed");
}
