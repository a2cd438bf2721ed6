/* defrag: after scattered deletes, moves blocks of the data together, so that the memory between
 * them can be returned to the system. The caller decides when there is time for that.
 *
 * After a random 90 % of the items are deleted, RSS falls to 12 to 25 % of what it was; with malloc
 * it stays at 68 to 97 % (doc/performance.md, "what the allocator layers gain").
 *
 * defrag_run invalidates every pointer into the data: callers must not keep any across it. */
#pragma once

#include "store/mem/relocate.h"
#include "store/store.h"

/* A large value of which a part is done; its key may no longer exist. */
struct defrag_value {
    struct blob *key; /* owned */
    struct relocation_cursor cursor;
};

struct defrag {
    struct store *store;
    bool running;
    bool trimming;                   /* all walks are done; returning free slabs */
    unsigned db;                     /* where the walk is: database, ... */
    struct relocation_cursor cursor; /* ... and cursor in it */
    struct defrag_value *values;     /* large values of entries before the cursor */
    size_t value_count, value_cap;
    struct relocation relocation; /* counts of blocks that were moved, and looked at and kept */
    uint64_t keys_moved, keys_kept;
    uint64_t moved_at_visit;            /* relocation.moved after the last entry visited */
    uint64_t moved_before, kept_before; /* the counts when this walk began */
    size_t used_before;                 /* bytes in use when a walk was last begun or considered */
    size_t written_off;                 /* bytes that the last run could not free */
};

void defrag_init(struct defrag *defrag, struct store *store);
void defrag_drop(struct defrag *defrag);

/* Starts a run if it can gain enough memory. Returns true if one is running. Call it about once per
 * second: no run starts if the data has grown by more than 1 % since the last call, because growth
 * reuses unused memory. */
bool defrag_begin(struct defrag *defrag);
/* Starts a run unconditionally, for tests. */
void defrag_force(struct defrag *defrag);
void defrag_stop(struct defrag *defrag); /* the next run begins anew */
/* Visits about `work` blocks, of which a moved one counts as several. Returns true if there is more
 * to do. */
bool defrag_run(struct defrag *defrag, size_t work);
