/* stream_progress: see stream_progress.h. */
#include "store/type/stream/stream_progress.h"

static bool is_zero(struct stream_id id)
{
    return stream_id_equal(id, STREAM_ID_MIN);
}

static struct stream_id first_id(const struct stream *stream)
{
    struct stream_id id;
    return stream_first(stream, &id) ? id : STREAM_ID_MIN;
}

/* May an entry at or after `from` have been deleted, after the first one that is left? */
static bool has_holes(const struct stream *stream, const struct stream_marks *marks,
                      struct stream_id from)
{
    if (stream_count(stream) == 0 || is_zero(marks->max_deleted)) return false;
    if (stream_id_before(marks->max_deleted, first_id(stream))) return false;
    return !stream_id_before(marks->max_deleted, from);
}

/* Returns the number of entries ever added up to the entry `id`, or GROUP_READ_UNKNOWN. */
static int64_t count_up_to(const struct stream *stream, const struct stream_marks *marks,
                           struct stream_id id)
{
    size_t count = stream_count(stream);
    if (marks->added == 0) return 0;
    if (count == 0 && !stream_id_before(marks->last, id)) return (int64_t)marks->added;
    int order = stream_id_compare(id, marks->last);
    if (order == 0) return (int64_t)marks->added;
    if (order > 0) return GROUP_READ_UNKNOWN;
    struct stream_id first = first_id(stream);
    bool whole = is_zero(marks->max_deleted) || stream_id_before(marks->max_deleted, first);
    if (whole && stream_id_before(id, first)) return (int64_t)(marks->added - count);
    if (whole && stream_id_equal(id, first)) return (int64_t)(marks->added - count + 1);
    return GROUP_READ_UNKNOWN;
}

void stream_progress_to(const struct stream *stream, struct group_position *position,
                        struct stream_id id)
{
    struct stream_marks marks = stream_marks(stream);
    bool skips = stream_id_before(position->last, first_id(stream)) /* entries that are gone */ ||
                 has_holes(stream, &marks, position->last);
    if (position->read != GROUP_READ_UNKNOWN && !skips)
        position->read += position->read < INT64_MAX;
    else if (marks.added > 0)
        position->read = count_up_to(stream, &marks, id);
    position->last = id;
}

int64_t stream_lag(const struct stream *stream, const struct stream_group *group)
{
    struct stream_marks marks = stream_marks(stream);
    struct group_position position = group_position(group);
    size_t count = stream_count(stream);
    if (marks.added == 0 || count == 0) return 0;
    /* DIFFERS: Redis 7.0 counts entries that were removed before the group read them. Here the
     * group lacks just the entries that are left, if none after the first of them was removed, as
     * in Redis 8. (doc/differs.md) */
    struct stream_id first = first_id(stream);
    if (stream_id_before(position.last, first) && stream_id_before(marks.max_deleted, first))
        return (int64_t)count;
    int64_t read = position.read;
    if (read == GROUP_READ_UNKNOWN || has_holes(stream, &marks, position.last))
        read = count_up_to(stream, &marks, position.last);
    return read == GROUP_READ_UNKNOWN ? STREAM_LAG_UNKNOWN : (int64_t)marks.added - read;
}
