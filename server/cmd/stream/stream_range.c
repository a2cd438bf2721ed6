/* stream_range: XLEN, XRANGE, XREVRANGE. */
#include "server/cmd/stream/stream.h"
#include "server/cmd/stream/stream_args.h"

static void cmd_xlen(struct call *call)
{
    struct entry *entry;
    if (!find_typed_counted(call, 1, TYPE_STREAM, &entry)) return;
    resp_integer(call->out, entry != NULL ? (int64_t)stream_count(entry->object.stream) : 0);
}

static void reply_range(struct call *call)
{
    bool back = call_variant(call);
    struct id_range range;
    struct entry *entry;
    int64_t limit = INT64_MAX;
    if (!arg_id_range(call, back ? 3 : 2, back ? 2 : 3, &range)) return;
    for (int i = 4; i < call->argc; i += 2) {
        if (fail_if(call, !arg_is(call, i, "COUNT") || i + 1 >= call->argc, ERR_SYNTAX)) return;
        if (!arg_int64(call, i + 1, &limit)) return;
        if (limit < 0) limit = 0;
    }
    if (!find_typed_counted(call, 1, TYPE_STREAM, &entry)) return;
    if (entry == NULL) {
        resp_array(call->out, 0);
        return;
    }
    if (limit == 0) {
        resp_null_array(call->out);
        return;
    }

    const struct stream *stream = entry->object.stream;
    struct stream_id after = range.to;
    size_t to = stream_id_up(&after) ? stream_rank(stream, after) : stream_count(stream);
    size_t from = stream_rank(stream, range.from);
    size_t left = to > from ? to - from : 0;
    if ((uint64_t)limit < left) left = (size_t)limit;
    resp_array(call->out, left);
    if (left == 0) return;
    struct stream_walk walk;
    struct stream_entry item;
    if (back)
        stream_walk_down(&walk, stream, range.to);
    else
        stream_walk_up(&walk, stream, range.from);
    for (; left > 0 && stream_walk_next(&walk, &item); left--)
        reply_stream_entry(call->out, &item);
}

static const struct command rows[] = {
    ROW("XLEN", cmd_xlen, 2, READONLY | FAST, .keys = KEY_FIRST, .key_flags = KEY_RO,
        .since = "5.0.0", .replies = REPLIES("integer: the number of entries"),
        .errors = ERRORS(ERR_WRONGTYPE), .complexity = "O(1)", .syntax = "key",
        .summary = "Returns the number of entries in a stream."),
    ROW("XRANGE", reply_range, -4, READONLY, .variant = false, .keys = KEY_FIRST,
        .key_flags = KEY_RO | KEY_ACCESS, .since = "5.0.0",
        .replies =
            REPLIES("[[bulk [bulk ...]] ...]: entries: their IDs, and their fields and values",
                    "null-array: the count is 0 or less"),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_SYNTAX, ERR_STREAM_ID, ERR_INTERVAL_START,
                         ERR_INTERVAL_END, ERR_NOT_INTEGER),
        .complexity = "O(log(N)+M) where N is the number of entries and M the number returned.",
        .syntax = "key start end [COUNT count]",
        .summary = "Returns the entries of a stream whose IDs are in an interval."),
    ROW("XREVRANGE", reply_range, -4, READONLY, .variant = true, .keys = KEY_FIRST,
        .key_flags = KEY_RO | KEY_ACCESS, .since = "5.0.0",
        .replies =
            REPLIES("[[bulk [bulk ...]] ...]: entries: their IDs, and their fields and values",
                    "null-array: the count is 0 or less"),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_SYNTAX, ERR_STREAM_ID, ERR_INTERVAL_START,
                         ERR_INTERVAL_END, ERR_NOT_INTEGER),
        .complexity = "O(log(N)+M) where N is the number of entries and M the number returned.",
        .syntax = "key end start [COUNT count]",
        .summary = "Returns the entries of a stream whose IDs are in an interval, last first."),
};

const struct command_group stream_range_commands = COMMAND_GROUP("stream", rows);
