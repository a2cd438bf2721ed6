/* command_commands: COMMAND and its subcommands. The replies are made from the rows of all
 * commands. */
#include <stdio.h>
#include <string.h>

#include "server/admin/admin.h"
#include "server/admin/command/syntax.h"
#include "server/cmd/call/args.h"
#include "server/cmd/call/category.h"
#include "server/cmd/call/reply_text.h"
#include "store/mem/mem.h"

/* ---- COMMAND INFO ---------------------------------------------------------------------------- */

enum { NAME_MAX_LEN = 64 };

struct label {
    unsigned bit;
    const char *name;
};

static const struct label flag_names[] = {
    { WRITE, "write" },
    { READONLY, "readonly" },
    { GROWS, "denyoom" },
    { ADMIN, "admin" },
    { PUBSUB, "pubsub" },
    { NOSCRIPT, "noscript" },
    { BLOCKING, "blocking" },
    { LOADING, "loading" },
    { STALE, "stale" },
    { SKIP_MONITOR, "skip_monitor" },
    { SKIP_SLOWLOG, "skip_slowlog" },
    { FAST, "fast" },
    { NO_AUTH, "no_auth" },
    { NO_MANDATORY_KEYS, "no_mandatory_keys" },
    { NO_ASYNC_LOADING, "no_async_loading" },
    { NO_MULTI, "no_multi" },
    { MOVABLE_KEYS, "movablekeys" },
    { ALLOW_BUSY, "allow_busy" },
};

static void reply_labels(struct call *call, unsigned bits, const struct label *labels, size_t most)
{
    size_t count = 0;
    for (size_t i = 0; i < most; i++)
        count += (bits & labels[i].bit) != 0;
    resp_set(call->out, count);
    for (size_t i = 0; i < most; i++)
        if (bits & labels[i].bit) resp_status(call->out, labels[i].name);
}

static void command_info_reply_key_flags(struct call *call, unsigned flags)
{
    static const struct label names[] = {
        { KEY_RO, "RO" },
        { KEY_RW, "RW" },
        { KEY_OW, "OW" },
        { KEY_RM, "RM" },
        { KEY_ACCESS, "access" },
        { KEY_UPDATE, "update" },
        { KEY_INSERT, "insert" },
        { KEY_DELETE, "delete" },
        { KEY_NOT, "not_key" },
        { KEY_INCOMPLETE, "incomplete" },
        { KEY_VARIABLE, "variable_flags" },
    };
    reply_labels(call, flags, names, sizeof(names) / sizeof(names[0]));
}

/* Replies "type" and the number of fields of "spec". */
static void begin_spec(struct call *call, const char *type, size_t fields)
{
    resp_map(call->out, 2);
    resp_bulk_text(call->out, "type");
    resp_bulk_text(call->out, type);
    resp_bulk_text(call->out, "spec");
    resp_map(call->out, fields);
}

static void reply_key_specs(struct call *call, const struct command *row)
{
    struct key_spec specs[KEY_SPECS_MAX];
    int count = command_specs(row, specs);
    resp_set(call->out, (size_t)count);
    for (int i = 0; i < count; i++) {
        resp_map(call->out, 3);
        resp_bulk_text(call->out, "flags");
        command_info_reply_key_flags(call, specs[i].flags);
        resp_bulk_text(call->out, "begin_search");
        const struct key_spec *spec = &specs[i];
        if (spec->find == KEYS_ANYWHERE) {
            begin_spec(call, "unknown", 0);
        } else if (spec->keyword == NULL) {
            begin_spec(call, "index", 1);
            reply_named_integer(call, "index", spec->first);
        } else {
            begin_spec(call, "keyword", 2);
            resp_bulk_text(call->out, "keyword");
            resp_bulk_text(call->out, spec->keyword);
            reply_named_integer(call, "startfrom", spec->first);
        }

        resp_bulk_text(call->out, "find_keys");
        if (spec->find == KEYS_ANYWHERE) {
            begin_spec(call, "unknown", 0);
        } else if (spec->find == KEYS_RANGE) {
            begin_spec(call, "range", 3);
            reply_named_integer(call, "lastkey", spec->last);
            reply_named_integer(call, "keystep", spec->step);
            reply_named_integer(call, "limit", spec->limit);
        } else {
            begin_spec(call, "keynum", 3);
            reply_named_integer(call, "keynumidx", 0);
            reply_named_integer(call, "firstkey", 1);
            reply_named_integer(call, "keystep", spec->step);
        }
    }
}

