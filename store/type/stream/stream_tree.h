/* stream_tree: the counted tree whose leaves are a stream's blocks, except the last block while it
 * still grows. For stream*.c only.
 *
 * Blocks are added at the end only, and removed anywhere. An inner node holds, for each child, the
 * number of entries below it, and an ID: all entries of the children before it are before this ID,
 * and no entry below it is. Removals do not change these IDs. */
#ifndef STORE_TYPE_STREAM_STREAM_TREE_H
#define STORE_TYPE_STREAM_STREAM_TREE_H

#include <stddef.h>
#include <stdint.h>

#include "store/mem/relocate.h"
#include "store/type/stream/stream_block.h"

enum { STREAM_INNER_MAX = 31 }; /* so that a node takes at most 1 KiB */

struct stream_child {
    union {
        struct stream_inner *inner;
        struct stream_block *block;
    };
    size_t total;           /* entries below */
    struct stream_id first; /* none of them is before it */
};

struct stream_inner {
    struct stream_inner *parent;
    uint16_t count, cap; /* children, and how many there is room for */
    uint32_t level;      /* 0: the children are blocks */
    struct stream_child child[];
};

struct stream_tree {
    struct stream_inner *root; /* NULL: no blocks */
    size_t bytes;              /* of inner nodes */
};

/* Adds a block after all others; block->prev is the last one so far, or NULL. */
void stream_tree_append(struct stream_tree *tree, struct stream_block *block);
/* Takes the block out, with its entries; does not free it. */
void stream_tree_remove(struct stream_tree *tree, struct stream_block *block);
/* `count` entries were removed from the block. */
void stream_tree_shrink(const struct stream_block *block, size_t count);
/* The block has moved here from `old`. */
void stream_tree_moved(const struct stream_block *old, struct stream_block *block);

/* The last block in the tree that may have entries not after `id`; NULL: none has. */
struct stream_block *stream_tree_find(const struct stream_tree *tree, struct stream_id id);
/* The block with the entry of this rank, which is there; *rank becomes its number in the block. */
struct stream_block *stream_tree_at(const struct stream_tree *tree, size_t *rank);
size_t stream_tree_before(const struct stream_block *block); /* entries of the blocks before it */
/* The entries of as many first blocks as have at most `most` entries together. */
size_t stream_tree_whole(const struct stream_tree *tree, size_t most);

/* Relocates the inner nodes that begin with this block. */
void stream_tree_relocate(struct stream_tree *tree, const struct stream_block *block,
                          struct relocation *relocation);
/* Checks the inner nodes; returns the number of entries. */
size_t stream_tree_check(const struct stream_tree *tree);

#endif
