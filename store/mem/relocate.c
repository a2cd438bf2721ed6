/* relocate: see relocate.h. */
#include "store/mem/relocate.h"

#include <string.h>

#include "store/mem/mem.h"

enum {
    COST_LOOK = 1,
    COST_COPY = 6,
    COST_SHIFT = 7, /* moving costs one more for each 2^COST_SHIFT bytes */
};

static void spend(struct relocation *relocation, size_t work)
{
    relocation->left -= work < relocation->left ? work : relocation->left;
}

void *relocation_copy(struct relocation *relocation, const void *block)
{
    spend(relocation, COST_LOOK);
    void *copy = mem_sparse(block) ? mem_alloc_like(block) : NULL;
    if (copy == NULL) {
        relocation->kept++;
        return NULL;
    }
    size_t size = mem_size(block);
    memcpy(copy, block, size);
    spend(relocation, COST_COPY + (size >> COST_SHIFT));
    relocation->moved++;
    return copy;
}

void *relocation_block(struct relocation *relocation, void *block)
{
    void *copy = block != NULL ? relocation_copy(relocation, block) : NULL;
    if (copy == NULL) return block;
    mem_free(block);
    return copy;
}
