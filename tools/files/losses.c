/* losses: see losses.h. */
#include "tools/files/losses.h"

#include <inttypes.h>

#include "tools/files/show.h"

static const char *const words[LOSS_KINDS] = {
    [LOSS_MEMBER_DEADLINE] = "members with their own deadline",
    [LOSS_DEHYDRATOR] = "elements of dehydrators",
    [LOSS_LEASE] = "claims of elements",
    [LOSS_HOLDER] = "holders of leases",
    [LOSS_SOFT] = "soft deadlines",
    [LOSS_RELEASED] = "released pending entries",
    [LOSS_DELETED] = "pending entries that were deleted",
    [LOSS_POLICY] = "policies",
};

void losses_add(struct losses *losses, enum loss loss, struct bytes key, bool first)
{
    unsigned named = losses->kinds[loss].named;
    losses->kinds[loss].count++;
    if (!first) return;
    losses->kinds[loss].keys++;
    if (named == LOSS_NAMES) return;
    size_t len = key.len < LOSS_NAME_SHOWN ? key.len : LOSS_NAME_SHOWN;
    if (len > 0) memcpy(losses->kinds[loss].names[named], key.data, len);
    losses->kinds[loss].lens[named] = (uint32_t)key.len;
    losses->kinds[loss].named++;
}

bool losses_any(const struct losses *losses)
{
    for (int i = 0; i < LOSS_KINDS; i++)
        if (losses->kinds[i].count > 0) return true;
    return false;
}

void losses_print(const struct losses *losses, const char *const done[LOSS_KINDS], FILE *to)
{
    for (int i = 0; i < LOSS_KINDS; i++) {
        if (losses->kinds[i].count == 0) continue;
        fprintf(to, "%s: %" PRIu64, words[i], losses->kinds[i].count);
        unsigned named = losses->kinds[i].named;
        for (unsigned name = 0; name < named; name++) {
            fputs(name > 0 ? ", " : " in ", to);
            show_start(to, losses->kinds[i].names[name], losses->kinds[i].lens[name],
                       LOSS_NAME_SHOWN);
        }
        if (losses->kinds[i].keys > named)
            fprintf(to, " and %" PRIu64 " more", losses->kinds[i].keys - named);
        fprintf(to, "; %s\n", done[i]);
    }
}
