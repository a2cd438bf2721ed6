/* policy: POLICY, which manages rules for keys, by prefix or name, such as their TTL and their
 * greatest length. policy_args parses the rules, store/policy applies them. */
#include <stdio.h>
#include <string.h>

#include "server/cmd/call/args.h"
#include "server/cmd/call/reply_text.h"
#include "server/cmd/key/key.h"
#include "server/cmd/key/policy_args.h"
#include "store/base/ensure.h"
#include "store/policy/policy_rows.h"

enum { SHOWN_MAX = 128 }; /* an error quotes this many bytes of a key */

#define TARGET_TYPES "stream or dehydrator"

/* Finds the keys that follow TO. A key may itself be named TO. */
static int find_targets(int argc, const struct bytes *argv, int *positions)
{
    int count = 0;
    for (int i = 3; i + 1 < argc; i++)
        if (bytes_is_word(argv[i], "TO")) positions[count++] = ++i;
    return count;
}

static void cmd_policy_set(struct call *call)
{
    struct policy policy;
    struct policy_refusal refusal;
    const struct store *store = call->txn->store;
    if (!policy_args_read(call->argv + 2, (size_t)call->argc - 2, &store->policies, &policy,
                          &refusal)) {
        failf(call, ERR_WORDED, refusal.text);
        return;
    }
    for (unsigned option = 0; option < POLICY_OPTIONS; option++) {
        const struct policy_row *row = &policy_rows[option];
        for (unsigned i = 0; i < row->part_count; i++) {
            if (row->parts[i].kind != POLICY_KEY) continue;
            /* Fail if the key that the option writes to has another type in some database. */
            struct bytes key = policy_key(&policy, &row->parts[i]);
            for (unsigned db = 0; key.len > 0 && db < store->database_count; db++) {
                if (!txn_exists_in(call->txn, db, key)) continue;
                const struct entry *entry = keyspace_find(store_database(store, db), key);
                const char *type = type_name(entry->object.type);
                if (strstr(TARGET_TYPES, type) != NULL) continue;
                int shown = (int)(key.len < SHOWN_MAX ? key.len : SHOWN_MAX);
                failf(call, ERR_POLICY_TARGET_TYPE, row->name, shown, key.data, db, type,
                      TARGET_TYPES);
                return;
            }
        }
    }
    txn_policy_set(call->txn, call->argv[2], &policy);
    reply_ok(call);
}

static void cmd_policy_del(struct call *call)
{
    resp_integer(call->out, txn_policy_drop(call->txn, call->argv[2]));
}

/* Replies with the names and values that POLICY GET shows, and returns how many pairs these are.
 * Without `reply` it only counts: a map begins with its number of pairs. */
static size_t reply_parts(struct call *call, const struct policy *policy, bool reply)
{
    size_t pairs = 0;
    for (unsigned option = 0; option < POLICY_OPTIONS; option++) {
        const struct policy_row *row = &policy_rows[option];
        for (unsigned i = 0; policy_has(policy, option) && i < row->part_count; i++) {
            const struct policy_part *part = &row->parts[i];
            if (!policy_has_part(policy, row, i) || part->shown == NULL) continue;
            pairs++;
            if (!reply) continue;
            resp_bulk_text(call->out, part->shown);
            if (part->kind == POLICY_KEY)
                reply_bytes(call, policy_key(policy, part));
            else if (part->kind == POLICY_CHOICE)
                resp_bulk_text(call->out, part->choices[policy_number(policy, part)]);
            else
                resp_integer(call->out, policy_number(policy, part));
        }
    }
    return pairs;
}

static void reply_policy(struct call *call, const struct policy *policy)
{
    resp_map(call->out, reply_parts(call, policy, false));
    reply_parts(call, policy, true);
}

static void cmd_policy_get(struct call *call)
{
    const struct policy *policy = policies_get(&call->txn->store->policies, call->argv[2]);
    if (policy != NULL)
        reply_policy(call, policy);
    else
        resp_null(call->out);
}

static void reply_named(void *ctx, struct bytes name, const struct policy *policy)
{
    struct call *call = ctx;
    reply_bytes(call, name);
    reply_policy(call, policy);
}

