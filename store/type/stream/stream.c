/* stream: see stream.h. When an entry does not fit into the last block, the block is added to the
 * tree and never grows again. The tree's keys are IDs (counted.h). */
#include "store/type/stream/stream.h"

#include "store/base/encoding_limits.h"
#include "store/base/ensure.h"
#include "store/mem/mem.h"
#include "store/type/stream/stream_block.h"
#include "store/type/stream/stream_group.h"
#include "store/type/stream/stream_repeats.h"

enum {
    CAP_MIN = 64,                  /* bytes of a small block, growing by doubling */
    LIMIT_MAX = STREAM_PACKED_MAX, /* bytes of a block, even if encoding_limits allow more */
    SHRINK_SHARE = 4, /* a block in the tree shrinks if more than a quarter is unused, */
    KEEP_SHARE = 4,   /* one outside the tree if at most a quarter is used */
    PHASE_BLOCKS = 0,
    PHASE_GROUPS = 1,
};

struct branch {
    struct counted_node *child;
    struct stream_id id; /* the key */
};

static const struct counted_kind kind = { sizeof(struct branch), sizeof(struct stream_id), NULL };

struct stream {
    struct counted tree;
    struct stream_block *first, *last; /* NULL if empty. `last` may be outside the tree */
    size_t count, blocks;
    size_t bytes; /* memory of the blocks and this struct */
    struct stream_marks marks;
    msec retention;
    size_t withheld;        /* entries at the beginning withheld from all readers, */
    struct stream_id floor; /* and the first ID behind them; 0-0 if there are none */
    struct stream_groups *groups;
    struct stream_repeats *repeats; /* NULL until first needed */
};

/* ---- blocks --------------------------------------------------------------------------------- */

/* Redirects the pointers to a block that has moved from `old`. */
static void block_moved(struct stream *stream, const struct stream_block *old,
                        struct stream_block *block)
{
    if (block == old) return;
    *(block->prev != NULL ? &block->prev->next : &stream->first) = block;
    *(block->next != NULL ? &block->next->prev : &stream->last) = block;
    if (block->in_tree) counted_moved(&stream->tree, &old->node, &block->node);
}

/* Reallocates the block with room for `cap` bytes of data, and redirects the pointers to it. */
static struct stream_block *block_resize(struct stream *stream, struct stream_block *block,
                                         size_t cap)
{
    const struct stream_block *old = block;
    stream->bytes -= mem_size(block);
    block = mem_realloc(block, sizeof(*block) + cap);
    stream->bytes += mem_size(block);
    block->cap = mem_size(block) - sizeof(*block);
    block_moved(stream, old, block);
    return block;
}

/* Frees unused memory of the block. Call after a removal, and when the block is added to the
 * tree. */
static void block_tidy(struct stream *stream, struct stream_block *block)
{
    size_t size = sizeof(*block) + block->cap, live = block->used - block->begin;
    if (!block->in_tree) {
        if (size <= CAP_MIN || sizeof(*block) + live > size / KEEP_SHARE) return;
        stream_block_compact(block);
        /* Field names at the beginning of the block stay, so there may be too little else to
         * free. */
        if (sizeof(*block) + block->used > size / 2) return;
        block_resize(stream, block, size / 2 - sizeof(*block));
        return;
    }
    if (block->begin > live) stream_block_compact(block);
    if (block->cap - block->used > size / SHRINK_SHARE) block_resize(stream, block, block->used);
}

static void block_remove(struct stream *stream, struct stream_block *block)
{
    stream->count -= block->node.total;
    if (block->in_tree) counted_remove(&stream->tree, &block->node);
    *(block->prev != NULL ? &block->prev->next : &stream->first) = block->next;
    *(block->next != NULL ? &block->next->prev : &stream->last) = block->prev;
    stream->bytes -= mem_size(block);
    stream->blocks--;
    mem_free(block);
}

/* Returns the last block that may contain entries not after `id`; if there is none, the first
 * block. NULL for a stream without entries. */
static struct stream_block *find_block(const struct stream *stream, struct stream_id id)
{
    struct stream_block *last = stream->last;
    if (last == NULL || !stream_id_before(id, last->first)) return last;
    const struct counted_node *node = stream->tree.root;
    if (node == NULL) return stream->first;
    for (uint32_t height = stream->tree.height; height > 0; height--) {
        const struct counted_inner *inner = (const struct counted_inner *)node;
        const struct branch *branches = (const void *)inner->branches;
        unsigned low = 0;
        for (unsigned high = inner->count; high - low > 1;) {
            unsigned middle = (low + high) / 2;
            if (stream_id_before(id, branches[middle].id))
                high = middle;
            else
                low = middle;
        }
        node = branches[low].child;
    }
    return (struct stream_block *)(uintptr_t)node;
}

