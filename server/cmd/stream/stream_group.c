/* stream_group: XGROUP, which adds and removes the groups of a stream and their consumers. */
#include "server/cmd/call/reply_text.h"
#include "server/cmd/stream/stream.h"
#include "server/cmd/stream/stream_args.h"
#include "store/txn/txn_stream.h"

struct group_options {
    bool make_stream;
    int64_t read; /* ENTRIESREAD, or GROUP_READ_UNKNOWN */
};

/* Parses [MKSTREAM] [ENTRIESREAD n] from argument 5 on. Only CREATE accepts MKSTREAM. */
static bool parse_options(struct call *call, bool creates, struct group_options *options)
{
    *options = (struct group_options){ .read = GROUP_READ_UNKNOWN };
    for (int i = 5; i < call->argc; i++) {
        if (creates && arg_is(call, i, "MKSTREAM")) {
            options->make_stream = true;
        } else if (arg_is(call, i, "ENTRIESREAD") && i + 1 < call->argc) {
            if (!arg_int64(call, ++i, &options->read)) return false;
            if (options->read >= GROUP_READ_UNKNOWN) continue;
            return fail(call, ERR_ENTRIESREAD);
        } else {
            return !fail_subcommand_if(call, true);
        }
    }
    return true;
}

/* Finds the stream of argument 2 and the group of argument 3. The stream must exist. */
static bool find_target(struct call *call, struct group_target *target)
{
    target->group = NULL;
    if (!find_typed(call, 2, TYPE_STREAM, &target->entry)) return false;
    if (target->entry == NULL) return fail(call, ERR_XGROUP_KEY);
    target->group = group_find(stream_groups(target->entry->object.stream), call->argv[3]);
    return true;
}

/* As find_target, but the group must exist, too. */
static bool need_target(struct call *call, struct group_target *target)
{
    if (!find_target(call, target)) return false;
    if (target->group != NULL) return true;
    return failf(call, ERR_NOGROUP_KEY, arg_width(call, 3), call->argv[3].data, arg_width(call, 2),
                 call->argv[2].data);
}

/* Returns the last ID of the stream, which "$" stands for. */
static struct stream_id last_id(const struct entry *entry)
{
    return entry != NULL ? stream_marks(entry->object.stream).last : STREAM_ID_MIN;
}

enum { CREATE_ARGS_MAX = 8, SETID_ARGS = 5, SETID_ARGS_MAX = 7 };

static void cmd_xgroup_create(struct call *call)
{
    struct group_options options;
    struct group_target target = { 0 };
    struct group_position position;
    if (!parse_options(call, true, &options)) return;
    if (!options.make_stream && !find_target(call, &target)) return;
    if (options.make_stream && !find_typed(call, 2, TYPE_STREAM, &target.entry)) return;
    if (fail_subcommand_if(call, call->argc > CREATE_ARGS_MAX)) return;
    position = (struct group_position){ last_id(target.entry), options.read };
    if (!arg_is(call, 4, "$") && !arg_stream_id(call, 4, &position.last)) return;
    struct entry *entry = entry_or_new(call, 2, target.entry, TYPE_STREAM);
    if (fail_if(call, group_find(stream_groups(entry->object.stream), call->argv[3]) != NULL,
                ERR_BUSYGROUP))
        return;
    txn_group_add(call->txn, entry, call->argv[3], &position);
    reply_ok(call);
}

static void cmd_xgroup_setid(struct call *call)
{
    struct group_options options;
    struct group_target target;
    struct group_position position;
    if (!parse_options(call, false, &options)) return;
    if (!need_target(call, &target)) return;
    bool fits = call->argc == SETID_ARGS || call->argc == SETID_ARGS_MAX;
    if (fail_subcommand_if(call, !fits)) return;
    position = (struct group_position){ last_id(target.entry), options.read };
    if (!arg_is(call, 4, "$") && !arg_stream_id_or_end(call, 4, &position.last)) return;
    txn_group_set_position(call->txn, target.entry, target.group, &position, EVENT_XGROUP_SETID);
    reply_ok(call);
}

static void cmd_xgroup_destroy(struct call *call)
{
    struct group_target target;
    if (!find_target(call, &target)) return;
    if (target.group != NULL) txn_group_remove(call->txn, target.entry, target.group);
    resp_integer(call->out, target.group != NULL);
}

