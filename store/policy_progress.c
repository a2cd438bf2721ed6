/* policy_progress: see policy_progress.h. */
#include "store/policy_progress.h"

#include "store/mem/mem.h"

struct policy_progress *policy_progress_new(unsigned databases)
{
    struct policy_progress *walk = mem_zalloc(sizeof(*walk));
    walk->database_count = databases;
    walk->scans = mem_zalloc(databases * sizeof(*walk->scans));
    return walk;
}

void policy_progress_forget_rests(struct policy_progress *walk)
{
    while (walk->rest_count > 0)
        blob_free(walk->rests[--walk->rest_count].key);
    mem_free(walk->rests);
    mem_free(walk->found);
    walk->rests = NULL;
    walk->found = NULL;
    walk->rest_cap = walk->found_cap = 0;
}

void policy_progress_free(struct policy_progress *walk)
{
    policy_progress_forget_rests(walk);
    mem_free(walk->scans);
    mem_free(walk);
}

void policy_progress_swap(struct policy_progress *walk, unsigned a, unsigned b)
{
    struct policy_progress_scan kept = walk->scans[a];
    walk->scans[a] = walk->scans[b];
    walk->scans[b] = kept;
    for (size_t i = 0; i < walk->rest_count; i++) {
        struct policy_progress_rest *rest = &walk->rests[i];
        if (rest->db == a)
            rest->db = b;
        else if (rest->db == b)
            rest->db = a;
    }
}
