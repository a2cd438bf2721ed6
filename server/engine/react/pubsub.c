/* pubsub: see pubsub.h. A subscription is in the list of its topic, and in a table (by name) and a
 * list (oldest first) of its session. Invariants: a topic exists exactly while it has subscribers;
 * a session has a subscriber exactly while it has subscriptions. */
#include "server/engine/react/pubsub.h"

#include <sys/queue.h>

#include "store/base/ensure.h"
#include "store/mem/mem.h"
#include "store/struct/dict.h"

/* A channel, a pattern or a shard channel. */
struct topic {
    TAILQ_ENTRY(topic) next; /* by order of creation, within a kind */
    TAILQ_HEAD(, subscription) subscriptions;
    size_t listeners;
    size_t name_len;
    char name[];
};

/* Links one session and one topic that it is subscribed to. */
struct subscription {
    TAILQ_ENTRY(subscription) of_topic;
    TAILQ_ENTRY(subscription) of_session;
    struct topic *topic;
    struct session *session;
};

struct subscriptions {
    struct dict by_name;
    TAILQ_HEAD(, subscription) in_order;
};

struct subscriber {
    struct subscriptions kinds[PUBSUB_KINDS];
    size_t bytes; /* memory of all its subscriptions and their names */
};

struct topics {
    struct dict by_name;
    TAILQ_HEAD(, topic) in_order;
};

struct pubsub {
    struct topics kinds[PUBSUB_KINDS];
    size_t sessions; /* number of sessions with subscriptions */
};

static struct bytes topic_name(const void *element)
{
    const struct topic *topic = element;
    return bytes_of(topic->name, topic->name_len);
}

static struct bytes subscription_name(const void *element)
{
    const struct subscription *subscription = element;
    return topic_name(subscription->topic);
}

static const struct dict_type topic_type = { .key = topic_name };
static const struct dict_type subscription_type = { .key = subscription_name };

struct pubsub *pubsub_new(void)
{
    struct pubsub *pubsub = mem_zalloc(sizeof(*pubsub));
    for (int kind = 0; kind < PUBSUB_KINDS; kind++) {
        dict_init(&pubsub->kinds[kind].by_name, &topic_type);
        TAILQ_INIT(&pubsub->kinds[kind].in_order);
    }
    return pubsub;
}

void pubsub_free(struct pubsub *pubsub)
{
    for (int kind = 0; kind < PUBSUB_KINDS; kind++) {
        size_t left = dict_count(&pubsub->kinds[kind].by_name);
        ensure(left == 0, "%zu topics of kind %d still have listeners", left, kind);
    }
    mem_free(pubsub);
}

static size_t bytes_of_subscription(const struct subscription *subscription)
{
    return sizeof(*subscription) + sizeof(*subscription->topic) + subscription->topic->name_len;
}

size_t session_subscription_bytes(const struct session *session)
{
    const struct subscriber *subscriber = session->subscriber;
    if (subscriber == NULL) return 0;
    size_t bytes = subscriber->bytes;
    for (int kind = 0; kind < PUBSUB_KINDS; kind++)
        bytes += dict_bytes(&subscriber->kinds[kind].by_name);
    return bytes;
}

bool pubsub_subscribe(struct pubsub *pubsub, struct session *session, enum pubsub_kind kind,
                      struct bytes name)
{
    struct subscriber *subscriber = session->subscriber;
    if (subscriber == NULL) {
        subscriber = session->subscriber = mem_alloc(sizeof(*subscriber));
        for (int i = 0; i < PUBSUB_KINDS; i++) {
            dict_init(&subscriber->kinds[i].by_name, &subscription_type);
            TAILQ_INIT(&subscriber->kinds[i].in_order);
        }
        subscriber->bytes = sizeof(*subscriber);
        pubsub->sessions++;
    }
    struct subscriptions *own = &subscriber->kinds[kind];
    if (dict_find(&own->by_name, name) != NULL) return false;
    struct topic *topic = dict_find(&pubsub->kinds[kind].by_name, name);
    if (topic == NULL) {
        topic = mem_alloc(sizeof(*topic) + name.len);
        TAILQ_INIT(&topic->subscriptions);
        topic->listeners = 0;
        topic->name_len = name.len;
        if (name.len > 0) memcpy(topic->name, name.data, name.len);
        dict_add(&pubsub->kinds[kind].by_name, topic);
        TAILQ_INSERT_TAIL(&pubsub->kinds[kind].in_order, topic, next);
    }
    struct subscription *subscription = mem_alloc(sizeof(*subscription));
    subscription->topic = topic;
    subscription->session = session;
    TAILQ_INSERT_TAIL(&topic->subscriptions, subscription, of_topic);
    topic->listeners++;
    TAILQ_INSERT_TAIL(&own->in_order, subscription, of_session);
    dict_add(&own->by_name, subscription);
    session->subscriber->bytes += bytes_of_subscription(subscription);
    return true;
}

/* Frees the subscription, and its topic and its session's subscriber if these become empty. */
static void drop_subscription(struct pubsub *pubsub, enum pubsub_kind kind,
                              struct subscription *subscription)
{
    struct session *session = subscription->session;
    struct subscriptions *own = &session->subscriber->kinds[kind];
    struct topic *topic = subscription->topic;
    session->subscriber->bytes -= bytes_of_subscription(subscription);
    dict_remove(&own->by_name, topic_name(topic));
    TAILQ_REMOVE(&own->in_order, subscription, of_session);
    TAILQ_REMOVE(&topic->subscriptions, subscription, of_topic);
    mem_free(subscription);
    if (--topic->listeners == 0) {
        dict_remove(&pubsub->kinds[kind].by_name, topic_name(topic));
        TAILQ_REMOVE(&pubsub->kinds[kind].in_order, topic, next);
        mem_free(topic);
    }
    if (session_subscriptions(session) > 0) return;
    mem_free(session->subscriber);
    session->subscriber = NULL;
    pubsub->sessions--;
}

