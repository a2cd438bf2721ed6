/* ring: queues of rows of a table, as circular doubly linked lists. Links are row numbers instead
 * of pointers, so that the table may move. A row has RING_ROW bytes, begins with its link, and is
 * in at most one ring. Zeroed rings are empty. Every operation is O(1). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum {
    RING_ROW = 32,
    RING_LIMIT = 36, /* rings in a struct rings */
};

struct ring_link {
    uint32_t next, prev;
};

struct rings {
    uint64_t filled; /* one bit per ring: it is not empty */
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
