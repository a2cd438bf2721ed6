/* slabs: the range of addresses, and which slabs of it have memory.
 *
 * Reserving all address space at the start would be simpler, but address space may be limited or
 * count as memory: under RLIMIT_AS, strict overcommit, qemu-user and valgrind. Instead the range
 * begins where a large part of the address space is free, and more steps are mapped right after the
 * existing ones. mmap waits while another thread touches a page for the first time, so it is called
 * seldom: each call maps up to half as many steps as exist, at most 32 MiB. The range ends at the
 * first address that another mapping uses.
 *
 * Invariants: a step that is not FULL is in the ring of its state; a taken slab has memory;
 * `partial` is the number of steps in the rings 1 to 31, and `unused` the number of free slabs in
 * these steps. */
#include "store/mem/slabs.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/random.h>

#include "store/base/ensure.h"

enum {
    STEP_BYTES = STEP_SLABS * SLAB_BYTES,
    /* A step's state: the number of its taken slabs (0: none, but it has memory), or ... */
    FULL = STEP_SLABS, /* has no ring */
    CLEAN,             /* without memory */
    VACATED,           /* being emptied: some slabs are taken, and no others may be */
    PLAIN_STEPS = 4,   /* the first steps use small pages */
    PLANNED_MOST = 16, /* steps that are mapped at once */
    /* How many steps are announced: one for each AHEAD_SHARE in use, and at most ... */
    AHEAD_SHARE = 8,
    AHEAD_MOST = 4,
    SPARE_SHIFT = 5, /* one in 2^SPARE_SHIFT steps may be free and keep its memory */
    /* Return single slabs to the system if slabs with memory outnumber taken ones by this factor.
     * Not sooner, because that splits huge pages. */
    IDLE_FACTOR = 4,
    SMALL_LIMIT = 4096,
    TABLE_PAGE = 65536, /* tables grow by this much, a multiple of any page size */
};
#define RANGE_LARGEST (UINT64_C(1) << 40)
#define SPAN_SMALLEST (UINT64_C(1) << 30)
#ifdef __SANITIZE_THREAD__ /* it has most addresses from 2^39 for itself */
#define SPAN_LARGEST (UINT64_C(1) << 38)
#else
#define SPAN_LARGEST UINT64_MAX
#endif

struct step {
    struct ring_link link;
    uint32_t taken, backed; /* a bit per slab: is it taken; does it have memory */
    uint8_t state;
    bool vacated;
    bool small; /* a part was returned, so it must not become a huge page again */
};

/* RING_ROW bytes, so that it can be a row of a ring's table. */
union step_row {
    struct step step;
    char row[RING_ROW];
};

/* A range of addresses, mapped up to `ready`, which may grow to `size`. */
struct table {
    char *at;
    size_t size, ready;
};

struct slab_range slab_range;

static struct {
    bool tried;
    struct table steps, rows, slabs;
    uint32_t entered; /* number of steps */
    uint32_t planned; /* number of steps that are mapped; >= entered */
    void (*announce)(void *ctx, void *memory, size_t size);
    void *announce_ctx;
    uint32_t trimmed; /* the step trimmed last */
    struct rings rings;
    size_t taken, backed; /* slabs */
    size_t partial, unused;
    size_t spare, small; /* steps */
    size_t leaving;      /* taken slabs in vacated steps */
} all;

static struct step *step_at(uint32_t number)
{
    return &((union step_row *)(void *)all.steps.at)[number].step;
}

static uint32_t step_number(const struct step *step)
{
    return (uint32_t)((const union step_row *)(const void *)step -
                      (const union step_row *)(const void *)all.steps.at);
}

static unsigned count_bits(uint32_t bits)
{
    return (unsigned)__builtin_popcount(bits);
}

/* --- the range --- */

static size_t round_up(size_t n, size_t unit)
{
    return (n + unit - 1) / unit * unit;
}

/* Maps the table up to `wanted` bytes. If another mapping is in the way and `ends` is true, the
 * table can't grow any more. */