static void cmd_xgroup_createconsumer(struct call *call)
{
    struct group_target target;
    if (!need_target(call, &target)) return;
    bool is_new = consumer_find(target.group, call->argv[4]) == NULL;
    if (is_new) txn_consumer_add(call->txn, target.entry, target.group, call->argv[4]);
    resp_integer(call->out, is_new);
}

static void cmd_xgroup_delconsumer(struct call *call)
{
    struct group_target target;
    if (!need_target(call, &target)) return;
    struct stream_consumer *consumer = consumer_find(target.group, call->argv[4]);
    resp_integer(call->out, consumer == NULL ? 0 : (int64_t)consumer_pending(consumer));
    if (consumer != NULL) txn_consumer_remove(call->txn, target.entry, target.group, consumer);
}

static const struct command xgroup_rows[] = {
    ROW("CREATE", cmd_xgroup_create, -5, WRITE | GROWS, .keys = KEY_SECOND,
        .key_flags = KEY_RW | KEY_INSERT, .since = "5.0.0",
        .replies = REPLIES("OK: the group was added"),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_XGROUP_KEY, ERR_BUSYGROUP, ERR_STREAM_ID,
                         ERR_ENTRIESREAD, ERR_NOT_INTEGER, ERR_SUBCOMMAND_OR_ARITY),
        .complexity = "O(1)", .syntax = "key group <id | $> [MKSTREAM] [ENTRIESREAD entries-read]",
        .summary = "Adds a group to a stream. The group reads the entries after the ID."),
    ROW("SETID", cmd_xgroup_setid, -5, WRITE, .keys = KEY_SECOND, .key_flags = KEY_RW | KEY_UPDATE,
        .since = "5.0.0", .replies = REPLIES("OK: the ID was set"),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_XGROUP_KEY, ERR_NOGROUP_KEY, ERR_STREAM_ID,
                         ERR_ENTRIESREAD, ERR_NOT_INTEGER, ERR_SUBCOMMAND_OR_ARITY),
        .complexity = "O(1)", .syntax = "key group <id | $> [ENTRIESREAD entries-read]",
        .summary = "Sets the last ID that was delivered to a group."),
    ROW("DESTROY", cmd_xgroup_destroy, 4, WRITE, .keys = KEY_SECOND,
        .key_flags = KEY_RW | KEY_DELETE, .since = "5.0.0",
        .replies = REPLIES("integer: 1 if the group was removed, 0 if there is none"),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_XGROUP_KEY),
        .complexity = "O(1). The memory of N pending entries is freed in the background, O(N).",
        .syntax = "key group",
        .summary = "Removes a group from a stream, with its consumers and pending entries."),
    ROW("CREATECONSUMER", cmd_xgroup_createconsumer, 5, WRITE | GROWS, .keys = KEY_SECOND,
        .key_flags = KEY_RW | KEY_INSERT, .since = "6.2.0",
        .replies = REPLIES("integer: 1 if the consumer was added, 0 if it existed"),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_XGROUP_KEY, ERR_NOGROUP_KEY), .complexity = "O(1)",
        .syntax = "key group consumer", .summary = "Adds a consumer to a group."),
    ROW("DELCONSUMER", cmd_xgroup_delconsumer, 5, WRITE, .keys = KEY_SECOND,
        .key_flags = KEY_RW | KEY_DELETE, .since = "5.0.0",
        .replies = REPLIES("integer: the number of pending entries that the consumer had"),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_XGROUP_KEY, ERR_NOGROUP_KEY),
        .complexity = "O(N*log(M)) where N is the number of pending entries of the consumer and M "
                      "that of the group; O(M) among more than 64 consumers.",
        .syntax = "key group consumer",
        .summary = "Removes a consumer from a group, with its pending entries."),
    HELP_ROW(cmd_help, .since = "5.0.0"),
    { .name = NULL },
};

static const struct command rows[] = {
    PARENT_ROW("XGROUP", xgroup_rows, "5.0.0",
               "Container of commands that manage the groups of a stream."),
};

const struct command_group stream_group_commands = COMMAND_GROUP("stream", rows);
