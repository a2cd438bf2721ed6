/* dehydrator: elements that wait for their deadlines.
 * Knows ids, payloads and instants; refuses to know keys, commands and now (it is told).
 * Order is always (deadline, arrival). After ReDe (the Redis Dehydrator module, 2016). */
#ifndef STORE_DEHYDRATOR_H
#define STORE_DEHYDRATOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/agenda.h"
#include "store/bytes.h"
#include "store/instant.h"

struct dehydrator;
struct element;

struct dehydrator *dehydrator_new(void);
void dehydrator_free(struct dehydrator *dehydrator);
bool dehydrator_free_some(struct dehydrator *dehydrator, size_t *work); /* as list_free_some */

size_t dehydrator_count(const struct dehydrator *dehydrator);
msec dehydrator_next(
    const struct dehydrator *dehydrator); /* the first deadline; NEVER if empty. O(1) */
struct element *dehydrator_find(const struct dehydrator *dehydrator, struct bytes id); /* O(1) */
struct element *dehydrator_first(const struct dehydrator *dehydrator); /* earliest, or NULL. O(1) */

/* The id must be absent. O(log n) */
void dehydrator_push(struct dehydrator *dehydrator, struct bytes id, struct bytes payload, msec at);
/* Replaces the payload; deadline and place stay. `element` is invalid afterwards. */
void dehydrator_update(struct dehydrator *dehydrator, struct element *element,
                       struct bytes payload);
void dehydrator_remove(struct dehydrator *dehydrator, struct element *element); /* O(log n) */

struct bytes element_id(const struct element *element); /* borrowed */
struct bytes element_payload(const struct element *element);
msec dehydrator_at(const struct dehydrator *dehydrator, const struct element *element);

/* In order, without removing; the dehydrator must not change meanwhile. */
struct dehydrator_walk {
    struct agenda_walk in;
};
void dehydrator_walk_begin(struct dehydrator_walk *walk, const struct dehydrator *dehydrator);
struct element *dehydrator_walk_next(struct dehydrator_walk *walk, msec *at);
void dehydrator_walk_end(struct dehydrator_walk *walk);

/* What Redis calls a module's value: raw. */
const char *dehydrator_encoding(const struct dehydrator *dehydrator);
size_t dehydrator_bytes(const struct dehydrator *dehydrator);
void dehydrator_check(const struct dehydrator *dehydrator);

#endif
