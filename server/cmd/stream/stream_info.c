/* stream_info: XINFO, which inspects streams, groups and consumers. */
#include "server/cmd/call/reply_text.h"
#include "server/cmd/stream/stream.h"
#include "server/cmd/stream/stream_delivery.h"
#include "store/type/stream/stream_progress.h"
#include "store/type/stream/stream_repeats.h"

static void name_id(struct call *call, const char *name, struct stream_id id)
{
    resp_bulk_text(call->out, name);
    reply_stream_id(call->out, id);
}

static void name_bytes(struct call *call, const char *name, struct bytes text)
{
    resp_bulk_text(call->out, name);
    reply_bytes(call, text);
}

static void name_known(struct call *call, const char *name, int64_t value, int64_t unknown)
{
    resp_bulk_text(call->out, name);
    if (value == unknown)
        resp_null(call->out);
    else
        resp_integer(call->out, value);
}

/* Finds the stream of argument 2. Returns NULL after sending an error. */
static const struct stream *find_stream(struct call *call)
{
    struct entry *entry;
    if (!find_typed_counted(call, 2, TYPE_STREAM, &entry)) return NULL;
    if (entry != NULL) return entry->object.stream;
    fail(call, ERR_NO_KEY);
    return NULL;
}

/* Replies with the fields that XINFO STREAM shows with and without FULL.
 * DIFFERS: radix-tree-keys and radix-tree-nodes describe Redis' own tree there, our blocks here.
 * (doc/differs.md) */
static void reply_basics(struct call *call, const struct stream *stream)
{
    struct stream_marks marks = stream_marks(stream);
    struct stream_id first = STREAM_ID_MIN;
    stream_first(stream, &first);
    reply_named_integer(call, "length", (int64_t)stream_count(stream));
    reply_named_integer(call, "radix-tree-keys", (int64_t)stream_blocks(stream));
    reply_named_integer(call, "radix-tree-nodes", (int64_t)stream_blocks(stream) + 1);
    name_id(call, "last-generated-id", marks.last);
    name_id(call, "max-deleted-entry-id", marks.max_deleted);
    reply_named_integer(call, "entries-added", (int64_t)marks.added);
    name_id(call, "recorded-first-entry-id", first);
}

/* The number of fields about repeated entries (IDMP), which Redis 7.0 lacks. They are shown only
 * for a stream on which IDMP, XCFGSET or XIDMPRECORD was used, so that other replies stay as in
 * Redis 7.0. */
enum { REPEAT_FIELDS = 6 };

static void reply_repeats(struct call *call, const struct stream *stream)
{
    const struct stream_repeats *repeats = stream_repeats(stream);
    if (repeats == NULL) return;
    struct repeat_limits limits = repeat_limits(repeats);
    struct repeat_tally tally = repeat_tally(repeats, call->txn->now);
    struct repeat_counts counts = repeat_counts(repeats);
    reply_named_integer(call, "idmp-duration", limits.seconds);
    reply_named_integer(call, "idmp-maxsize", limits.texts);
    reply_named_integer(call, "pids-tracked", (int64_t)tally.producers);
    reply_named_integer(call, "iids-tracked", (int64_t)tally.texts);
    reply_named_integer(call, "iids-added", counts.added);
    reply_named_integer(call, "iids-duplicates", counts.repeated);
}

static void reply_edge(struct call *call, const char *name, const struct stream *stream, bool found,
                       struct stream_id id)
{
    struct stream_entry entry;
    resp_bulk_text(call->out, name);
    if (found && find_stream_entry(stream, id, &entry))
        reply_stream_entry(call->out, &entry);
    else
        resp_null(call->out);
}

static size_t at_most(size_t count, int64_t limit)
{
    return limit > 0 && (uint64_t)limit < count ? (size_t)limit : count;
}

/* Replies with the first pending entries of the consumer or, if that is NULL, of the whole
 * group. */
