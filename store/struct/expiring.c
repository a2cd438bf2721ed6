/* expiring: see expiring.h. */
#include "store/struct/expiring.h"

size_t expiring_count(struct expiring members)
{
    return members.packed != NULL ? members.packed->count_expiring
                                  : deadlines_count(members.deadlines);
}

bool expiring_first(struct expiring members, struct bytes *member, msec *at)
{
    if (members.packed != NULL) return packed_earliest(members.packed, member, at);
    struct deadline *first = deadlines_first(members.deadlines, at);
    if (first == NULL) return false;
    *member = members.name_of(first);
    return true;
}

msec expiring_last(struct expiring members)
{
    return members.packed != NULL ? packed_latest(members.packed)
                                  : deadlines_last(members.deadlines);
}

bool expiring_all_passed(struct expiring members, msec now)
{
    return members.packed != NULL ? instant_expired(packed_latest(members.packed), now)
                                  : deadlines_all_expired(members.deadlines, now);
}

struct named_visitor {
    bool (*visit)(void *ctx, struct bytes member, msec at);
    void *ctx;
    struct bytes (*name_of)(struct deadline *d);
};

static bool visit_named(void *ctx, struct deadline *d, msec at)
{
    const struct named_visitor *visitor = ctx;
    return visitor->visit(visitor->ctx, visitor->name_of(d), at);
}

void expiring_each_until(struct expiring members, msec until,
                         bool (*visit)(void *ctx, struct bytes member, msec at), void *ctx)
{
    struct named_visitor visitor = { visit, ctx, members.name_of };
    if (members.packed != NULL)
        packed_each_until(members.packed, until, visit, ctx);
    else
        deadlines_each_until(members.deadlines, until, visit_named, &visitor);
}

const struct agenda *expiring_agenda(struct expiring members)
{
    return members.packed != NULL ? NULL : deadlines_agenda(members.deadlines);
}
