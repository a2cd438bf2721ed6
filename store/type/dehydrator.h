/* dehydrator: a delay queue: elements ordered by (deadline, arrival), which consumers take when
 * they are due. Modelled on ReDe, the Redis Dehydrator module (2016).
 *
 *                 its deadline            a claim
 *     +---------+ ----------> +-----+ ----------------> +---------+
 *     | waiting |             | due |                   | claimed |
 *     +---------+ <---------- +-----+ <---------------- +---------+
 *                 a later       |       the lease ends,     | acknowledged
 *                 deadline      v       or given back       v
 *                             taken                      removed
 *
 * POLL takes a due element, which is then gone. A claim moves its deadline to the end of a lease.
 * The mark "claimed" stays when the lease has ended, until the element is given back or moved. The
 * end of a lease therefore needs no work and no record: a comparison with now shows whether it has
 * ended, and setting the clock back restores the lease.
 *
 * A claim may have a fencing token (store/tokens.h), larger than that of any earlier claim. A
 * worker names its claim by the token, and so can't end another worker's claim. */
#pragma once

#include "store/base/bytes.h"
#include "store/base/instant.h"
#include "store/mem/relocate.h"
#include "store/struct/dict.h"
#include "store/type/dehydrator_extras.h"
#include "store/type/delivery_counts.h"
#include "store/type/elements.h"

struct dehydrator;
struct element;

struct dehydrator *dehydrator_new(void);
void dehydrator_free(struct dehydrator *dehydrator);
bool dehydrator_free_some(struct dehydrator *dehydrator, size_t *work); /* as list_free_some */

size_t dehydrator_count(const struct dehydrator *dehydrator);
/* Enlarges the tables for `count` elements in all, before they are added. O(count) */
void dehydrator_expect(struct dehydrator *dehydrator, size_t count);
/* Counts the elements due by now, including those whose lease has ended. O(log n) */
size_t dehydrator_count_due(const struct dehydrator *dehydrator, msec now);
/* Counts the elements with a deadline after `after` and not later than `until`, due or not. O(log
 * n) */
size_t dehydrator_count_between(const struct dehydrator *dehydrator, msec after, msec until);
/* Counts the elements whose lease has not ended. O(log n) */
size_t dehydrator_count_claimed(const struct dehydrator *dehydrator, msec now);
/* Returns the first end of a lease after now, or NEVER. O(log n) */
msec dehydrator_next_lease_end(const struct dehydrator *dehydrator, msec now);
/* Counts the elements that were claimed more than once. O(1) */
size_t dehydrator_count_redelivered(const struct dehydrator *dehydrator);
/* Returns the largest token of a claim since the dehydrator was created or loaded, or 0. O(1) */
int64_t dehydrator_last_token(const struct dehydrator *dehydrator);
/* Counts the distinct deadlines. The result is exact below 1000; a larger number is estimated from
 * the first 1000. At most 1000 searches of O(log n) */
size_t dehydrator_count_deadlines(const struct dehydrator *dehydrator);
/* Returns the earliest deadline; NEVER if empty. O(1) */
msec dehydrator_next(const struct dehydrator *dehydrator);
/* Returns the earliest deadline after `at`, or NEVER. O(log n) */
msec dehydrator_next_after(const struct dehydrator *dehydrator, msec at);
/* For prefetching: dehydrator_hint returns the table of elements or, if there are only a few,
 * prefetches their array and returns NULL. A later dehydrator_hint_first prefetches the first of a
 * few elements, and the counts. */
const struct dict *dehydrator_hint(const struct dehydrator *dehydrator);
void dehydrator_hint_first(const struct dehydrator *dehydrator);
struct element *dehydrator_find(const struct dehydrator *dehydrator, struct bytes id); /* O(1) */
struct element *dehydrator_first(const struct dehydrator *dehydrator); /* earliest, or NULL. O(1) */

/* The state of an element. */
struct stage {
    msec at;             /* its deadline */
    uint32_t deliveries; /* number of claims so far */
    bool claimed;        /* until `at`, when the lease ends */
    int64_t token;       /* token of the claim; 0 without a claim or a token */
};

/* Returns the options of the element's push. The text of a schedule is borrowed until the options
 * are set or the element is removed. */
struct push_options dehydrator_options(const struct dehydrator *dehydrator,
                                       const struct element *element);
/* Sets the options. Returns the element, which may have moved in memory. O(1) */
struct element *dehydrator_set_options(struct dehydrator *dehydrator, struct element *element,
                                       const struct push_options *options);
/* Sets the schedule and the phase of the element of this id, or of its successor, in place of an
 * interval. Returns false if there is no such element or successor, or the text is empty or longer
 * than SCHEDULE_TEXT_MAX. O(1) */
bool dehydrator_set_schedule(struct dehydrator *dehydrator, struct bytes id, bool of_successor,
                             struct bytes text, msec phase);
