/* client_memory: counts the memory of each connection and of all, and applies maxmemory-clients by
 * closing the connections that use the most. Depends on the parts that hold memory for a session.
 *
 * Connections are listed by the magnitude of their memory, as in Redis 7, so that the largest are
 * found without a search or a sort. A connection is counted again when it has run a request, was
 * written to or has received a message. While maxmemory-clients is 0, only unauthenticated
 * connections are counted. */
#include "server/net/client_state.h"

#include "server/base/log.h"
#include "server/engine/multi.h"
#include "server/engine/react/blocked.h"
#include "server/engine/react/pubsub.h"
#include "server/engine/react/tracking.h"
#include "server/engine/react/watch.h"
#include "store/mem/mem.h"

enum {
    SMALLEST_CLASS = 10, /* less than 2^11 bytes: idle connections */
    PERCENT = 100,
};

/* ---- one connection ---- */

struct client_usage client_usage(const struct client *client)
{
    const struct session *session = &client->session;
    struct client_usage usage = {
        .output = client->out.bytes + client->out.shared, /* shared blocks count in full */
        .multi = multi_bytes(session) + watch_bytes(session),
    };
    usage.total = mem_size(client) + mem_size(client->io) + mem_size(client->peer) +
                  mem_size(client->local) + mem_size(client->input.data) +
                  mem_size(client->input.big) + usage.output + mem_size(client->reader.args) +
                  mem_size(session->name) + mem_size(session->lib_name) +
                  mem_size(session->lib_version) + usage.multi +
                  session_subscription_bytes(session) + blocked_bytes(session) +
                  tracking_bytes(session) + tls_bytes(client->tls) + client_thread_bytes(client);
    return usage;
}

static void leave_class(struct client *client)
{
    if (!client->is_classed) return;
    TAILQ_REMOVE(&client->all->by_memory[client->memory_class], client, same_class);
    client->is_classed = false;
}

static void count_for_limit(struct client *client, size_t bytes)
{
    struct clients *all = client->all;
    bool may_go = !client->session.no_evict && client->source == NULL && !client_is_doomed(client);
    unsigned magnitude = bytes > 0 ? 63 - (unsigned)__builtin_clzll(bytes) : 0;
    unsigned class = magnitude > SMALLEST_CLASS ? magnitude - SMALLEST_CLASS : 0;
    if (class >= CLIENT_CLASSES) class = CLIENT_CLASSES - 1;
    all->counted = all->counted - client->counted + bytes;
    client->counted = bytes;
    if (client->is_classed && may_go && class == client->memory_class) return;
    leave_class(client);
    if (!may_go) return;
    client->memory_class = class;
    client->is_classed = true;
    TAILQ_INSERT_TAIL(&all->by_memory[class], client, same_class);
}

static void count_as_anon(struct client *client, size_t uncounted)
{
    size_t *sum = &client->all->w.engine->uncounted;
    *sum = *sum - client->uncounted + uncounted;
    client->uncounted = uncounted;
}

void client_count_memory(struct client *client)
{
    bool limited = client->all->counts_all;
    if (!limited && client->session.authenticated && client->uncounted == 0) return;
    bool anon = client_is_anon(client);
    if (!anon && !limited) {
        count_as_anon(client, 0);
        return;
    }
    size_t bytes = client_usage(client).total;
    count_as_anon(client, anon ? bytes : 0);
    if (limited) count_for_limit(client, bytes);
}

void client_forget_memory(struct client *client)
{
    leave_class(client);
    client->all->counted -= client->counted;
    client->counted = 0;
    count_as_anon(client, 0);
}

bool clients_evict(struct clients *all)
{
    const struct conf *conf = all->w.conf;
    struct client *client;
    bool any = false;
    if (all->counts_all != (conf->maxmemory_clients != 0)) { /* it was turned on or off */
        all->counts_all = conf->maxmemory_clients != 0;
        TAILQ_FOREACH(client, &all->by_age, by_age)
        {
            client_forget_memory(client);
            client_count_memory(client);
        }
    }
    if (conf->maxmemory_clients == 0) return false;
    size_t limit =
        conf->maxmemory_clients > 0
            ? (size_t)conf->maxmemory_clients
            : (size_t)((double)conf->maxmemory * (double)-conf->maxmemory_clients / PERCENT);
    if (limit == 0) return false;
    for (int class = CLIENT_CLASSES - 1; class >= 0 && all->counted > limit; class --)
        while (all->counted > limit && (client = TAILQ_FIRST(&all->by_memory[class])) != NULL) {
            log_line(LOG_NOTICE,
                     "Client %s closed: it uses %zu bytes, and all clients together %zu, which is "
                     "more than maxmemory-clients",
                     client_label(client).text, client->counted, all->counted);
            all->w.stats->evicted_clients++;
            client_forget_memory(client);
            clients_kill(all, &client->session, NULL);
            any = true;
        }
    return any;
}
