/* policy_targets: see policy_targets.h. */
#include "store/policy/policy_targets.h"

#include "store/base/ensure.h"
#include "store/mem/blob.h"
#include "store/mem/mem.h"

struct policy_target {
    struct blob *name; /* owned */
    size_t uses;
};

void policy_targets_drop(struct policy_targets *targets)
{
    while (targets->count > 0)
        blob_free(targets->names[--targets->count].name);
    mem_free(targets->names);
    *targets = (struct policy_targets){ .names = NULL };
}

/* Finds the name, or the index to insert it at. */
static bool find(const struct policy_targets *targets, struct bytes name, size_t *index)
{
    size_t low = 0, high = targets->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        int order = bytes_compare(blob_view(targets->names[middle].name), name);
        if (order == 0) {
            *index = middle;
            return true;
        }
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    *index = low;
    return false;
}

void policy_targets_add(struct policy_targets *targets, struct bytes name)
{
    size_t index;
    if (find(targets, name, &index)) {
        targets->names[index].uses++;
        return;
    }
    if (targets->count == targets->cap) {
        targets->bytes -= mem_size(targets->names);
        targets->cap = targets->cap > 0 ? 2 * targets->cap : 4;
        targets->names = mem_realloc(targets->names, targets->cap * sizeof(*targets->names));
        targets->bytes += mem_size(targets->names);
    }
    struct policy_target *at = &targets->names[index];
    memmove(at + 1, at, (targets->count - index) * sizeof(*at));
    *at = (struct policy_target){ .name = blob_new(name), .uses = 1 };
    targets->bytes += mem_size(at->name);
    targets->count++;
}

void policy_targets_remove(struct policy_targets *targets, struct bytes name)
{
    size_t index;
    bool found = find(targets, name, &index);
    ensure(found, "no target '%.*s'", (int)name.len, name.data);
    struct policy_target *at = &targets->names[index];
    if (--at->uses > 0) return;
    targets->bytes -= mem_size(at->name);
    blob_free(at->name);
    targets->count--;
    memmove(at, at + 1, (targets->count - index) * sizeof(*at));
    if (targets->count == 0) policy_targets_drop(targets);
}

bool policy_targets_have(const struct policy_targets *targets, struct bytes name)
{
    size_t index;
    return find(targets, name, &index);
}

void policy_targets_check(const struct policy_targets *targets)
{
    size_t bytes = mem_size(targets->names);
    for (size_t i = 0; i < targets->count; i++) {
        const struct policy_target *here = &targets->names[i];
        bytes += mem_size(here->name);
        ensure(here->uses > 0, "target %zu is unused", i);
        ensure(i == 0 || bytes_compare(blob_view(here[-1].name), blob_view(here->name)) < 0,
               "target %zu is out of order", i);
    }
    ensure(bytes == targets->bytes, "%zu bytes, counted %zu", bytes, targets->bytes);
}
