/* config: CONFIG, which reads and changes options. Depends on the table of options (conf/).
 * Functions of struct admin_parts (admin_parts.h) apply the changes. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "server/admin/admin.h"
#include "server/cmd/call/args.h"
#include "server/cmd/call/reply_text.h"
#include "store/mem/mem.h"

/* ---- GET ------------------------------------------------------------------------------------ */

enum { PATTERN_MAX = 128 };

/* Does the pattern match the name of an option, ignoring case? Option names are in lower case, so
 * only the pattern must be converted. */
static bool matches_in_lower_case(struct bytes pattern, const char *name)
{
    char folded[PATTERN_MAX];
    if (pattern.len > sizeof(folded)) return false;
    for (size_t i = 0; i < pattern.len; i++)
        folded[i] = (char)tolower((unsigned char)pattern.data[i]);
    return bytes_match(bytes_of(folded, pattern.len), bytes_of(name, strlen(name)));
}

static bool matches_any_pattern(const struct call *call, const struct conf_option *option)
{
    if (option->unlisted) return false;
    for (int i = 2; i < call->argc; i++)
        if (matches_in_lower_case(call->argv[i], option->name)) return true;
    return false;
}

static void cmd_config_get(struct call *call)
{
    const struct admin_parts *context = call->context;
    size_t wanted = 0;
    for (size_t i = 0; i < conf_option_count(); i++)
        wanted += matches_any_pattern(call, conf_option_at(i));
    resp_map(call->out, wanted);
    for (size_t i = 0; i < conf_option_count(); i++) {
        const struct conf_option *option = conf_option_at(i);
        if (!matches_any_pattern(call, option)) continue;
        char *value = conf_get(context->conf, option);
        /* An option requested by its full name is returned in the spelling of the request. */
        struct bytes name = bytes_of(option->name, strlen(option->name));
        for (int j = call->argc - 1; j >= 2; j--)
            if (call->argv[j].len == name.len && matches_in_lower_case(call->argv[j], option->name))
                name = call->argv[j];
        reply_bytes(call, name);
        resp_bulk_text(call->out, value);
        free(value);
    }
}

/* ---- SET: sets all options or none ----------------------------------------------------------- */

enum { PAIRS_MAX = 256 };

struct change {
    const struct conf_option *option;
    char *value; /* the new value; after it is set, the old one */
};

static char *c_string_of(struct bytes bytes)
{
    char *text = mem_alloc(bytes.len + 1);
    memcpy(text, bytes.data, bytes.len);
    text[bytes.len] = '\0';
    return text;
}

/* Does a name or a value contain a zero byte, which would truncate it as a C string? */
static bool has_zero_byte(struct bytes text)
{
    return text.len > 0 && memchr(text.data, '\0', text.len) != NULL;
}

static const struct conf_option *option_named(struct bytes word)
{
    if (has_zero_byte(word)) return NULL;
    char *name = c_string_of(word);
    const struct conf_option *option = conf_find(name);
    mem_free(name);
    return option != NULL && option->unlisted ? NULL : option;
}

/* Finds the options to change; refuses duplicates and those that may not change. */
static bool find_options(struct call *call, struct change *changes, int count)
{
    static const char *const secrets[] = { "requirepass",       "user",
                                           "masterauth",        "primaryauth",
                                           "tls-key-file-pass", "tls-client-key-file-pass" };
    const struct admin_parts *context = call->context;
    enum conf_allowed allow = (enum conf_allowed)context->conf->enable_protected_configs;
    for (int i = 0; i < count; i++) {
        changes[i].option = option_named(call->argv[2 + 2 * i]);
        /* Redact passwords, even those that CONFIG SET can't set. */
        for (size_t j = 0; j < sizeof(secrets) / sizeof(secrets[0]); j++)
            if (bytes_is_word(call->argv[2 + 2 * i], secrets[j])) call_redact(call, 3 + 2 * i);
    }
    for (int i = 0; i < count; i++) {
        if (changes[i].option != NULL) continue;
        struct bytes word = call->argv[2 + 2 * i];
        return failf(call, ERR_CONFIG_UNKNOWN, arg_width(call, 2 + 2 * i), word.data);
    }
    for (int i = 0; i < count; i++) {
        const struct conf_option *option = changes[i].option;
        if (option->guarded && !admin_allows(allow, call->session))
            return failf(call, ERR_CONFIG_SET, option->name, "can't set protected config");
        if (!option->live)
            return failf(call, ERR_CONFIG_SET, option->name, "can't set immutable config");
        if (option->not_loading && context->engine->loading) return fail(call, ERR_LOADING);
        for (int j = 0; j < i; j++)
            if (changes[j].option == option)
                return failf(call, ERR_CONFIG_SET, option->name, "duplicate parameter");
    }
    return true;
}

