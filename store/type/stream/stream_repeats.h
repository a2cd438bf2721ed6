/* stream_repeats: detects entries that are sent twice. Stores the last texts that each producer of
 * a stream sent with its entries, and the IDs under which the entries were added.
 *
 * A text is remembered for a number of seconds, counted from the time of its ID, and only the last
 * texts of each producer are remembered. A text that is too old stays in memory, but is not found;
 * each text that is put frees a few old ones. */
#pragma once

#include "store/base/bytes.h"
#include "store/base/instant.h"
#include "store/type/stream/stream_id.h"

struct stream_repeats;

struct repeat_limits {
    int64_t seconds, texts; /* how long, and how many, texts of each producer are remembered */
};
enum {
    REPEAT_SECONDS = 100, /* unless set */
    REPEAT_TEXTS = 100,
    REPEAT_SECONDS_MAX = 86400,
    REPEAT_TEXTS_MAX = 10000,
};

struct repeat_counts {
    int64_t added, repeated; /* texts that were put, and texts that were sent again */
};

struct stream_repeats *stream_repeats_new(void);
/* Frees about *work texts and subtracts them from *work; true when done. */
bool stream_repeats_free_some(struct stream_repeats *repeats, size_t *work);

struct repeat_limits repeat_limits(const struct stream_repeats *repeats);
/* Sets the limits, which must be within the bounds above. Forgets all texts, unless the limits are
 * the same as before. O(texts) */
void repeat_set_limits(struct stream_repeats *repeats, struct repeat_limits limits);
struct repeat_counts repeat_counts(const struct stream_repeats *repeats);
void repeat_set_counts(struct stream_repeats *repeats, struct repeat_counts counts);

/* Finds the ID under which the producer's text was added. Returns false if the text is not
 * remembered by now. O(1) */
bool repeat_find(const struct stream_repeats *repeats, struct bytes producer, struct bytes text,
                 msec now, struct stream_id *id);
/* Does this ID come after those of all texts of the producer? repeat_put requires that. */
bool repeat_fits(const struct stream_repeats *repeats, struct bytes producer, struct stream_id id);
/* Remembers a text that fits (repeat_fits), and counts it as added. If the producer's text is
 * remembered already, forgets that one and those before it. Amortised O(1) */
void repeat_put(struct stream_repeats *repeats, struct bytes producer, struct bytes text,
                struct stream_id id);

size_t
repeat_producers(const struct stream_repeats *repeats); /* producers that have a text. O(1) */
/* How many producers and texts are remembered. O(producers + texts that are forgotten) */
struct repeat_tally {
    size_t producers, texts;
};
struct repeat_tally repeat_tally(const struct stream_repeats *repeats, msec now);

/* Walks the texts that are remembered at the time of the latest ID. The order reproduces the state
 * when the texts are put again: producers from the least recently used one, and the texts of each
 * by ID. Nothing may change meanwhile. */
struct repeat_walk {
    struct bytes producer, text;
    struct stream_id id;

    /* private */
    const struct stream_repeats *repeats;
    const struct repeat_producer *at;
    const struct repeat *next;
};
void repeat_walk_begin(struct repeat_walk *walk, const struct stream_repeats *repeats);
bool repeat_walk_next(struct repeat_walk *walk); /* false at the end */

size_t stream_repeats_bytes(const struct stream_repeats *repeats); /* memory. O(1) */
void stream_repeats_check(const struct stream_repeats *repeats);
