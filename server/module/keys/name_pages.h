/* name_pages: an allocator for small blocks, which shares pages of 4 KiB among blocks of equal
 * size. Depends on store/mem.
 *
 * It saves memory: the host's allocator rounds 25 bytes up to 32, and 33 to 48; here a block is
 * rounded up to a multiple of 4 bytes, and the header of a page takes 32 bytes for about a hundred
 * blocks. A page is aligned to its size, so that a block's address leads to its page. If the
 * allocator does not align blocks of 4 KiB (jemalloc does), a page takes twice as much memory.
 *
 * A page is freed with its last block, so a few surviving blocks may keep a page, as in jemalloc.
 * Blocks larger than NAME_BLOCK_MAX come directly from the allocator. */
#pragma once

#include <stddef.h>

enum {
    NAME_BLOCK_ALIGN = 4,
    NAME_BLOCK_MAX = 256, /* the largest block in a page */
};

struct name_page;

/* All zero: empty. */
struct name_pages {
    struct name_page *open[NAME_BLOCK_MAX / NAME_BLOCK_ALIGN]; /* pages with room, by size */
    size_t bytes;                                              /* of pages and larger blocks */
};

/* Returns a block of `size` bytes, not 0, aligned to 4 bytes. O(1) */
void *name_pages_alloc(struct name_pages *pages, size_t size);
/* Frees a block; `size` must be that of its allocation. O(1) */
void name_pages_free(struct name_pages *pages, void *block, size_t size);
