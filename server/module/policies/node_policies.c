/* node_policies: see node_policies.h. The policies are in a store without keys, so that the
 * functions of POLICY run on it as in the daemon. */
#include "server/module/policies/node_policies.h"

#include <stdio.h>

#include "server/cmd/call/call.h"
#include "server/cmd/call/error.h"
#include "server/cmd/key/key.h"
#include "server/cmd/key/policy_args.h"
#include "server/module/api/command_info.h"
#include "server/module/api/reply.h"
#include "store/base/ensure.h"
#include "store/mem/mem.h"
#include "store/mem/outbuf.h"
#include "store/policy/policy_words.h"

enum { WORDS_MAX = 64, SHOWN_MAX = 128 };

static struct store *store;
static struct commands *commands;
static void (*changed)(RedisModuleCtx *ctx);
static RedisModuleString *shown; /* the option's value that the host received last */

const struct policies *node_policies(void)
{
    return &store->policies;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Can the name be part of the option's list? */
static bool is_plain(struct bytes name)
{
    for (size_t i = 0; i < name.len; i++)
        if ((unsigned char)name.data[i] <= ' ' || name.data[i] == ';') return false;
    return true;
}

static bool read_policy(const struct bytes *words, size_t count, const struct policies *policies,
                        struct policy *policy, struct policy_refusal *refusal)
{
    if (!policy_args_read(words, count, policies, policy, refusal)) return false;
    /* The first option that the host's interface does not allow. */
    const char *option = policy->refresh == REFRESH_ACCESS ? "REFRESH ACCESS"
                         : policy->retain > 0              ? "RETAIN"
                         : policy->max_deliveries > 0      ? "MAXDELIVERIES"
                         : policy->fair                    ? "FAIR"
                                                           : NULL;
    if (option != NULL) {
        snprintf(refusal->text, sizeof(refusal->text), "ERR the module does not support %s",
                 option);
        return false;
    }
    if (is_plain(words[0]) && is_plain(policy->expired_to)) return true;
    snprintf(refusal->text, sizeof(refusal->text),
             "ERR with the module, the name of a policy can't have spaces, control bytes or ';'");
    return false;
}

/* ---- the command ----------------------------------------------------------------------------- */

static void begin(struct txn *txn, struct store *on)
{
    txn_begin(txn, on, redis.Milliseconds(), FROM_CLIENT);
    txn_call(txn, 0);
}

/* Sends the change to replicas, because they may become masters, but not to the append-only file,
 * because the configuration contains the policies. Sends the policy as a whole, after a DEL: a
 * replica does not receive existing policies when it connects, so its policy of this name may have
 * other options. */
static void replicate(RedisModuleCtx *ctx, RedisModuleString *name)
{
    const struct policy *policy = policies_get(&store->policies, api_bytes(name));
    redis.Replicate(ctx, "expired.policy", "Acs", "DEL", name);
    if (policy == NULL) return;
    struct policy_words words;
    policy_words_write(&words, policy);
    RedisModuleString *strings[POLICY_WORDS_MAX];
    for (size_t i = 0; i < words.count; i++)
        strings[i] = redis.CreateString(ctx, words.words[i].data, words.words[i].len);
    redis.Replicate(ctx, "expired.policy", "Acsv", "SET", name, strings, words.count);
    for (size_t i = 0; i < words.count; i++)
        redis.FreeString(ctx, strings[i]);
}

static int run_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
    struct reply reply;
    struct resp_writer out = reply_begin(&reply, ctx, redis.GetContextFlags(ctx));
    struct bytes *args = mem_alloc((size_t)argc * sizeof(*args));
    for (int i = 0; i < argc; i++)
        args[i] = api_bytes(argv[i]);
    struct call call = { .argc = argc, .argv = args, .out = &out };
    call.command = commands_match(commands, argc, args);
    struct policy policy;
    struct policy_refusal refusal;
    if (call.command.row == NULL) {
        char name[SHOWN_MAX + 1];
        int len = args[1].len < SHOWN_MAX ? (int)args[1].len : SHOWN_MAX;
        snprintf(name, sizeof(name), "%.*s", len, args[1].data);
        failf(&call, ERR_UNKNOWN_SUBCOMMAND, name, call.command.parent->name);
    } else if (!command_fits_arity(call.command.row, argc)) {
        fail_named(&call, ERR_ARITY);
    } else if (strcmp(call.command.row->name, "SET") == 0 &&
               !read_policy(args + 2, (size_t)argc - 2, &store->policies, &policy, &refusal)) {
        failf(&call, ERR_WORDED, refusal.text);
    } else {
        struct txn txn;
        begin(&txn, store);
        call.txn = &txn;
        call_run(&call);
        txn_commit(&txn);
        if (txn.changes > 0) {
            replicate(ctx, argv[2]);
            changed(ctx);
        }
    }
    mem_free(args);
    return API_OK;
}

