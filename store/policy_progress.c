/* policy_progress: see policy_progress.h. */
#include "store/policy_progress.h"

#include "store/mem/mem.h"

struct policy_walk *policy_walk_new(unsigned databases)
{
    struct policy_walk *walk = mem_zalloc(sizeof(*walk));
    walk->database_count = databases;
    walk->places = mem_zalloc(databases * sizeof(*walk->places));
    return walk;
}

void policy_walk_forget_rests(struct policy_walk *walk)
{
    while (walk->rest_count > 0)
        blob_free(walk->rests[--walk->rest_count].key);
    mem_free(walk->rests);
    mem_free(walk->found);
    walk->rests = NULL;
    walk->found = NULL;
    walk->rest_cap = walk->found_cap = 0;
}

void policy_walk_free(struct policy_walk *walk)
{
    policy_walk_forget_rests(walk);
    mem_free(walk->places);
    mem_free(walk);
}

void policy_walk_swap(struct policy_walk *walk, unsigned a, unsigned b)
{
    struct policy_walk_place kept = walk->places[a];
    walk->places[a] = walk->places[b];
    walk->places[b] = kept;
    for (size_t i = 0; i < walk->rest_count; i++) {
        struct policy_walk_rest *rest = &walk->rests[i];
        if (rest->db == a)
            rest->db = b;
        else if (rest->db == b)
            rest->db = a;
    }
}
