/* client_state: the structs of connections. Only for client.c (connections), client_io.c (bytes in
 * and out), client_tls.c (TLS), client_run.c (requests), client_output.c (limits of unread
 * replies), client_memory.c (memory and its limit), client_penalty.c (failed logins),
 * client_aside.c (turns inside a request) and client_check.c (assertions). What a connection does
 * is the state of its session (session_state.h); what a turn has to do with it is its places,
 * below. */
#ifndef SERVER_NET_CLIENT_STATE_H
#define SERVER_NET_CLIENT_STATE_H

#include <sys/queue.h>

#include "proto/resp/resp_read.h"
#include "server/net/client.h"
#include "server/net/lookahead.h"
#include "server/net/tls/connection.h"
#include "store/mem/outbuf.h"
#include "store/struct/agenda.h"

TAILQ_HEAD(client_list, client);

enum {
    WINDOW = LOOKS_MAX,          /* requests whose keys are prefetched together */
    CLIENT_READ = 64 * 1024,     /* bytes of one read */
    CLIENT_SCRATCH = 256 * 1024, /* bytes that one turn reads before it runs requests */
    /* Limits before AUTH, so that many unauthenticated clients can't take all memory. DIFFERS:
     * Redis reads and keeps more. (doc/differs.md) */
    ANON_READ = 1024,       /* bytes of one read; bounds the replies of a turn */
    ANON_UNREAD = 1024,     /* bytes of unread replies, as in Redis */
    TLS_FIRST_BYTE = 22,    /* a TLS handshake begins with it, and no request does */
    ANON_QUERY = 64 * 1024, /* bytes of unanswered input; fits the longest AUTH or HELLO */
    CLIENT_CLASSES = 24,    /* magnitudes of memory: below 2 KiB, below 4 KiB, ... */
};

/* DIFFERS: Redis reads on while a client leaves its replies unread; here a client with more than
 * this waits (WAIT_OUTPUT) until half of it is sent. (doc/differs.md) */
#define CLIENT_STALL_BYTES ((size_t)64 << 20)

/* Bytes of an incomplete request; allocates nothing when empty. A big argument of the first request
 * is in a block of its own, which can become a value without being copied. */
struct client_input {
    char *data;
    size_t start, len, cap; /* data[start .. start + len) */
    struct blob *big;       /* the argument; NULL: none */
    size_t big_len;         /* how much of it has arrived */
    size_t big_at;          /* where it belongs, from `start` on */
    int big_arg;            /* its index in the request */
};

/* What a turn still has to do with a connection's input, and with its output. Each place is one
 * list of struct clients, and client_place_input and client_place_output alone move clients between
 * them. */
enum input_place {
    INPUT_AT_REST, /* nothing to do: in no list */
    INPUT_TO_READ, /* the turn's buffer was full: it is read when that has run */
    INPUT_TO_RUN,  /* complete requests may be in its input: they run in the next turn */
    INPUT_ARRIVED, /* bytes were read in this turn, whose requests run at its end; it serves */
    INPUT_ASIDE,   /* its request runs, and serves other clients meanwhile (client_aside.c) */
    INPUT_PLACES,
};
enum output_place {
    OUTPUT_AT_REST,  /* nothing to send, or its socket is full: in no list */
    OUTPUT_TO_WRITE, /* client_write is due at the end of this turn */
    OUTPUT_HELD,     /* ... once the journal has what its output tells */
    OUTPUT_ASIDE,    /* ... once the request that serves others meanwhile has ended */
    OUTPUT_PLACES,
};

/* Bytes read in this turn, until their requests have run. */
struct arrival {
    const char *data; /* NULL: they are in the client's input buffer */
    size_t len;
    size_t parsed;  /* bytes of requests that are in the window */
    size_t used;    /* bytes of requests that have run */
    unsigned left;  /* requests that may still run in this turn */
    bool ended;     /* no further request can be parsed from it */
    bool holds;     /* parsed requests must run before more is parsed */
    bool cut;       /* a request could not run: it stays, with all bytes after it */
    bool malformed; /* the bytes after the parsed ones are malformed */
};

/* Requests that are parsed but not run yet, and their arguments in one array. */
struct request;
struct window {
    struct request *requests; /* WINDOW of them */
    unsigned running;         /* index of the request that runs */
    struct look *looks;       /* the look-ups of each */
    unsigned count;
    struct bytes *argv;
    size_t args, args_cap;
};