static void reply_full_pending(struct call *call, const struct stream_group *group,
                               const struct stream_consumer *consumer, int64_t limit)
{
    struct pending_filter filter = { .to = STREAM_ID_MAX, .consumer = consumer };
    struct pending pending;
    size_t count = consumer != NULL ? consumer_pending(consumer) : group_count_pending(group);
    resp_bulk_text(call->out, "pending");
    count = at_most(count, limit);
    resp_array(call->out, count);
    for (; count > 0 && pending_next(group, &filter, &pending); count--) {
        bool released = pending.consumer == NULL;
        resp_array(call->out, consumer != NULL ? 3 : 4);
        reply_stream_id(call->out, pending.id);
        if (consumer == NULL)
            reply_bytes(call, released ? bytes_of("", 0) : consumer_name(pending.consumer));
        resp_integer(call->out, released ? 0 : pending.at);
        resp_integer(call->out, (int64_t)pending.deliveries);
        filter.from = pending.id;
        stream_id_up(&filter.from);
    }
}

static void reply_full(struct call *call, const struct stream *stream, int64_t limit)
{
    const struct stream_groups *groups = stream_groups(stream);
    struct stream_walk walk;
    struct stream_entry entry;
    size_t count = at_most(stream_count(stream), limit);
    resp_map(call->out, 9 + (stream_repeats(stream) != NULL ? REPEAT_FIELDS : 0));
    reply_basics(call, stream);
    reply_repeats(call, stream);
    resp_bulk_text(call->out, "entries");
    resp_array(call->out, count);
    stream_walk_up(&walk, stream, STREAM_ID_MIN);
    for (; count > 0 && stream_walk_next(&walk, &entry); count--)
        reply_stream_entry(call->out, &entry);
    resp_bulk_text(call->out, "groups");
    resp_array(call->out, stream_groups_count(groups));
    for (struct stream_group *group = NULL; (group = group_next(groups, group)) != NULL;) {
        /* Redis 7.0 has no released entries, so their count is shown only if there are any. */
        struct group_position position = group_position(group);
        size_t released = group_count_released(group);
        resp_map(call->out, released > 0 ? 8 : 7);
        name_bytes(call, "name", group_name(group));
        name_id(call, "last-delivered-id", position.last);
        name_known(call, "entries-read", position.read, GROUP_READ_UNKNOWN);
        name_known(call, "lag", stream_lag(stream, group), STREAM_LAG_UNKNOWN);
        reply_named_integer(call, "pel-count", (int64_t)group_count_pending(group));
        if (released > 0) reply_named_integer(call, "nacked-count", (int64_t)released);
        reply_full_pending(call, group, NULL, limit);
        resp_bulk_text(call->out, "consumers");
        resp_array(call->out, group_count_consumers(group));
        for (struct stream_consumer *c = NULL; (c = consumer_next(group, c)) != NULL;) {
            resp_map(call->out, 4);
            name_bytes(call, "name", consumer_name(c));
            reply_named_integer(call, "seen-time", consumer_seen_at(c));
            reply_named_integer(call, "pel-count", (int64_t)consumer_pending(c));
            reply_full_pending(call, group, c, limit);
        }
    }
}

enum { FULL_LIMIT = 10, FULL_ARGS = 4, FULL_COUNT_ARGS = 6 };

static void cmd_xinfo_stream(struct call *call)
{
    int64_t limit = FULL_LIMIT;
    const struct stream *stream = find_stream(call);
    if (stream == NULL) return;
    bool full = call->argc > 3 && arg_is(call, 3, "FULL");
    bool counted = call->argc == FULL_COUNT_ARGS && arg_is(call, 4, "COUNT");
    bool fits = call->argc == 3 || (full && (call->argc == FULL_ARGS || counted));
    if (fail_subcommand_if(call, !fits)) return;
    if (counted && !arg_int64(call, 5, &limit)) return;
    if (limit < 0) limit = FULL_LIMIT;
    if (full) {
        reply_full(call, stream, limit);
        return;
    }
    struct stream_id first = STREAM_ID_MIN, last = STREAM_ID_MIN;
    bool found = stream_first(stream, &first) && stream_final(stream, &last);
    resp_map(call->out, 10 + (stream_repeats(stream) != NULL ? REPEAT_FIELDS : 0));
    reply_basics(call, stream);
    reply_repeats(call, stream);
    reply_named_integer(call, "groups", (int64_t)stream_groups_count(stream_groups(stream)));
    reply_edge(call, "first-entry", stream, found, first);
    reply_edge(call, "last-entry", stream, found, last);
}

