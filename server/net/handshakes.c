/* handshakes: see handshakes.h. */
#include "server/net/handshakes.h"

#include <arpa/inet.h>
#include <string.h>

#include "server/net/client_state.h"
#include "store/base/siphash.h"
#include "store/mem/mem.h"

struct handshake_lane {
    struct client_list begun, fresh; /* waiting; the limit applies to `fresh` only */
    unsigned count;                  /* handshakes in progress, waiting or not */
    bool is_ready;
    TAILQ_ENTRY(handshake_lane) ready;
};

struct handshakes {
    struct handshake_lane lanes[HANDSHAKE_LANES];
    TAILQ_HEAD(, handshake_lane) ready; /* lanes with a connection that can continue */
    struct loop_timer *timer;
    void (*work)(void *ctx);
    void *ctx;
};

/* The time for handshakes may be over before every lane was served; continue in the next turn. */
static void on_timer(void *ctx)
{
    struct handshakes *handshakes = ctx;
    handshakes->work(handshakes->ctx);
    if (!TAILQ_EMPTY(&handshakes->ready)) loop_timer_set(handshakes->timer, 0);
}

struct handshakes *handshakes_new(struct loop *loop, void (*work)(void *ctx), void *ctx)
{
    struct handshakes *handshakes = mem_zalloc(sizeof(*handshakes));
    TAILQ_INIT(&handshakes->ready);
    for (int i = 0; i < HANDSHAKE_LANES; i++) {
        TAILQ_INIT(&handshakes->lanes[i].begun);
        TAILQ_INIT(&handshakes->lanes[i].fresh);
    }
    handshakes->work = work;
    handshakes->ctx = ctx;
    handshakes->timer = loop_timer_new(loop, on_timer, handshakes);
    return handshakes;
}

void handshakes_free(struct handshakes *handshakes)
{
    loop_timer_free(handshakes->timer);
    mem_free(handshakes);
}

/* The lane of an address, which is the text before the port. Only the first 64 bits of an IPv6
 * address count, because a host with one such address usually has all with this prefix. */
static struct handshake_lane *lane_of(struct handshakes *handshakes, const char *peer)
{
    char address[INET6_ADDRSTRLEN + 2] = "";
    unsigned char parts[sizeof(struct in6_addr)];
    const char *colon = strrchr(peer, ':');
    size_t len = colon != NULL ? (size_t)(colon - peer) : strlen(peer);
    if (len >= sizeof(address)) len = sizeof(address) - 1;
    memcpy(address, peer, len);
    uint64_t hash = siphash(address, len);
    if (address[0] == '[' && len > 2) {
        address[len - 1] = '\0';
        if (inet_pton(AF_INET6, address + 1, parts) == 1) hash = siphash(parts, sizeof(parts) / 2);
    }
    return &handshakes->lanes[hash % HANDSHAKE_LANES];
}

static void update_ready(struct handshakes *handshakes, struct handshake_lane *lane)
{
    bool ready =
        !TAILQ_EMPTY(&lane->begun) || (!TAILQ_EMPTY(&lane->fresh) && lane->count < HANDSHAKES_MOST);
    if (ready == lane->is_ready) return;
    lane->is_ready = ready;
    if (!ready) {
        TAILQ_REMOVE(&handshakes->ready, lane, ready);
        return;
    }
    if (TAILQ_EMPTY(&handshakes->ready)) loop_timer_set(handshakes->timer, 0);
    TAILQ_INSERT_TAIL(&handshakes->ready, lane, ready);
}

static struct client_list *list_of(const struct client *client)
{
    return client->in_handshake ? &client->lane->begun : &client->lane->fresh;
}

void handshakes_wait(struct handshakes *handshakes, struct client *client)
{
    if (client->listed_to_shake) return;
    if (client->lane == NULL) client->lane = lane_of(handshakes, client->peer);
    client->listed_to_shake = true;
    TAILQ_INSERT_TAIL(list_of(client), client, to_shake);
    update_ready(handshakes, client->lane);
}

static void stop_waiting(struct client *client)
{
    if (!client->listed_to_shake) return;
    TAILQ_REMOVE(list_of(client), client, to_shake);
    client->listed_to_shake = false;
}

struct client *handshakes_next(struct handshakes *handshakes)
{
    struct handshake_lane *lane = TAILQ_FIRST(&handshakes->ready);
    if (lane == NULL) return NULL;
    struct client *client = TAILQ_FIRST(&lane->begun);
    if (client == NULL) client = TAILQ_FIRST(&lane->fresh);
    stop_waiting(client);
    lane->is_ready = false;
    TAILQ_REMOVE(&handshakes->ready, lane, ready);
    update_ready(handshakes, lane); /* behind the other lanes */
    return client;
}

void handshakes_begin(struct handshakes *handshakes, struct client *client)
{
    client->in_handshake = true;
    client->lane->count++;
    update_ready(handshakes, client->lane);
}

void handshakes_end(struct handshakes *handshakes, struct client *client)
{
    if (client->lane == NULL) return;
    stop_waiting(client);
    client->lane->count -= client->in_handshake;
    client->in_handshake = false;
    update_ready(handshakes, client->lane);
    client->lane = NULL;
}
