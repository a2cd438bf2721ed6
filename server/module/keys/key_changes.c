/* key_changes: see key_changes.h. The queue is a list of blocks, each filled with changes one after
 * the other, aligned. A last block that becomes empty is reused. */
#include "server/module/keys/key_changes.h"

#include "store/base/ensure.h"
#include "store/mem/mem.h"

enum { BLOCK_BYTES = 2048 };

struct change_block {
    struct change_block *next;
    size_t first, end, size; /* changes are at [first, end) of `size` bytes */
    char bytes[];
};

static size_t bytes_of_change(size_t len)
{
    size_t align = _Alignof(struct key_change);
    return (sizeof(struct key_change) + len + align - 1) / align * align;
}

void key_changes_init(struct key_changes *changes)
{
    *changes = (struct key_changes){ 0 };
}

void key_changes_drop(struct key_changes *changes)
{
    while (changes->first != NULL) {
        struct change_block *next = changes->first->next;
        mem_free(changes->first);
        changes->first = next;
    }
    key_changes_init(changes);
}

void key_changes_put(struct key_changes *changes, uint32_t database, enum key_change_kind kind,
                     msec at, struct bytes name)
{
    if (name.len > KEY_CHANGE_NAME_MAX) return;
    size_t needed = bytes_of_change(name.len);
    struct change_block *block = changes->last;
    if (block == NULL || block->size - block->end < needed) {
        size_t size = BLOCK_BYTES - sizeof(*block);
        if (size < needed) size = needed;
        block = mem_alloc(sizeof(*block) + size);
        *block = (struct change_block){ .size = size };
        if (changes->last == NULL)
            changes->first = block;
        else
            changes->last->next = block;
        changes->last = block;
    }
    struct key_change *put = (struct key_change *)(void *)(block->bytes + block->end);
    put->at = at;
    put->database = database;
    put->kind = kind & 3;
    put->len = (uint32_t)name.len & KEY_CHANGE_NAME_MAX;
    if (name.len > 0) memcpy(put->name, name.data, name.len);
    block->end += needed;
    changes->count++;
}

static const struct key_change *change_at(const struct change_block *block, size_t at)
{
    return (const struct key_change *)(const void *)(block->bytes + at);
}

/* Returns changes of the first block only. Those of the next block follow once these are taken. */
unsigned key_changes_peek(const struct key_changes *changes, const struct key_change *found[],
                          unsigned most)
{
    unsigned count = 0;
    const struct change_block *block = changes->first;
    if (changes->count == 0) return 0;
    for (size_t at = block->first; at < block->end && count < most;) {
        found[count] = change_at(block, at);
        at += bytes_of_change(found[count++]->len);
    }
    return count;
}

void key_changes_take(struct key_changes *changes, unsigned count)
{
    for (; count > 0; count--, changes->count--) {
        struct change_block *block = changes->first;
        ensure(block != NULL && block->first < block->end, "%u more of %zu changes", count,
               changes->count);
        block->first += bytes_of_change(change_at(block, block->first)->len);
        if (block->first < block->end) continue;
        if (block->next == NULL && block->size <= BLOCK_BYTES) {
            block->first = block->end = 0; /* reused for new changes */
            continue;
        }
        changes->first = block->next;
        if (changes->first == NULL) changes->last = NULL;
        mem_free(block);
    }
}

size_t key_changes_bytes(const struct key_changes *changes)
{
    size_t bytes = 0;
    for (const struct change_block *block = changes->first; block != NULL; block = block->next)
        bytes += mem_size(block);
    return bytes;
}