static size_t command_info_subcommand_count(const struct command *row)
{
    size_t count = 0;
    if (row->subcommands != NULL)
        while (row->subcommands[count].name != NULL)
            count++;
    return count;
}

static void command_info_reply_name(struct call *call, struct command_ref ref)
{
    char name[NAME_MAX_LEN];
    size_t len = command_full_name(ref, name, sizeof(name));
    resp_bulk(call->out, name, len);
}

/* Replies with the row as COMMAND INFO does, including the rows of its subcommands. */
static void command_info_reply(struct call *call, struct command_ref ref)
{
    const struct command *row = ref.row;
    resp_array(call->out, 10);
    command_info_reply_name(call, ref);
    resp_integer(call->out, row->arity);
    reply_labels(call, row->flags, flag_names, sizeof(flag_names) / sizeof(flag_names[0]));
    resp_integer(call->out, row->keys.first);
    resp_integer(call->out, row->keys.last);
    resp_integer(call->out, row->keys.step);
    uint32_t categories = category_bits(ref);
    resp_set(call->out, (size_t)__builtin_popcount(categories));
    for (unsigned i = 0; i < category_count(); i++) {
        char label[NAME_MAX_LEN];
        int len = snprintf(label, sizeof(label), "@%s", category_name(i));
        if (categories >> i & 1) resp_status_bytes(call->out, label, (size_t)len);
    }
    size_t tips = 0;
    for (const char *at = row->tips; at != NULL && *at != '\0'; at += strspn(at, " "), tips++)
        at += strcspn(at, " ");
    resp_set(call->out, tips);
    for (const char *at = row->tips; tips > 0; tips--, at += strspn(at, " ")) {
        size_t len = strcspn(at, " ");
        resp_bulk(call->out, at, len);
        at += len;
    }
    reply_key_specs(call, row);
    size_t count = command_info_subcommand_count(row);
    /* As in Redis: an empty set, or an array of subcommands. */
    (count == 0 ? resp_set : resp_array)(call->out, count);
    for (size_t i = 0; i < count; i++)
        command_info_reply(call, commands_subcommand(ref, i));
}

/* Finds the row with a full name: "get", "config|get". */
static struct command_ref find_full(const struct commands *commands, struct bytes name)
{
    struct bytes words[2] = { name, { NULL, 0 } };
    const char *bar = name.len > 0 ? memchr(name.data, '|', name.len) : NULL;
    if (bar == NULL) return commands_find(commands, name);
    words[0].len = (size_t)(bar - name.data);
    words[1] = bytes_of(bar + 1, name.len - words[0].len - 1);
    struct command_ref ref = commands_match(commands, 2, words);
    if (ref.row != NULL && ref.parent == NULL) ref.row = NULL; /* the command has no subcommands */
    return ref;
}

static void cmd_command(struct call *call)
{
    const struct commands *commands = call->context;
    size_t count = commands_count(commands);
    resp_array(call->out, count);
    for (size_t i = 0; i < count; i++)
        command_info_reply(call, commands_at(commands, i));
}

static void cmd_command_count(struct call *call)
{
    resp_integer(call->out, (int64_t)commands_count(call->context));
}

static void cmd_command_info(struct call *call)
{
    if (call->argc == 2) {
        cmd_command(call);
        return;
    }
    resp_array(call->out, (size_t)call->argc - 2);
    for (int i = 2; i < call->argc; i++) {
        struct command_ref ref = find_full(call->context, call->argv[i]);
        if (ref.row == NULL)
            resp_null(call->out);
        else
            command_info_reply(call, ref);
    }
}