/* Returns the block that contains the entry of this rank, and sets *rank to the entry's number in
 * the block. The entry must exist. */
static struct stream_block *block_at(const struct stream *stream, size_t *rank)
{
    struct stream_block *last = stream->last;
    size_t before = stream->count - last->node.total;
    if (*rank < before) return (struct stream_block *)counted_at(&stream->tree, rank);
    *rank -= before;
    return last;
}

/* ---- appending ------------------------------------------------------------------------------ */

static size_t block_limit(void)
{
    size_t limit = encoding_limits.stream_bytes;
    limit = limit == 0 || limit > LIMIT_MAX ? LIMIT_MAX : limit;
    return limit > sizeof(struct stream_block) ? limit - sizeof(struct stream_block) : 0;
}

/* Adds a block without entries at the end, with room for `size` bytes. */
static struct stream_block *add_last(struct stream *stream, size_t size)
{
    struct stream_block *last = stream->last;
    if (last != NULL && !last->in_tree) {
        struct stream_block *prev = last->prev;
        counted_insert(&stream->tree, prev != NULL ? &prev->node : NULL, &last->node, &last->first);
        last->in_tree = true;
        block_tidy(stream, last);
        last = stream->last; /* it may have moved */
    }
    struct stream_block *block = mem_alloc(sizeof(*block) + size);
    *block = (struct stream_block){ .prev = last, .cap = mem_size(block) - sizeof(*block) };
    *(last != NULL ? &last->next : &stream->first) = block;
    stream->last = block;
    stream->bytes += mem_size(block);
    stream->blocks++;
    return block;
}

void stream_append(struct stream *stream, struct stream_id id, const struct bytes *texts,
                   size_t count)
{
    ensure(stream_id_before(stream->marks.last, id), "an ID at or before the last one");
    ensure(stream->withheld == 0, "%zu entries are withheld", stream->withheld);
    ensure(count > 0 && count % 2 == 0, "%zu names and values", count);
    struct stream_packing packing;
    struct stream_block *block = stream->last;
    if (block != NULL) stream_block_plan(block, id, texts, count, &packing);
    size_t most = encoding_limits.stream_entries;
    bool fits = block != NULL && !block->in_tree && (most == 0 || block->added < most) &&
                block->used - block->begin + packing.size <= block_limit();
    if (!fits) {
        stream_block_plan(NULL, id, texts, count, &packing);
        block = add_last(stream, packing.size);
    } else if (block->used + packing.size > block->cap && block->begin > block->used / 2) {
        stream_block_compact(block);
    }
    if (block->used + packing.size > block->cap) {
        size_t whole = sizeof(*block) + block->used + packing.size, cap = CAP_MIN;
        while (cap < whole)
            cap *= 2;
        size_t limit = sizeof(*block) + block_limit();
        if (cap > limit) cap = whole > limit ? whole : limit;
        block = block_resize(stream, block, cap - sizeof(*block));
    }
    stream_block_put(block, id, texts, count, &packing);
    stream->count++;
    stream->marks.last = id;
    stream->marks.added += stream->marks.added < INT64_MAX;
}

void stream_append_packed(struct stream *stream, const struct stream_packed *packed)
{
    ensure(stream_id_before(stream->marks.last, packed->first), "entries before the last ID");
    ensure(stream->withheld == 0, "%zu entries are withheld", stream->withheld);
    struct stream_block *block = add_last(stream, packed->names.len + packed->entries.len);
    stream_block_unpack(block, packed);
    uint64_t added = stream->marks.added + packed->count;
    stream->count += packed->count;
    stream->marks.last = packed->last;
    stream->marks.added = added < INT64_MAX ? added : INT64_MAX;
}

/* ---- removing ------------------------------------------------------------------------------- */

bool stream_remove(struct stream *stream, struct stream_id id)
{
    ensure(stream->withheld == 0, "%zu entries are withheld", stream->withheld);
    struct stream_block *block = find_block(stream, id);
    if (block == NULL) return false;
    if (block->node.total == 1) {
        if (!stream_id_equal(block->first, id)) return false;
        block_remove(stream, block);
    } else {
        if (!stream_block_remove(block, id)) return false;
        stream->count--;
        block_tidy(stream, block);
    }
    if (stream_id_before(stream->marks.max_deleted, id)) stream->marks.max_deleted = id;
    return true;
}

