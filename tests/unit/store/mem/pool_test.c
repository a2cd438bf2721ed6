/* pool: blocks are where they should be, slabs empty, and memory goes back. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "store/mem/pool.h"
#include "tests/support/rng.h"
#include "tests/support/suite.h"

enum { MANY = 1000000 };

/* Up to POOL_TABLES words all sizes, and then powers of two. */
struct block {
    char *p;
    size_t words;
};

static size_t class_for(size_t words)
{
    return words <= POOL_TABLES ? words : pool_table_class(words * POOL_WORD);
}

static struct block block_new(size_t words)
{
    struct block block = { pool_alloc(class_for(words)), words };
    if (block.p == NULL || pool_block_size(block.p) != words * POOL_WORD)
        ck_abort_msg("%p for %zu words", (void *)block.p, words);
    return block;
}

/* Writes a mark at both ends of a block, so that overlapping blocks are found. */
static void block_sign(const struct block *block, uint32_t mark)
{
    memcpy(block->p, &mark, sizeof(mark));
    memcpy(block->p + block->words * POOL_WORD - sizeof(mark), &mark, sizeof(mark));
}

static void block_verify(const struct block *block, uint32_t mark)
{
    const char *end = block->p + block->words * POOL_WORD;
    if (memcmp(block->p, &mark, sizeof(mark)) != 0 ||
        memcmp(end - sizeof(mark), &mark, sizeof(mark)) != 0)
        ck_abort_msg("block %u of %zu words was written over", mark, block->words);
}

static void block_move(struct block *block)
{
    struct block copy = block_new(block->words);
    memcpy(copy.p, block->p, block->words * POOL_WORD);
    pool_free(block->p);
    *block = copy;
}

static struct block *blocks_new(size_t count)
{
    struct block *blocks = calloc(count, sizeof(*blocks));
    ck_assert_ptr_nonnull(blocks);
    return blocks;
}

/* Returns the number of blocks moved. */
static size_t walk_and_move(struct block *blocks, size_t count)
{
    size_t moved = 0;
    for (size_t i = 0; i < count; i++) {
        if (blocks[i].p == NULL || !pool_sparse(blocks[i].p)) continue;
        block_move(&blocks[i]);
        moved++;
    }
    return moved;
}

/* Walks until nothing moves, which has to be soon. */
static size_t move_all(struct block *blocks, size_t count)
{
    size_t all = 0;
    for (int walks = 0; walks < 10; walks++) {
        size_t moved = walk_and_move(blocks, count);
        all += moved;
        if (moved == 0) return all;
    }
    ck_abort_msg("still moving after %zu blocks", all);
    return all;
}

/* A step may be spared and one be partly used, and so may a slab of each class. */
static void ck_little_is_unused(unsigned percent)
{
    size_t rest = 2 * STEP_SLABS * SLAB_BYTES;
    ck_assert_uint_le(pool_committed(), pool_used() / 100 * (100 + percent) + rest);
}

static void free_some(struct rng *rng, struct block *blocks, size_t count, unsigned percent)
{
    for (size_t i = 0; i < count; i++) {
        if (blocks[i].p == NULL || !rng_chance(rng, percent)) continue;
        pool_free(blocks[i].p);
        blocks[i].p = NULL;
    }
}

static void purge(void)
{
    while (pool_trim())
        continue;
}

static void ck_nothing_is_left(struct block *blocks, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (blocks[i].p != NULL) pool_free(blocks[i].p);
    pool_check();
    ck_assert_uint_eq(pool_used(), 0);
    purge();
    pool_check();
    ck_assert_uint_eq(pool_committed(), 0);
    free(blocks);
}

START_TEST(blocks_are_aligned_as_their_size_is)
{
    for (size_t words = 1; words <= POOL_TABLE / POOL_WORD;
         words += words < POOL_TABLES ? 1 : words) {
        struct block a = block_new(words), b = block_new(words);
        size_t alignment = words & -words;
        ck_assert(pool_owns(a.p) && pool_owns(b.p));
        ck_assert_uint_eq((uintptr_t)a.p / POOL_WORD % alignment, 0);
        ck_assert_uint_eq((uintptr_t)b.p / POOL_WORD % alignment, 0);
        pool_free(a.p);
        pool_free(b.p);
    }
    ck_nothing_is_left(NULL, 0);
}
END_TEST

START_TEST(pool_owns_only_its_blocks)
{
    char here;
    char *there = malloc(100);
    ck_assert(!pool_owns(NULL) && !pool_owns(&here) && !pool_owns(there));
    void *block = pool_alloc(5);
    ck_assert(pool_owns(block));
    ck_assert(!pool_owns(NULL) && !pool_owns(&here) && !pool_owns(there));
    pool_free(block);
    free(there);
}
END_TEST

