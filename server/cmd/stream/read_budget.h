/* read_budget: the limits of one call of XREAD or XREADGROUP over all its streams together: the
 * number of entries (MAXCOUNT) and the bytes of the reply (MAXSIZE). */
#pragma once

#include "server/cmd/stream/stream_args.h"

struct read_budget {
    bool counts, measures; /* MAXCOUNT, MAXSIZE given */
    size_t entries, bytes; /* what is left; at 0 entries, later streams are omitted */
    size_t name;           /* bytes that the name of the stream adds to its first entry */
    bool is_used;          /* an entry was taken; the first one may have any size */
};

/* Returns a budget of this many entries and bytes; 0 means no limit. */
struct read_budget read_budget(int64_t entries, int64_t bytes);
bool budget_is_spent(const struct read_budget *budget);
/* Begins the stream at this key, before its entries are taken: the first of them also pays for the
 * key's name in the reply. */
void budget_begin(struct read_budget *budget, struct bytes key);
/* Takes an entry out of the budget and returns true, if enough is left for it. Otherwise returns
 * false; the budget is then spent, so that no smaller entry after it is taken. */
bool budget_take(struct read_budget *budget, struct stream_entry entry);
/* Takes the ID of an entry that no longer exists out of the budget, as budget_take does an
 * entry. */
bool budget_take_id(struct read_budget *budget, struct stream_id id);
/* Takes the first `count` entries after the ID `after` out of the budget, as far as it allows. The
 * stream must have that many. Returns how many it allowed. */
size_t budget_take_after(struct read_budget *budget, const struct stream *stream,
                         struct stream_id after, size_t count);
