/* mem: chooses the allocator for each block. Small blocks come from the pool, because general
 * allocators round sizes up to 16 bytes and pay for thread safety, which is not needed here. Other
 * blocks come from malloc, which is jemalloc's if the program is linked with it. If the module sets
 * a foreign allocator, all blocks come from that one. */
#include "store/mem/mem.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/base/ensure.h"
#include "store/mem/pool.h"
#include "store/mem/shared.h"

enum {
    LINE = 64,
    GROW_FIRST = 8, /* elements */
    /* The reserve consists of small pieces, so that it can be allocated again even if free memory
     * is scattered. */
    RESERVE_PIECE = 16 * 1024,
    RESERVE_PIECES = 512,
    SHORT_TRY = 32 * 1024, /* the largest block that mem_try_* returns while memory is short */
};

/* Blocks up to this size come from the pool. 0 means no pool: with a sanitizer, which can watch
 * only malloc, and with -DNO_POOL, by which the gain of the pool is measured. */
#ifndef __has_feature
#define __has_feature(name) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer) ||                           \
    __has_feature(memory_sanitizer) || defined(NO_POOL)
enum { SMALL = 0 };
#else
enum { SMALL = POOL_SMALL };
#endif

/* Weak: NULL if jemalloc is not linked. */
int mallctl(const char *name, void *old, size_t *old_len, void *new, size_t new_len)
    __attribute__((weak));
void malloc_stats_print(void (*write)(void *ctx, const char *text), void *ctx, const char *options)
    __attribute__((weak));

/* Options that jemalloc reads at start. By default blocks of 8 MiB and more are in an arena of
 * their own, which returns freed ones to the system at once; oversize_threshold:0 puts them into
 * arena 0 (see mem_purge_in_background). narenas:1 is enough, because only the main thread
 * allocates much. By default the first malloc of a new thread creates an arena, and crashes if
 * there is no memory for it (jemalloc 5.3). */
const char *malloc_conf = "oversize_threshold:0,narenas:1";

static struct mem_hooks foreign; /* all NULL: use our own allocator */
static void (*on_exhausted)(size_t wanted, bool ends);
static void *reserve[RESERVE_PIECES];
static unsigned reserved; /* pieces */
static bool keeps_reserve;
static size_t used, peak;
static size_t small = SMALL; /* 0 with a foreign allocator */
static bool all_sparse;
static uint64_t tries_to_failure; /* 0: no fault is injected */

/* In builds without a pool this and the next two functions are constants. */
static bool in_pool(const void *p)
{
    return SMALL != 0 && pool_owns(p);
}

static bool is_small(size_t size)
{
    return SMALL != 0 && size - 1 < small; /* false for 0 bytes, for which the pool has no class */
}

/* Returns the pool's class, or 0 if the block does not come from the pool. */
static size_t class_for(size_t size)
{
    if (is_small(size)) return pool_small_class(size);
    return SMALL != 0 && small != 0 ? pool_table_class(size) : 0;
}

static size_t block_size(const void *p)
{
    if (in_pool(p)) return pool_block_size(p);
    if (foreign.size != NULL) return foreign.size(p);
    return malloc_usable_size((void *)(uintptr_t)p);
}

static void *count_in(void *p, size_t size)
{
    used += size;
    if (used > peak) peak = used;
    return p;
}

/* --- recent blocks of a foreign allocator --- */

/* Keeps the few blocks that were freed last, because most small blocks live for one command and the
 * foreign allocator is slower than this array. The index is the usable size in steps of
 * FOREIGN_STEP; other sizes are returned at once. */
enum { FOREIGN_STEP = 16, FOREIGN_RECENT_MAX = SMALL != 0 ? 2048 : 0, FOREIGN_FEW = 7 };

static struct {
    size_t count;
    void *blocks[FOREIGN_FEW];
} foreign_recent[FOREIGN_RECENT_MAX / FOREIGN_STEP + 1];

/* --- blocks outside the pool --- */