START_TEST(table_classes_are_powers_of_two)
{
    ck_assert_uint_eq(pool_table_class(1024), 0);
    ck_assert_uint_eq(pool_table_class(2047), 0);
    ck_assert_uint_eq(pool_table_class(2048), POOL_TABLES + 1);
    ck_assert_uint_eq(pool_table_class(3072), 0);
    ck_assert_uint_eq(pool_table_class(POOL_TABLE), POOL_CLASSES - 1);
    ck_assert_uint_eq(pool_table_class(2 * POOL_TABLE), 0);
    ck_assert_uint_eq(pool_small_class(1024), POOL_TABLES);
}
END_TEST

/* Half of them of three classes, so that slabs fill, and some are tables. */
static size_t any_words(struct rng *rng)
{
    if (rng_chance(rng, 50)) return 90 + rng_below(rng, 3);
    if (rng_chance(rng, 20)) return (size_t)POOL_TABLES << rng_below(rng, 6);
    return 1 + rng_below(rng, POOL_TABLES);
}

START_TEST(random_allocs_and_frees_keep_invariants)
{
    enum { BLOCKS = 500, STEPS = 6000 };
    struct rng rng;
    struct block *blocks = blocks_new(BLOCKS);
    rng_init(&rng, test_seed());
    for (uint32_t step = 0; step < STEPS; step++) {
        size_t i = rng_below(&rng, BLOCKS);
        if (blocks[i].p == NULL) {
            blocks[i] = block_new(any_words(&rng));
            block_sign(&blocks[i], (uint32_t)i);
        } else {
            block_verify(&blocks[i], (uint32_t)i);
            if (rng_chance(&rng, 30) && pool_sparse(blocks[i].p)) {
                block_move(&blocks[i]);
            } else {
                pool_free(blocks[i].p);
                blocks[i].p = NULL;
            }
        }
        if (step % 1000 == 999) purge();
        pool_check();
    }
    ck_nothing_is_left(blocks, BLOCKS);
}
END_TEST

START_TEST(million_blocks_have_at_most_2_percent_overhead)
{
    struct block *blocks = blocks_new(MANY);
    for (size_t i = 0; i < MANY; i++)
        blocks[i] = block_new(10);
    ck_assert_uint_eq(pool_used(), MANY * 40);
    ck_assert_uint_le(pool_committed(), MANY * 40 / 100 * 102);
    ck_nothing_is_left(blocks, MANY);
}
END_TEST

/* Sizes of a mix: most blocks are of a few classes. */
static size_t mixed_words(struct rng *rng)
{
    return rng_chance(rng, 70) ? 8 + rng_below(rng, 8) : 1 + rng_below(rng, 48);
}

static struct block *mixed_blocks(struct rng *rng, size_t count)
{
    struct block *blocks = blocks_new(count);
    for (size_t i = 0; i < count; i++) {
        blocks[i] = block_new(mixed_words(rng));
        block_sign(&blocks[i], (uint32_t)i);
    }
    return blocks;
}

START_TEST(moving_sparse_blocks_leaves_little_unused)
{
    struct rng rng;
    rng_init(&rng, test_seed());
    struct block *blocks = mixed_blocks(&rng, MANY);
    free_some(&rng, blocks, MANY, 50);
    ck_assert_uint_gt(pool_committed(), pool_used() / 10 * 18);
    move_all(blocks, MANY);
    pool_check();
    ck_assert_uint_le(pool_committed(), pool_used() / 100 * 110);
    for (size_t i = 0; i < MANY; i++)
        if (blocks[i].p != NULL) block_verify(&blocks[i], (uint32_t)i);
    ck_nothing_is_left(blocks, MANY);
}
END_TEST

START_TEST(moving_ends_while_others_allocate_and_free)
{
    struct rng rng;
    rng_init(&rng, test_seed());
    struct block *blocks = mixed_blocks(&rng, MANY / 4);
    for (int walks = 0; walks < 4; walks++) {
        free_some(&rng, blocks, MANY / 4, 30);
        for (size_t i = 0; i < MANY / 4; i++) {
            size_t other = rng_below(&rng, MANY / 4);
            if (blocks[i].p != NULL && pool_sparse(blocks[i].p)) block_move(&blocks[i]);
            if (blocks[other].p != NULL && rng_chance(&rng, 30))
                pool_free(blocks[other].p);
            else if (blocks[other].p != NULL)
                continue;
            blocks[other] = block_new(mixed_words(&rng));
        }
        pool_check();
    }
    move_all(blocks, MANY / 4);
    pool_check();
    ck_little_is_unused(3);
    ck_nothing_is_left(blocks, MANY / 4);
}
END_TEST

