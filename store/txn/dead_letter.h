/* dead_letter: applies the policy MAXDELIVERIES n TO key. After n deliveries without success, the
 * next delivery moves the entry or element to another key instead.
 *
 *     entry of a stream    delivered to a group n times without XACK: copied to the stream `key`,
 *                          and no longer pending in this group
 *     element              claimed n times: moved to the dehydrator or stream `key`
 *
 * A missing `key` is created, as a stream for entries and as a dehydrator for elements. */
#pragma once

#include "store/txn/txn_dehydrator.h"
#include "store/txn/txn_stream.h"

/* Returns the maximum number of deliveries of an entry or element of this key, or 0 for no limit.
 * O(length of the key); O(1) without such policies */
uint64_t dead_letter_limit(struct txn *txn, const struct entry *entry);

enum dead_letter_result {
    DEAD_LETTER_MOVED,
    DEAD_LETTER_REFUSED, /* the target is no stream, or has no IDs left: counted as an error */
    DEAD_LETTER_MISSING  /* the stream no longer contains the entry: nothing changed */
};
/* Adds the entry's fields, with origin, group and deliveries, to the policy's target, and removes
 * the entry from the group's pending entries. The stream keeps the entry for its other groups. A
 * policy must limit this stream. May remove an expired target; entries of other keys stay valid. */
enum dead_letter_result dead_letter_move(struct txn *txn, struct entry *entry,
                                         struct stream_group *group, const struct pending *pending);

/* Call before claiming `wanted` elements, if a policy limits this dehydrator. Moves due elements
 * that have reached the limit to the policy's target, at most 1000, until `wanted` others were
 * found. If the target is a dehydrator, the element is due there at once, and replaces one of the
 * same id; if it is a stream, it becomes an entry with payload, origin, id and deliveries. An
 * element that the target can't take stays, may be claimed again, and counts as an error.
 *
 * Returns how many elements at the front may be claimed now, at most `wanted`. After 1000 moves
 * these are only the ones before the next element to move, perhaps none.
 * O((moved + wanted) * log n) */
size_t dead_letter_move_elements(struct txn *txn, struct entry *entry, size_t wanted);