/* How the bytes of a connection travel. */
struct transport {
    /* As recv and writev: -1 with errno, 0 at the end of input. */
    ssize_t (*read)(struct client *client, void *to, size_t size);
    ssize_t (*write)(struct client *client, const struct iovec *chunks, int count);
    /* Is there input that the socket does not announce? NULL: never. */
    bool (*pending)(const struct client *client);
};
extern const struct transport transport_plain, transport_tls;

struct client {
    struct session session; /* first, so that a session's address is its client's */
    struct clients *all;
    TAILQ_ENTRY(client)
    by_age, same_input, same_output, to_read_on, paused, same_class, to_shake;
    enum input_place input_place;
    enum output_place output_place;
    struct loop_io *io;
    int fd;
    const struct transport *via;
    struct tls_connection *tls;  /* NULL: plain, or nothing has come */
    struct handshake_lane *lane; /* NULL until it has sent something, and after the handshake */
    char *peer, *local;
    int64_t born_usec, active_usec; /* monotonic */
    int64_t over_soft_usec;   /* when its output began to exceed the soft limit; 0: it does not */
    struct deadline soft_end; /* when it is closed for that; in clients.soft_ends */
    unsigned login_failures;  /* since the last login */
    struct deadline penalty_end; /* its replies wait until then; in clients.penalty_ends */
    struct resp_reader reader;
    struct client_input input;
    struct arrival arrival;
    struct outbuf out;
    const struct client_source *source; /* NULL: it sends replies only */
    size_t uncounted;                   /* its share of engine.uncounted */
    size_t counted;                     /* its share of clients.counted */
    size_t out_peak;                    /* the most bytes of unsent replies, lately */
    unsigned memory_class;
    bool is_classed;   /* it is in clients.by_memory[memory_class] */
    uint64_t woken_in; /* the last request (clients.request) that appended to its output */
    bool unix_socket;
    bool listed_to_read_on; /* its transport has input that the socket does not announce */
    bool in_handshake;      /* its TLS handshake has begun, and not ended */
    bool listed_to_shake;   /* it waits in its lane, and is not watched */
    bool read_blocked;      /* TLS has to send something before it can read */
    bool write_blocked;     /* the socket accepted only a part of the replies */
};

struct clients {
    struct clients_wiring w;
    struct client_list by_age, to_read_on;
    struct client_list input[INPUT_PLACES], output[OUTPUT_PLACES];
    struct client_list paused; /* WAIT_PAUSE, in the order in which they will continue */
    /* Those that maxmemory-clients may close, by magnitude of their memory. */
    struct client_list by_memory[CLIENT_CLASSES];
    size_t counted;  /* memory of all connections; 0 without maxmemory-clients */
    bool counts_all; /* maxmemory-clients was not 0 at the end of the last turn */
    size_t paused_count;
    struct client *next_checked; /* where housekeeping continues */
    struct loop_timer *run_timer, *read_timer, *pause_timer, *soft_timer;
    struct agenda soft_ends; /* of clients over the soft limit; monotonic milliseconds */
    struct loop_timer *penalty_timer;
    struct agenda penalty_ends; /* of clients whose login has failed; monotonic milliseconds */
    size_t count;
    size_t doomed; /* number of clients that will be closed at the end of this turn */
    uint64_t last_id;
    /* Needed only while a connection is served, so shared by all. */
    char *scratch;
    size_t scratch_used;
    struct window window;
    struct handshakes *handshakes;
    struct aside *aside;    /* NULL: no request lets others be served */
    uint64_t request;       /* number of the request that runs */
    int64_t refusals_usec;  /* monotonic; until then refused TLS handshakes are not logged */
    size_t refusals_unsaid; /* refusals since the last such line */
    int64_t turn_usec; /* monotonic; read at the beginning of the turn and after slow requests */
};

/* Inline, because each turn moves a client four times. */
static inline void client_place_input(struct client *client, enum input_place place)
{
    struct client_list *lists = client->all->input;
    if (client->input_place != INPUT_AT_REST)
        TAILQ_REMOVE(&lists[client->input_place], client, same_input);
    client->input_place = place;
    if (place != INPUT_AT_REST) TAILQ_INSERT_TAIL(&lists[place], client, same_input);
}

static inline void client_place_output(struct client *client, enum output_place place)
{
    struct client_list *lists = client->all->output;
    if (client->output_place != OUTPUT_AT_REST)
        TAILQ_REMOVE(&lists[client->output_place], client, same_output);
    client->output_place = place;
    if (place != OUTPUT_AT_REST) TAILQ_INSERT_TAIL(&lists[place], client, same_output);
}

