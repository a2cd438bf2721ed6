/* pubsub: the commands of pub/sub: SUBSCRIBE, PSUBSCRIBE, SSUBSCRIBE and their opposites, PUBLISH,
 * SPUBLISH and PUBSUB. Depends on server/engine/react/pubsub.h and, to send messages to replicas,
 * on the replication stream. */
#include "server/engine/react/pubsub.h"

#include "server/admin/admin.h"
#include "server/cmd/call/args.h"
#include "server/cmd/call/reply_text.h"

static struct pubsub *pubsub_of(const struct call *call)
{
    const struct pubsub_context *context = call->context;
    return context->pubsub;
}

/* Confirms the change of one subscription; `name` is NULL if the session had none to remove. Like
 * messages, confirmations are pushes, so CLIENT REPLY OFF does not suppress them. */
static void confirm(const struct call *call, const struct bytes *name, unsigned count)
{
    struct resp_writer out = *call->out;
    char word[32];
    out.mute = false;
    resp_push(&out, 3);
    resp_bulk(&out, word, command_full_name(call->command, word, sizeof(word)));
    if (name != NULL)
        resp_bulk(&out, name->data, name->len);
    else
        resp_null(&out);
    resp_integer(&out, count);
}

/* Returns the number in a confirmation: channels and patterns together, or shard channels. */
static unsigned count_of(const struct call *call, enum pubsub_kind kind)
{
    unsigned shards = session_subscription_count(call->session, PUBSUB_SHARD);
    return kind == PUBSUB_SHARD ? shards : session_subscriptions(call->session) - shards;
}

static void subscribe(struct call *call)
{
    enum pubsub_kind kind = (enum pubsub_kind)call_variant(call);
    if (fail_if(call, kind == PUBSUB_SHARD && call->session->multi != NULL,
                ERR_SSUBSCRIBE_IN_MULTI))
        return;
    for (int i = 1; i < call->argc; i++) {
        pubsub_subscribe(pubsub_of(call), call->session, kind, call->argv[i]);
        confirm(call, &call->argv[i], count_of(call, kind));
    }
}

static void unsubscribe(struct call *call)
{
    enum pubsub_kind kind = (enum pubsub_kind)call_variant(call);
    struct bytes name;
    bool all = call->argc == 1;
    if (all && session_subscription_count(call->session, kind) == 0)
        confirm(call, NULL, count_of(call, kind));
    while (all && session_first_subscription(call->session, kind, &name)) {
        /* Reply first, because the name is freed with the subscription. */
        confirm(call, &name, count_of(call, kind) - 1);
        pubsub_unsubscribe(pubsub_of(call), call->session, kind, name);
    }
    for (int i = 1; i < call->argc; i++) {
        pubsub_unsubscribe(pubsub_of(call), call->session, kind, call->argv[i]);
        confirm(call, &call->argv[i], count_of(call, kind));
    }
}

/* Sends the message to replicas, in order with the changes of its transaction. */
static void feed_replicas(const struct call *call, struct bytes name)
{
    const struct pubsub_context *context = call->context;
    const struct bytes words[] = { name, call->argv[1], call->argv[2] };
    if (context->hooks->feed != NULL) feed_message(context->hooks->feed, words, 3);
}

static void cmd_publish(struct call *call)
{
    size_t receivers = pubsub_publish(pubsub_of(call), call->argv[1], call->argv[2]);
    feed_replicas(call, LIT("PUBLISH"));
    resp_integer(call->out, (int64_t)receivers);
}

static void cmd_spublish(struct call *call)
{
    size_t receivers = pubsub_publish_shard(pubsub_of(call), call->argv[1], call->argv[2]);
    feed_replicas(call, LIT("SPUBLISH"));
    resp_integer(call->out, (int64_t)receivers);
}

struct channel_list {
    struct resp_writer out; /* to a separate buffer, because their number is sent first */
    const struct bytes *pattern;
    size_t count;
};

static void list_channel(void *ctx, struct bytes channel)
{
    struct channel_list *list = ctx;
    if (list->pattern != NULL && !bytes_match(*list->pattern, channel)) return;
    resp_bulk(&list->out, channel.data, channel.len);
    list->count++;
}

static void reply_channels(struct call *call)
{
    enum pubsub_kind kind = (enum pubsub_kind)call_variant(call);
    if (fail_subcommand_if(call, call->argc > 3)) return;
    struct outbuf names;
    outbuf_init(&names);
    struct channel_list list = { .out = resp_writer_to(call->out, &names),
                                 .pattern = call->argc == 3 ? &call->argv[2] : NULL };
    pubsub_each(pubsub_of(call), kind, list_channel, &list);
    resp_array(call->out, list.count);
    resp_splice(call->out, &names);
}

