/* guest: see guest.h. A value from a file has never been in a keyspace, so it is armed here. */
#include "store/guest.h"

void guest_lend(struct store *store, struct bytes key, struct object object)
{
    struct keyspace *ks = &store->databases[0];
    keyspace_rearm(ks, keyspace_add(ks, key, object));
}

bool guest_take(struct store *store, struct bytes key, struct object *object)
{
    struct keyspace *ks = &store->databases[0];
    struct entry *entry = keyspace_find(ks, key);
    if (entry == NULL) return false;
    *object = keyspace_remove(ks, entry);
    return true;
}

static void use_policy(void *policies, struct bytes name, const struct policy *policy)
{
    const struct policy inside = { .member_ttl = policy->member_ttl,
                                   .jitter = policy->jitter,
                                   .max_len = policy->max_len,
                                   .keep_low = policy->keep_low };
    policies_set(policies, name, &inside);
}

void guest_use_policies(struct store *store, const struct policies *policies)
{
    policies_drop(&store->policies);
    policies_each(policies, use_policy, &store->policies);
}
