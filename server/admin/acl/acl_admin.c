/* acl_admin: the subcommands of ACL. Some show users, categories and refusals; SETUSER and DELUSER
 * change users, LOAD and SAVE read and write the ACL file, DRYRUN tests permissions, GENPASS makes
 * passwords. */
#include <sys/random.h>

#include "server/admin/admin.h"
#include "server/base/log.h"
#include "server/cmd/call/args.h"
#include "server/cmd/call/category.h"
#include "server/cmd/call/reply_text.h"
#include "store/mem/mem.h"

enum { GENPASS_BITS = 256, GENPASS_BITS_MAX = 4096, NAME_LIMIT = 128, TEXT_LIMIT = 512 };

static struct acl *users_of(const struct call *call)
{
    return ((const struct admin_parts *)call->context)->engine->acl;
}

/* ---- GETUSER, LIST, USERS, WHOAMI, CAT, LOG, HELP -------------------------------------------- */

enum { LOG_COUNT = 10 };

static void reply_and_drop(struct call *call, struct outbuf *text)
{
    char *copy = mem_alloc(text->len + 1);
    outbuf_copy(text, copy);
    resp_bulk(call->out, copy, text->len);
    mem_free(copy);
    outbuf_drop(text);
}

static void reply_selector(struct call *call, const struct acl_selector *selector)
{
    struct outbuf text;
    outbuf_init(&text);
    resp_bulk_text(call->out, "commands");
    acl_selector_describe_commands(selector, &text);
    reply_and_drop(call, &text);
    resp_bulk_text(call->out, "keys");
    acl_selector_describe_keys(selector, &text);
    reply_and_drop(call, &text);
    resp_bulk_text(call->out, "channels");
    acl_selector_describe_channels(selector, false, &text);
    reply_and_drop(call, &text);
}

static void acl_show_user(struct call *call)
{
    const struct acl_user *user = acl_find(users_of(call), call->argv[2]);
    const char *flags[3];
    if (user == NULL) {
        resp_null(call->out);
        return;
    }
    size_t count = acl_user_flags(user, flags);
    resp_map(call->out, 6);
    resp_bulk_text(call->out, "flags");
    resp_set(call->out, count);
    for (size_t i = 0; i < count; i++)
        resp_bulk_text(call->out, flags[i]);
    resp_bulk_text(call->out, "passwords");
    resp_array(call->out, user->hashes.count);
    for (const struct acl_item *item = user->hashes.first; item != NULL; item = item->next)
        reply_bytes(call, blob_view(item->text));
    reply_selector(call, &user->selectors[0]);
    resp_bulk_text(call->out, "selectors");
    resp_array(call->out, user->selector_count - 1);
    for (size_t i = 1; i < user->selector_count; i++) {
        resp_map(call->out, 3);
        reply_selector(call, &user->selectors[i]);
    }
}

static void acl_show_list(struct call *call)
{
    const struct acl *acl = users_of(call);
    struct acl_user **users = acl_sorted(acl);
    resp_array(call->out, acl_count(acl));
    for (size_t i = 0; i < acl_count(acl); i++) {
        struct outbuf line;
        outbuf_init(&line);
        acl_user_describe(users[i], &line);
        reply_and_drop(call, &line);
    }
    mem_free(users);
}

static void acl_show_users(struct call *call)
{
    const struct acl *acl = users_of(call);
    struct acl_user **users = acl_sorted(acl);
    resp_array(call->out, acl_count(acl));
    for (size_t i = 0; i < acl_count(acl); i++)
        reply_bytes(call, blob_view(users[i]->name));
    mem_free(users);
}

static void acl_show_caller(struct call *call)
{
    const struct acl_user *user = call->session->user;
    reply_bytes(call, user != NULL ? blob_view(user->name) : LIT("default"));
}

static void append_name(struct resp_writer *out, struct command_ref ref, unsigned category,
                        size_t *count)
{
    char name[NAME_LIMIT];
    if (!category_has(category, ref)) return;
    size_t len = command_full_name(ref, name, sizeof(name));
    resp_bulk(out, name, len);
    ++*count;
}

