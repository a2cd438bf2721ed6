/* acl_show: see acl_show.h. */
#include "server/admin/acl/acl_show.h"

#include "server/admin/admin.h"
#include "server/cmd/call/args.h"
#include "server/cmd/call/category.h"
#include "server/cmd/call/reply_text.h"
#include "store/mem/mem.h"

enum { LOG_COUNT = 10, NAME_SIZE = 128 };

static struct acl *acl_of(const struct call *call)
{
    return ((const struct acl_admin_context *)call->context)->acl;
}

/* Replies with the text as a bulk string and drops it. */
static void reply_and_drop(struct call *call, struct outbuf *text)
{
    char *copy = mem_alloc(text->len + 1);
    outbuf_copy(text, copy);
    resp_bulk(call->out, copy, text->len);
    mem_free(copy);
    outbuf_drop(text);
}

/* Replies with the three fields of a selector. */
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

void acl_show_user(struct call *call)
{
    const struct acl_user *user = acl_find(acl_of(call), call->argv[2]);
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

void acl_show_list(struct call *call)
{
    const struct acl *acl = acl_of(call);
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

void acl_show_users(struct call *call)
{
    const struct acl *acl = acl_of(call);
    struct acl_user **users = acl_sorted(acl);
    resp_array(call->out, acl_count(acl));
    for (size_t i = 0; i < acl_count(acl); i++)
        reply_bytes(call, blob_view(users[i]->name));
    mem_free(users);
}

void acl_show_caller(struct call *call)
{
    const struct acl_user *user = call->session->user;
    reply_bytes(call, user != NULL ? blob_view(user->name) : LIT("default"));
}

static void append_name(struct resp_writer *out, struct command_ref ref, unsigned category,
                        size_t *count)
{
    char name[NAME_SIZE];
    if (!category_has(category, ref)) return;
    size_t len = command_full_name(ref, name, sizeof(name));
    resp_bulk(out, name, len);
    ++*count;
}

void acl_show_categories(struct call *call)
{
    if (call->argc == 3) {
        int category = category_find(call->argv[2]);
        if (category < 0) {
            failf(call, ERR_ACL_CATEGORY, arg_width(call, 2), call->argv[2].data);
            return;
        }
        const struct commands *commands = acl_of(call)->commands;
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
    if (call->argc > 3) {
        failf(call, ERR_SUBCOMMAND_OR_ARITY, arg_width(call, 1), call->argv[1].data, "ACL");
        return;
    }
    resp_array(call->out, category_count());
    for (unsigned i = 0; i < category_count(); i++)
        resp_bulk_text(call->out, category_name(i));
}

void acl_show_log(struct call *call)
{
    struct acl_log *log = &acl_of(call)->log;
    int64_t most = LOG_COUNT;
    if (call->argc > 3) {
        failf(call, ERR_SUBCOMMAND_OR_ARITY, arg_width(call, 1), call->argv[1].data, "ACL");
        return;
    }
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

void acl_show_help(struct call *call)
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
