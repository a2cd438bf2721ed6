/* delivery_counts: see delivery_counts.h. */
#include "store/type/delivery_counts.h"

#include <string.h>

#include "store/mem/mem.h"

struct delivery_counts *delivery_counts_new(void)
{
    return mem_zalloc(sizeof(struct delivery_counts));
}

void delivery_counts_free(struct delivery_counts *counts)
{
    if (counts == NULL) return;
    mem_free(counts->late);
    mem_free(counts);
}

size_t delivery_counts_bytes(const struct delivery_counts *counts)
{
    if (counts == NULL) return 0;
    return mem_size(counts) + (counts->late == NULL ? 0 : mem_size(counts->late));
}

void delivery_counts_add(struct delivery_counts *counts, msec late)
{
    int64_t floor = histogram_floor(late);
    size_t from = 0, to = counts->late_count;
    counts->delivered++;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (counts->late[middle].floor < floor)
            from = middle + 1;
        else
            to = middle;
    }
    if (from == counts->late_count || counts->late[from].floor != floor) {
        /* Begin with one bucket, because a small dehydrator needs no more than a few. */
        if (counts->late_cap == 0)
            counts->late = mem_alloc(++counts->late_cap * sizeof(struct late));
        counts->late =
            mem_grow(counts->late, counts->late_count, &counts->late_cap, sizeof(struct late));
        memmove(counts->late + from + 1, counts->late + from,
                (counts->late_count++ - from) * sizeof(struct late));
        counts->late[from] = (struct late){ floor, 0 };
    }
    counts->late[from].count++;
}

struct histogram delivery_lateness(const struct delivery_counts *counts)
{
    struct histogram lateness = { .total = 0 };
    for (size_t i = 0; counts != NULL && i < counts->late_count; i++)
        histogram_add(&lateness, counts->late[i].floor, counts->late[i].count);
    return lateness;
}