static void acl_show_categories(struct call *call)
{
    if (call->argc == 3) {
        int category = category_find(call->argv[2]);
        if (category < 0) {
            failf(call, ERR_ACL_CATEGORY, arg_width(call, 2), call->argv[2].data);
            return;
        }
        const struct commands *commands = users_of(call)->commands;
        struct outbuf names; /* a separate buffer, because their number is sent first */
        outbuf_init(&names);
        struct resp_writer out = resp_writer_to(call->out, &names);
        size_t count = 0;
        for (size_t i = 0; i < commands_count(commands); i++) {
            struct command_ref ref = commands_at(commands, i), sub;
            append_name(&out, ref, (unsigned)category, &count);
            for (size_t j = 0; (sub = commands_subcommand(ref, j)).row != NULL; j++)
                append_name(&out, sub, (unsigned)category, &count);
        }
        resp_array(call->out, count);
        resp_splice(call->out, &names);
        return;
    }
    if (fail_subcommand_if(call, call->argc > 3)) return;
    resp_array(call->out, category_count());
    for (unsigned i = 0; i < category_count(); i++)
        resp_bulk_text(call->out, category_name(i));
}

static void acl_show_log(struct call *call)
{
    struct acl_log *log = &users_of(call)->log;
    int64_t most = LOG_COUNT;
    if (fail_subcommand_if(call, call->argc > 3)) return;
    if (call->argc == 3 && arg_is(call, 2, "RESET")) {
        acl_log_reset(log);
        reply_ok(call);
        return;
    }
    if (call->argc == 3 && !arg_int64(call, 2, &most)) return;
    size_t count = most < 0 ? 0 : (uint64_t)most < log->count ? (size_t)most : log->count;
    resp_array(call->out, count);
    const struct acl_log_entry *entry = TAILQ_FIRST(&log->entries);
    for (; count > 0; count--, entry = TAILQ_NEXT(entry, next)) {
        resp_map(call->out, 7);
        resp_bulk_text(call->out, "count");
        resp_integer(call->out, (int64_t)entry->count);
        resp_bulk_text(call->out, "reason");
        resp_bulk_text(call->out, acl_reason_text(entry->reason));
        resp_bulk_text(call->out, "context");
        resp_bulk_text(call->out, acl_where_text(entry->where));
        resp_bulk_text(call->out, "object");
        reply_bytes(call, blob_view(entry->object));
        resp_bulk_text(call->out, "username");
        reply_bytes(call, blob_view(entry->user_name));
        resp_bulk_text(call->out, "age-seconds");
        resp_double(call->out, (double)(call->txn->now - entry->at) / 1000);
        resp_bulk_text(call->out, "client-info");
        reply_bytes(call, blob_view(entry->client));
    }
}

static void acl_show_help(struct call *call)
{
    static const char *const lines[] = {
        "ACL <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
        "CAT [<category>]",
        "    List all commands that belong to <category>, or all command categories",
        "    when no category is specified.",
        "DELUSER <username> [<username> ...]",
        "    Delete a list of users.",
        "DRYRUN <username> <command> [<arg> ...]",
        "    Returns whether the user can execute the given command without executing the command.",
        "GETUSER <username>",
        "    Get the user's details.",
        "GENPASS [<bits>]",
        "    Generate a secure 256-bit user password. The optional `bits` argument can",
        "    be used to specify a different size.",
        "LIST",
        "    Show users details in config file format.",
        "LOAD",
        "    Reload users from the ACL file.",
        "LOG [<count> | RESET]",
        "    Show the ACL log entries.",
        "SAVE",
        "    Save the current config to the ACL file.",
        "SETUSER <username> <attribute> [<attribute> ...]",
        "    Create or modify a user with the specified attributes.",
        "USERS",
        "    List all the registered usernames.",
        "WHOAMI",
        "    Return the current connection username.",
    };
    reply_help(call, lines, sizeof(lines) / sizeof(lines[0]));
}

/* ---- sessions of users that lost permissions ------------------------------------------------- */

/* The sessions to close. They are collected before any is closed, because closing one changes the
 * list of connections. */
struct found {
    struct session **at;
    size_t count, cap;
    const struct acl_user *user; /* NULL for every user */
    bool lost_channels;          /* the user has fewer rules about channels than before */
};

static void add_found(struct found *found, struct session *session)
{
    found->at = mem_grow(found->at, found->count, &found->cap, sizeof(struct session *));
    found->at[found->count++] = session;
}

static void visit_deleted(void *ctx, const struct client_info *info)
{
    const struct acl_user *user = info->session->user;
    if (user != NULL && user->is_deleted) add_found(ctx, info->session);
}

struct listener_check {
    const struct acl_user *user;
    bool is_pattern, refused;
};

static void visit_channel(void *ctx, struct bytes name)
{
    struct listener_check *check = ctx;
    check->refused |= !acl_user_may_subscribe(check->user, name, check->is_pattern);
}