static void put_back(struct conf *conf, const struct change *changes, int count)
{
    const char *ignored;
    while (count-- > 0)
        conf_set(conf, changes[count].option, changes[count].value, &ignored);
}

/* DIFFERS: a value with a zero byte is an error here. Redis keeps the byte in requirepass and
 * masterauth, and cuts most other values off at it. (doc/differs.md) */
static bool set_all(struct call *call, struct conf *conf, struct change *changes, int count)
{
    for (int i = 0; i < count; i++) {
        struct bytes word = call->argv[3 + 2 * i];
        char *old = conf_get(conf, changes[i].option), *value = c_string_of(word);
        const char *why = "a zero byte in a value";
        bool done = !has_zero_byte(word) && conf_set(conf, changes[i].option, value, &why);
        mem_free(value);
        if (done) {
            changes[i].value = old;
            continue;
        }
        free(old);
        failf(call, ERR_CONFIG_SET, changes[i].option->name, why);
        put_back(conf, changes, i);
        return false;
    }
    return true;
}

bool config_apply(const struct admin_parts *context)
{
    notify_set_flags(context->notify, context->conf->notify_keyspace_events);
    return context->changed(context->ctx);
}

static bool try_to_apply(const struct admin_parts *context, const struct change *changes, int count,
                         struct config_fault *fault)
{
    const struct conf_option *set[PAIRS_MAX];
    for (int i = 0; i < count; i++)
        set[i] = changes[i].option;
    return context->try == NULL || context->try(context->ctx, set, (size_t)count, fault);
}

/* Restores all options, and applies the old values, which worked before. Rereads certificates with
 * them. */
static void undo(const struct admin_parts *context, const struct change *changes, int count)
{
    struct config_fault ignored;
    put_back(context->conf, changes, count);
    try_to_apply(context, changes, count, &ignored);
    struct tls *tls = clients_tls(context->clients);
    if (tls != NULL) tls_reload(tls, ignored.text, sizeof(ignored.text));
}

/* Makes the changed options take effect. If one can't, restores all and replies with the error. */
static bool apply(struct call *call, const struct change *changes, int count)
{
    const struct admin_parts *context = call->context;
    /* Reread certificates and keys if a tls option was set, even to its old value. */
    const struct conf_option *option = NULL;
    for (int i = 0; i < count && option == NULL; i++)
        if (strncmp(changes[i].option->name, "tls-", 4) == 0) option = changes[i].option;
    struct tls *tls = clients_tls(context->clients);
    char why[TLS_WHY_SIZE];
    if (option != NULL && tls != NULL && !tls_reload(tls, why, sizeof(why))) {
        put_back(context->conf, changes, count);
        return failf(call, ERR_CONFIG_SET, option->name, why);
    }

    struct config_fault fault;
    if (!try_to_apply(context, changes, count, &fault)) {
        undo(context, changes, count);
        return failf(call, ERR_CONFIG_SET, fault.option->name, fault.text);
    }

    /* The journal may fail to start. Then the old options are applied again. */
    if (config_apply(context)) return true;
    undo(context, changes, count);
    config_apply(context);
    return fail(call, ERR_NO_JOURNAL);
}

/* Must a thread prepare this CONFIG SET first (admin_parts.prepares)? Skips names that are no
 * options: the call will fail because of them. */
static bool set_prepares(const struct call *call)
{
    const struct admin_parts *context = call->context;
    struct config_wish wishes[PAIRS_MAX];
    size_t count = 0;
    if (context->prepares == NULL || call->argc % 2 != 0 || call->argc > 2 + 2 * PAIRS_MAX)
        return false;
    for (int i = 2; i < call->argc; i += 2) {
        wishes[count] = (struct config_wish){ option_named(call->argv[i]), call->argv[i + 1] };
        count += wishes[count].option != NULL && wishes[count].option->live;
    }
    return context->prepares(context->ctx, wishes, count);
}

