/* handshakes: see handshakes.h. */
#include "server/net/handshakes.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "store/base/siphash.h"
#include "store/mem/mem.h"

enum {
    FIRST_BYTE = 22,       /* the type of a handshake record */
    RECORD_HEAD = 5,       /* bytes: type, version, length of the body */
    RECORD_MOST = 1 << 14, /* bytes in the body of an unencrypted record */
};

TAILQ_HEAD(handshake_list, handshake);

struct handshake_lane {
    struct handshake_list begun, fresh; /* waiting; a fresh one may begin only below the limit */
    unsigned count;                     /* handshakes in progress, waiting or not */
    bool is_ready;
    TAILQ_ENTRY(handshake_lane) ready;
};

struct handshakes {
    unsigned most; /* limit of each lane's `count` */
    struct handshake_lane lanes[HANDSHAKE_LANES];
    TAILQ_HEAD(, handshake_lane) ready; /* lanes with a connection that can continue */
};

struct handshakes *handshakes_new(unsigned most)
{
    struct handshakes *handshakes = mem_zalloc(sizeof(*handshakes));
    handshakes->most = most;
    TAILQ_INIT(&handshakes->ready);
    for (int i = 0; i < HANDSHAKE_LANES; i++) {
        TAILQ_INIT(&handshakes->lanes[i].begun);
        TAILQ_INIT(&handshakes->lanes[i].fresh);
    }
    return handshakes;
}

void handshakes_free(struct handshakes *handshakes)
{
    mem_free(handshakes);
}

/* Only the first 64 bits of an IPv6 address count, because a host with one such address usually
 * owns all with this prefix. */
void handshake_init(struct handshake *handshake, const char *peer)
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
    *handshake = (struct handshake){ .lane_number = hash % HANDSHAKE_LANES };
}

static void update_ready(struct handshakes *handshakes, struct handshake_lane *lane)
{
    bool ready = !TAILQ_EMPTY(&lane->begun) ||
                 (!TAILQ_EMPTY(&lane->fresh) && lane->count < handshakes->most);
    if (ready == lane->is_ready) return;
    lane->is_ready = ready;
    if (ready)
        TAILQ_INSERT_TAIL(&handshakes->ready, lane, ready);
    else
        TAILQ_REMOVE(&handshakes->ready, lane, ready);
}

static struct handshake_list *list_of(const struct handshake *handshake)
{
    return handshake->begun ? &handshake->lane->begun : &handshake->lane->fresh;
}

void handshakes_wait(struct handshakes *handshakes, struct handshake *handshake)
{
    if (handshake->waits) return;
    if (handshake->lane == NULL) handshake->lane = &handshakes->lanes[handshake->lane_number];
    handshake->waits = true;
    TAILQ_INSERT_TAIL(list_of(handshake), handshake, to_shake);
    update_ready(handshakes, handshake->lane);
}

static void stop_waiting(struct handshake *handshake)
{
    if (!handshake->waits) return;
    TAILQ_REMOVE(list_of(handshake), handshake, to_shake);
    handshake->waits = false;
}

bool handshakes_any(const struct handshakes *handshakes)
{
    return !TAILQ_EMPTY(&handshakes->ready);
}

struct handshake *handshakes_next(struct handshakes *handshakes)
{
    struct handshake_lane *lane = TAILQ_FIRST(&handshakes->ready);
    if (lane == NULL) return NULL;
    struct handshake *handshake = TAILQ_FIRST(&lane->begun);
    if (handshake == NULL) handshake = TAILQ_FIRST(&lane->fresh);
    stop_waiting(handshake);
    lane->is_ready = false;
    TAILQ_REMOVE(&handshakes->ready, lane, ready);
    update_ready(handshakes, lane); /* behind the other lanes */
    return handshake;
}

void handshakes_end(struct handshakes *handshakes, struct handshake *handshake)
{
    if (handshake->lane == NULL) return;
    stop_waiting(handshake);
    handshake->lane->count -= handshake->begun;
    handshake->begun = false;
    update_ready(handshakes, handshake->lane);
    handshake->lane = NULL;
}

bool socket_polls(int fd, short event)
{
    struct pollfd poll_for = { .fd = fd, .events = event };
    return poll(&poll_for, 1, 0) > 0;
}

static enum shaken refuse_step(char why[HANDSHAKE_WHY], const char *text)
{
    snprintf(why, HANDSHAKE_WHY, "%s", text);
    return SHAKEN_REFUSED;
}

enum shaken handshake_step(struct handshakes *handshakes, struct handshake *handshake,
                           struct tls *tls, int fd, struct tls_connection **conn,
                           char why[HANDSHAKE_WHY])
{
    static const char ended[] = "it ended the TLS handshake";
    if (*conn == NULL) {
        /* Check this only before the first step: at the end of the handshake a client may
         * legitimately have sent its last requests and closed its side. */
        if (socket_polls(fd, POLLRDHUP)) return refuse_step(why, ended);

        unsigned char head[RECORD_HEAD];
        int waiting = 0;
        ssize_t got = recv(fd, head, sizeof(head), MSG_PEEK);
        if (got < 0 && (errno == EAGAIN || errno == EINTR)) return SHAKEN_WAITS;
        if (got <= 0) return SHAKEN_CLOSED;
        int record = got < RECORD_HEAD ? RECORD_HEAD : RECORD_HEAD + (head[3] << 8 | head[4]);
        if (head[0] != FIRST_BYTE || record > RECORD_HEAD + RECORD_MOST)
            return refuse_step(why,
                               "it does not speak TLS, which tls-port requires (redis-cli --tls)");
        bool whole = ioctl(fd, FIONREAD, &waiting) == 0 && waiting >= record;
        /* Until the record is complete, make the socket readable only when all of it has arrived.
         * Otherwise a partial record would start one turn after another. */
        int bytes = whole ? 1 : record;
        (void)setsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &bytes, sizeof(bytes));
        if (!whole || got < RECORD_HEAD) return SHAKEN_WAITS;

        *conn = tls_open(tls, fd);
        if (*conn == NULL) return refuse_step(why, "out of memory for TLS");
        handshake->begun = true;
        handshake->lane->count++;
        update_ready(handshakes, handshake->lane);
    }
    switch (tls_shake_hands(*conn)) {
    case TLS_DONE: handshakes_end(handshakes, handshake); return SHAKEN_DONE;
    case TLS_CLOSED: return refuse_step(why, ended);
    case TLS_FAILED:
        snprintf(why, HANDSHAKE_WHY, "TLS handshake failed: %s", tls_fault(*conn));
        return SHAKEN_REFUSED;
    case TLS_WAITS: break;
    }
    return SHAKEN_WAITS;
}