static void visit_prefix(void *ctx, struct bytes prefix)
{
    struct listener_check *check = ctx;
    check->refused |= !acl_user_reads_prefix(check->user, prefix);
}

/* Finds sessions that subscribe to channels, or track keys by prefixes, that their users may no
 * longer use. */
static void visit_listener(void *ctx, const struct client_info *info)
{
    const struct found *found = ctx;
    struct session *session = info->session;
    struct listener_check check = { .user = session->user };
    if (session->user == NULL || session->user->unrestricted) return;
    if (found->user != NULL && session->user != found->user) return;
    tracking_each_prefix(session, visit_prefix, &check);
    for (enum pubsub_kind kind = 0; kind < PUBSUB_KINDS && found->lost_channels; kind++) {
        check.is_pattern = kind == PUBSUB_PATTERN;
        session_each_subscription(session, kind, visit_channel, &check);
    }
    if (check.refused) add_found(ctx, session);
}

/* Closes the connections that `visit` finds; the caller's own after its reply is sent. */
static void close_sessions(struct call *call,
                           void (*visit)(void *ctx, const struct client_info *info),
                           struct found found)
{
    const struct admin_parts *context = call->context;
    clients_each(context->clients, visit, &found);
    for (size_t i = 0; i < found.count; i++) {
        acl_log_out(context->engine->acl, found.at[i]);
        clients_kill(context->clients, found.at[i], call->session);
    }
    mem_free(found.at);
}

static void close_sessions_of_deleted(struct call *call)
{
    close_sessions(call, visit_deleted, (struct found){ .count = 0 });
    /* A caller without a connection, as in a test. */
    const struct acl_user *user = call->session->user;
    if (user != NULL && user->is_deleted) acl_log_out(users_of(call), call->session);
}

/* ---- changing users -------------------------------------------------------------------------- */

static void fail_with_text(struct call *call, struct outbuf *why)
{
    char *line = mem_alloc(why->len + 5);
    memcpy(line, "ERR ", 4);
    outbuf_copy(why, line + 4);
    fail_line(call, line, why->len + 4, false);
    mem_free(line);
    outbuf_drop(why);
}

static void cmd_acl_setuser(struct call *call)
{
    struct acl *acl = users_of(call);
    struct acl_words words;
    for (int i = 2; i < call->argc; i++)
        call_redact(call, i);
    /* DIFFERS: Redis accepts an empty name, which its files can't hold. (doc/differs.md) */
    if (fail_if(call, call->argv[2].len == 0 || acl_has_spaces(call->argv[2]), ERR_ACL_USER_NAME))
        return;
    size_t count = (size_t)call->argc - 3;
    size_t open = acl_words_join(&words, call->argv + 3, count);
    if (open < count) {
        failf(call, ERR_ACL_UNMATCHED, arg_width(call, 3 + (int)open), call->argv[3 + open].data);
        acl_words_drop(&words);
        return;
    }
    struct bytes refused;
    const struct acl_user *user = acl_find(acl, call->argv[2]);
    struct acl_user *before = user != NULL ? acl_user_copy(user) : NULL;
    enum acl_fault fault = acl_set_user(acl, call->argv[2], &words, &refused);
    if (fault != ACL_NO_FAULT) {
        int width = refused.len < TEXT_LIMIT ? (int)refused.len : TEXT_LIMIT;
        failf(call, ERR_ACL_RULE, width, refused.data, acl_fault_text(fault));
    } else {
        /* As in Redis, channels are checked only if a channel rule that the user had is gone. */
        user = acl_find(acl, call->argv[2]);
        if (before != NULL)
            close_sessions(call, visit_listener,
                           (struct found){ .user = user,
                                           .lost_channels = acl_user_lost_channels(user, before) });
        reply_ok(call);
    }
    acl_user_release(before);
    acl_words_drop(&words);
}

static void cmd_acl_deluser(struct call *call)
{
    int64_t deleted = 0;
    bool stops = false;
    for (int i = 2; i < call->argc && !stops; i++) {
        stops = bytes_equal(call->argv[i], LIT("default"));
        if (!stops) deleted += acl_delete_user(users_of(call), call->argv[i]);
    }
    close_sessions_of_deleted(call);
    if (stops)
        fail(call, ERR_ACL_KEEP_DEFAULT);
    else
        resp_integer(call->out, deleted);
}

/* DIFFERS: Redis 7.0 closes all connections except those of the default user. Here, as in Redis
 * 7.2, a connection stays open if its user still exists and may still use the channels that the
 * connection uses. (doc/differs.md) */