/* A half of the slabs of two classes, one here and one there, so that no step empties by itself. */
START_TEST(steps_are_emptied_when_slabs_are_free)
{
    enum { SLABS = 400, EACH = SLAB_BYTES / 1024 };
    struct block *blocks = blocks_new(SLABS * EACH);
    for (size_t i = 0; i < SLABS * EACH; i++)
        blocks[i] = block_new(i / EACH % 2 == 0 ? 256 : 128);
    for (size_t i = 0; i < SLABS * EACH; i++) {
        if (blocks[i].words != 128) continue;
        pool_free(blocks[i].p);
        blocks[i].p = NULL;
    }
    ck_assert_uint_gt(pool_committed(), pool_used() / 100 * 140);
    ck_assert_uint_gt(move_all(blocks, SLABS * EACH), 0);
    pool_check();
    ck_little_is_unused(3);
    ck_nothing_is_left(blocks, SLABS * EACH);
}
END_TEST

START_TEST(tables_are_moved_out_of_emptied_steps)
{
    enum { BLOCKS = 200000, EACH = 2000 };
    struct block *blocks = blocks_new(BLOCKS);
    struct rng rng;
    rng_init(&rng, test_seed());
    for (size_t i = 0; i < BLOCKS; i++)
        blocks[i] = block_new(i % EACH == 0 ? POOL_TABLE / POOL_WORD : 24);
    free_some(&rng, blocks, BLOCKS, 70);
    move_all(blocks, BLOCKS);
    pool_check();
    ck_little_is_unused(3);
    ck_nothing_is_left(blocks, BLOCKS);
}
END_TEST

START_TEST(no_block_is_sparse_without_gain)
{
    struct rng rng;
    rng_init(&rng, test_seed());
    struct block *blocks = mixed_blocks(&rng, MANY / 10);
    ck_assert_uint_le(move_all(blocks, MANY / 10), MANY / 10 / 20);
    struct block alone = block_new(100);
    ck_assert(!pool_sparse(alone.p));
    pool_free(alone.p);
    ck_nothing_is_left(blocks, MANY / 10);
}
END_TEST

START_TEST(an_empty_slab_serves_another_class)
{
    enum { BLOCKS = 100000 };
    struct block *blocks = blocks_new(BLOCKS);
    for (size_t i = 0; i < BLOCKS; i++)
        blocks[i] = block_new(10);
    size_t committed = pool_committed();
    for (size_t i = 0; i < BLOCKS; i++)
        pool_free(blocks[i].p);
    for (size_t i = 0; i < BLOCKS; i++)
        blocks[i] = block_new(4);
    ck_assert_uint_le(pool_committed(), committed);
    ck_nothing_is_left(blocks, BLOCKS);
}
END_TEST

START_TEST(freed_memory_returns_without_trim)
{
    struct block *blocks = blocks_new(MANY / 2);
    for (size_t i = 0; i < MANY / 2; i++)
        blocks[i] = block_new(8);
    for (size_t i = 0; i < MANY / 2; i++) {
        pool_free(blocks[i].p);
        blocks[i].p = NULL;
    }
    ck_assert_uint_le(pool_committed(), 3 * STEP_SLABS * SLAB_BYTES);
    ck_nothing_is_left(blocks, MANY / 2);
}
END_TEST

/* It is the first test, so that no block has been taken yet. */
START_TEST(unused_pool_has_nothing_to_trim)
{
    ck_assert(!pool_trim());
    ck_assert_uint_eq(pool_committed(), 0);
}
END_TEST

/* A child, before it has taken a first block, finds that all addresses are in use. */
static int child_without_addresses(void)
{
    struct rlimit limit = { 1 << 20, 1 << 20 };
    if (setrlimit(RLIMIT_AS, &limit) != 0) return 1;
    if (pool_alloc(5) != NULL || pool_alloc(5) != NULL) return 2;
    return pool_owns(&limit) ? 3 : 0;
}

START_TEST(pool_is_empty_without_addresses)
{
    if (slab_range.size != 0) return; /* this process has begun to use them */
    pid_t child = fork();
    if (child == 0) _exit(child_without_addresses());
    int status = 0;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
}
END_TEST