static void cmd_config_set(struct call *call)
{
    const struct admin_parts *context = call->context;
    if (fail_if(call, call->argc % 2 != 0 || call->argc > 2 + 2 * PAIRS_MAX, ERR_SYNTAX)) return;
    int count = (call->argc - 2) / 2;
    struct change changes[PAIRS_MAX] = { 0 };
    if (!find_options(call, changes, count)) return;
    bool done = set_all(call, context->conf, changes, count) && apply(call, changes, count);
    for (int i = 0; i < count; i++)
        free(changes[i].value);
    if (!done) return;
    /* Even an unchanged requirepass replaces passwords that were set by ACL SETUSER. */
    for (int i = 0; i < count && context->engine->acl != NULL; i++)
        if (strcmp(changes[i].option->name, "requirepass") == 0)
            acl_set_requirepass(context->engine->acl, context->conf->requirepass);
    reply_ok(call);
}

/* ---- RESETSTAT, REWRITE and HELP ------------------------------------------------------------- */

static void cmd_config_resetstat(struct call *call)
{
    const struct admin_parts *context = call->context;
    *context->engine->stats = (struct stats){ 0 };
    context->engine->store->stats = (struct store_stats){ 0 };
    policies_reset_stats(&context->engine->store->policies);
    context->engine->store->reclaim.freed = 0;
    observer_reset(context->observer, context->commands);
    mem_reset_peak();
    reply_ok(call);
}

static void cmd_config_rewrite(struct call *call)
{
    const struct admin_parts *context = call->context;
    struct conf_error error;
    const char *why;
    char *lines = context->engine->acl != NULL ? acl_option_lines(context->engine->acl) : NULL;
    if (lines != NULL) conf_set(context->conf, conf_find("user"), lines, &why);
    free(lines);
    if (context->conf->file[0] == '\0')
        fail(call, ERR_CONFIG_NO_FILE);
    else if (!conf_rewrite(context->conf, &error))
        failf(call, ERR_CONFIG_REWRITE, error.text);
    else
        reply_ok(call);
}

enum { SYSTEM = ADMIN | NOSCRIPT | LOADING | STALE };

static const struct command subcommands[] = {
    ROW("GET", cmd_config_get, -3, SYSTEM, .since = "2.0.0",
        .replies = REPLIES("map[bulk bulk ...]: options and their values"),
        .complexity = "O(N) where N is the number of options.",
        .syntax = "parameter [parameter ...]", .summary = "Returns the values of options."),
    ROW("SET", cmd_config_set, -4, SYSTEM, .prepares = set_prepares,
        .tips = "request_policy:all_nodes response_policy:all_succeeded", .since = "2.0.0",
        .replies = REPLIES("OK: all options were set"),
        .errors = ERRORS(ERR_SYNTAX, ERR_CONFIG_UNKNOWN, ERR_CONFIG_SET, ERR_NO_JOURNAL),
        .complexity = "O(N) where N is the number of options.",
        .syntax = "parameter value [parameter value ...]", .summary = "Changes options."),
    ROW("RESETSTAT", cmd_config_resetstat, 2, SYSTEM, .since = "2.0.0",
        .replies = REPLIES("OK: the statistics were reset"), .complexity = "O(1)", .syntax = "",
        .summary = "Resets the statistics of INFO."),
    ROW("REWRITE", cmd_config_rewrite, 2, SYSTEM, .since = "2.8.0",
        .replies = REPLIES("OK: the file was written"),
        .errors = ERRORS(ERR_CONFIG_NO_FILE, ERR_CONFIG_REWRITE), .complexity = "O(1)",
        .syntax = "", .summary = "Writes the options to the configuration file."),
    HELP_ROW(cmd_help, .since = "5.0.0"),
    { .name = NULL },
};

static const struct command rows[] = {
    PARENT_ROW("CONFIG", subcommands, "2.0.0", "Reads and changes the server's options."),
};

const struct command_group config_commands = COMMAND_GROUP("server", rows);
