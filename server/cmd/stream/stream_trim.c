/* stream_trim: see stream_trim.h. */
#include "server/cmd/stream/stream_trim.h"

#include "store/base/encoding_limits.h"
#include "store/txn/txn_stream.h"

enum { LIMIT_BLOCKS = 100, LIMIT_DEFAULT = 10000, LIMIT_MOST = 1000000 };

static bool parse_not_negative(struct call *call, int i, int64_t *value, enum error negative)
{
    if (!arg_int64(call, i, value)) return false;
    if (*value >= 0) return true;
    return fail(call, negative);
}

/* MAXLEN or MINID [=|~] threshold */
static bool parse_strategy(struct call *call, int *i, struct trim *trim, enum trim_by by)
{
    if (trim->by != TRIM_NOT) return fail(call, ERR_TRIM_BOTH);
    int at = *i + 1;
    trim->approximate = at + 1 < call->argc && arg_is(call, at, "~");
    if (trim->approximate || (at + 1 < call->argc && arg_is(call, at, "="))) at++;
    *i = at + 1;
    trim->by = by;
    if (by == TRIM_MINID) return arg_stream_id(call, at, &trim->minid);
    return parse_not_negative(call, at, &trim->maxlen, ERR_TRIM_MAXLEN);
}

bool trim_parse_option(struct call *call, int *i, struct trim *trim, bool *known)
{
    bool valued = *i + 1 < call->argc;
    *known = true;
    if (valued && arg_is(call, *i, "MAXLEN")) return parse_strategy(call, i, trim, TRIM_MAXLEN);
    if (valued && arg_is(call, *i, "MINID")) return parse_strategy(call, i, trim, TRIM_MINID);
    if (valued && arg_is(call, *i, "LIMIT")) {
        trim->has_limit = true;
        *i += 2;
        return parse_not_negative(call, *i - 1, &trim->limit, ERR_TRIM_LIMIT);
    }
    if (arg_refs(call, *i, &trim->refs)) {
        if (trim->has_refs) return fail(call, ERR_SYNTAX);
        trim->has_refs = true;
        ++*i;
        return true;
    }
    *known = false;
    return true;
}

/* A client may give LIMIT only with "~". A replay also accepts it without, because Redis writes an
 * approximate trim to its files and its replicas as "= threshold LIMIT count". */
bool trim_check(struct call *call, struct trim *trim, bool required)
{
    enum error error = ERROR_COUNT;
    if (trim->limit > 0 && trim->by == TRIM_NOT)
        error = ERR_TRIM_LIMIT_ALONE;
    else if (required && trim->by == TRIM_NOT)
        error = ERR_TRIM_NONE;
    else if (trim->has_limit && !trim->approximate && !txn_replays(call->txn))
        error = ERR_TRIM_LIMIT_EXACT;
    if (error != ERROR_COUNT) return fail(call, error);
    if (!trim->approximate || trim->has_limit) return true;
    /* Without LIMIT an approximate trim does a bounded amount of work, as in Redis. */
    size_t entries = encoding_limits.stream_entries;
    if (entries == 0)
        trim->limit = LIMIT_DEFAULT;
    else
        trim->limit =
            entries > LIMIT_MOST / LIMIT_BLOCKS ? LIMIT_MOST : (int64_t)(LIMIT_BLOCKS * entries);
    return true;
}

bool stream_is_referenced(const struct stream *stream, struct stream_id id)
{
    const struct stream_groups *groups = stream_groups(stream);
    struct pending pending;
    for (struct stream_group *group = NULL; (group = group_next(groups, group)) != NULL;) {
        if (stream_id_before(group_position(group).last, id)) return true;
        if (pending_find(group, id, &pending)) return true;
    }
    return false;
}

size_t trim_run(struct call *call, struct entry *entry, const struct trim *trim)
{
    const struct stream *stream = entry->object.stream;
    if (trim->by == TRIM_NOT) return 0;

    /* The number of entries, from the first on, that the trim may remove. */
    size_t all = stream_count(stream), count;
    if (trim->by == TRIM_MINID)
        count = stream_rank(stream, trim->minid);
    else
        count = (uint64_t)trim->maxlen < all ? all - (size_t)trim->maxlen : 0;
    if (trim->approximate) {
        if (trim->limit > 0 && (uint64_t)trim->limit < count) count = (size_t)trim->limit;
        count = stream_whole_blocks(stream, count);
    }
    if (count == 0) return 0;

    struct stream_walk walk;
    struct stream_entry trimmed;
    size_t removed = count;
    bool looks = trim->refs != REFS_KEEP && stream_groups_count(stream_groups(stream)) > 0;
    if (looks) stream_walk_up(&walk, stream, STREAM_ID_MIN);
    if (looks && trim->refs == REFS_DELETE)
        for (size_t left = count; left > 0 && stream_walk_next(&walk, &trimmed); left--)
            txn_stream_forget_pending(call->txn, entry, trimmed.id);
    if (looks && trim->refs == REFS_ACKED)
        /* Only the entries before the first referenced one can be removed at once. */
        for (removed = 0; removed < count && stream_walk_next(&walk, &trimmed) &&
                          !stream_is_referenced(stream, trimmed.id);)
            removed++;
    txn_stream_trim(call->txn, entry, removed);
    if (removed == count) return count;

    /* Remove further entries to which no group refers, and skip the others. An exact MAXLEN goes on
     * until it has removed `count`; MINID and approximate trims examine the first `count` entries
     * only. */
    bool further = trim->by == TRIM_MAXLEN && !trim->approximate;
    size_t examined = removed, rank = 0;
    struct stream_id id;
    while (removed < count && (further || examined < count) && stream_id_at(stream, rank, &id)) {
        examined++;
        if (stream_is_referenced(stream, id))
            rank++;
        else
            removed += txn_stream_remove(call->txn, entry, id);
    }
    return removed;
}
