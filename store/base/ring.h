/* ring: lists without memory of their own, of the rows of a table. First in, first out.
 * Knows numbers of rows; refuses to know what a row is: all are of RING_ROW bytes, the link first.
 * A row is in one ring at most; zeroed rings are empty ones. Everything is O(1). */
#ifndef STORE_BASE_RING_H
#define STORE_BASE_RING_H

#include <stdbool.h>
#include <stdint.h>

enum {
    RING_ROW = 32,
    RING_LIMIT = 36, /* rings in a set of them */
};

struct ring_link {
    uint32_t next, prev;
};

struct rings {
    uint64_t filled; /* a bit for each ring that isn't empty */
    uint32_t first[RING_LIMIT];
};

static inline struct ring_link *ring_link_at(void *table, uint32_t row)
{
    return (struct ring_link *)(void *)((char *)table + (uint64_t)row * RING_ROW);
}

static inline bool ring_filled(const struct rings *rings, unsigned ring)
{
    return rings->filled >> ring & 1;
}

static inline void ring_append(struct rings *rings, unsigned ring, void *table, uint32_t row)
{
    struct ring_link *link = ring_link_at(table, row);
    if (!ring_filled(rings, ring)) {
        *link = (struct ring_link){ row, row };
        rings->first[ring] = row;
        rings->filled |= UINT64_C(1) << ring;
        return;
    }
    struct ring_link *first = ring_link_at(table, rings->first[ring]);
    *link = (struct ring_link){ rings->first[ring], first->prev };
    ring_link_at(table, first->prev)->next = row;
    first->prev = row;
}

static inline void ring_remove(struct rings *rings, unsigned ring, void *table, uint32_t row)
{
    struct ring_link *link = ring_link_at(table, row);
    if (link->next == row) {
        rings->filled &= ~(UINT64_C(1) << ring);
        return;
    }
    if (rings->first[ring] == row) rings->first[ring] = link->next;
    ring_link_at(table, link->next)->prev = link->prev;
    ring_link_at(table, link->prev)->next = link->next;
}

#endif