static void cmd_policy_list(struct call *call)
{
    const struct policies *policies = &call->txn->store->policies;
    resp_map(call->out, policies->count);
    policies_each(policies, reply_named, call);
}

static void cmd_policy_of(struct call *call)
{
    struct bytes name;
    if (policies_of(&call->txn->store->policies, call->argv[2], &name) != NULL)
        reply_bytes(call, name);
    else
        resp_null(call->out);
}

static void cmd_policy_stats(struct call *call)
{
    const struct policy *policy = policies_get(&call->txn->store->policies, call->argv[2]);
    if (policy == NULL) {
        resp_null(call->out);
        return;
    }
    const struct policy_stats *stats = policy->stats;
    resp_map(call->out, 4);
    reply_named_integer(call, "set", (int64_t)stats->set);
    reply_named_integer(call, "expired-unread", (int64_t)stats->expired_unread);
    reply_named_integer(call, "expired-read", (int64_t)stats->expired_read);
    reply_named_integer(call, "expired-misses", (int64_t)stats->expired_misses);
}

enum { HELP_LINES_MAX = 100, HELP_LINE_SIZE = 128 };

struct help {
    const char *lines[HELP_LINES_MAX];
    size_t count;
    char made[HELP_LINES_MAX][HELP_LINE_SIZE]; /* the lines about options */
};

static void help_add(struct help *help, const char *const *lines, size_t count)
{
    ensure(help->count + count <= HELP_LINES_MAX, "more than %d lines", HELP_LINES_MAX);
    memcpy(&help->lines[help->count], lines, count * sizeof(*lines));
    help->count += count;
}

static void cmd_policy_help(struct call *call)
{
    static const char *const before[] = {
        "POLICY <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
        "SET <prefix*|name> <option> <value> [<option> <value> ...]",
        "    Sets options of the policy for the keys of this prefix, or for this key. Options that",
        "    are not named stay; <option> NONE removes one. An exact name takes precedence over",
        "    prefixes, a longer prefix over a shorter one. Existing keys are adapted in the",
        "    background. A duration is a number of milliseconds, or a number with ms, s, m, h or",
        "    d. Options are:",
    };
    static const char *const after[] = {
        "GET <prefix*|name>",
        "    Returns the options of this policy.",
        "LIST",
        "    Returns all policies, sorted by name.",
        "DEL <prefix*|name>",
        "    Removes this policy. Deadlines that it gave stay.",
        "OF <key>",
        "    Returns the name of the policy that applies to this key.",
    };
    static const char *const stats[] = {
        "STATS <prefix*|name>",
        "    Returns how many keys were set under this policy, how many expired unread and after",
        "    reads, and how many reads came after a key had expired.",
    };
    struct help help = { .count = 0 };
    help_add(&help, before, sizeof(before) / sizeof(before[0]));
    for (unsigned option = 0; option < POLICY_OPTIONS; option++) {
        const char *text = policy_rows[option].help;
        char *line = help.made[help.count];
        snprintf(line, HELP_LINE_SIZE, "    %s%s", policy_rows[option].name, policy_syntax[option]);
        help_add(&help, (const char *const[]){ line }, 1);
        while (*text != '\0') {
            size_t len = strcspn(text, "\n");
            line = help.made[help.count];
            snprintf(line, HELP_LINE_SIZE, "        %.*s", (int)len, text);
            help_add(&help, (const char *const[]){ line }, 1);
            text += len + (text[len] == '\n');
        }
    }
    help_add(&help, after, sizeof(after) / sizeof(after[0]));
    /* The module, which counts nothing, has no POLICY STATS. */
    const struct command *one = call->command.parent->subcommands;
    while (one->name != NULL && one->run != cmd_policy_stats)
        one++;
    if (one->name != NULL) help_add(&help, stats, sizeof(stats) / sizeof(stats[0]));
    reply_help(call, help.lines, help.count);
}

#define IN_BRACKETS(name, syntax) "[" #name syntax "] "

