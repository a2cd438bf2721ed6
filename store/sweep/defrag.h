/* defrag: after much was deleted here and there, walks over all blocks of the data and copies those
 * together that keep memory from being given back.
 * Knows where keys and values are; refuses to know when there is time for it.
 *
 * Nobody may hold a pointer into the data from before a call of defrag_run to after it. */
#ifndef STORE_SWEEP_DEFRAG_H
#define STORE_SWEEP_DEFRAG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/mem/relocate.h"
#include "store/store.h"

/* A large value, of which only a part was done; its key may be gone. */
struct defrag_value {
    struct blob *key; /* owned */
    struct relocation_place place;
};

struct defrag {
    struct store *store;
    bool running;
    bool trimming;                 /* all walks have been made */
    unsigned db;                   /* where it is */
    struct relocation_place place; /* in the database */
    struct defrag_value *values;   /* of the entries before the place */
    size_t value_count, value_cap;
    struct relocation relocation; /* blocks that were copied, or looked at and left */
    uint64_t keys_moved, keys_kept;
    uint64_t moved_at_visit;            /* blocks, when the last entry had been visited */
    uint64_t moved_before, kept_before; /* blocks, when this walk began */
    size_t used_before;                 /* bytes, when it last began a walk or looked for one */
    size_t settled;                     /* so much was left unused when it was last done */
};

void defrag_init(struct defrag *defrag, struct store *store);
void defrag_drop(struct defrag *defrag);

/* Begins if there is enough to be gained, or goes on. Is it running? To be called about once a
 * second: while the data grow from one call to the next, what is unused is being used. */
bool defrag_begin(struct defrag *defrag);
/* Begins whether or not: for tests. */
void defrag_force(struct defrag *defrag);
void defrag_stop(struct defrag *defrag);
/* Looks at about so many blocks; a block that is copied counts for some of them. True while there
 * is more to do. */
bool defrag_run(struct defrag *defrag, size_t work);

#endif
