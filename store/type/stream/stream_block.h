/* stream_block: a block of a stream's entries: packing, reading, removing. Private to stream*.c.
 *
 * An entry is a sequence of these parts:
 *
 *     head      1 byte:
 *                 bit 0          1 if the entry has its own names; if 0, it has the names of the
 *                                entry before it
 *                 bits 1 to 2    enum stream_id_form
 *                 bits 3 to 7    ms since the entry before it; 31 if there are 31 or more
 *     time      only if bits 3 to 7 are 31: the milliseconds beyond 31, a varint
 *     sequence  the sequence number, as the form requires; at an equal time, the difference
 *               from the entry before it
 *     names     only if bit 0 is 1: their number, a varint; then the length, a varint, and the
 *               bytes of each
 *     values    the length, a varint, and the bytes of each
 *
 * A varint has 7 bits in each byte, the lowest first; the top bit is set in all bytes but the last.
 * The difference in the first entry is ignored, because its ID is stored in the block.
 *
 * Removed entries at the beginning stay in memory until stream_block_compact.
 *
 * Snapshots, bases and copies contain these bytes too (EFFECT_STREAM_BLOCK). To change the form,
 * add an effect with a new name, and keep reading the old form. */
#pragma once

#include "store/base/bytes.h"
#include "store/struct/counted.h"
#include "store/type/stream/stream_entry.h"
#include "store/type/stream/stream_packed.h"

struct stream_block {
    struct counted_node node; /* first; node.total: entries, at least one */
    struct stream_block *prev, *next;
    struct stream_id first, last;
    size_t cap, used;   /* bytes of data */
    uint32_t added;     /* entries ever added, by which Redis decides that a block is full */
    uint32_t begin;     /* offset of the first entry that is not removed */
    uint32_t names;     /* offset of the names in force before that entry */
    uint32_t own_names; /* offset of the names of the last entry */
    bool in_tree;       /* false for the stream's last block, while it still grows */
    unsigned char data[];
};

static inline uint32_t stream_block_count(const struct stream_block *block)
{
    return (uint32_t)block->node.total;
}

enum stream_id_form {
    STREAM_ID_NEXT,  /* the same time, the next sequence number */
    STREAM_ID_START, /* a later time, sequence number 0 */
    STREAM_ID_GIVEN, /* the sequence number is a varint */
    STREAM_ID_WIDE,  /* as 8 bytes, lowest first, because a varint would be longer */
};

/* How an entry will be packed. */
struct stream_packing {
    size_t size;
    enum stream_id_form form;
    bool own_names;
    uint64_t time, sequence; /* differences from the entry before it */
};

/* Plans to append the entry to `block`, or to a block without entries if that is NULL. */
void stream_block_plan(const struct stream_block *block, struct stream_id id,
                       const struct bytes *texts, size_t count, struct stream_packing *packing);
/* Appends an entry; there must be room for it. Sets `first` if the block has no entries. */
void stream_block_put(struct stream_block *block, struct stream_id id, const struct bytes *texts,
                      size_t count, const struct stream_packing *packing);
/* Moves the entries to the beginning, over the removed ones. */
void stream_block_compact(struct stream_block *block);
/* Removes the first `count` entries, but not all. This function and stream_block_remove update the
 * totals of the tree. */
void stream_block_cut(struct stream_block *block, uint32_t count);
/* Removes an entry, not the only one. Returns false if none has this ID. O(block) */
bool stream_block_remove(struct stream_block *block, struct stream_id id);

/* Describes the whole block, which has at most STREAM_PACKED_MAX bytes. */
void stream_block_pack(const struct stream_block *block, struct stream_packed *packed);
/* Puts entries that have passed stream_packed_check into a block without entries. The block must
 * have room for them. */
void stream_block_unpack(struct stream_block *block, const struct stream_packed *packed);

/* ---- reading ---- */

/* Puts the cursor before the first entry. */
void stream_cursor_begin(struct stream_cursor *cursor, const struct stream_block *block);
/* Reads the next entry. Returns false if there is none in this block. */
bool stream_cursor_next(struct stream_cursor *cursor, struct stream_entry *entry);
/* Moves before the first entry whose ID is not below `id`; that may be the block's end. */
void stream_cursor_seek(struct stream_cursor *cursor, const struct stream_block *block,
                        struct stream_id id);
/* stream_cursor_note notes the position of the cursor; stream_cursor_return moves the cursor back
 * there, in the same block. `index` is that of the next entry. */
struct stream_note stream_cursor_note(const struct stream_cursor *cursor);
void stream_cursor_return(struct stream_cursor *cursor, const struct stream_note *note,
                          uint32_t index);
void stream_block_check(const struct stream_block *block);
