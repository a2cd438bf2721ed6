/* relocate: blocks are copied together, so that the memory between them can be given back.
 * Knows blocks; refuses to know what is in them and who points to them.
 *
 * Whatever owns blocks offers a function `..._relocate`, which looks at some of them and leaves a
 * place to go on from. All that is in them stays as it is: nobody is told. */
#ifndef STORE_MEM_RELOCATE_H
#define STORE_MEM_RELOCATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct relocation {
    size_t left; /* work that may be done yet: about so many blocks may be looked at */
    uint64_t moved, kept;
};

/* Where to go on in something that has many blocks. Zeros are the beginning, and the end. */
struct relocation_place {
    uint64_t at;
    unsigned part;
};

static inline bool relocation_begins(const struct relocation_place *place)
{
    return place->at == 0 && place->part == 0;
}

/* A copy of the block, of the same size, where copying it saves memory; else NULL, and it stays.
 * Whoever points to it has to point to the copy instead, and then the block has to be freed. */
void *relocation_copy(struct relocation *relocation, const void *block);
/* Of a block, or NULL, to which nobody else points: where it is from now on. */
void *relocation_block(struct relocation *relocation, void *block);

#endif
