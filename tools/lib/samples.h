/* samples: spans of time that were measured, and their percentiles.
 * Knows numbers; refuses to know what they mean. */
#ifndef TOOLS_LIB_SAMPLES_H
#define TOOLS_LIB_SAMPLES_H

#include <stddef.h>
#include <stdint.h>

/* Zeroed: empty. */
struct samples {
    int64_t *usec; /* in order of arrival; sorted by samples_sort */
    size_t count, cap;
};

void samples_drop(struct samples *samples);
void samples_add(struct samples *samples, int64_t usec);
void samples_sort(struct samples *samples);

/* Of sorted samples: the rank among `of`, which may be more than there are: those that never came
 * are later than all. SIZE_MAX: there are as many as came. INT64_MAX: it is one that did not come.
 */
int64_t samples_at(const struct samples *samples, double share, size_t of);
/* How many are at most so long. */
size_t samples_within(const struct samples *samples, int64_t usec);

#endif