static void cmd_acl_load(struct call *call)
{
    struct outbuf why;
    outbuf_init(&why);
    if (!acl_load(users_of(call), &why)) {
        fail_with_text(call, &why);
        return;
    }
    close_sessions_of_deleted(call);
    close_sessions(call, visit_listener, (struct found){ .lost_channels = true });
    log_line(LOG_NOTICE, "ACL LOAD has read %zu users", acl_count(users_of(call)));
    reply_ok(call);
}

static void cmd_acl_save(struct call *call)
{
    struct outbuf why;
    outbuf_init(&why);
    if (acl_save(users_of(call), &why))
        reply_ok(call);
    else
        fail_with_text(call, &why);
}

static void cmd_acl_genpass(struct call *call)
{
    static const char hex[] = "0123456789abcdef";
    unsigned char random[GENPASS_BITS_MAX / 4];
    char text[GENPASS_BITS_MAX / 4];
    int64_t bits = GENPASS_BITS;
    if (fail_subcommand_if(call, call->argc > 3)) return;
    if (call->argc == 3 && !arg_int64(call, 2, &bits)) return;
    if (bits <= 0 || bits > GENPASS_BITS_MAX) {
        failf(call, ERR_ACL_GENPASS, GENPASS_BITS_MAX);
        return;
    }
    size_t digits = (size_t)(bits + 3) / 4;
    for (size_t done = 0; done < digits;) {
        ssize_t got = getrandom(random + done, digits - done, 0);
        if (got > 0) done += (size_t)got;
    }
    for (size_t i = 0; i < digits; i++)
        text[i] = hex[random[i] & 15];
    resp_bulk(call->out, text, digits);
}

static void append_text(struct outbuf *to, struct bytes text)
{
    outbuf_append(to, text.data, text.len);
}

static void cmd_acl_dryrun(struct call *call)
{
    const struct acl *acl = users_of(call);
    const struct acl_user *user = acl_find(acl, call->argv[2]);
    int argc = call->argc - 3, at;
    const struct bytes *argv = call->argv + 3;
    char name[NAME_LIMIT];
    if (user == NULL) {
        failf(call, ERR_ACL_NO_USER, arg_width(call, 2), call->argv[2].data);
        return;
    }
    struct command_ref ref = commands_match(acl->commands, argc, argv);
    if (ref.row == NULL) {
        failf(call, ERR_ACL_NO_COMMAND, arg_width(call, 3), call->argv[3].data);
        return;
    }
    /* Calls of these commands may contain passwords: AUTH, HELLO, CONFIG SET, ACL SETUSER. */
    for (int i = 4; i < call->argc && (ref.row->flags & (NO_AUTH | ADMIN)); i++)
        call_redact(call, i);
    size_t name_len = command_full_name(ref, name, sizeof(name));
    if (!command_fits_arity(ref.row, argc)) {
        failf(call, ERR_ARITY, name);
        return;
    }
    enum acl_verdict verdict = acl_user_check(user, ref, argc, argv, &at);
    if (verdict == ACL_ALLOWED) {
        reply_ok(call);
        return;
    }
    struct outbuf text;
    bool whole = verdict == ACL_NO_COMMAND;
    outbuf_init(&text);
    append_text(&text, LIT("This user has no permissions to "));
    append_text(&text, whole ? LIT("run the '") : LIT("access the '"));
    append_text(&text, whole ? bytes_of(name, name_len) : argv[at]);
    append_text(&text, whole                   ? LIT("' command")
                       : verdict == ACL_NO_KEY ? LIT("' key")
                                               : LIT("' channel"));
    reply_and_drop(call, &text);
}

enum { SYSTEM = ADMIN | NOSCRIPT | LOADING | STALE, OPEN = NOSCRIPT | LOADING | STALE };

