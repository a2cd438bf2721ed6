/* name_pages: blocks of all sizes, against what was written into them. */
#include "server/module/keys/name_pages.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "store/mem/mem.h"
#include "tests/support/aligned_memory.h"
#include "tests/support/rng.h"
#include "tests/support/suite.h"

enum { BLOCKS = 2000, STEPS = 60000, SIZES = NAME_BLOCK_MAX + 40, MISPLACED = 16 };

struct block {
    unsigned char *bytes; /* NULL: free */
    size_t size;
    int letter;
};

static void take(struct name_pages *pages, struct block *block, struct rng *rng)
{
    block->size = 1 + rng_below(rng, SIZES);
    if (rng_chance(rng, 70)) block->size = 20 + rng_below(rng, 8);
    block->letter = (int)rng_below(rng, 256);
    block->bytes = name_pages_alloc(pages, block->size);
    ck_assert_uint_eq((uintptr_t)block->bytes % NAME_BLOCK_ALIGN, 0);
    memset(block->bytes, block->letter, block->size);
}

static void give(struct name_pages *pages, struct block *block)
{
    for (size_t i = 0; i < block->size; i++)
        ck_assert_int_eq(block->bytes[i], block->letter);
    name_pages_free(pages, block->bytes, block->size);
    block->bytes = NULL;
}

/* Fills and empties in turns, so that pages come and go. */
static void fill_and_empty(struct rng *rng)
{
    static struct block blocks[BLOCKS];
    struct name_pages pages = { .bytes = 0 };
    for (unsigned step = 0; step < STEPS; step++) {
        struct block *block = &blocks[rng_below(rng, BLOCKS)];
        bool fills = step / (2 * BLOCKS) % 2 == 0;
        if (block->bytes == NULL && (fills || rng_chance(rng, 10)))
            take(&pages, block, rng);
        else if (block->bytes != NULL && (!fills || rng_chance(rng, 10)))
            give(&pages, block);
    }
    for (unsigned i = 0; i < BLOCKS; i++)
        if (blocks[i].bytes != NULL) give(&pages, &blocks[i]);
    ck_assert_uint_eq(pages.bytes, 0);
}

START_TEST(blocks_keep_their_bytes_and_pages_are_freed)
{
    struct rng rng;
    rng_init(&rng, test_seed());
    fill_and_empty(&rng);
    ck_assert_uint_eq(mem_used(), 0);
}
END_TEST

/* An allocator whose blocks of 4 KiB are not aligned. */
static void *misplaced_resize(void *old, size_t size)
{
    char *start = realloc(old != NULL ? (char *)old - MISPLACED : NULL, size + MISPLACED);
    memcpy(start, &size, sizeof(size));
    return start + MISPLACED;
}

static void misplaced_release(void *p)
{
    if (p != NULL) free((char *)p - MISPLACED);
}

static size_t misplaced_size(const void *p)
{
    size_t size;
    memcpy(&size, (const char *)p - MISPLACED, sizeof(size));
    return size;
}

START_TEST(the_allocator_need_not_align_pages)
{
    static const struct mem_hooks hooks = { misplaced_resize, misplaced_release, misplaced_size };
    struct rng rng;
    rng_init(&rng, test_seed());
    mem_use(&hooks);
    fill_and_empty(&rng);
    ck_assert_uint_eq(mem_used(), 0);
    mem_use(NULL);
}
END_TEST

START_TEST(a_block_takes_its_size_rounded_up_to_4_bytes)
{
    enum { MANY = 10000 };
    static void *blocks[MANY];
    mem_use(&aligned_memory);
    for (size_t size = 1; size <= 64; size++) {
        struct name_pages pages = { .bytes = 0 };
        for (unsigned i = 0; i < MANY; i++)
            blocks[i] = name_pages_alloc(&pages, size);
        double each = (double)pages.bytes / MANY;
        size_t block = (size + 3) / 4 * 4;
        ck_assert(each >= (double)block && each <= 1.025 * (double)block + 0.5);
        for (unsigned i = 0; i < MANY; i++)
            name_pages_free(&pages, blocks[i], size);
        ck_assert_uint_eq(pages.bytes, 0);
    }
    mem_use(NULL);
}
END_TEST

START_TEST(freed_blocks_are_used_again)
{
    struct name_pages pages = { .bytes = 0 };
    void *kept = name_pages_alloc(&pages, 25);
    size_t bytes = pages.bytes;
    for (unsigned i = 0; i < 1000; i++) {
        void *a = name_pages_alloc(&pages, 25), *b = name_pages_alloc(&pages, 28);
        ck_assert_ptr_ne(a, b);
        name_pages_free(&pages, a, 25);
        name_pages_free(&pages, b, 28);
        ck_assert_uint_eq(pages.bytes, bytes);
    }
    name_pages_free(&pages, kept, 25);
    ck_assert_uint_eq(mem_used(), 0);
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = { blocks_keep_their_bytes_and_pages_are_freed,
                                   the_allocator_need_not_align_pages,
                                   a_block_takes_its_size_rounded_up_to_4_bytes,
                                   freed_blocks_are_used_again, NULL };
    return suite_of("name_pages", tests);
}