bool pubsub_unsubscribe(struct pubsub *pubsub, struct session *session, enum pubsub_kind kind,
                        struct bytes name)
{
    if (session->subscriber == NULL) return false;
    struct subscription *subscription = dict_find(&session->subscriber->kinds[kind].by_name, name);
    if (subscription == NULL) return false;
    drop_subscription(pubsub, kind, subscription);
    return true;
}

static struct subscription *first_of(const struct session *session, enum pubsub_kind kind)
{
    if (session->subscriber == NULL) return NULL;
    return TAILQ_FIRST(&session->subscriber->kinds[kind].in_order);
}

void pubsub_forget(struct pubsub *pubsub, struct session *session)
{
    for (enum pubsub_kind kind = 0; kind < PUBSUB_KINDS; kind++) {
        struct subscription *subscription;
        while ((subscription = first_of(session, kind)) != NULL)
            drop_subscription(pubsub, kind, subscription);
    }
}

/* ---- publishing ----------------------------------------------------------------------------- */

static void push_bytes(struct resp_writer *out, struct bytes text)
{
    resp_bulk(out, text.data, text.len);
}

struct message {
    const char *word; /* "message", "pmessage", "smessage" */
    struct bytes channel, text;
};

/* Sends a message to one subscriber, even with CLIENT REPLY OFF, which suppresses replies only. */
static void deliver_message(struct session *session, const struct topic *pattern,
                            const struct message *message)
{
    struct resp_writer out = { .limit = session->out.limit,
                               .out = session_push_out(session),
                               .version = session->out.version };
    resp_push(&out, pattern != NULL ? 4 : 3);
    resp_bulk_text(&out, message->word);
    if (pattern != NULL) push_bytes(&out, topic_name(pattern));
    push_bytes(&out, message->channel);
    push_bytes(&out, message->text);
    session_notify(session);
}

static size_t publish_to_channel(struct pubsub *pubsub, enum pubsub_kind kind,
                                 const struct message *message)
{
    const struct topic *topic = dict_find(&pubsub->kinds[kind].by_name, message->channel);
    if (topic == NULL) return 0;
    const struct subscription *subscription;
    TAILQ_FOREACH(subscription, &topic->subscriptions, of_topic)
    deliver_message(subscription->session, NULL, message);
    return topic->listeners;
}

size_t pubsub_publish(struct pubsub *pubsub, struct bytes channel, struct bytes message)
{
    struct message sent = { "message", channel, message };
    size_t receivers = publish_to_channel(pubsub, PUBSUB_CHANNEL, &sent);
    sent.word = "pmessage";
    const struct topic *topic;
    TAILQ_FOREACH(topic, &pubsub->kinds[PUBSUB_PATTERN].in_order, next)
    {
        if (!bytes_match(topic_name(topic), channel)) continue;
        const struct subscription *subscription;
        TAILQ_FOREACH(subscription, &topic->subscriptions, of_topic)
        deliver_message(subscription->session, topic, &sent);
        receivers += topic->listeners;
    }
    return receivers;
}

size_t pubsub_publish_shard(struct pubsub *pubsub, struct bytes channel, struct bytes message)
{
    return publish_to_channel(pubsub, PUBSUB_SHARD,
                              &(struct message){ "smessage", channel, message });
}

/* ---- queries -------------------------------------------------------------------------------- */

size_t pubsub_listeners(const struct pubsub *pubsub, enum pubsub_kind kind, struct bytes name)
{
    const struct topic *topic = dict_find(&pubsub->kinds[kind].by_name, name);
    return topic != NULL ? topic->listeners : 0;
}

size_t pubsub_count(const struct pubsub *pubsub, enum pubsub_kind kind)
{
    return dict_count(&pubsub->kinds[kind].by_name);
}

size_t pubsub_sessions(const struct pubsub *pubsub)
{
    return pubsub->sessions;
}

void pubsub_each(const struct pubsub *pubsub, enum pubsub_kind kind,
                 void (*visit)(void *ctx, struct bytes name), void *ctx)
{
    const struct topic *topic;
    TAILQ_FOREACH(topic, &pubsub->kinds[kind].in_order, next)
    visit(ctx, topic_name(topic));
}

void session_each_subscription(const struct session *session, enum pubsub_kind kind,
                               void (*visit)(void *ctx, struct bytes name), void *ctx)
{
    const struct subscription *subscription = first_of(session, kind);
    for (; subscription != NULL; subscription = TAILQ_NEXT(subscription, of_session))
        visit(ctx, subscription_name(subscription));
}

bool session_first_subscription(const struct session *session, enum pubsub_kind kind,
                                struct bytes *name)
{
    const struct subscription *subscription = first_of(session, kind);
    if (subscription == NULL) return false;
    *name = subscription_name(subscription);
    return true;
}

unsigned session_subscription_count(const struct session *session, enum pubsub_kind kind)
{
    if (session->subscriber == NULL) return 0;
    return (unsigned)dict_count(&session->subscriber->kinds[kind].by_name);
}

unsigned session_subscriptions(const struct session *session)
{
    unsigned count = 0;
    for (enum pubsub_kind kind = 0; kind < PUBSUB_KINDS; kind++)
        count += session_subscription_count(session, kind);
    return count;
}