void stream_cut(struct stream *stream, size_t count)
{
    ensure(count <= stream->count, "%zu of %zu entries", count, stream->count);
    ensure(stream->withheld == 0, "%zu entries are withheld", stream->withheld);
    while (count > 0 && count >= stream->first->node.total) {
        count -= stream->first->node.total;
        block_remove(stream, stream->first);
    }
    if (count == 0) return;
    stream_block_cut(stream->first, (uint32_t)count);
    stream->count -= count;
    block_tidy(stream, stream->first);
}

/* ---- finding -------------------------------------------------------------------------------- */

bool stream_has(const struct stream *stream, struct stream_id id)
{
    struct stream_cursor cursor;
    struct stream_entry entry;
    if (stream_id_before(id, stream->floor)) return false;
    const struct stream_block *block = find_block(stream, id);
    if (block == NULL || stream_id_before(id, block->first)) return false;
    if (stream_id_before(block->last, id)) return false;
    stream_cursor_seek(&cursor, block, id);
    return stream_cursor_next(&cursor, &entry) && stream_id_equal(entry.id, id);
}

bool stream_first(const struct stream *stream, struct stream_id *id)
{
    if (stream_count(stream) == 0) return false;
    *id = stream->withheld > 0 ? stream->floor : stream->first->first;
    return true;
}

bool stream_final(const struct stream *stream, struct stream_id *id)
{
    if (stream_count(stream) == 0) return false;
    *id = stream->last->last;
    return true;
}

size_t stream_rank(const struct stream *stream, struct stream_id id)
{
    struct stream_cursor cursor;
    const struct stream_block *block = find_block(stream, id);
    if (block == NULL) return 0;
    size_t rank = block->in_tree ? counted_before(&block->node) : stream->count - block->node.total;
    if (stream_id_before(block->last, id)) {
        rank += block->node.total;
    } else if (stream_id_before(block->first, id)) {
        stream_cursor_seek(&cursor, block, id);
        rank += cursor.index;
    }
    return rank > stream->withheld ? rank - stream->withheld : 0;
}

bool stream_id_at(const struct stream *stream, size_t rank, struct stream_id *id)
{
    struct stream_cursor cursor;
    struct stream_entry entry;
    if (rank >= stream_count(stream)) return false;
    rank += stream->withheld;
    stream_cursor_begin(&cursor, block_at(stream, &rank));
    do
        stream_cursor_next(&cursor, &entry);
    while (rank-- > 0);
    *id = entry.id;
    return true;
}

size_t stream_whole_blocks(const struct stream *stream, size_t most)
{
    size_t rank = most;
    if (stream->count <= most) return stream->count;
    block_at(stream, &rank);
    return most - rank;
}

/* ---- walking -------------------------------------------------------------------------------- */

void stream_walk_up(struct stream_walk *walk, const struct stream *stream, struct stream_id id)
{
    walk->back = false;
    if (stream_id_before(id, stream->floor)) id = stream->floor;
    const struct stream_block *block = find_block(stream, id);
    if (block != NULL && stream_id_before(block->last, id)) block = block->next;
    if (block != NULL)
        stream_cursor_seek(&walk->cursor, block, id);
    else
        walk->cursor.block = NULL;
}

void stream_walk_down(struct stream_walk *walk, const struct stream *stream, struct stream_id id)
{
    struct stream_entry entry;
    walk->back = true;
    walk->floor = stream->floor;
    walk->left = walk->noted = 0;
    const struct stream_block *block = find_block(stream, id);
    if (block != NULL && stream_id_before(id, block->first)) block = block->prev;
    walk->cursor.block = block;
    if (block == NULL) return;
    walk->left = stream_block_count(block);
    if (!stream_id_before(id, block->last)) return;
    stream_cursor_seek(&walk->cursor, block, id);
    struct stream_cursor at = walk->cursor;
    walk->left = at.index;
    if (stream_cursor_next(&at, &entry) && stream_id_equal(entry.id, id)) walk->left++;
}

static bool walk_back(struct stream_walk *walk, struct stream_entry *entry)
{
    if (walk->left == 0) {
        if (walk->cursor.block != NULL) walk->cursor.block = walk->cursor.block->prev;
        if (walk->cursor.block == NULL) return false;
        walk->left = stream_block_count(walk->cursor.block);
    }
    if (walk->noted == 0) { /* note the positions before the last of the entries left */
        struct stream_cursor cursor;
        stream_cursor_begin(&cursor, walk->cursor.block);
        walk->noted = walk->left < STREAM_WALK_WINDOW ? walk->left : STREAM_WALK_WINDOW;
        while (cursor.index < walk->left - walk->noted)
            stream_cursor_next(&cursor, entry);
        for (uint32_t i = 0; i < walk->noted; i++) {
            walk->notes[i] = stream_cursor_note(&cursor);
            stream_cursor_next(&cursor, entry);
        }
    }
    walk->left--;
    stream_cursor_return(&walk->cursor, &walk->notes[--walk->noted], walk->left);
    return stream_cursor_next(&walk->cursor, entry) && !stream_id_before(entry->id, walk->floor);
}