/* Counts the elements that have room for options (element.h). O(1) */
size_t dehydrator_count_options(const struct dehydrator *dehydrator);
/* Counts the different schedules of elements. O(1) */
size_t dehydrator_count_schedules(const struct dehydrator *dehydrator);
/* Return what few dehydrators need (dehydrator_extras.h). If nothing was needed so far, the first
 * function returns NULL, and the second one creates it. */
struct extras *dehydrator_extras(const struct dehydrator *dehydrator);
struct extras *dehydrator_extras_made(struct dehydrator *dehydrator);
/* Returns the counts of pushes and deliveries. Borrowed until the next push or delivery. */
const struct delivery_tally *dehydrator_tally(const struct dehydrator *dehydrator);
void dehydrator_note_pushed(struct dehydrator *dehydrator); /* counts a push */
/* Returns the counts of deliveries, for adding to them; creates them if there are none. */
struct delivery_counts *dehydrator_counts_made(struct dehydrator *dehydrator);
/* Replaces the counts and takes ownership of the new ones. Returns the old ones, which the caller
 * owns. */
struct delivery_tally dehydrator_swap_tally(struct dehydrator *dehydrator,
                                            struct delivery_tally tally);
/* Returns the end of the dehydrator's pause; the dehydrator delivers nothing before it. 0 if it is
 * not paused, INSTANT_MAX if the pause has no end. O(1) */
msec dehydrator_paused(const struct dehydrator *dehydrator, msec now);
/* Is nothing left to keep, neither elements nor extras? Then its key is dropped. O(1) */
bool dehydrator_is_spent(const struct dehydrator *dehydrator);
/* Returns the instant from which on the dehydrator is spent, because pauses, remembered ids and a
 * rate will have ended. NEVER if it contains elements or a successor, has no extras, or its pause
 * has no end. O(log n) */
msec dehydrator_over_at(const struct dehydrator *dehydrator);

/* Adds an element without options. Returns false and changes nothing if the id exists. O(log n) */
bool dehydrator_push(struct dehydrator *dehydrator, struct bytes id, struct bytes payload,
                     const struct stage *stage);
/* Replaces the payload; stage, options and position stay. Invalidates `element`. O(1) */
void dehydrator_update(struct dehydrator *dehydrator, struct element *element,
                       struct bytes payload);
/* Sets the stage. The element goes behind others with the same deadline, even if its own is
 * unchanged. Returns the element, which may have moved in memory. O(log n) */
struct element *dehydrator_move(struct dehydrator *dehydrator, struct element *element,
                                const struct stage *stage);
/* Removes the element and its successor. O(log n) */
void dehydrator_remove(struct dehydrator *dehydrator, struct element *element);

/* Return the id and the payload, borrowed until the element changes. */
struct bytes element_id(const struct element *element);
struct bytes element_payload(const struct element *element);
/* Returns the stored stage. `claimed` may be true although the lease has ended. */
struct stage dehydrator_stage(const struct dehydrator *dehydrator, const struct element *element);
static inline bool stage_is_due(const struct stage *stage, msec now)
{
    return instant_due(stage->at, now);
}
static inline bool stage_is_claimed(const struct stage *stage, msec now)
{
    return stage->claimed && !stage_is_due(stage, now);
}

/* ---- announcing due elements ("rede.due") ---- */

/* Returns the first deadline that has not been announced, or NEVER. O(log n) */
msec dehydrator_next_due(const struct dehydrator *dehydrator);
/* Marks all elements due by now as announced. An element that is later pushed with such a deadline,
 * or moved to one, will still be announced, and those with deadlines from there on once more. */
void dehydrator_announce(struct dehydrator *dehydrator, msec now);
/* After the clock was set back to now, lets announced elements that are no longer due be announced
 * again. Returns true if there may be any. */
bool dehydrator_rewind(struct dehydrator *dehydrator, msec now);

/* Walks in order; the dehydrator must not change meanwhile. */
struct dehydrator_walk {
    struct elements_walk in;
};
void dehydrator_walk_begin(struct dehydrator_walk *walk, const struct dehydrator *dehydrator);
/* Begins at the first element that is due at or after `from`. O(log n) */
void dehydrator_walk_from(struct dehydrator_walk *walk, const struct dehydrator *dehydrator,
                          msec from);
struct element *dehydrator_walk_next(struct dehydrator_walk *walk, msec *at); /* NULL at the end */
void dehydrator_walk_end(struct dehydrator_walk *walk);

/* Visits some elements, and returns the cursor to continue from (as dict_scan). */
uint64_t dehydrator_scan(const struct dehydrator *dehydrator, uint64_t cursor,
                         void (*visit)(void *ctx, struct element *element), void *ctx);

/* Relocates at least one block, and more if the relocation has work left. Returns the dehydrator's
 * address. Invalidates elements and borrowed bytes. */
struct dehydrator *dehydrator_relocate(struct dehydrator *dehydrator,
                                       struct relocation_cursor *cursor,
                                       struct relocation *relocation);
size_t dehydrator_bytes(const struct dehydrator *dehydrator);
void dehydrator_check(const struct dehydrator *dehydrator);