/* ---- the option ------------------------------------------------------------------------------ */

static void put_policy(void *ctx, struct bytes name, const struct policy *policy)
{
    struct outbuf *out = ctx;
    struct policy_words words;
    policy_words_write(&words, policy);
    if (out->len > 0) outbuf_append(out, "; ", 2);
    outbuf_append(out, name.data, name.len);
    for (size_t i = 0; i < words.count; i++) {
        outbuf_append(out, " ", 1);
        outbuf_append(out, words.words[i].data, words.words[i].len);
    }
}

static RedisModuleString *get_option(const char *name, void *data)
{
    (void)name;
    (void)data;
    struct outbuf out;
    outbuf_init(&out);
    policies_each(&store->policies, put_policy, &out);
    size_t len = out.len;
    char *text = mem_alloc(len + 1);
    outbuf_copy(&out, text);
    outbuf_drop(&out);
    if (shown != NULL) redis.FreeString(NULL, shown);
    shown = redis.CreateString(NULL, text, len);
    mem_free(text);
    return shown;
}

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Takes the words of the next policy and returns their number; 0 at the end of the text. */
static size_t take_words(struct bytes *text, struct bytes words[WORDS_MAX])
{
    const char *at = text->data, *end = at + text->len;
    size_t count = 0;
    while (at < end && (*at == ';' || is_space(*at)))
        at++;
    while (at < end && *at != ';' && count < WORDS_MAX) {
        const char *word = at;
        while (at < end && *at != ';' && !is_space(*at))
            at++;
        words[count++] = bytes_of(word, (size_t)(at - word));
        while (at < end && is_space(*at))
            at++;
    }
    *text = bytes_of(at, (size_t)(end - at));
    return count;
}

static void find_name(void *ctx, struct bytes name, const struct policy *policy)
{
    struct bytes *found = ctx;
    (void)policy;
    *found = name;
}

/* Replaces the policies in `to` with those of the list `text`. Entries with the same name form one
 * policy. Returns false, with the refusal's error, at the first entry that is wrong; `to` is then
 * incomplete. */
static bool set_list(struct store *to, struct bytes text, struct policy_refusal *refusal)
{
    struct bytes words[WORDS_MAX];
    struct policy policy;
    struct txn txn;
    size_t count;
    bool good = true;
    begin(&txn, to);
    while (to->policies.count > 0) {
        struct bytes name = { 0 };
        policies_each(&to->policies, find_name, &name);
        txn_policy_drop(&txn, name);
    }
    while (good && (count = take_words(&text, words)) > 0) {
        good = read_policy(words, count, &to->policies, &policy, refusal);
        if (good) txn_policy_set(&txn, words[0], &policy);
    }
    txn_commit(&txn);
    return good;
}

static int set_option(const char *name, RedisModuleString *value, void *data,
                      RedisModuleString **error)
{
    (void)name;
    (void)data;
    struct policy_refusal refusal;
    struct store *trial = store_new(1);
    bool good = set_list(trial, api_bytes(value), &refusal);
    store_free(trial);
    if (good)
        set_list(store, api_bytes(value), &refusal);
    else
        *error = redis.CreateString(NULL, refusal.text, strlen(refusal.text));
    return good ? API_OK : API_ERR;
}

static int apply_option(RedisModuleCtx *ctx, void *data, RedisModuleString **error)
{
    (void)data;
    (void)error;
    changed(ctx);
    return API_OK;
}

bool node_policies_start(RedisModuleCtx *ctx, void (*on_change)(RedisModuleCtx *ctx))
{
    enum { MOST = 16 };
    static struct command row, subcommands[MOST]; /* the host and the table keep pointers to them */
    static const struct command_group group = { "generic", &row, 1 };
    size_t count = 0;
    store = store_new(1);
    changed = on_change;

    /* The row of POLICY without the subcommand STATS: the host does not report when a key is read,
     * so there is nothing to count. */
    row = policy_commands.rows[0];
    for (const struct command *one = row.subcommands; one->name != NULL; one++) {
        if (strcmp(one->name, "STATS") == 0) continue;
        ensure(count + 1 < MOST, "more than %d subcommands", MOST - 1);
        subcommands[count++] = *one;
    }
    row.subcommands = subcommands;
    row.name = "EXPIRED.POLICY";
    row.flags |= ADMIN;
    commands = commands_new();
    commands_add(commands, &group, NULL);
    bool good = command_info_register(ctx, &row, run_command) &&
                redis.RegisterStringConfig(ctx, "policies", "", 0, get_option, set_option,
                                           apply_option, NULL) == API_OK &&
                redis.LoadConfigs(ctx) == API_OK;
    if (good) changed(ctx);
    return good;
}
