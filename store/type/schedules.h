/* schedules: the texts of the schedules of a dehydrator's elements. Many elements often have the
 * same schedule, so each text is stored once and has a number, which the elements store. */
#pragma once

#include "store/base/bytes.h"

struct schedules;

struct schedules *schedules_new(void);
void schedules_free(struct schedules *schedules); /* may be NULL; no text may be held */

/* Returns the number of the text for one more element, which holds it from now on. O(1) */
uint32_t schedules_hold(struct schedules *schedules, struct bytes text);
/* Ends the hold of one element on the text; the last one frees it. O(1) */
void schedules_release(struct schedules *schedules, uint32_t number);
/* Returns the text, borrowed until no element holds it. O(1) */
struct bytes schedules_text(const struct schedules *schedules, uint32_t number);

size_t schedules_count(const struct schedules *schedules); /* number of texts; 0 for NULL */
size_t schedules_bytes(const struct schedules *schedules); /* 0 for NULL */
/* Verifies the counts. `held` is the number of elements that hold a text. */
void schedules_check(const struct schedules *schedules, size_t held);