static void reply_listeners(struct call *call)
{
    enum pubsub_kind kind = (enum pubsub_kind)call_variant(call);
    resp_array(call->out, 2 * (size_t)(call->argc - 2));
    for (int i = 2; i < call->argc; i++) {
        reply_bytes(call, call->argv[i]);
        resp_integer(call->out, (int64_t)pubsub_listeners(pubsub_of(call), kind, call->argv[i]));
    }
}

static void cmd_pubsub_numpat(struct call *call)
{
    resp_integer(call->out, (int64_t)pubsub_count(pubsub_of(call), PUBSUB_PATTERN));
}

static void cmd_pubsub_help(struct call *call)
{
    static const char *const lines[] = {
        "PUBSUB <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
        "CHANNELS [<pattern>]",
        "    Return the currently active channels matching a <pattern> (default: '*').",
        "NUMPAT",
        "    Return number of subscriptions to patterns.",
        "NUMSUB [<channel> ...]",
        "    Return the number of subscribers for the specified channels, excluding",
        "    pattern subscriptions(default: no channels).",
        "SHARDCHANNELS [<pattern>]",
        "    Return the currently active shard level channels matching a <pattern> (default: '*').",
        "SHARDNUMSUB [<shardchannel> ...]",
        "    Return the number of subscribers for the specified shard level channel(s)",
    };
    reply_help(call, lines, sizeof(lines) / sizeof(lines[0]));
}

static const struct command pubsub_rows[] = {
    ROW("CHANNELS", reply_channels, -2, PUBSUB | LOADING | STALE, .variant = PUBSUB_CHANNEL,
        .since = "2.8.0", .replies = REPLIES("[bulk ...]: the channels that have subscribers"),
        .errors = ERRORS(ERR_SUBCOMMAND_OR_ARITY),
        .complexity = "O(N) where N is the number of active channels.", .syntax = "[pattern]",
        .summary = "Lists the channels that have subscribers."),
    ROW("NUMSUB", reply_listeners, -2, PUBSUB | LOADING | STALE, .variant = PUBSUB_CHANNEL,
        .since = "2.8.0",
        .replies =
            REPLIES("[bulk integer ...]: channels, each followed by its number of subscribers"),
        .complexity = "O(N) where N is the number of channels given.",
        .syntax = "[channel [channel ...]]",
        .summary = "Counts the subscribers of each channel, without patterns."),
    ROW("NUMPAT", cmd_pubsub_numpat, 2, PUBSUB | LOADING | STALE, .since = "2.8.0",
        .replies = REPLIES("integer: the number of distinct patterns"), .complexity = "O(1)",
        .syntax = "", .summary = "Counts the patterns that have subscribers."),
    ROW("SHARDCHANNELS", reply_channels, -2, PUBSUB | LOADING | STALE, .variant = PUBSUB_SHARD,
        .since = "7.0.0", .replies = REPLIES("[bulk ...]: the channels that have subscribers"),
        .errors = ERRORS(ERR_SUBCOMMAND_OR_ARITY),
        .complexity = "O(N) where N is the number of active shard channels.", .syntax = "[pattern]",
        .summary = "Lists the shard channels that have subscribers."),
    ROW("SHARDNUMSUB", reply_listeners, -2, PUBSUB | LOADING | STALE, .variant = PUBSUB_SHARD,
        .since = "7.0.0",
        .replies =
            REPLIES("[bulk integer ...]: channels, each followed by its number of subscribers"),
        .complexity = "O(N) where N is the number of shard channels given.",
        .syntax = "[shardchannel [shardchannel ...]]",
        .summary = "Counts the subscribers of each shard channel."),
    HELP_ROW(cmd_pubsub_help, .since = "6.2.0"),
    { .name = NULL },
};

enum { SUBSCRIBE_FLAGS = PUBSUB | NOSCRIPT | LOADING | STALE | WHILE_SUBSCRIBED };

