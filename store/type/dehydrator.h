/* dehydrator: elements that wait for their deadlines.
 * Knows ids, payloads and instants; refuses to know keys, commands and now (it is told).
 * Order is always (deadline, arrival). After ReDe (the Redis Dehydrator module, 2016).
 *
 * An element is waiting until its deadline, and then due until somebody takes it. A claim moves the
 * deadline of a due element to the end of the lease: until then it is hidden, and then due again.
 * It stays marked as claimed when the lease has ended, until it is given back or moved: whether a
 * lease has ended is only ever a comparison with now, so a clock that is set back restores it. */
#ifndef STORE_TYPE_DEHYDRATOR_H
#define STORE_TYPE_DEHYDRATOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/struct/timeline.h"
#include "store/base/bytes.h"
#include "store/base/instant.h"
#include "store/mem/relocate.h"

struct dehydrator;
struct element;

struct dehydrator *dehydrator_new(void);
void dehydrator_free(struct dehydrator *dehydrator);
bool dehydrator_free_some(struct dehydrator *dehydrator, size_t *work); /* as list_free_some */

size_t dehydrator_count(const struct dehydrator *dehydrator);
/* Of them due by now (a lease that has ended included), and claimed still. O(log n) */
size_t dehydrator_count_due(const struct dehydrator *dehydrator, msec now);
/* O(log n) */
size_t dehydrator_count_claimed(const struct dehydrator *dehydrator, msec now);
/* Different deadlines: exact up to 1000, beyond that estimated from the first ones. */
size_t dehydrator_count_deadlines(const struct dehydrator *dehydrator);
msec dehydrator_next(
    const struct dehydrator *dehydrator); /* the first deadline; NEVER if empty. O(1) */
struct element *dehydrator_find(const struct dehydrator *dehydrator, struct bytes id); /* O(1) */
struct element *dehydrator_first(const struct dehydrator *dehydrator); /* earliest, or NULL. O(1) */

/* Where an element stands in its life. */
struct stage {
    msec at;             /* due at this instant */
    uint32_t deliveries; /* claims so far */
    bool claimed;        /* a worker had it last; hidden until `at`, where its lease ends */
};

/* The id must be absent. O(log n) */
void dehydrator_push(struct dehydrator *dehydrator, struct bytes id, struct bytes payload,
                     const struct stage *stage);
/* Replaces the payload; stage and place stay. `element` is invalid afterwards. */
void dehydrator_update(struct dehydrator *dehydrator, struct element *element,
                       struct bytes payload);
/* Among equals it counts as just arrived, even at the same instant. `element` may be invalid
 * afterwards: the new one is returned. O(log n) */
struct element *dehydrator_move(struct dehydrator *dehydrator, struct element *element,
                                const struct stage *stage);
void dehydrator_remove(struct dehydrator *dehydrator, struct element *element); /* O(log n) */

struct bytes element_id(const struct element *element); /* borrowed, as the payload */
struct bytes element_payload(const struct element *element);
/* As it was left: `claimed` stays true when the lease has ended. */
struct stage dehydrator_stage(const struct dehydrator *dehydrator, const struct element *element);
static inline bool stage_is_due(const struct stage *stage, msec now)
{
    return instant_due(stage->at, now);
}
static inline bool stage_is_claimed(const struct stage *stage, msec now)
{
    return stage->claimed && !stage_is_due(stage, now);
}

/* ---- the moment: when there is something to tell ---- */

/* The first deadline that has not been announced, or NEVER. O(log n) */
msec dehydrator_moment(const struct dehydrator *dehydrator);
/* What is due by now has been announced. A deadline before now that is set later (a push that is
 * due at once) will be announced again. */
void dehydrator_announce(struct dehydrator *dehydrator, msec now);
/* The clock was set back to now: what was announced and is not due any more will be announced
 * again. Returns whether there may be such. */
bool dehydrator_rewind(struct dehydrator *dehydrator, msec now);

/* In order, without removing; the dehydrator must not change meanwhile. */
struct dehydrator_walk {
    struct timeline_walk in;
};
void dehydrator_walk_begin(struct dehydrator_walk *walk, const struct dehydrator *dehydrator);
/* From the first that is due at or after this instant. O(log n) */
void dehydrator_walk_from(struct dehydrator_walk *walk, const struct dehydrator *dehydrator,
                          msec from);
struct element *dehydrator_walk_next(struct dehydrator_walk *walk, msec *at);
void dehydrator_walk_end(struct dehydrator_walk *walk);

/* As dict_scan. */
uint64_t dehydrator_scan(const struct dehydrator *dehydrator, uint64_t cursor,
                         void (*visit)(void *ctx, struct element *element), void *ctx);

/* What Redis calls a module's value: raw. */
const char *dehydrator_encoding(const struct dehydrator *dehydrator);
/* Where the dehydrator is now; elements and what else was borrowed are not valid any more. At least
 * one step is done, and more while there is work left. */
struct dehydrator *dehydrator_relocate(struct dehydrator *dehydrator,
                                       struct relocation_place *place,
                                       struct relocation *relocation);
size_t dehydrator_bytes(const struct dehydrator *dehydrator);
void dehydrator_check(const struct dehydrator *dehydrator);

#endif