bool stream_walk_next(struct stream_walk *walk, struct stream_entry *entry)
{
    if (walk->back) return walk_back(walk, entry);
    if (walk->cursor.block == NULL) return false;
    if (stream_cursor_next(&walk->cursor, entry)) return true;
    const struct stream_block *next = walk->cursor.block->next;
    if (next == NULL) return false;
    stream_cursor_begin(&walk->cursor, next);
    return stream_cursor_next(&walk->cursor, entry);
}

bool stream_walk_packed(struct stream_walk *walk, struct stream_packed *packed)
{
    struct stream_cursor *cursor = &walk->cursor;
    const struct stream_block *block = cursor->block;
    if (block == NULL) return false;
    if (cursor->index == block->node.total)
        block = block->next;
    else if (cursor->index > 0)
        return false;
    if (block == NULL || block->used > STREAM_PACKED_MAX) return false;
    if (block->added - stream_block_count(block) > stream_block_count(block)) return false;
    stream_block_pack(block, packed);
    cursor->block = block;
    cursor->index = stream_block_count(block);
    return true;
}

/* ---- retention ------------------------------------------------------------------------------ */

msec stream_retention(const struct stream *stream)
{
    return stream->retention;
}

void stream_set_retention(struct stream *stream, msec span)
{
    stream->retention = span;
}

msec stream_next_deadline(const struct stream *stream)
{
    msec at;
    if (stream->first == NULL || stream->retention == 0) return NEVER;
    bool ends = instant_after(stream_id_instant(stream->first->first), stream->retention, &at);
    return ends ? at : NEVER;
}

/* An entry has expired if its time + the retention < now. */
size_t stream_count_expired(const struct stream *stream, msec now)
{
    if (stream->retention == 0 || now <= stream->retention) return 0;
    return stream_rank(stream, (struct stream_id){ (uint64_t)(now - stream->retention), 0 });
}

msec stream_next_deadline_after(const struct stream *stream, msec now)
{
    struct stream_id first;
    msec at;
    size_t rank = stream_count_expired(stream, now);
    if (stream->retention == 0 || !stream_id_at(stream, rank, &first)) return NEVER;
    return instant_after(stream_id_instant(first), stream->retention, &at) ? at : NEVER;
}

void stream_withhold(struct stream *stream, size_t count)
{
    ensure(stream->withheld == 0 && count <= stream->count, "%zu of %zu entries, %zu withheld",
           count, stream->count, stream->withheld);
    struct stream_id floor = STREAM_ID_MAX;
    if (count == 0) return;
    if (count < stream->count) stream_id_at(stream, count, &floor);
    stream->withheld = count;
    stream->floor = floor;
}

void stream_give_back(struct stream *stream)
{
    stream->withheld = 0;
    stream->floor = STREAM_ID_MIN;
}

/* ---- creating, freeing ---------------------------------------------------------------------- */

struct stream *stream_new(void)
{
    struct stream *stream = mem_alloc(sizeof(*stream));
    *stream = (struct stream){ .bytes = mem_size(stream), .groups = stream_groups_new() };
    counted_init(&stream->tree, &kind);
    return stream;
}

void stream_free(struct stream *stream)
{
    size_t work = SIZE_MAX;
    stream_free_some(stream, &work);
}

bool stream_free_some(struct stream *stream, size_t *work)
{
    while (stream->first != NULL) {
        if (*work == 0) return false;
        size_t count = stream->first->node.total;
        *work -= count < *work ? count : *work;
        block_remove(stream, stream->first);
    }
    if (stream->repeats != NULL && !stream_repeats_free_some(stream->repeats, work)) return false;
    stream->repeats = NULL;
    if (!stream_groups_free_some(stream->groups, work)) return false;
    mem_free(stream);
    return true;
}

size_t stream_count(const struct stream *stream)
{
    return stream->count - stream->withheld;
}

struct stream_marks stream_marks(const struct stream *stream)
{
    return stream->marks;
}

bool stream_marks_fit(const struct stream *stream, const struct stream_marks *marks)
{
    struct stream_id last;
    if (!stream_final(stream, &last)) return true;
    return !stream_id_before(marks->last, last) && marks->added >= stream_count(stream);
}