static void reply_docs(struct call *call, struct command_ref ref)
{
    const struct command *row = ref.row;
    bool has_arguments = row->syntax[0] != '\0';
    size_t fields = 4u + (row->subcommands != NULL) + has_arguments;
    command_info_reply_name(call, ref);
    resp_map(call->out, fields);
    resp_bulk_text(call->out, "summary");
    resp_bulk_text(call->out, row->summary);
    resp_bulk_text(call->out, "since");
    resp_bulk_text(call->out, row->since);
    resp_bulk_text(call->out, "group");
    resp_bulk_text(call->out, ref.group);
    resp_bulk_text(call->out, "complexity");
    resp_bulk_text(call->out, row->complexity);
    if (has_arguments) {
        resp_bulk_text(call->out, "arguments");
        struct key_spec specs[KEY_SPECS_MAX];
        syntax_reply_arguments(call->out, row->syntax, command_specs(row, specs));
    }
    if (row->subcommands == NULL) return;
    size_t count = command_info_subcommand_count(row);
    resp_bulk_text(call->out, "subcommands");
    resp_map(call->out, count);
    for (size_t i = 0; i < count; i++)
        reply_docs(call, commands_subcommand(ref, i));
}

static void cmd_command_docs(struct call *call)
{
    const struct commands *commands = call->context;
    if (call->argc == 2) {
        size_t count = commands_count(commands);
        resp_map(call->out, count);
        for (size_t i = 0; i < count; i++)
            reply_docs(call, commands_at(commands, i));
        return;
    }
    size_t found = 0;
    for (int i = 2; i < call->argc; i++)
        found += find_full(commands, call->argv[i]).row != NULL;
    resp_map(call->out, found);
    for (int i = 2; i < call->argc; i++) {
        struct command_ref ref = find_full(commands, call->argv[i]);
        if (ref.row != NULL) reply_docs(call, ref);
    }
}

struct list_filter {
    struct bytes pattern, category; /* no filter if data is NULL */
    bool none;                      /* lists no commands, because it asks for those of a module */
};

struct listing {
    struct call *call;
    const struct list_filter *filter;
    size_t count;
    bool reply; /* else only count */
};

static void list_command(void *ctx, struct command_ref ref)
{
    struct listing *listing = ctx;
    const struct list_filter *filter = listing->filter;
    char name[NAME_MAX_LEN];
    size_t len = command_full_name(ref, name, sizeof(name));
    if (filter->none) return;
    if (filter->pattern.data != NULL && !bytes_match(filter->pattern, bytes_of(name, len))) return;
    int category = category_find(filter->category);
    if (filter->category.data != NULL && !(category >= 0 && category_bits(ref) >> category & 1))
        return;

    listing->count++;
    if (listing->reply) command_info_reply_name(listing->call, ref);
}

static void cmd_command_list(struct call *call)
{
    struct list_filter filter = { 0 };
    if (call->argc == 5 && arg_is(call, 2, "FILTERBY") && arg_is(call, 3, "MODULE"))
        filter.none = true;
    else if (call->argc == 5 && arg_is(call, 2, "FILTERBY") && arg_is(call, 3, "ACLCAT"))
        filter.category = call->argv[4];
    else if (call->argc == 5 && arg_is(call, 2, "FILTERBY") && arg_is(call, 3, "PATTERN"))
        filter.pattern = call->argv[4];
    else if (call->argc != 2) {
        fail(call, ERR_SYNTAX);
        return;
    }
    struct listing listing = { .call = call, .filter = &filter };
    commands_each_stats(call->context, list_command, &listing);
    resp_array(call->out, listing.count);
    listing.reply = true;
    commands_each_stats(call->context, list_command, &listing);
}

static void reply_keys(struct call *call)
{
    bool with_flags = call_variant(call);
    int argc = call->argc - 2;
    const struct bytes *argv = call->argv + 2;
    const struct command *row = commands_match(call->context, argc, argv).row;
    if (row == NULL || !command_has_keys(row) || !command_fits_arity(row, argc)) {
        fail(call, row == NULL              ? ERR_COMMAND_INVALID
                   : !command_has_keys(row) ? ERR_COMMAND_NO_KEYS
                                            : ERR_COMMAND_ARITY);
        return;
    }
    int *positions = mem_alloc((size_t)argc * sizeof(*positions));
    unsigned *flags = mem_alloc((size_t)argc * sizeof(*flags));
    int count = command_keys(row, argc, argv, positions);
    if (count < 0 || (count == 0 && !(row->flags & NO_MANDATORY_KEYS))) {
        fail(call, ERR_COMMAND_KEYS);
    } else {
        command_key_flags(row, argc, argv, positions, count, flags);
        resp_array(call->out, (size_t)count);
        for (int i = 0; i < count; i++) {
            if (with_flags) resp_array(call->out, 2);
            reply_bytes(call, argv[positions[i]]);
            if (with_flags) command_info_reply_key_flags(call, flags[i]);
        }
    }
    mem_free(positions);
    mem_free(flags);
}