static const struct command subcommands[] = {
    ROW("CAT", acl_show_categories, -2, OPEN, .since = "6.0.0",
        .replies = REPLIES("[bulk ...]: the categories, or the commands of one"),
        .errors = ERRORS(ERR_ACL_CATEGORY, ERR_SUBCOMMAND_OR_ARITY),
        .complexity = "O(N) where N is the number of commands.", .syntax = "[category]",
        .summary = "Lists the categories of commands, or the commands of a category."),
    ROW("DELUSER", cmd_acl_deluser, -3, SYSTEM, .since = "6.0.0",
        .replies = REPLIES("integer: the number of users that were deleted"),
        .errors = ERRORS(ERR_ACL_KEEP_DEFAULT),
        .complexity = "O(N) where N is the number of connections, for each user.",
        .syntax = "username [username ...]",
        .summary = "Deletes users and closes their connections."),
    ROW("DRYRUN", cmd_acl_dryrun, -4, SYSTEM, .since = "7.0.0",
        .replies = REPLIES("OK: the user may run it", "bulk: the reason why not"),
        .errors = ERRORS(ERR_ACL_NO_USER, ERR_ACL_NO_COMMAND, ERR_ARITY),
        .complexity = "O(N) where N is the number of rules of the user.",
        .syntax = "username command [arg [arg ...]]",
        .summary = "Checks whether a user may run a command, without running it."),
    ROW("GENPASS", cmd_acl_genpass, -2, OPEN, .since = "6.0.0",
        .replies = REPLIES("bulk: random hexadecimal digits"),
        .errors = ERRORS(ERR_ACL_GENPASS, ERR_NOT_INTEGER, ERR_SUBCOMMAND_OR_ARITY),
        .complexity = "O(1)", .syntax = "[bits]", .summary = "Generates a random password."),
    ROW("GETUSER", acl_show_user, 3, SYSTEM, .since = "6.0.0",
        .replies =
            REPLIES("map['flags' set[bulk ...] 'passwords' [bulk ...] 'commands' bulk 'keys' "
                    "bulk 'channels' bulk 'selectors' [any ...]]: the user's flags, hashes of "
                    "passwords, rules and selectors",
                    "null: there is no such user"),
        .complexity = "O(N) where N is the number of rules of the user.", .syntax = "username",
        .summary = "Returns the rules of a user."),
    HELP_ROW(acl_show_help, .since = "6.0.0"),
    ROW("LIST", acl_show_list, 2, SYSTEM, .since = "6.0.0",
        .replies = REPLIES("[bulk ...]: a line for each user, as in an ACL file"),
        .complexity = "O(N) where N is the number of users.", .syntax = "",
        .summary = "Lists the users with their rules."),
    ROW("LOAD", cmd_acl_load, 2, SYSTEM, .since = "6.0.0",
        .replies = REPLIES("OK: the users are those of the file"), .errors = ERRORS(ERR_ACL_FILE),
        .complexity = "O(N) where N is the number of users.", .syntax = "",
        .summary = "Reads the users from the ACL file."),
    ROW("LOG", acl_show_log, -2, SYSTEM, .since = "6.0.0",
        .replies = REPLIES("OK: with RESET", "[any ...]: the latest refusals, each a map"),
        .errors = ERRORS(ERR_NOT_INTEGER, ERR_SUBCOMMAND_OR_ARITY),
        .complexity = "O(N) where N is the number of entries.", .syntax = "[count | RESET]",
        .summary = "Lists calls and logins that were refused, or empties the list."),
    ROW("SAVE", cmd_acl_save, 2, SYSTEM, .since = "6.0.0",
        .replies = REPLIES("OK: the file was written"), .errors = ERRORS(ERR_ACL_FILE),
        .complexity = "O(N) where N is the number of users.", .syntax = "",
        .summary = "Writes the users to the ACL file."),
    ROW("SETUSER", cmd_acl_setuser, -3, SYSTEM, .since = "6.0.0",
        .replies = REPLIES("OK: all rules were applied"),
        .errors = ERRORS(ERR_ACL_USER_NAME, ERR_ACL_UNMATCHED, ERR_ACL_RULE),
        .complexity = "O(N+M) where N is the number of rules of the user and M the number of "
                      "subscribed connections.",
        .syntax = "username [rule [rule ...]]", .summary = "Creates a user, or changes its rules."),
    ROW("USERS", acl_show_users, 2, SYSTEM, .since = "6.0.0",
        .replies = REPLIES("[bulk ...]: the names of the users"),
        .complexity = "O(N) where N is the number of users.", .syntax = "",
        .summary = "Lists the names of the users."),
    ROW("WHOAMI", acl_show_caller, 2, OPEN, .since = "6.0.0",
        .replies = REPLIES("bulk: the name of the caller's user"), .complexity = "O(1)",
        .syntax = "", .summary = "Returns the name of the caller's user."),
    { .name = NULL },
};

static const struct command rows[] = {
    PARENT_ROW("ACL", subcommands, "6.0.0", "Manages users and their permissions."),
};

const struct command_group acl_commands = COMMAND_GROUP("server", rows);