void stream_set_marks(struct stream *stream, const struct stream_marks *marks)
{
    stream->marks = *marks;
}

struct stream_groups *stream_groups(const struct stream *stream)
{
    return stream->groups;
}

struct stream_repeats *stream_repeats(const struct stream *stream)
{
    return stream->repeats;
}

struct stream_repeats *stream_make_repeats(struct stream *stream)
{
    if (stream->repeats == NULL) stream->repeats = stream_repeats_new();
    return stream->repeats;
}

/* ---- relocating ----------------------------------------------------------------------------- */

struct stream *stream_relocate(struct stream *stream, struct relocation_cursor *cursor,
                               struct relocation *relocation)
{
    if (relocation_begins(cursor)) stream = relocation_block(relocation, stream);
    if (cursor->phase == PHASE_BLOCKS) {
        while (cursor->at < stream->count) {
            size_t rank = cursor->at;
            struct stream_block *block = block_at(stream, &rank);
            struct stream_block *moved = relocation_copy(relocation, block);
            cursor->at += block->node.total - rank;
            if (moved != NULL) {
                block_moved(stream, block, moved);
                mem_free(block);
                block = moved;
            }
            if (block->in_tree) counted_relocate(&stream->tree, &block->node, relocation);
            if (cursor->at < stream->count && relocation->left == 0) return stream;
        }
        *cursor = (struct relocation_cursor){ .phase = PHASE_GROUPS };
    }
    /* The phase may be any other, left by an earlier value of the key. */
    struct relocation_cursor within = { .at = cursor->at };
    stream->groups = stream_groups_relocate(stream->groups, &within, relocation);
    *cursor = (struct relocation_cursor){ within.at, within.at != 0 ? PHASE_GROUPS : PHASE_BLOCKS };
    return stream;
}

/* ---- encoding, memory, self-check ------------------------------------------------------------ */

size_t stream_bytes(const struct stream *stream)
{
    size_t repeats = stream->repeats != NULL ? stream_repeats_bytes(stream->repeats) : 0;
    return stream->bytes + stream->tree.bytes + stream_groups_bytes(stream->groups) + repeats;
}

size_t stream_blocks(const struct stream *stream)
{
    return stream->blocks;
}

struct tally {
    struct stream_id last;
    size_t grown; /* entries of blocks in the tree */
};

static void check_block(void *ctx, const struct counted_node *node)
{
    struct tally *tally = ctx;
    const struct stream_block *block = (const struct stream_block *)node;
    ensure(block->in_tree && !stream_id_before(block->first, tally->last), "a block after %zu",
           tally->grown);
    tally->last = block->last;
    tally->grown += node->total;
}

static void check_first_id(void *ctx, const void *key)
{
    struct tally *tally = ctx;
    const struct stream_id *id = key;
    ensure(stream_id_before(tally->last, *id), "a key after %zu entries", tally->grown);
    tally->last = *id;
}

void stream_check(const struct stream *stream)
{
    struct tally tally = { 0 };
    size_t count = 0, blocks = 0, bytes = mem_size(stream);
    const struct stream_block *prev = NULL;
    for (const struct stream_block *block = stream->first; block != NULL; block = block->next) {
        ensure(block->prev == prev, "prev %p, not %p", (void *)block->prev, (const void *)prev);
        ensure(prev == NULL || stream_id_before(prev->last, block->first), "blocks overlap");
        ensure(block->in_tree || block->next == NULL, "a block in the middle is not in the tree");
        ensure(block->cap + sizeof(*block) == mem_size(block), "cap %zu", block->cap);
        stream_block_check(block);
        count += block->node.total;
        blocks++;
        bytes += mem_size(block);
        prev = block;
    }
    counted_check(&stream->tree, &(struct counted_visitor){ check_block, check_first_id, &tally });
    size_t grown = tally.grown;
    if (prev != NULL && !prev->in_tree) grown += prev->node.total;
    ensure(stream->last == prev, "last %p, not %p", (void *)stream->last, (const void *)prev);
    ensure(count == stream->count && count == grown, "%zu entries, %zu in the tree, count %zu",
           count, grown, stream->count);
    ensure(blocks == stream->blocks, "%zu blocks, counted %zu", blocks, stream->blocks);
    ensure(bytes == stream->bytes, "%zu bytes, counted %zu", bytes, stream->bytes);
    ensure(prev == NULL || !stream_id_before(stream->marks.last, prev->last), "the last ID");
    stream_groups_check(stream->groups);
    if (stream->repeats != NULL) stream_repeats_check(stream->repeats);
}
