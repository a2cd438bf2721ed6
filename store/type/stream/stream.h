/* stream: entries with fields, in the order of their IDs, and the stream's consumer groups
 * (stream_group.h).
 *
 * Entries are in blocks of limited size (encoding_limits.h; a larger entry is alone in its block).
 * IDs are stored as differences, and field names only if they differ from those of the entry
 * before. Finding an ID or a rank costs O(log n), a trim O(log n) for each block that it frees.
 * Entries are only added at the end. A stream may be empty.
 *
 * Folder store/type/stream: streams. Start here, then stream_group.h.
 *
 *     stream             a chain of blocks, and a counted tree over them
 *     stream_block       packs entries into a block
 *     stream_group       consumer groups, which know only the IDs of entries
 *     pending_tree       the pending entries of a group, in a counted tree
 *     pending_leaf       packs pending entries into a leaf of this tree
 *     stream_progress    how many entries a group has read
 *     stream_repeats     remembers what producers sent, so that no entry is added twice
 *
 * The last block is outside the tree while it grows, so that appending is O(1). A search of the
 * pending_tree can skip subtrees by consumer and by time.
 *
 * May use: store/base store/mem store/struct. */
#pragma once

#include "store/base/bytes.h"
#include "store/base/instant.h"
#include "store/mem/relocate.h"
#include "store/type/stream/stream_entry.h"
#include "store/type/stream/stream_packed.h"

struct stream;
struct stream_block;

struct stream *stream_new(void);
void stream_free(struct stream *stream);
/* Frees in slices: frees about *work entries, texts of producers, groups, consumers and leaves of
 * pending entries, and subtracts their number from *work. Returns true when done. */
bool stream_free_some(struct stream *stream, size_t *work);

size_t stream_count(const struct stream *stream); /* entries. O(1) */

/* The state of a stream that outlives its entries: XSETID sets it, XINFO shows it. */
struct stream_marks {
    struct stream_id last;        /* new IDs must be greater */
    struct stream_id max_deleted; /* the greatest ID that stream_remove removed */
    uint64_t added;               /* number of entries ever added, at most INT64_MAX */
};
struct stream_marks stream_marks(const struct stream *stream);
/* Are the marks consistent: no entry after `last`, and `added` at least the count? */
bool stream_marks_fit(const struct stream *stream, const struct stream_marks *marks);
void stream_set_marks(struct stream *stream, const struct stream_marks *marks); /* they fit */

/* ---- changes ---- */

/* Adds an entry at the end. `texts` are names and values in turn, `count` (even, 2 or more) of
 * them; they must not point into this stream. The ID must be greater than marks.last, and becomes
 * the new last one. marks.added rises by one, unless it is INT64_MAX. Amortised O(1) */
void stream_append(struct stream *stream, struct stream_id id, const struct bytes *texts,
                   size_t count);
/* Removes one entry, and raises marks.max_deleted. Returns false if there is no such entry. O(log n
 * + size of its block) */
bool stream_remove(struct stream *stream, struct stream_id id);
/* Removes the first `count` entries, which must exist. O(log n) for each block that is freed */
void stream_cut(struct stream *stream, size_t count);

/* ---- finding ---- */

bool stream_has(const struct stream *stream, struct stream_id id);    /* O(log n) */
bool stream_first(const struct stream *stream, struct stream_id *id); /* false if empty. O(1) */
bool stream_final(const struct stream *stream, struct stream_id *id); /* the last entry */
size_t stream_rank(const struct stream *stream,
                   struct stream_id id); /* entries before id. O(log n) */
bool stream_id_at(const struct stream *stream, size_t rank,
                  struct stream_id *id); /* false past the end */
/* Counts the entries in the first whole blocks that together contain at most `most`, for
 * approximate trims. O(log n) */
size_t stream_whole_blocks(const struct stream *stream, size_t most);

enum { STREAM_WALK_WINDOW = 100 };

/* Walks the entries in either direction; the stream must not change meanwhile. */
struct stream_walk {
    struct stream_id floor; /* private: the first entry that is not withheld */
    /* private: a block can be read only forwards. A walk downwards therefore reads each block
     * forwards, notes the positions of up to STREAM_WALK_WINDOW entries, and returns these in
     * reverse. */
    struct stream_cursor cursor; /* upwards: before the next entry */
    bool back;
    uint32_t left,
        noted; /* downwards: entries of the block that are left; notes of the last ones */
    struct stream_note notes[STREAM_WALK_WINDOW];
};
/* Begins a walk upwards, from the first entry whose ID is not below `id`. O(log n) */
void stream_walk_up(struct stream_walk *walk, const struct stream *stream, struct stream_id id);
/* Begins a walk downwards, from the last entry whose ID is not above `id`. O(log n) */
void stream_walk_down(struct stream_walk *walk, const struct stream *stream, struct stream_id id);
bool stream_walk_next(struct stream_walk *walk, struct stream_entry *entry); /* false at the end */

/* ---- whole blocks ---- */

/* Adds the entries at the end, in a block of their own. As for stream_append, `first` must be
 * greater than marks.last. The entries are not checked: see stream_packed_check. O(bytes) */
void stream_append_packed(struct stream *stream, const struct stream_packed *packed);

/* If a walk upwards is between two blocks, passes over the next block and describes it, borrowed
 * until the next change of the stream. Returns false at the end, and if the next entries must be
 * read one by one:
 *
 * - the walk is inside a block;
 * - the block is larger than STREAM_PACKED_MAX;
 * - most of the block's entries were removed, so that adding the others one by one makes fewer
 *   blocks.
 *
 * O(names) */
bool stream_walk_packed(struct stream_walk *walk, struct stream_packed *packed);

/* ---- retention ---- */

/* Return and set the retention. An entry is alive until the time of its ID plus this span, as a
 * member is until its deadline; with a span of 0 it never expires. Setting the retention removes
 * nothing. */
msec stream_retention(const struct stream *stream);
void stream_set_retention(struct stream *stream, msec span);
/* Returns the deadline of the first entry, withheld or not; NEVER without entries or retention.
 * O(1) */
msec stream_next_deadline(const struct stream *stream);
/* Returns the deadline of the first entry that has not expired by now, or NEVER. O(log n) */
msec stream_next_deadline_after(const struct stream *stream, msec now);
/* Counts the entries that have expired by now. O(log n) */
size_t stream_count_expired(const struct stream *stream, msec now);

/* Withholds the first `count` entries from all functions that count, find or walk, until
 * stream_give_back. For reads while expired entries must stay. Nothing may be added or removed
 * meanwhile. O(log n) */
void stream_withhold(struct stream *stream, size_t count);
void stream_give_back(struct stream *stream);

/* ---- consumer groups: for their functions see stream_group.h ---- */

struct stream_groups;
/* Returns the groups, borrowed; never NULL, so that a group can be sought in any stream. */
struct stream_groups *stream_groups(const struct stream *stream);

/* ---- entries sent twice: for the functions see stream_repeats.h ---- */

struct stream_repeats;
/* Returns what producers sent, borrowed. NULL if nothing ever had to be remembered. */
struct stream_repeats *stream_repeats(const struct stream *stream);
struct stream_repeats *stream_make_repeats(struct stream *stream); /* created if needed */

struct stream *stream_relocate(struct stream *stream, struct relocation_cursor *cursor,
                               struct relocation *relocation); /* as hash_relocate */
size_t stream_bytes(const struct stream *stream);              /* memory, groups included. O(1) */
size_t stream_blocks(const struct stream *stream);             /* for XINFO: "radix-tree-keys" */
void stream_check(const struct stream *stream);
