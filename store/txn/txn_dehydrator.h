/* txn_dehydrator: the mutators of dehydrators. txn.h has the part of the contract that all mutators
 * share. */
#pragma once

#include "store/txn/txn.h"

/* Adds an element. Returns false if the id exists. */
bool txn_rede_push(struct txn *txn, struct entry *entry, struct bytes id, struct bytes payload,
                   const struct stage *stage);
/* Sets the element's stage. Returns the element, which may have moved in memory. */
struct element *txn_rede_move(struct txn *txn, struct entry *entry, struct element *element,
                              const struct stage *stage, enum event event);
/* Replaces the payload, with event "rede.update". Invalidates `element`. */
void txn_rede_update(struct txn *txn, struct entry *entry, struct element *element,
                     struct bytes payload);
/* Removes the element and its successor. */
void txn_rede_remove(struct txn *txn, struct entry *entry, struct element *element,
                     enum event event);

/* Sets the options of the element's push. Returns the element, which may have moved in memory. */
struct element *txn_rede_set_options(struct txn *txn, struct entry *entry, struct element *element,
                                     const struct push_options *options);
/* Sets the schedule that EFFECT_REDE_CRON contains, for replay; otherwise the options of a push
 * contain the schedule. Returns false as dehydrator_set_schedule does. */
bool txn_rede_set_schedule(struct txn *txn, struct entry *entry, const struct effect *cron);
/* Adds a successor to the element of the same id, which must exist. The successor takes that
 * element's place when the element is acknowledged. The phase of the successor's options is its
 * deadline. */
void txn_rede_follow(struct txn *txn, struct entry *entry, const struct successor *successor);
bool txn_rede_unfollow(struct txn *txn, struct entry *entry, struct bytes id); /* false if absent */
/* Makes the id count as present until `until`, even after its element is removed. */
void txn_rede_remember(struct txn *txn, struct entry *entry, struct bytes id, msec until);
bool txn_rede_forget(struct txn *txn, struct entry *entry, struct bytes id); /* false if absent */
/* Sets the earliest microsecond of the next delivery of a dehydrator with a rate; 0 allows it at
 * any time. Call it before removing elements, because the last one may take the key with it. */
void txn_rede_set_next_delivery(struct txn *txn, struct entry *entry, int64_t usec);
/* Pauses the dehydrator: it delivers nothing before `until`. INSTANT_MAX means a pause without an
 * end, and 0 ends the pause. */
void txn_rede_pause(struct txn *txn, struct entry *entry, msec until);
/* Pauses all dehydrators of the database without an end. Returns how many there are. O(keys) */
size_t txn_rede_pause_all(struct txn *txn);
/* Pushes the element. An existing element of this id is changed instead, and loses its options and
 * its successor. It is not removed first, because a replay would drop a key that becomes empty, and
 * with it the key's TTL. */
void txn_rede_replace(struct txn *txn, struct entry *entry, struct bytes id, struct bytes payload,
                      const struct stage *stage);
/* Ends an element that was delivered. Its successor takes its place, or it is due again at the next
 * of its instants (EVERY, CRON), or it is removed. May invalidate `element`. */
void txn_rede_finish(struct txn *txn, struct entry *entry, struct element *element,
                     enum event event);
/* Removes an element that was delivered, and remembers its id if it has that option. */
void txn_rede_remove_delivered(struct txn *txn, struct entry *entry, struct element *element,
                               enum event event);

/* Returns the counts of a dehydrator whose key was dropped because it became empty; {0} if none are
 * kept. Borrowed until the next mutator. O(1) */
struct delivery_tally txn_rede_drained(const struct txn *txn, struct bytes key);
