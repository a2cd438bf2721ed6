/* relocate: copies blocks out of sparse slabs, so that the slabs become empty and return to the
 * system (mem_sparse in mem.h). Only defragmentation uses it; store/sweep/defrag.h says what that
 * gains.
 *
 * A structure whose blocks may move has a function `..._relocate`, which visits them. If they may
 * be many, it visits some, and stores or returns where to continue. Contents do not change, and no
 * effect is recorded. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct relocation {
    size_t left;          /* budget left: a visit to a block costs 1; a copy costs 6 more, and
                           * another 1 for each 128 bytes */
    uint64_t moved, kept; /* blocks so far */
};

/* Where to continue in a structure of many blocks. All zero: at the beginning, or done. */
struct relocation_cursor {
    uint64_t at;
    unsigned phase;
};

static inline bool relocation_begins(const struct relocation_cursor *cursor)
{
    return cursor->at == 0 && cursor->phase == 0;
}

/* Copies the block and returns the copy, if that saves memory; otherwise returns NULL. The caller
 * must redirect all pointers to the copy and free the block. */
void *relocation_copy(struct relocation *relocation, const void *block);
/* For a block (or NULL) with only one pointer to it: moves the block if that saves memory, and
 * returns its address. */
void *relocation_block(struct relocation *relocation, void *block);
