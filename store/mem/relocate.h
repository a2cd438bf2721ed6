/* relocate: copies blocks out of sparse slabs, so that these become empty (mem_sparse in mem.h).
 *
 * Only defragmentation uses it; store/sweep/defrag.h says what that gains.
 *
 * Each owner of blocks has a function `..._relocate`, which looks at some of its blocks and stores
 * the place where to continue. Contents do not change, and no effect is recorded. */
#ifndef STORE_MEM_RELOCATE_H
#define STORE_MEM_RELOCATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct relocation {
    size_t left;          /* work left: about so many blocks may still be looked at */
    uint64_t moved, kept; /* blocks so far */
};

/* Where to continue in something with many blocks. Zeros mean the beginning, and that it is done.
 */
struct relocation_place {
    uint64_t at;
    unsigned part;
};

static inline bool relocation_begins(const struct relocation_place *place)
{
    return place->at == 0 && place->part == 0;
}

/* A copy of the block if that saves memory, else NULL. The caller must redirect all pointers to the
 * copy and free the block. */
void *relocation_copy(struct relocation *relocation, const void *block);
/* For a block (or NULL) with only one pointer to it: returns its new address. */
void *relocation_block(struct relocation *relocation, void *block);

#endif