static size_t mapped_bytes(void)
{
    size_t pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(fscanf(file, "%zu", &pages), 1);
    fclose(file);
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

START_TEST(only_used_memory_is_mapped)
{
    size_t before = mapped_bytes();
    void *block = pool_alloc(5);
    ck_assert_ptr_nonnull(block);
    ck_assert_uint_le(mapped_bytes() - before, 4 * STEP_SLABS * SLAB_BYTES);
    pool_free(block);
}
END_TEST

static struct {
    unsigned char *memory;
    size_t size;
    unsigned times;
} announced;

static void note_next(void *ctx, void *memory, size_t size)
{
    ck_assert_ptr_eq(ctx, &announced);
    announced.memory = memory;
    announced.size = size;
    announced.times++;
}

/* An eighth of the steps in use: one to four. */
static size_t announced_bytes(size_t used)
{
    size_t step = STEP_SLABS * SLAB_BYTES, ahead = used / step / 8;
    return (ahead < 1 ? 1 : ahead > 4 ? 4 : ahead) * step;
}

START_TEST(the_next_steps_are_announced_when_one_begins_to_be_used)
{
    enum {
        BLOCKS = 40 * STEP_SLABS * (SLAB_BYTES / POOL_TABLE),
        SMALL_PAGES = 4 * STEP_SLABS * SLAB_BYTES,
    };
    struct block *blocks = blocks_new(BLOCKS);
    size_t range = 0, steps = 0;
    announced.times = 0;
    slabs_on_next(note_next, &announced);
    for (size_t i = 0; i < BLOCKS; i++) {
        blocks[i] = block_new(POOL_TABLE / POOL_WORD);
        if (announced.times == 0 || slab_range.size == range) continue;
        range = slab_range.size;
        if (steps++ == 0) ck_assert_uint_eq(range, SMALL_PAGES); /* the first huge one is next */
        ck_assert_uint_eq(announced.times, steps);
        ck_assert_uint_eq(announced.size, announced_bytes(range));
        ck_assert_uint_eq((uintptr_t)announced.memory, slab_range.base + range);
        ck_assert_uint_eq(announced.memory[0]++, 0);
        announced.memory[0] = 0;
    }
    ck_assert_uint_ge(steps, 5);
    slabs_on_next(NULL, NULL);
    pool_check();
    ck_nothing_is_left(blocks, BLOCKS);
}
END_TEST

/* Somebody else's memory lies right behind the first step. */
START_TEST(range_ends_at_foreign_mapping)
{
    size_t in_a_step = STEP_SLABS * SLAB_BYTES / POOL_TABLE, words = POOL_TABLE / POOL_WORD;
    struct block *blocks = blocks_new(in_a_step);
    size_t count = 0;
    blocks[count++] = block_new(words);
    char *behind = (char *)slab_range.base + slab_range.size;
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE;
    ck_assert_ptr_eq(mmap(behind, SLAB_BYTES, PROT_READ, flags, -1, 0), behind);
    ck_assert(!pool_owns(behind));
    while (count < in_a_step)
        blocks[count++] = block_new(words);
    ck_assert_ptr_null(pool_alloc(class_for(words)));
    ck_assert_ptr_null(pool_alloc(5));
    pool_free(blocks[--count].p);
    blocks[count++] = block_new(words);
    ck_nothing_is_left(blocks, count);
    munmap(behind, SLAB_BYTES);
}
END_TEST

START_TEST(free_after_slab_was_released_ends_process)
{
    void *block = pool_alloc(77);
    pool_free(block);
    purge();
    pool_free(block);
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        unused_pool_has_nothing_to_trim,
        blocks_are_aligned_as_their_size_is,
        pool_owns_only_its_blocks,
        table_classes_are_powers_of_two,
        random_allocs_and_frees_keep_invariants,
        million_blocks_have_at_most_2_percent_overhead,
        moving_sparse_blocks_leaves_little_unused,
        moving_ends_while_others_allocate_and_free,
        steps_are_emptied_when_slabs_are_free,
        tables_are_moved_out_of_emptied_steps,
        no_block_is_sparse_without_gain,
        an_empty_slab_serves_another_class,
        freed_memory_returns_without_trim,
        pool_is_empty_without_addresses,
        only_used_memory_is_mapped,
        the_next_steps_are_announced_when_one_begins_to_be_used,
        range_ends_at_foreign_mapping,
        NULL,
    };
    Suite *suite = suite_of("pool", tests);
    TCase *dying = tcase_create("dying");
    tcase_add_test_raise_signal(dying, free_after_slab_was_released_ends_process, 6);
    suite_add_tcase(suite, dying);
    return suite;
}
