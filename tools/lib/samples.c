#include "tools/lib/samples.h"

#include <stdio.h>
#include <stdlib.h>

enum { CAP_MIN = 1024 };

void samples_drop(struct samples *samples)
{
    free(samples->usec);
    *samples = (struct samples){ 0 };
}

void samples_add(struct samples *samples, int64_t usec)
{
    if (samples->count == samples->cap) {
        samples->cap = samples->cap == 0 ? CAP_MIN : 2 * samples->cap;
        samples->usec = realloc(samples->usec, samples->cap * sizeof(*samples->usec));
        if (samples->usec == NULL) {
            perror("memory");
            exit(EXIT_FAILURE);
        }
    }
    samples->usec[samples->count++] = usec;
}

static int compare_usec(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

void samples_sort(struct samples *samples)
{
    if (samples->count > 0)
        qsort(samples->usec, samples->count, sizeof(*samples->usec), compare_usec);
}

int64_t samples_at(const struct samples *samples, double share, size_t of)
{
    if (of == SIZE_MAX) of = samples->count;
    size_t rank = (size_t)(share * (double)of + 0.999999);
    if (rank > samples->count || samples->count == 0) return INT64_MAX;
    return samples->usec[rank > 0 ? rank - 1 : 0];
}

size_t samples_within(const struct samples *samples, int64_t usec)
{
    size_t count = 0;
    while (count < samples->count && samples->usec[count] <= usec)
        count++;
    return count;
}
