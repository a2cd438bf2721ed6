/* turns: keys that take turns, each from an instant on.
 *
 * A key whose instant has come is in a ring, in order of turns; the others are in an agenda. A key
 * joins the ring at its end, and moves to the end after its turn.
 *
 *                turns_place, with an instant that has come
 *     +---------------+ -----------------------> +-------------+ --+
 *     | in the agenda |                          | in the ring |   | turns_place, `behind`
 *     +---------------+ <----------------------- +-------------+ <-+
 *                turns_place, with a later instant
 *
 *     turns_add makes a node that is in neither; turns_place with NEVER frees a node, unless it is
 *     `noted`.
 *
 * No key moves by itself when its instant comes: the user passes each key that turns_first_due
 * returns to turns_place. */
#pragma once

#include <sys/queue.h>

#include "store/base/bytes.h"
#include "store/base/instant.h"
#include "store/struct/agenda.h"
#include "store/struct/dict.h"

struct turn {
    TAILQ_ENTRY(turn) of_ring;
    struct deadline later; /* armed while it is in the agenda */
    uint32_t len;
    bool in_ring;
    bool noted; /* for the user, who will place it again: turns_place does not free it */
    char key[];
};

/* The structs are public for reading. */
struct turns {
    struct dict keys;
    TAILQ_HEAD(, turn) ring;
    struct agenda later;
    size_t node_bytes;
};

void turns_init(struct turns *turns);
/* Frees about *work nodes and blocks, and subtracts them from *work. Returns true when all are
 * freed. Use `turns` for nothing else after the first slice. */
bool turns_drop_some(struct turns *turns, size_t *work);

static inline struct bytes turn_key(const struct turn *turn)
{
    return bytes_of(turn->key, turn->len);
}
static inline size_t turns_count(const struct turns *turns)
{
    return dict_count(&turns->keys);
}
struct turn *turns_find(const struct turns *turns, struct bytes key); /* or NULL. O(1) */
/* Returns the key's node, made if there is none. A new node is neither in the ring nor in the
 * agenda: call turns_place before any other change. O(1) */
struct turn *turns_add(struct turns *turns, struct bytes key);

enum turn_move {
    TURN_STAYS,  /* where it was, or behind the others of the ring */
    TURN_JOINS,  /* the ring */
    TURN_WAITS,  /* in the agenda, for a new instant */
    TURN_LEAVES, /* there is no instant: freed, unless it is noted */
};
/* Puts the key into the ring if `at` has come, otherwise into the agenda. In the ring it keeps its
 * position, or moves to the end with `behind`. O(log n) */
enum turn_move turns_place(struct turns *turns, struct turn *turn, msec at, msec now, bool behind);

/* Returns the key whose turn it is, or NULL; turns_after returns those after it. */
static inline struct turn *turns_first(const struct turns *turns)
{
    return TAILQ_FIRST(&turns->ring);
}
static inline struct turn *turns_after(const struct turn *turn)
{
    return TAILQ_NEXT(turn, of_ring);
}
/* Returns the first key of the agenda if its instant has come, otherwise NULL. O(1) */
struct turn *turns_first_due(const struct turns *turns, msec now);
/* Returns now if the ring is not empty, otherwise the first instant in the agenda, or NEVER. */
msec turns_next_at(const struct turns *turns, msec now);

size_t turns_bytes(const struct turns *turns); /* memory, without the struct itself */
void turns_check(const struct turns *turns);   /* each placed key is in one of the two. O(n) */
