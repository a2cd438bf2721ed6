/* category: see category.h. */
#include "server/cmd/call/category.h"

/* A command belongs to a category if its row has one of these flags, one of these bits in `acl`, or
 * this group. Redis' categories come first, in Redis' order, then our own. */
static const struct {
    const char *name;
    unsigned flags, acl;
    const char *group;
} categories[] = {
    { "keyspace", 0, ACL_KEYSPACE, "" },
    { "read", READONLY, 0, "" },
    { "write", WRITE, 0, "" },
    { "set", 0, ACL_SET, "set" },
    { "sortedset", 0, ACL_SORTED_SET, "sorted-set" },
    { "list", 0, ACL_LIST, "list" },
    { "hash", 0, 0, "hash" },
    { "string", 0, 0, "string" },
    { "bitmap", 0, 0, "bitmap" },
    { "hyperloglog", 0, 0, "hyperloglog" },
    { "geo", 0, 0, "geo" },
    { "stream", 0, 0, "stream" },
    { "pubsub", PUBSUB, 0, "" },
    { "admin", ADMIN, ACL_ADMIN, "" },
    { "fast", FAST, 0, "" },
    { "slow", 0, 0, NULL }, /* every command that is not fast */
    { "blocking", BLOCKING, 0, "" },
    { "dangerous", ADMIN, ACL_DANGEROUS, "" },
    { "connection", 0, ACL_CONNECTION, "" },
    { "transaction", 0, ACL_TRANSACTION, "" },
    { "scripting", 0, 0, "scripting" },
    { "dehydrator", 0, 0, "dehydrator" },
    { "lease", 0, 0, "lease" },
    { "expiry", 0, ACL_EXPIRY, "" }, /* and every command that Redis does not have */
};

enum { CATEGORIES = sizeof(categories) / sizeof(categories[0]) };
_Static_assert(CATEGORIES < 32, "a bit for each category");

unsigned category_count(void)
{
    return CATEGORIES;
}

const char *category_name(unsigned category)
{
    return categories[category].name;
}

int category_find(struct bytes name)
{
    for (int i = 0; i < CATEGORIES; i++)
        if (bytes_is_word(name, categories[i].name)) return i;
    return -1;
}

bool category_has(unsigned category, struct command_ref ref)
{
    const struct command *row = ref.row;
    unsigned flags = row->flags, acl = row->acl;
    const char *group = categories[category].group;
    /* Scripts that only read are not in @read, as in Redis. */
    if ((flags & READONLY) && strcmp(ref.group, "scripting") == 0) flags &= ~(unsigned)READONLY;
    /* Our versions begin with 0; those of Redis do not. */
    bool is_own = row->origin != NULL || (row->since != NULL && row->since[0] == '0');
    if (is_own && row->run != NULL) acl |= ACL_EXPIRY;
    bool in_group =
        group == NULL ? !(row->flags & FAST) : row->run != NULL && strcmp(ref.group, group) == 0;
    return (flags & categories[category].flags) || (acl & categories[category].acl) || in_group;
}

uint32_t category_bits(struct command_ref ref)
{
    uint32_t bits = 0;
    for (unsigned i = 0; i < CATEGORIES; i++)
        bits |= (uint32_t)category_has(i, ref) << i;
    return bits;
}