/* client.c */
/* Closes the connection at the end of the turn. */
void client_doom(struct client *client);
void client_free(struct client *client);
/* NULL for a session without a client, which tests create. */
struct client *client_of(struct session *session);
void client_list_to_write(struct client *client);
/* Must the client authenticate first? Asked for each request, so what is true of most is inline. */
bool client_must_log_in(const struct client *client);
/* Are there requests of this turn that have not run, or run now? */
static inline bool client_has_arrived(const struct client *client)
{
    return client->input_place == INPUT_ARRIVED || client->input_place == INPUT_ASIDE;
}
static inline bool client_is_doomed(const struct client *client)
{
    return client->session.state == SESSION_ENDED;
}
static inline bool client_is_anon(const struct client *client)
{
    return !client->session.authenticated && client_must_log_in(client);
}
/* Ends the time in which nothing is known of the client: it has the rights of all. */
void client_begin_session(struct client *client);
/* The error line for a client that protected mode does not let in, or NULL. */
const char *client_protection(const struct client *client);
/* Bytes of the client's requests in the turn's buffer, including the running one. */
size_t client_bytes_being_run(const struct client *client);
/* "id=7 addr=127.0.0.1:50312 name=worker" for the log. */
struct client_label {
    char text[256];
};
struct client_label client_label(const struct client *client);

/* client_output.c */
/* Call before a request runs: bounds its replies by the hard limit, where a reply is cut off. */
void client_bound_output(struct client *client);
/* Dooms the client and logs it if its unread replies exceed the hard limit of its class. If they
 * exceed the soft limit, arms the timer that does so later. */
void client_check_output(struct client *client);
void client_watch_soft(struct client *client); /* checks the soft limit only */
void clients_close_lagging(void *clients);     /* for the timer */

/* client_memory.c */
struct client_usage {
    size_t total;
    size_t output, multi; /* parts of it */
};
struct client_usage client_usage(const struct client *client);
/* Updates the sums. Call when the client's memory or authentication has changed. */
void client_count_memory(struct client *client);
void client_forget_memory(struct client *client); /* when it ends */
/* Dooms the largest clients while all together exceed maxmemory-clients. False: none. */
bool clients_evict(struct clients *clients);
/* client_penalty.c */
void clients_end_penalties(void *clients); /* for the timer */

/* client_io.c */
void client_ready(void *client, unsigned what);
void client_write(struct client *client);
void client_keep_input(struct client *client, const char *data, size_t len); /* appends */
void client_drop_input(struct client *client, size_t used); /* removes from the front */
/* Puts a big argument back among the other bytes, so that its request can be parsed again. */
void client_join_input(struct client *client);
size_t client_input_bytes(const struct client *client); /* unanswered, with a big argument */
void clients_read_pending(
    void *clients); /* timer: reads clients whose transport has input pending */
/* Reads clients whose input had no room in the turn's buffer. False: there were none. */
bool clients_read_more(struct clients *clients);

/* client_tls.c */
/* Closes a client whose first bytes are a TLS handshake, on a port without TLS: true. */
bool client_refuse_tls(struct client *client, const char *data, size_t len);
/* Goes on with handshakes, for a limited time. */
void clients_shake_hands(void *clients);
/* Closes a client in its TLS handshake that has gone, or takes too long. */
void client_check_handshake(struct client *client, int64_t now_usec);

/* client_run.c */
bool client_may_read(const struct client *client);
/* Closes a client with more unanswered input than it may have. */
void client_check_input(struct client *client);
/* Call when bytes were read, into the turn's buffer or (NULL) into the client's input: their
 * requests run at the end of the turn. Those of a client that does not serve have to be in its
 * input, and stay there. */
void client_arrived(struct client *client, const char *data, size_t len);
void clients_run_listed(void *clients);
/* Takes parsed requests of all clients but one out of the window: they stay in the input, and are
 * parsed again. */
void clients_give_back(struct clients *clients, const struct client *but);
struct client *clients_running(const struct clients *clients); /* whose request runs */
/* Bytes of the arguments of its request that runs. They are in the input buffer, or in the turn's.
 */
size_t client_running_bytes(const struct client *client);
/* Runs the complete requests of the client's input in the next turn. */
void client_list_to_run(struct client *client);
/* Ends a wait that a part of net/ has begun. */
void client_go_on(struct client *client);
/* Continues all paused clients if the pause is over, else arms the timer for its end. */
void clients_look_at_pause(struct clients *clients);
void window_init(struct window *window);
void window_drop(struct window *window);

#endif
