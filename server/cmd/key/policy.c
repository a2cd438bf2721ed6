/* policy: POLICY, which manages the rules for the expiry and length of keys. policy_args parses
 * them and store/policy applies them. */
#include <string.h>

#include "server/cmd/call/args.h"
#include "server/cmd/call/reply_text.h"
#include "server/cmd/key/key.h"
#include "server/cmd/key/policy_args.h"

enum { SHOWN_MAX = 128 }; /* an error quotes this many bytes of a key */

/* Fails if the key that a policy writes to has another type in some database. */
static bool check_target(struct call *call, const char *option, struct bytes key, const char *types)
{
    const struct store *store = call->txn->store;
    for (unsigned db = 0; key.len > 0 && db < store->database_count; db++) {
        if (!txn_exists_in(call->txn, db, key)) continue;
        const struct entry *entry = keyspace_find(store_database(store, db), key);
        const char *type = type_name(entry->object.type);
        if (strstr(types, type) != NULL) continue;
        int shown = (int)(key.len < SHOWN_MAX ? key.len : SHOWN_MAX);
        return failf(call, ERR_POLICY_TARGET_TYPE, option, shown, key.data, db, type, types);
    }
    return true;
}

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
    struct policy_fault fault;
    const struct policies *policies = &call->txn->store->policies;
    if (!policy_args_read(call->argv + 2, (size_t)call->argc - 2, policies, &policy, &fault)) {
        failf(call, ERR_WORDED, fault.text);
        return;
    }
    if (!check_target(call, "MAXDELIVERIES", policy.dead_to, "stream or dehydrator") ||
        !check_target(call, "EXPIRED", policy.expired_to, "stream or dehydrator"))
        return;
    txn_policy_set(call->txn, call->argv[2], &policy);
    reply_ok(call);
}

static void cmd_policy_del(struct call *call)
{
    resp_integer(call->out, txn_policy_drop(call->txn, call->argv[2]));
}

/* ---- GET, LIST, OF --------------------------------------------------------------------------- */

static void reply_number(struct call *call, const char *option, int64_t value)
{
    if (value == 0) return;
    resp_bulk_text(call->out, option);
    resp_integer(call->out, value);
}

static void reply_word(struct call *call, const char *option, const char *value)
{
    if (value == NULL) return;
    resp_bulk_text(call->out, option);
    resp_bulk_text(call->out, value);
}

static void reply_target(struct call *call, const char *option, struct bytes key)
{
    if (key.len == 0) return;
    resp_bulk_text(call->out, option);
    reply_bytes(call, key);
}