static bool table_reach(struct table *table, size_t wanted, bool ends)
{
    if (wanted <= table->ready) return true;
    size_t until = round_up(wanted, TABLE_PAGE), more = until - table->ready;
    if (until > table->size) return false;
    char *wanted_at = table->at + table->ready;
    void *at = mmap(wanted_at, more, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    if (at == wanted_at) {
        table->ready = until;
        return true;
    }
    bool taken = at != MAP_FAILED || errno == EEXIST;
    if (at != MAP_FAILED) munmap(at, more); /* the system treated the address as a hint only */
    if (taken && ends) table->size = table->ready;
    return false;
}

static bool tables_reach(uint32_t steps, bool ends)
{
    return table_reach(&all.steps, (size_t)steps * RING_ROW, ends) &&
           table_reach(&all.rows, (size_t)steps * STEP_SLABS * RING_ROW, ends) &&
           table_reach(&all.slabs, (size_t)steps * STEP_BYTES, ends);
}

/* Finds free addresses for the range. The address of the stack shows how large the address space
 * is. Programs are loaded near its beginning or after its middle, and mmap allocates downward from
 * its end, so the second eighth is free; if it is not, try the second sixteenth, and so on. The
 * address within this part is random, as for other mappings. */
static void find_range(void)
{
    uint64_t random = 0;
    ssize_t got = getrandom(&random, sizeof(random), GRND_NONBLOCK);
    (void)got; /* without random numbers, use the first address */
    uint64_t span = (UINT64_C(1) << (63 - __builtin_clzll((uintptr_t)&random))) / 4;
    if (span > SPAN_LARGEST) span = SPAN_LARGEST;
    for (; span >= SPAN_SMALLEST; span /= 2) {
        size_t size = span / 2 < RANGE_LARGEST ? span / 2 : RANGE_LARGEST;
        /* Two tables, then the slabs, aligned so that a step can be one huge page. */
        size_t steps = round_up(size / STEP_BYTES * RING_ROW, STEP_BYTES);
        size_t rows = round_up(size / SLAB_BYTES * RING_ROW, STEP_BYTES);
        char *from = (char *)(span + random % (span / 4) / STEP_BYTES * STEP_BYTES);
        all.steps = (struct table){ .at = from, .size = steps };
        all.rows = (struct table){ .at = from + steps, .size = rows };
        all.slabs = (struct table){ .at = from + steps + rows, .size = size };
        if (tables_reach(1, true)) break;
    }
    all.tried = true;
    slab_range.base = (uintptr_t)all.slabs.at;
    slab_range.rows = all.rows.at;
}

/* Maps more steps after the planned ones: several, if there is room. */
static bool plan_steps(void)
{
    uint32_t from = all.planned, more = from / 2;
    if (more > PLANNED_MOST) more = PLANNED_MOST;
    if (more <= 1 || !tables_reach(from + more, false)) more = 1;
    if (!tables_reach(from + more, true)) return false;
    all.planned += more;
    if (from < PLAIN_STEPS) from = PLAIN_STEPS;
    /* Only advice: without huge pages the system uses small ones. */
    if (from < all.planned)
        madvise(all.slabs.at + (size_t)from * STEP_BYTES, (size_t)(all.planned - from) * STEP_BYTES,
                MADV_HUGEPAGE);
    return true;
}

/* Steps of small pages are not announced: touching their pages early gains little. */
static void announce_next(void)
{
    uint32_t ahead = all.entered / AHEAD_SHARE;
    if (all.announce == NULL || all.entered < PLAIN_STEPS) return;
    if (ahead < 1) ahead = 1;
    if (ahead > AHEAD_MOST) ahead = AHEAD_MOST;
    uint32_t until = all.entered + ahead;
    while (until > all.planned && plan_steps())
        ;
    if (until > all.planned) until = all.planned;
    if (until == all.entered) return;
    all.announce(all.announce_ctx, all.slabs.at + (size_t)all.entered * STEP_BYTES,
                 (size_t)(until - all.entered) * STEP_BYTES);
}

void slabs_on_next(void (*announce)(void *ctx, void *memory, size_t size), void *ctx)
{
    all.announce = announce;
    all.announce_ctx = ctx;
}

/* --- states --- */

static unsigned state_of(const struct step *step)
{
    if (step->taken == 0) return step->backed != 0 ? 0 : CLEAN;
    return step->vacated ? VACATED : count_bits(step->taken);
}

static bool is_partial(unsigned state)
{
    return state >= 1 && state < STEP_SLABS;
}

/* Updates the counts, the state and the ring, after `taken`, `backed` or `vacated` has changed;
 * `had` slabs were taken before. */
static void step_requeue(struct step *step, unsigned had)
{
    unsigned old = step->state, new = state_of(step), has = count_bits(step->taken);
    all.unused += is_partial(new) ? STEP_SLABS - has : 0;
    all.unused -= is_partial(old) ? STEP_SLABS - had : 0;
    all.leaving += new == VACATED ? has : 0;
    all.leaving -= old == VACATED ? had : 0;
    if (new == old) return;
    all.partial += is_partial(new);
    all.partial -= is_partial(old);
    all.spare += new == 0;
    all.spare -= old == 0;
    if (old != FULL) ring_remove(&all.rings, old, all.steps.at, step_number(step));
    if (new != FULL) ring_append(&all.rings, new, all.steps.at, step_number(step));
    step->state = (uint8_t) new;
}

static void step_set(struct step *step, uint32_t taken)
{
    unsigned had = count_bits(step->taken);
    all.taken += count_bits(taken);
    all.taken -= had;
    all.backed += count_bits(taken & ~step->backed);
    step->taken = taken;
    step->backed |= taken;
    if (taken == 0) step->vacated = false;
    step_requeue(step, had);
}

/* --- giving memory back --- */

static char *slab_memory(const struct step *step, unsigned i)
{
    return all.slabs.at + ((size_t)step_number(step) * STEP_SLABS + i) * SLAB_BYTES;
}

static void forget(struct step *step, uint32_t slabs)
{
    all.backed -= count_bits(slabs);
    step->backed &= ~slabs;
    step_requeue(step, count_bits(step->taken));
}

static void step_release(struct step *step)
{
    if (madvise(slab_memory(step, 0), STEP_BYTES, MADV_DONTNEED) != 0) return;
    forget(step, step->backed);
    if (!step->small) return;
    madvise(slab_memory(step, 0), STEP_BYTES, MADV_HUGEPAGE);
    step->small = false;
    all.small--;
}

/* --- slabs --- */

uint32_t slabs_take(void)
{
    /* Steps in the rings 0 to 31 have memory. Use the fullest, so that others become empty. */
    uint64_t rings = all.rings.filled & UINT32_MAX;
    if (rings == 0 && !ring_filled(&all.rings, CLEAN)) {
        uint32_t number = all.entered;
        if (!all.tried) find_range();
        if (number == all.planned && !plan_steps()) return SLAB_NONE;
        slab_range.size = (size_t)(number + 1) * STEP_BYTES;
        step_at(number)->state = CLEAN;
        ring_append(&all.rings, CLEAN, all.steps.at, number);
        all.entered++;
        announce_next();
    }
    unsigned ring = rings != 0 ? 63 - (unsigned)__builtin_clzll(rings) : CLEAN;
    struct step *step = step_at(all.rings.first[ring]);
    uint32_t with_memory = step->backed & ~step->taken;
    unsigned i = (unsigned)__builtin_ctz(with_memory != 0 ? with_memory : ~step->taken);
    step_set(step, step->taken | UINT32_C(1) << i);
    return step_number(step) * STEP_SLABS + i;
}

void slabs_give(uint32_t slab)
{
    struct step *step = step_at(slab / STEP_SLABS);
    uint32_t bit = UINT32_C(1) << slab % STEP_SLABS;
    bool vacated = step->vacated;
    ensure(slabs_is_taken(slab), "slab %u is not taken", slab);
    step_set(step, step->taken & ~bit);
    if (vacated && step->taken == 0)
        step_release(step);
    else if (all.spare > 1 + (all.taken / STEP_SLABS >> SPARE_SHIFT))
        step_release(step_at(all.rings.first[0]));
    else if (all.backed > IDLE_FACTOR * all.taken + STEP_SLABS)
        slabs_trim();
}

bool slabs_trim(void)
{
    for (uint32_t seen = 0; seen < all.entered; seen++) {
        all.trimmed = (all.trimmed + 1) % all.entered;
        struct step *step = step_at(all.trimmed);
        uint32_t unused = step->backed & ~step->taken;
        size_t before = all.backed;
        if (unused == 0) continue;
        if (step->taken == 0) {
            step_release(step);
            unused = 0;
        } else if (!step->small && all.trimmed >= PLAIN_STEPS && all.small < SMALL_LIMIT &&
                   madvise(slab_memory(step, 0), STEP_BYTES, MADV_NOHUGEPAGE) == 0) {
            /* Use small pages for this step, or the kernel would make a huge page of it again. But
             * the step thereby becomes a mapping of its own, and a process can have only about
             * 65,000 mappings (vm.max_map_count), so only SMALL_LIMIT steps are treated like
             * this. */
            step->small = true;
            all.small++;
        }
        while (unused != 0) {
            unsigned first = (unsigned)__builtin_ctz(unused);
            unsigned run = (unsigned)__builtin_ctzll(~((uint64_t)unused >> first));
            uint32_t these = (uint32_t)(((UINT64_C(1) << run) - 1) << first);
            if (madvise(slab_memory(step, first), run * (size_t)SLAB_BYTES, MADV_DONTNEED) != 0)
                break;
            forget(step, these);
            unused &= ~these;
        }
        if (all.backed < before) return true;
    }
    return false;
}

/* --- emptying steps --- */

static struct slab_set taken_in(const struct step *step)
{
    return (struct slab_set){ step_number(step) * STEP_SLABS, step->taken };
}

bool slabs_vacate(uint32_t slab, struct slab_set *leaving)
{
    struct step *step = step_at(slab / STEP_SLABS);
    if (!is_partial(step->state)) return false;
    size_t count = count_bits(step->taken);
    size_t elsewhere = all.unused - (STEP_SLABS - count);
    size_t taken = STEP_SLABS * all.partial - all.unused;
    if (count + all.leaving > elsewhere || count * all.partial > taken) return false;
    *leaving = taken_in(step);
    step->vacated = true;
    step_requeue(step, (unsigned)count);
    return true;
}

bool slabs_stay(struct slab_set *staying)
{
    if (all.partial > 0 || all.spare > 0 || !ring_filled(&all.rings, VACATED)) return false;
    struct step *step = step_at(all.rings.first[VACATED]);
    *staying = taken_in(step);
    step->vacated = false;
    step_requeue(step, count_bits(step->taken));
    return true;
}

/* --- figures --- */

size_t slabs_taken(void)
{
    return all.taken;
}

size_t slabs_committed(void)
{
    return all.backed * SLAB_BYTES;
}

uint32_t slabs_entered(void)
{
    return all.entered * STEP_SLABS;
}

bool slabs_is_taken(uint32_t slab)
{
    return slab < slabs_entered() && step_at(slab / STEP_SLABS)->taken >> slab % STEP_SLABS & 1;
}

void slabs_check(void)
{
    size_t taken = 0, backed = 0, partial = 0, unused = 0, spare = 0, small = 0, leaving = 0;
    for (uint32_t number = 0; number < all.entered; number++) {
        const struct step *step = step_at(number);
        ensure(step->state == state_of(step), "step %u is in state %u", number, step->state);
        ensure((step->taken & ~step->backed) == 0, "step %u: taken %x, but memory for %x", number,
               step->taken, step->backed);
        taken += count_bits(step->taken);
        backed += count_bits(step->backed);
        partial += is_partial(step->state);
        unused += is_partial(step->state) ? STEP_SLABS - count_bits(step->taken) : 0;
        spare += step->state == 0;
        small += step->small;
        leaving += step->vacated ? count_bits(step->taken) : 0;
        if (step->state == FULL) continue;
        const struct ring_link *link = &step->link;
        ensure(ring_filled(&all.rings, step->state), "step %u in %u", number, step->state);
        ensure(ring_link_at(all.steps.at, link->next)->prev == number, "step %u", number);
        ensure(ring_link_at(all.steps.at, link->prev)->next == number, "step %u", number);
        ensure(step_at(link->next)->state == step->state, "step %u", number);
    }
    ensure(taken == all.taken && backed == all.backed, "%zu slabs taken, %zu with memory", taken,
           backed);
    ensure(all.entered <= all.planned && all.planned <= all.entered + AHEAD_MOST + PLANNED_MOST,
           "%u steps, %u planned", all.entered, all.planned);
    ensure(partial == all.partial && unused == all.unused, "%zu free slabs in %zu steps", unused,
           partial);
    ensure(spare == all.spare && small == all.small && leaving == all.leaving,
           "%zu spare steps, %zu small ones, %zu slabs leaving", spare, small, leaving);
}
