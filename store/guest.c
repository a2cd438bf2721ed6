/* guest: see guest.h. A value from a file was not in a keyspace before, so guest_lend arms it. */
#include "store/guest.h"

#include "store/policy/policy_rows.h"

void guest_prepare(struct store *store, struct deadline *never)
{
    const msec in_a_thousand_years = (msec)1 << 45; /* agendas store it without an extra block */
    deadline_init(never);
    agenda_add(&store->databases[0].agendas[KEY_INNER_ONLY], never, in_a_thousand_years);
}

/* A guest has no deadline of its own. */
static struct due_at lent_due(const struct keyspace *ks, const struct entry *entry)
{
    if (!deadline_armed(&entry->deadline)) return DUE_AT_NEVER;
    return due_at_instant(agenda_at(&ks->agendas[KEY_INNER_ONLY], &entry->deadline));
}

struct due_at guest_lend(struct store *store, struct bytes key, struct object object)
{
    struct keyspace *ks = &store->databases[0];
    object.has_expiry = false;
    struct entry *entry = keyspace_add(ks, key, object);
    if (type_may_have_expiry(object.type)) keyspace_rearm(ks, entry);
    return lent_due(ks, entry);
}

bool guest_take(struct store *store, struct bytes key, struct object *object, struct due_at *next)
{
    struct keyspace *ks = &store->databases[0];
    struct entry *entry = keyspace_find(ks, key);
    if (entry == NULL) return false;
    *next = lent_due(ks, entry);
    *object = keyspace_remove(ks, entry);
    return true;
}

static void use_policy(void *policies, struct bytes name, const struct policy *policy)
{
    struct policy inside = *policy;
    for (unsigned option = 0; option < POLICY_OPTIONS; option++)
        if (!policy_rows[option].inside) policy_clear(&inside, option);
    inside.pending = false;
    policies_set(policies, name, &inside);
}

void guest_use_policies(struct store *store, const struct policies *policies)
{
    policies_drop(&store->policies);
    policies_each(policies, use_policy, &store->policies);
}