static void *large_resize(void *old, size_t size)
{
    size_t before = mem_size(old);
    void *p;
    if (size == 0) size = 1; /* realloc(p, 0) may free p */
    if (foreign.resize != NULL)
        p = foreign.resize(old, size);
    else
        p = old == NULL ? malloc(size) : realloc(old, size);
    if (p == NULL) return NULL;
    used -= before;
    return count_in(p, block_size(p));
}

__attribute__((noinline)) static void large_free(void *p)
{
    if (p == NULL) return;
    size_t size = block_size(p);
    used -= size;
    if (foreign.release == NULL) {
        free(p);
        return;
    }
    size_t class = size / FOREIGN_STEP;
    bool fits = size <= FOREIGN_RECENT_MAX && size % FOREIGN_STEP == 0;
    if (fits && foreign_recent[class].count < FOREIGN_FEW)
        foreign_recent[class].blocks[foreign_recent[class].count++] = p;
    else
        foreign.release(p);
}

/* --- blocks --- */

void mem_exhausted(size_t wanted)
{
    if (on_exhausted != NULL) on_exhausted(wanted, true);
    fprintf(stderr, "out of memory: %zu bytes wanted, %zu in use\n", wanted, used);
    abort();
}

/* NULL if the pool has no class for the size, or is out of addresses or memory. */
static void *pooled_new(size_t size)
{
    size_t class = class_for(size);
    void *p = class != 0 ? pool_alloc(class) : NULL;
    return p == NULL ? NULL : count_in(p, pool_block_size(p));
}

static void *block_new(size_t size)
{
    if (foreign.resize == NULL) {
        void *p = pooled_new(size);
        return p != NULL ? p : large_resize(NULL, size);
    }
    /* Reuse a recent block. Round up to the usable size that jemalloc would give: it has four sizes
     * between two powers of two. With another allocator, whose sizes differ, fewer blocks are
     * reused. */
    size_t step = FOREIGN_STEP;
    if (size > 8 * FOREIGN_STEP) step = (size_t)1 << (61 - __builtin_clzll(size - 1));
    size_t usable = (size + step - 1) & ~(step - 1), class = usable / FOREIGN_STEP;
    if (size == 0 || usable > FOREIGN_RECENT_MAX || foreign_recent[class].count == 0)
        return large_resize(NULL, size);
    return count_in(foreign_recent[class].blocks[--foreign_recent[class].count], usable);
}

static void *block_move(void *old, size_t size)
{
    size_t before = mem_size(old);
    void *p = block_new(size);
    if (p == NULL) return NULL;
    memcpy(p, old, before < size ? before : size);
    mem_free(old);
    return p;
}

static void *block_resize(void *old, size_t size)
{
    if (old == NULL) return block_new(size);
    size_t class = class_for(size);
    if (!in_pool(old)) return class != 0 ? block_move(old, size) : large_resize(old, size);
    return class == pool_slab_of(old)->class ? old : block_move(old, size);
}

static void free_reserve(void)
{
    while (reserved > 0)
        free(reserve[--reserved]);
}

/* Purges after freeing the reserve: jemalloc does not make small blocks out of a large one that was
 * just freed. */
bool mem_release_reserve(size_t wanted)
{
    if (reserved == 0) return false;
    free_reserve();
    mem_purge();
    if (on_exhausted != NULL) on_exhausted(wanted, false);
    return true;
}

static void *block_need(void *old, size_t size)
{
    void *p = block_resize(old, size);
    if (p == NULL && mem_release_reserve(size)) p = block_resize(old, size);
    if (p == NULL) mem_exhausted(size);
    return p;
}

__attribute__((noinline)) static void *alloc_new(size_t size)
{
    void *p = block_new(size);
    return p != NULL ? p : block_need(NULL, size);
}

/* Nothing else is on the fast path, so that the compiler saves no registers there. */
void *mem_alloc(size_t size)
{
    size_t class = pool_small_class(size);
    void *p = is_small(size) ? pool_reuse(class) : NULL;
    return p != NULL ? count_in(p, class * POOL_WORD) : alloc_new(size);
}

