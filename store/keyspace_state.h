/* keyspace_state: the nodes in a keyspace's agendas. For keyspace.c and keyspace_view.c only. */
#pragma once

#include "store/keyspace.h"

static inline struct entry *entry_of(struct deadline *d)
{
    return (struct entry *)((char *)d - offsetof(struct entry, deadline));
}

/* Returns the first instant at which the key or something inside is due. */
struct due_at entry_next_due(const struct keyspace *ks, const struct entry *entry);

/* Is this a kind of keys that have a deadline of their own? */
static inline bool is_for_volatile(unsigned kind)
{
    return kind == KEY_OWN_FIRST || kind == KEY_INNER_FIRST || kind == KEY_PARTLY ||
           kind == KEY_GONE;
}

/* Does keyspace_hide move keys of this kind? */
static inline bool is_to_hide(unsigned kind)
{
    return kind != KEY_GONE && kind != KEY_GONE_INNER;
}
