/* samples: measured times and their percentiles. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* All zero when empty. */
struct samples {
    int64_t *usec; /* in order of arrival; sorted by samples_sort */
    size_t count, cap;
};

void samples_drop(struct samples *samples);
void samples_add(struct samples *samples, int64_t usec);
void samples_sort(struct samples *samples);

/* Returns the percentile `share` (0 to 1) of the sorted samples, out of `of` events; SIZE_MAX
 * stands for the number of samples. Events without a sample count as later than all others: if the
 * percentile falls on one of them, the result is INT64_MAX. */
int64_t samples_at(const struct samples *samples, double share, size_t of);
/* Returns the number of samples that are at most `usec`. */
size_t samples_within(const struct samples *samples, int64_t usec);