enum { ABOUT = LOADING | STALE };

static const struct command subcommands[] = {
    ROW("COUNT", cmd_command_count, 2, ABOUT, .acl = ACL_CONNECTION, .since = "2.8.13",
        .replies = REPLIES("integer: the number of commands"), .complexity = "O(1)", .syntax = "",
        .summary = "Returns the number of commands."),
    ROW("INFO", cmd_command_info, -2, ABOUT, .acl = ACL_CONNECTION,
        .tips = "nondeterministic_output_order", .since = "2.8.13",
        .replies = REPLIES(
            "[[bulk integer set[simple ...] integer integer integer set[simple ...] set[bulk ...] "
            "set[any ...] set[]|[any ...]]|null ...]: name, arity, flags, first key, last key, "
            "step, "
            "ACL categories, tips, key specifications, subcommands; null for an unknown command"),
        .complexity = "O(N) where N is the number of commands.",
        .syntax = "[command-name [command-name ...]]",
        .summary = "Returns arity, flags and key positions of commands."),
    ROW("DOCS", cmd_command_docs, -2, ABOUT, .acl = ACL_CONNECTION,
        .tips = "nondeterministic_output_order", .since = "7.0.0",
        .replies = REPLIES("map[bulk map[bulk any ...] ...]: each command's summary, since, group, "
                           "complexity, arguments and subcommands"),
        .complexity = "O(N) where N is the number of commands.",
        .syntax = "[command-name [command-name ...]]",
        .summary = "Describes commands: summary, syntax, complexity and group."),
    ROW("LIST", cmd_command_list, -2, ABOUT, .acl = ACL_CONNECTION,
        .tips = "nondeterministic_output_order", .since = "7.0.0",
        .replies = REPLIES("[bulk ...]: the names of the commands"), .errors = ERRORS(ERR_SYNTAX),
        .complexity = "O(N) where N is the number of commands.",
        .syntax = "[FILTERBY <MODULE module-name | ACLCAT category | PATTERN pattern>]",
        .summary = "Returns the names of commands."),
    ROW("GETKEYS", reply_keys, -4, ABOUT, .variant = false, .acl = ACL_CONNECTION,
        .since = "2.8.13", .replies = REPLIES("[bulk ...]: the keys"),
        .errors =
            ERRORS(ERR_COMMAND_INVALID, ERR_COMMAND_ARITY, ERR_COMMAND_NO_KEYS, ERR_COMMAND_KEYS),
        .complexity = "O(N) where N is the number of arguments.", .syntax = "command arg [arg ...]",
        .summary = "Returns the keys of a full command."),
    ROW("GETKEYSANDFLAGS", reply_keys, -4, ABOUT, .variant = true, .acl = ACL_CONNECTION,
        .since = "7.0.0",
        .replies =
            REPLIES("[[bulk set[simple ...]] ...]: each key, and how the command accesses it"),
        .errors =
            ERRORS(ERR_COMMAND_INVALID, ERR_COMMAND_ARITY, ERR_COMMAND_NO_KEYS, ERR_COMMAND_KEYS),
        .complexity = "O(N) where N is the number of arguments.", .syntax = "command arg [arg ...]",
        .summary = "Returns the keys of a full command, and how it accesses each."),
    HELP_ROW(cmd_help, .acl = ACL_CONNECTION, .since = "5.0.0"),
    { .name = NULL },
};

static const struct command rows[] = {
    ROW("COMMAND", cmd_command, -1, ABOUT, .acl = ACL_CONNECTION,
        .tips = "nondeterministic_output_order", .since = "2.8.13",
        .replies = REPLIES(
            "[[bulk integer set[simple ...] integer integer integer set[simple ...] set[bulk ...] "
            "set[any ...] set[]|[any ...]]|null ...]: name, arity, flags, first key, last key, "
            "step, "
            "ACL categories, tips, key specifications, subcommands; null for an unknown command"),
        .complexity = "O(N) where N is the number of commands.", .syntax = "",
        .summary = "Returns arity, flags and key positions of all commands.",
        .subcommands = subcommands),
};

const struct command_group command_commands = COMMAND_GROUP("server", rows);