/* Replies with the options that differ from the defaults, in the order of the syntax. */
static void reply_policy(struct call *call, const struct policy *policy)
{
    static const char *const refresh[] = {
        [REFRESH_NEVER] = NULL, [REFRESH_WRITE] = "WRITE", [REFRESH_ACCESS] = "ACCESS"
    };
    size_t pairs = (size_t)(policy->ttl > 0) + (policy->max_ttl > 0) + (policy->jitter > 0) +
                   (policy->refresh != REFRESH_NEVER) + (policy->member_ttl > 0) +
                   (policy->max_len > 0) + policy->keep_low + (policy->retain > 0) +
                   (policy->max_deliveries > 0) + (policy->dead_to.len > 0) +
                   (policy->backoff > 0) + (policy->backoff_max > 0) +
                   (policy->backoff_jitter > 0) + 2 * (size_t)(policy->rate > 0) +
                   (policy->expired_to.len > 0) + policy->log_value;
    resp_map(call->out, pairs);
    reply_number(call, "TTL", policy->ttl);
    reply_number(call, "MAXTTL", policy->max_ttl);
    reply_number(call, "JITTER", policy->jitter);
    reply_word(call, "REFRESH", refresh[policy->refresh]);
    reply_number(call, "MEMBERTTL", policy->member_ttl);
    reply_number(call, "MAXLEN", (int64_t)policy->max_len);
    reply_word(call, "KEEP", policy->keep_low ? "LOW" : NULL);
    reply_number(call, "RETAIN", policy->retain);
    reply_number(call, "MAXDELIVERIES", (int64_t)policy->max_deliveries);
    reply_target(call, "MAXDELIVERIES TO", policy->dead_to);
    reply_number(call, "BACKOFF", policy->backoff);
    reply_number(call, "BACKOFF MAX", policy->backoff_max);
    reply_number(call, "BACKOFF JITTER", policy->backoff_jitter);
    reply_number(call, "RATE", (int64_t)policy->rate);
    reply_number(call, "RATE PER", policy->rate_span);
    reply_target(call, "EXPIRED TO", policy->expired_to);
    reply_number(call, "EXPIRED VALUE MAX", policy->log_value ? (int64_t)policy->value_max : 0);
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

static void cmd_policy_help(struct call *call)
{
    static const char *const lines[] = {
        "POLICY <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
        "SET <prefix*|name> <option> <value> [<option> <value> ...]",
        "    Sets options of the policy for the keys of this prefix, or for this key. Options that",
        "    are not named stay; <option> NONE removes one. An exact name takes precedence over",
        "    prefixes, a longer prefix over a shorter one. Existing keys are adapted in the",
        "    background. A duration is a number of milliseconds, or a number with ms, s, m, h or",
        "    d. Options are:",
        "    TTL <duration>",
        "        The TTL of keys that are created without a deadline.",
        "    MAXTTL <duration>",
        "        The maximum TTL. A key with a longer TTL or none gets this one.",
        "    JITTER <percent>",
        "        Varies the deadlines that TTL and MEMBERTTL give by up to this percentage.",
        "    REFRESH NEVER|WRITE|ACCESS",
        "        When the deadline moves to now + TTL: never, at each write, or at each read or",
        "        write. It never moves to an earlier time, and a key without a deadline gets none.",
        "    MEMBERTTL <duration>",
        "        The TTL of each member or field that is added to a set, sorted set or hash, even",
        "        if it already exists.",
        "    MAXLEN <count>",
        "        The length that a sorted set, list or stream is cut to when it grows. A",
        "        dehydrator of this length refuses pushes.",
        "    KEEP HIGH|LOW",
        "        Whether a sorted set that is cut keeps its highest or its lowest scores.",
        "    RETAIN <duration>",
        "        How long an entry stays in a stream, counted from the time in its ID.",
        "    MAXDELIVERIES <count> TO <key>",
        "        An entry that a group was delivered this often without XACK moves to the stream",
        "        <key> instead of being delivered again. An element of a dehydrator that was",
        "        claimed this often moves to the dehydrator or stream <key>.",
        "    BACKOFF <duration> <maximum> [JITTER <percent>]",
        "        The delay after the first failed delivery of an element of a dehydrator, doubled",
        "        with each further one, and its maximum.",
        "    RATE <count> PER <duration>",
        "        How many elements of a dehydrator are delivered, evenly, in any span of this",
        "        length.",
        "    EXPIRED TO <key> [VALUE [MAX <bytes>]]",
        "        Adds what expires, key or member, to the stream or dehydrator <key>, with its",
        "        value if that has at most this many bytes (default: 64kb).",
        "GET <prefix*|name>",
        "    Returns the options of this policy.",
        "LIST",
        "    Returns all policies, sorted by name.",
        "DEL <prefix*|name>",
        "    Removes this policy. Deadlines that it gave stay.",
        "OF <key>",
        "    Returns the name of the policy that applies to this key.",
    };
    reply_help(call, lines, sizeof(lines) / sizeof(lines[0]));
}

static const struct command subcommands[] = {
    { .name = "SET",
      .run = cmd_policy_set,
      .arity = -3,
      .flags = WRITE | GROWS | MOVABLE_KEYS,
      .acl = ACL_KEYSPACE | ACL_DANGEROUS,
      .find_keys = find_targets,
      .specs = { KEY_ANYWHERE(KEY_RW | KEY_INSERT) },
      .since = "0.1.0",
      .replies = REPLIES("OK: the policy was set"),
      .errors =
          ERRORS(ERR_POLICY_NAME, ERR_POLICY_EMPTY, ERR_POLICY_OPTION, ERR_POLICY_TWICE,
                 ERR_POLICY_NO_VALUE, ERR_POLICY_NUMBER, ERR_POLICY_SPAN, ERR_POLICY_REFRESH,
                 ERR_POLICY_KEEP, ERR_POLICY_BACKOFF_MAX, ERR_POLICY_NO_SPAN, ERR_POLICY_RATE,
                 ERR_POLICY_ALONE, ERR_POLICY_TTL_MAXTTL, ERR_POLICY_SIZE, ERR_POLICY_NO_TARGET,
                 ERR_POLICY_TARGET_NAME, ERR_POLICY_OWN_TARGET, ERR_POLICY_TARGET_TYPE),
      .complexity = "O(L) where L is the length of the name.",
      .syntax = "name [TTL duration] [MAXTTL duration] [JITTER percent] "
                "[REFRESH <NEVER | WRITE | ACCESS>] [MEMBERTTL duration] "
                "[MAXLEN count] [KEEP <HIGH | LOW>] [RETAIN duration] "
                "[MAXDELIVERIES count TO dead-key] "
                "[BACKOFF first-delay max-delay [JITTER percent]] [RATE count PER duration] "
                "[EXPIRED TO log-key [VALUE [MAX bytes]]] "
                "[option NONE]",
      .summary =
          "Sets options of a policy: rules of expiration and length for the keys with a prefix, or "
          "for one key. Options that are not named stay; option NONE removes one. Durations: 5000, "
          "5000ms, 5s, 5m, 5h, 5d. MEMBERTTL applies to sets, sorted "
          "sets and hashes, MAXLEN to sorted sets, lists, streams and dehydrators, RETAIN to "
          "streams, MAXDELIVERIES to streams and dehydrators, BACKOFF and RATE to dehydrators. "
          "EXPIRED logs what expires." },
    { .name = "GET",
      .run = cmd_policy_get,
      .arity = 3,
      .flags = READONLY,
      .acl = ACL_KEYSPACE,
      .since = "0.1.0",
      .replies = REPLIES("map[bulk integer|bulk ...]: the options that do not have their default, "
                         "and their values",
                         "null: there is no policy of this name"),
      .complexity = "O(L) where L is the length of the name.",
      .syntax = "name",
      .summary = "Returns the options of a policy." },
    { .name = "LIST",
      .run = cmd_policy_list,
      .arity = 2,
      .flags = READONLY,
      .acl = ACL_KEYSPACE,
      .since = "0.1.0",
      .replies =
          REPLIES("map[bulk map[bulk integer|bulk ...] ...]: each policy's name and options"),
      .complexity = "O(N) where N is the number of policies.",
      .syntax = "",
      .summary = "Returns all policies, sorted by name." },
    { .name = "DEL",
      .run = cmd_policy_del,
      .arity = 3,
      .flags = WRITE,
      .acl = ACL_KEYSPACE | ACL_DANGEROUS,
      .since = "0.1.0",
      .replies = REPLIES("integer: 1 if the policy was removed, 0 if there is none of this name"),
      .complexity = "O(L) where L is the length of the name.",
      .syntax = "name",
      .summary = "Deletes a policy. Deadlines that it set do not change." },
    { .name = "OF",
      .run = cmd_policy_of,
      .arity = 3,
      .flags = READONLY,
      .acl = ACL_KEYSPACE,
      .keys = KEY_SECOND,
      .key_flags = KEY_RO,
      .since = "0.1.0",
      .replies = REPLIES("bulk: the name of the policy that applies to the key",
                         "null: no policy applies to it"),
      .complexity = "O(L) where L is the length of the key.",
      .syntax = "key",
      .summary =
          "Returns the name of the policy that applies to a key, whether the key exists or not." },
    HELP_ROW(cmd_policy_help, .acl = ACL_KEYSPACE, .since = "0.1.0"),
    { .name = NULL },
};

static const struct command rows[] = {
    { .name = "POLICY",
      .arity = -2,
      .since = "0.1.0",
      .complexity = "Depends on the subcommand.",
      .syntax = "",
      .summary = "Container of commands that manage policies: rules of expiration and length for "
                 "keys, by prefix or name.",
      .subcommands = subcommands },
};

const struct command_group policy_commands = COMMAND_GROUP("generic", rows);