void *mem_zalloc(size_t size)
{
    return memset(mem_alloc(size), 0, size);
}

void *mem_realloc(void *old, size_t size)
{
    return block_need(old, size);
}

void *mem_grow(void *array, size_t count, size_t *cap, size_t size)
{
    if (count < *cap) return array;
    *cap = *cap > 0 ? 2 * *cap : GROW_FIRST;
    return mem_realloc(array, *cap * size);
}

void mem_free(void *p)
{
    if (!in_pool(p)) {
        large_free(p);
        return;
    }
    used -= pool_block_size(p);
    pool_free(p);
}

void *mem_alloc_tight(size_t size)
{
    void *p = is_small(size) ? pool_alloc(pool_tight_class(size)) : NULL;
    return p != NULL ? count_in(p, pool_block_size(p)) : mem_alloc(size);
}

/* The pool already aligns multiples of a cache line. */
void *mem_alloc_lines(size_t size)
{
    size_t whole = (size + LINE - 1) / LINE * LINE;
    if (foreign.resize != NULL) return mem_alloc(whole);
    void *p = pooled_new(whole);
    if (p != NULL) return p;
    p = aligned_alloc(LINE, whole);
    if (p == NULL && mem_release_reserve(whole)) p = aligned_alloc(LINE, whole);
    if (p == NULL) mem_exhausted(whole);
    return count_in(p, block_size(p));
}

static bool fault_injected(void)
{
    return tries_to_failure != 0 && --tries_to_failure == 0;
}

void *mem_try_realloc(void *old, size_t size)
{
    if (fault_injected() || (size > SHORT_TRY && mem_is_short())) return NULL;
    void *p = block_resize(old, size);
    if (p == NULL && size <= SHORT_TRY && mem_release_reserve(size)) p = block_resize(old, size);
    return p;
}

/* The fast path of mem_alloc: a small block that was freed costs no memory. */
void *mem_try_alloc(size_t size)
{
    size_t class = pool_small_class(size);
    void *p = is_small(size) && tries_to_failure == 0 ? pool_reuse(class) : NULL;
    return p != NULL ? count_in(p, class * POOL_WORD) : mem_try_realloc(NULL, size);
}

bool mem_has_room(size_t size)
{
    if (fault_injected() || mem_is_short()) return false;
    if (foreign.resize != NULL) return true;
    void *volatile p = malloc(size); /* volatile, or the compiler would remove malloc and free */
    bool has = p != NULL;
    free(p);
    return has;
}

void mem_keep_reserve(bool on)
{
    free_reserve();
    keeps_reserve = on;
    mem_is_short();
}

bool mem_is_short(void)
{
    if (!keeps_reserve) return false;
    while (reserved < RESERVE_PIECES) {
        void *piece = malloc(RESERVE_PIECE);
        if (piece == NULL) break;
        reserve[reserved++] = piece;
    }
    return reserved < RESERVE_PIECES / 2;
}

void mem_fail_try(uint64_t nth)
{
    tries_to_failure = nth;
}

uint64_t mem_fail_left(void)
{
    return tries_to_failure;
}

size_t mem_size(const void *p)
{
    return p == NULL ? 0 : block_size(p);
}

bool mem_sparse(const void *p)
{
    return all_sparse || (in_pool(p) && pool_sparse(p));
}

void *mem_alloc_like(const void *p)
{
    size_t size = block_size(p);
    void *like = size % LINE == 0 ? mem_alloc_lines(size) : mem_alloc_tight(size);
    if (block_size(like) == size) return like;
    mem_free(like); /* the pool is out of slabs, and malloc's block has another size */
    return NULL;
}

void mem_all_sparse(bool on)
{
    all_sparse = on;
}

size_t mem_pool_waste(void)
{
    return pool_committed() - pool_used();
}

size_t mem_pool_spare(void)
{
    return pool_spare();
}

size_t mem_used(void)
{
    return used + mem_shared_used();
}

size_t mem_peak(void)
{
    size_t now = mem_used();
    if (now > peak) peak = now;
    return peak;
}

void mem_reset_peak(void)
{
    peak = mem_used();
}

