/* schedules: the texts of schedules that elements of a dehydrator have, each kept once, whatever
 * the number of its elements. An element keeps a number. */
#ifndef STORE_TYPE_SCHEDULES_H
#define STORE_TYPE_SCHEDULES_H

#include <stddef.h>
#include <stdint.h>

#include "store/base/bytes.h"

struct schedules;

struct schedules *schedules_new(void);
void schedules_free(struct schedules *schedules); /* may be NULL; nobody holds a text */

/* The number of the text, which one more element holds from now on. O(1) */
uint32_t schedules_hold(struct schedules *schedules, struct bytes text);
/* One element less holds it; the text goes with the last one. O(1) */
void schedules_release(struct schedules *schedules, uint32_t number);
/* Borrowed until it is released. O(1) */
struct bytes schedules_text(const struct schedules *schedules, uint32_t number);

size_t schedules_count(const struct schedules *schedules); /* of texts; 0 for NULL */
size_t schedules_bytes(const struct schedules *schedules); /* 0 for NULL */
/* `held` is how many elements hold a text. */
void schedules_check(const struct schedules *schedules, size_t held);

#endif