static const struct command rows[] = {
    ROW("SUBSCRIBE", subscribe, -2, SUBSCRIBE_FLAGS, .variant = PUBSUB_CHANNEL,
        .acl = ACL_CHANNEL_ALL, .since = "2.0.0",
        .replies =
            REPLIES("push['subscribe' bulk integer]: for each channel, its name and how many "
                    "subscriptions there are"),
        .complexity = "O(N) where N is the number of channels given.",
        .syntax = "channel [channel ...]", .summary = "Subscribes to channels."),
    ROW("PSUBSCRIBE", subscribe, -2, SUBSCRIBE_FLAGS, .variant = PUBSUB_PATTERN,
        .acl = ACL_PATTERN_ALL, .since = "2.0.0",
        .replies = REPLIES("push['psubscribe' bulk integer]: for each pattern, the pattern and how "
                           "many subscriptions there are"),
        .complexity = "O(N) where N is the number of patterns given.",
        .syntax = "pattern [pattern ...]",
        .summary = "Subscribes to all channels whose names match a pattern."),
    ROW("UNSUBSCRIBE", unsubscribe, -1, SUBSCRIBE_FLAGS, .variant = PUBSUB_CHANNEL,
        .since = "2.0.0",
        .replies =
            REPLIES("push['unsubscribe' bulk|null integer]: for each channel, its name (null "
                    "if there was none) and how many subscriptions are left"),
        .complexity = "O(N) where N is the number of channels left.",
        .syntax = "[channel [channel ...]]", .summary = "Unsubscribes from some or all channels."),
    ROW("PUNSUBSCRIBE", unsubscribe, -1, SUBSCRIBE_FLAGS, .variant = PUBSUB_PATTERN,
        .since = "2.0.0",
        .replies = REPLIES("push['punsubscribe' bulk|null integer]: for each pattern, the pattern "
                           "(null if there was none) and how many subscriptions are left"),
        .complexity = "O(N) where N is the number of patterns left.",
        .syntax = "[pattern [pattern ...]]", .summary = "Unsubscribes from some or all patterns."),
    ROW("PUBLISH", cmd_publish, 3, PUBSUB | LOADING | STALE | FAST | MAY_REPLICATE,
        .acl = ACL_CHANNEL_FIRST, .since = "2.0.0",
        .replies = REPLIES("integer: the number of receivers"),
        .complexity = "O(N+M) where N is the number of listeners of the channel and M the number "
                      "of patterns.",
        .syntax = "channel message", .summary = "Sends a message to the subscribers of a channel."),
    ROW("SSUBSCRIBE", subscribe, -2, SUBSCRIBE_FLAGS, .variant = PUBSUB_SHARD,
        .acl = ACL_CHANNEL_ALL, .keys = { .first = 1, .last = -1, .step = 1 }, .key_flags = KEY_NOT,
        .since = "7.0.0",
        .replies = REPLIES("push['ssubscribe' bulk integer]: for each channel, its name and how "
                           "many shard subscriptions there are"),
        .errors = ERRORS(ERR_SSUBSCRIBE_IN_MULTI),
        .complexity = "O(N) where N is the number of shard channels given.",
        .syntax = "shardchannel [shardchannel ...]", .summary = "Subscribes to shard channels."),
    ROW("SUNSUBSCRIBE", unsubscribe, -1, SUBSCRIBE_FLAGS, .variant = PUBSUB_SHARD,
        .keys = { .first = 1, .last = -1, .step = 1 }, .key_flags = KEY_NOT, .since = "7.0.0",
        .replies =
            REPLIES("push['sunsubscribe' bulk|null integer]: for each channel, its name (null "
                    "if there was none) and how many shard subscriptions are left"),
        .complexity = "O(N) where N is the number of shard channels left.",
        .syntax = "[shardchannel [shardchannel ...]]",
        .summary = "Unsubscribes from some or all shard channels."),
    ROW("SPUBLISH", cmd_spublish, 3, PUBSUB | LOADING | STALE | FAST | MAY_REPLICATE,
        .acl = ACL_CHANNEL_FIRST, .keys = KEY_FIRST, .key_flags = KEY_NOT, .since = "7.0.0",
        .replies = REPLIES("integer: the number of receivers"),
        .complexity = "O(N) where N is the number of listeners.", .syntax = "shardchannel message",
        .summary = "Sends a message to the subscribers of a shard channel."),
    { .name = "PUBSUB",
      .arity = -2,
      .since = "2.8.0",
      .complexity = "Depends on the subcommand.",
      .syntax = "subcommand [argument [argument ...]]",
      .summary = "Reports channels, patterns and their subscribers.",
      .subcommands = pubsub_rows },
};

const struct command_group pubsub_commands = COMMAND_GROUP("pubsub", rows);