void mem_use(const struct mem_hooks *hooks)
{
    ensure(used == 0, "%zu bytes are already allocated", used);
    for (size_t class = 0; class <= FOREIGN_RECENT_MAX / FOREIGN_STEP; class ++)
        while (foreign_recent[class].count > 0)
            foreign.release(foreign_recent[class].blocks[--foreign_recent[class].count]);
    foreign = hooks != NULL ? *hooks : (struct mem_hooks){ 0 };
    small = hooks != NULL ? 0 : SMALL;
}

void mem_on_exhausted(void (*handler)(size_t wanted, bool ends))
{
    on_exhausted = handler;
}

const char *mem_allocator_name(void)
{
    static char name[32];
    if (foreign.resize != NULL) return "foreign";
    if (mallctl == NULL) return "libc";
    const char *version = NULL;
    size_t len = sizeof(version);
    if (mallctl("version", &version, &len, NULL, 0) != 0) return "jemalloc";
    /* Leave out the commit in jemalloc's version: 5.3.0-0-g54eaed1d. */
    snprintf(name, sizeof(name), "jemalloc-%.*s", (int)strcspn(version, "-"), version);
    return name;
}

size_t mem_resident(void)
{
    unsigned long total, resident = 0;
    FILE *statm = fopen("/proc/self/statm", "r");
    if (statm == NULL) return 0;
    if (fscanf(statm, "%lu %lu", &total, &resident) != 2) resident = 0;
    fclose(statm);
    return resident * (size_t)sysconf(_SC_PAGESIZE);
}

static size_t jemalloc_figure(const char *name)
{
    size_t value = 0, len = sizeof(value);
    return mallctl(name, &value, &len, NULL, 0) == 0 ? value : 0;
}

struct mem_allocators mem_allocators(void)
{
    if (mallctl == NULL || foreign.resize != NULL) {
        size_t resident = mem_resident();
        return (
            struct mem_allocators){ .allocated = used, .active = resident, .resident = resident };
    }
    uint64_t epoch = 1;
    mallctl("epoch", NULL, NULL, &epoch, sizeof(epoch)); /* else the figures are stale */
    size_t unwritten = (size_t)reserved * RESERVE_PIECE; /* it has addresses, but no memory */
    return (struct mem_allocators){
        .allocated = jemalloc_figure("stats.allocated") - unwritten + pool_used(),
        .active = jemalloc_figure("stats.active") - unwritten + pool_committed() - pool_spare(),
        .resident = jemalloc_figure("stats.resident") - unwritten + pool_committed(),
        /* 4096 stands for all arenas together. */
        .muzzy = jemalloc_figure("stats.arenas.4096.pmuzzy") * (size_t)sysconf(_SC_PAGESIZE),
    };
}

bool mem_trim(void)
{
    return pool_trim();
}

void mem_purge(void)
{
    while (mem_trim())
        continue;
    if (mallctl != NULL)
        mallctl("arena.4096.purge", NULL, NULL, NULL, 0); /* 4096: all arenas */
    else
        malloc_trim(0);
}

void mem_purge_in_background(void)
{
    if (mallctl == NULL) return;
    bool on = true;
    size_t never = SIZE_MAX / 2;
    /* Treat large blocks like others: by default, freeing 8 MiB at once returns the memory to the
     * system immediately, which delays the caller. malloc_conf does not change this threshold of
     * arena 0 (jemalloc 5.3). */
    mallctl("arena.0.oversize_threshold", NULL, NULL, &never, sizeof(never));
    mallctl("background_thread", NULL, NULL, &on, sizeof(on));
}

void mem_describe(void (*write)(void *ctx, const char *text), void *ctx)
{
    char text[128];
    snprintf(text, sizeof(text), "Pool: %zu bytes in blocks, %zu in their slabs\n", pool_used(),
             pool_committed());
    write(ctx, text);
    if (malloc_stats_print != NULL)
        malloc_stats_print(write, ctx, NULL);
    else
        write(ctx, "The allocator of larger ones makes no report.\n");
}