static const struct command subcommands[] = {
    ROW("SET", cmd_policy_set, -3, WRITE | GROWS | MOVABLE_KEYS,
        .acl = ACL_KEYSPACE | ACL_DANGEROUS, .find_keys = find_targets,
        .specs = { KEY_ANYWHERE(KEY_RW | KEY_INSERT) }, .since = "0.1.0",
        .replies = REPLIES("OK: the policy was set"),
        .errors =
            ERRORS(ERR_POLICY_NAME, ERR_POLICY_EMPTY, ERR_POLICY_OPTION, ERR_POLICY_TWICE,
                   ERR_POLICY_NEEDS, ERR_POLICY_VALUE, ERR_POLICY_ALONE, ERR_POLICY_TTL_MAXTTL,
                   ERR_POLICY_TARGET_NAME, ERR_POLICY_OWN_TARGET, ERR_POLICY_TARGET_TYPE),
        .complexity = "O(L) where L is the length of the name.",
        .syntax = "name " POLICY_OPTION_LIST(IN_BRACKETS) "[option NONE]",
        .summary = "Sets options of a policy: rules of expiration and length for the keys with a "
                   "prefix, or "
                   "for one key. Options that are not named stay; option NONE removes one. "
                   "Durations: 5000, "
                   "5000ms, 5s, 5m, 5h, 5d."),
    ROW("GET", cmd_policy_get, 3, READONLY, .acl = ACL_KEYSPACE, .since = "0.1.0",
        .replies =
            REPLIES("map[bulk integer|bulk ...]: the options that do not have their default, "
                    "and their values",
                    "null: there is no policy of this name"),
        .complexity = "O(L) where L is the length of the name.", .syntax = "name",
        .summary = "Returns the options of a policy."),
    ROW("LIST", cmd_policy_list, 2, READONLY, .acl = ACL_KEYSPACE, .since = "0.1.0",
        .replies =
            REPLIES("map[bulk map[bulk integer|bulk ...] ...]: each policy's name and options"),
        .complexity = "O(N) where N is the number of policies.", .syntax = "",
        .summary = "Returns all policies, sorted by name."),
    ROW("DEL", cmd_policy_del, 3, WRITE, .acl = ACL_KEYSPACE | ACL_DANGEROUS, .since = "0.1.0",
        .replies = REPLIES("integer: 1 if the policy was removed, 0 if there is none of this name"),
        .complexity = "O(L) where L is the length of the name.", .syntax = "name",
        .summary = "Deletes a policy. Deadlines that it set do not change."),
    ROW("OF", cmd_policy_of, 3, READONLY, .acl = ACL_KEYSPACE, .keys = KEY_SECOND,
        .key_flags = KEY_RO, .since = "0.1.0",
        .replies = REPLIES("bulk: the name of the policy that applies to the key",
                           "null: no policy applies to it"),
        .complexity = "O(L) where L is the length of the key.", .syntax = "key",
        .summary =
            "Returns the name of the policy that applies to a key, whether the key exists or not."),
    ROW("STATS", cmd_policy_stats, 3, READONLY, .acl = ACL_KEYSPACE,
        .tips = "nondeterministic_output request_policy:all_shards response_policy:special",
        .since = "0.2.0",
        .replies =
            REPLIES("map['set' integer 'expired-unread' integer 'expired-read' integer "
                    "'expired-misses' integer]: keys set under the policy; keys that expired "
                    "without a read since they were set; keys that expired after one; reads "
                    "of keys that were known to have expired",
                    "null: there is no policy of this name"),
        .complexity = "O(L) where L is the length of the name.", .syntax = "name",
        .summary =
            "Returns how many keys of a policy were set, and how many expired unread or after "
            "reads."),
    HELP_ROW(cmd_policy_help, .acl = ACL_KEYSPACE, .since = "0.1.0"),
    { .name = NULL },
};

static const struct command rows[] = {
    PARENT_ROW("POLICY", subcommands, "0.1.0",
               "Container of commands that manage policies: rules of expiration and length for "
               "keys, by prefix or name."),
};

const struct command_group policy_commands = COMMAND_GROUP("generic", rows);