static void cmd_xinfo_groups(struct call *call)
{
    const struct stream *stream = find_stream(call);
    if (stream == NULL) return;
    const struct stream_groups *groups = stream_groups(stream);
    resp_array(call->out, stream_groups_count(groups));
    for (struct stream_group *group = NULL; (group = group_next(groups, group)) != NULL;) {
        struct group_position position = group_position(group);
        resp_map(call->out, 6);
        name_bytes(call, "name", group_name(group));
        reply_named_integer(call, "consumers", (int64_t)group_count_consumers(group));
        reply_named_integer(call, "pending", (int64_t)group_count_pending(group));
        name_id(call, "last-delivered-id", position.last);
        name_known(call, "entries-read", position.read, GROUP_READ_UNKNOWN);
        name_known(call, "lag", stream_lag(stream, group), STREAM_LAG_UNKNOWN);
    }
}

static void cmd_xinfo_consumers(struct call *call)
{
    const struct stream *stream = find_stream(call);
    if (stream == NULL) return;
    const struct stream_group *group = group_find(stream_groups(stream), call->argv[3]);
    if (group == NULL) {
        failf(call, ERR_NOGROUP_KEY, arg_width(call, 3), call->argv[3].data, arg_width(call, 2),
              call->argv[2].data);
        return;
    }
    resp_array(call->out, group_count_consumers(group));
    for (struct stream_consumer *c = NULL; (c = consumer_next(group, c)) != NULL;) {
        msec idle = call->txn->now - consumer_seen_at(c);
        resp_map(call->out, 3);
        name_bytes(call, "name", consumer_name(c));
        reply_named_integer(call, "pending", (int64_t)consumer_pending(c));
        reply_named_integer(call, "idle", idle > 0 ? idle : 0);
    }
}

static const struct command xinfo_rows[] = {
    ROW("CONSUMERS", cmd_xinfo_consumers, 4, READONLY, .keys = KEY_SECOND,
        .key_flags = KEY_RO | KEY_ACCESS, .tips = "nondeterministic_output", .since = "5.0.0",
        .replies = REPLIES("[map[bulk any ...] ...]: for each consumer its name, the number of its "
                           "pending entries, and the milliseconds since it was seen"),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_NO_KEY, ERR_NOGROUP_KEY),
        .complexity = "O(N) where N is the number of consumers.", .syntax = "key group",
        .summary = "Returns the consumers of a group."),
    ROW("GROUPS", cmd_xinfo_groups, 3, READONLY, .keys = KEY_SECOND,
        .key_flags = KEY_RO | KEY_ACCESS, .since = "5.0.0",
        .replies = REPLIES("[map[bulk any ...] ...]: for each group its name, consumers, pending "
                           "entries, position and lag"),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_NO_KEY),
        .complexity = "O(N) where N is the number of groups.", .syntax = "key",
        .summary = "Returns the groups of a stream."),
    ROW("STREAM", cmd_xinfo_stream, -3, READONLY, .keys = KEY_SECOND,
        .key_flags = KEY_RO | KEY_ACCESS, .since = "5.0.0",
        .replies =
            REPLIES("map[bulk any ...]: length, marks, groups, the first and the last entry; "
                    "with FULL entries, groups, consumers and pending entries"),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_NO_KEY, ERR_NOT_INTEGER, ERR_SUBCOMMAND_OR_ARITY),
        .complexity =
            "O(1); with FULL O(N) where N is the number of entries, groups, consumers and "
            "pending entries.",
        .syntax = "key [FULL [COUNT count]]", .summary = "Returns information about a stream."),
    HELP_ROW(cmd_help, .since = "5.0.0"),
    { .name = NULL },
};

static const struct command rows[] = {
    PARENT_ROW("XINFO", xinfo_rows, "5.0.0", "Container of commands that inspect streams."),
};

const struct command_group stream_info_commands = COMMAND_GROUP("stream", rows);
