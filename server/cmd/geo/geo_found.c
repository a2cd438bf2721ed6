/* geo_found: see geo_found.h. */
#include "server/cmd/geo/geo_found.h"

#include <stdlib.h>

#include "server/cmd/call/call.h"
#include "store/mem/mem.h"

bool geo_find(struct geo_found *found, const struct zset *zset, const struct geo_shape *shape,
              size_t limit)
{
    struct score_range cells[GEO_CELLS_MAX];
    size_t count = geo_shape_cells(shape, cells);
    if (limit == 0) limit = SIZE_MAX;
    *found = (struct geo_found){ 0 };
    for (size_t i = 0; i < count; i++) {
        struct zset_iter iter;
        struct geo_match match;
        zset_iter_at(&iter, zset, zset_below_score(zset, cells[i].min, false));
        while (found->count < limit && zset_iter_next(&iter, &match.member, &match.score)) {
            if (match.score >= cells[i].max) break;
            match.point = geohash_decode(match.score);
            if (!geo_shape_has(shape, match.point, &match.distance)) continue;
            /* Before the array grows, check the memory for twice as many matches and copies. */
            if (found->count == found->cap &&
                !call_has_room(2 * (found->cap * sizeof(*found->matches) + found->texts.len)))
                return false;
            match.turn = found->count;
            match.member = zset_iter_keep(&iter, match.member, &found->texts);
            found->matches =
                mem_grow(found->matches, found->count, &found->cap, sizeof(*found->matches));
            found->matches[found->count++] = match;
        }
    }
    return true;
}

void geo_found_drop(struct geo_found *found)
{
    mem_free(found->matches);
    outbuf_drop(&found->texts);
}

static int compare_distances(const struct geo_match *a, const struct geo_match *b)
{
    return (a->distance > b->distance) - (a->distance < b->distance);
}

static int compare_turns(const struct geo_match *a, const struct geo_match *b)
{
    return (a->turn > b->turn) - (a->turn < b->turn);
}

static int nearest_first(const void *a, const void *b)
{
    int order = compare_distances(a, b);
    return order != 0 ? order : compare_turns(a, b);
}

static int farthest_first(const void *a, const void *b)
{
    int order = compare_distances(b, a);
    return order != 0 ? order : compare_turns(a, b);
}

/* The quicksort of Bentley and McIlroy, "Engineering a sort function" (1993), which here skips the
 * parts outside the wanted range. Redis' pqsort is the same algorithm, and the order of matches at
 * the same distance depends on its pivots and swaps, so these must stay as they are. */
enum { SMALL = 7, MEDIUM = 40 };

static int compare_in_order(const struct geo_match *a, const struct geo_match *b, bool farthest)
{
    return farthest ? compare_distances(b, a) : compare_distances(a, b);
}

static void swap_matches(struct geo_match *a, struct geo_match *b)
{
    struct geo_match kept = *a;
    *a = *b;
    *b = kept;
}

static void swap_match_runs(struct geo_match *a, struct geo_match *b, size_t count)
{
    for (size_t i = 0; i < count; i++)
        swap_matches(&a[i], &b[i]);
}

static struct geo_match *median_of_3(struct geo_match *a, struct geo_match *b, struct geo_match *c,
                                     bool farthest)
{
    if (compare_in_order(a, b, farthest) < 0) {
        if (compare_in_order(b, c, farthest) < 0) return b;
        return compare_in_order(a, c, farthest) < 0 ? c : a;
    }
    if (compare_in_order(b, c, farthest) > 0) return b;
    return compare_in_order(a, c, farthest) < 0 ? a : c;
}

/* The result of a partition: the first `before` matches sort before the pivot, the last `after`
 * after it, and the matches in between are equal to it. */
struct split {
    size_t before, after;
};

/* Partitions around the pivot matches[0]. */
static struct split partition(struct geo_match *matches, size_t count, bool farthest)
{
    /* Collect equal matches at both ends first: in [0, low_end) and [high_end, count). */
    size_t low_end = 1, low = 1, high = count, high_end = count;
    for (;;) {
        int order;
        for (; low < high && (order = compare_in_order(&matches[low], matches, farthest)) <= 0;
             low++)
            if (order == 0) swap_matches(&matches[low_end++], &matches[low]);
        for (; low < high && (order = compare_in_order(&matches[high - 1], matches, farthest)) >= 0;
             high--)
            if (order == 0) swap_matches(&matches[high - 1], &matches[--high_end]);
        if (low >= high) break;
        swap_matches(&matches[low++], &matches[--high]);
    }
    struct split split = { low - low_end, high_end - high };
    size_t equal = count - high_end;
    size_t run = low_end < split.before ? low_end : split.before;
    swap_match_runs(matches, matches + low - run, run);
    run = split.after < equal ? split.after : equal;
    swap_match_runs(matches + low, matches + count - run, run);
    return split;
}

/* Sorts the first `wanted` of the matches. Quicksort degrades to quadratic time for adverse input,
 * so after `patience` rounds qsort sorts the rest. */
static void sort_first(struct geo_match *matches, size_t count, size_t wanted, bool farthest,
                       unsigned patience)
{
    while (count >= SMALL && wanted > 0) {
        if (patience-- == 0) {
            qsort(matches, count, sizeof(*matches), farthest ? farthest_first : nearest_first);
            return;
        }
        struct geo_match *low = matches, *pivot = matches + count / 2, *high = matches + count - 1;
        if (count > MEDIUM) {
            size_t step = count / 8;
            low = median_of_3(low, low + step, low + 2 * step, farthest);
            pivot = median_of_3(pivot - step, pivot, pivot + step, farthest);
            high = median_of_3(high - 2 * step, high - step, high, farthest);
        }
        if (count > SMALL) pivot = median_of_3(low, pivot, high, farthest);
        swap_matches(matches, pivot);
        struct split split = partition(matches, count, farthest);
        sort_first(matches, split.before, wanted, farthest, patience);
        size_t done = count - split.after;
        matches += done;
        count = split.after;
        wanted = wanted > done ? wanted - done : 0;
    }
    if (wanted == 0) return;
    for (size_t i = 1; i < count; i++) /* by insertion */
        for (size_t at = i;
             at > 0 && compare_in_order(&matches[at - 1], &matches[at], farthest) > 0; at--)
            swap_matches(&matches[at - 1], &matches[at]);
}

void geo_found_sort(struct geo_found *found, size_t wanted, bool farthest)
{
    if (found->count == 0) return;
    if (wanted >= found->count) {
        qsort(found->matches, found->count, sizeof(*found->matches),
              farthest ? farthest_first : nearest_first);
        return;
    }
    unsigned patience = 16;
    for (size_t count = found->count; count > 1; count /= 2)
        patience += 4;
    sort_first(found->matches, found->count, wanted, farthest, patience);
}
