/* client_state: the structs of connections, private to client.c (connections), client_io.c (bytes
 * in and out), client_run.c (requests),
 * client_suspend.c (turns inside a request) and client_check.c (assertions). session_state.h
 * defines the state of a connection; the enums input_place and output_place below define the work
 * that a turn still has to do for it. */
#ifndef SERVER_NET_CLIENT_STATE_H
#define SERVER_NET_CLIENT_STATE_H

#include <sys/queue.h>

#include "proto/resp/resp_read.h"
#include "server/net/client.h"
#include "server/net/label.h"
#include "server/net/limits.h"
#include "server/net/lookahead.h"
#include "server/net/transport.h"
#include "store/mem/outbuf.h"
#include "store/struct/agenda.h"

TAILQ_HEAD(client_list, client);

enum {
    WINDOW = PREFETCHES_MAX,     /* requests whose keys are prefetched together */
    CLIENT_READ = 64 * 1024,     /* bytes per read */
    CLIENT_SCRATCH = 256 * 1024, /* bytes that a turn reads before it runs requests */
    /* Before AUTH. DIFFERS: Redis reads more. (doc/differs.md) */
    ANON_READ = 1024,    /* bytes per read; this bounds the replies of a turn */
    TLS_FIRST_BYTE = 22, /* begins a TLS handshake, but no request */
};

/* Bytes of requests that are incomplete or have not run; allocates nothing when empty. A big
 * argument of the first request is read into its own block, which can become a value without a
 * copy. */
struct client_input {
    char *data;
    size_t start, len, cap; /* data[start .. start + len) */
    struct blob *big;       /* the big argument, or NULL */
    size_t big_len;         /* bytes of it that have arrived */
    size_t big_at;          /* its offset from `start` */
    int big_arg;            /* its index in the request */
};

/* The work that a turn still has to do with a connection's input and with its output. Each place
 * except AT_REST is a list in struct clients; only client_place_input and client_place_output move
 * a client. */
enum input_place {
    INPUT_AT_REST,   /* nothing to do: in no list */
    INPUT_TO_READ,   /* the turn's buffer was full: read once its requests have run */
    INPUT_TO_RUN,    /* its input may hold complete requests: run them in the next turn */
    INPUT_ARRIVED,   /* bytes were read in this turn; their requests run at its end */
    INPUT_SUSPENDED, /* its request runs, and other turns inside it (client_suspend.c) */
    INPUT_PLACES,
};
enum output_place {
    OUTPUT_AT_REST,   /* nothing to send, or the socket is full: in no list */
    OUTPUT_TO_WRITE,  /* client_write is due at the end of this turn */
    OUTPUT_HELD,      /* client_write is due once the journal has the changes that it reveals */
    OUTPUT_SUSPENDED, /* client_write is due once the request that runs turns inside has ended */
    OUTPUT_PLACES,
};

/* Bytes that were read in this turn; kept until their requests have run. */
struct arrival {
    const char *data; /* NULL: they are in the client's input buffer */
    size_t len;
    size_t parsed;  /* bytes of requests that are in the window */
    size_t used;    /* bytes of requests that have run */
    unsigned left;  /* requests that may still run in this turn */
    bool ended;     /* no further request can be parsed from it */
    bool holds;     /* parsed requests must run before the next one is parsed */
    bool cut;       /* a request could not run: it stays, with all bytes after it */
    bool malformed; /* the bytes after the parsed ones are malformed */
};

/* Parsed requests that have not run yet, with their arguments in one array. */
struct request;
struct window {
    struct request *requests;    /* an array of WINDOW requests */
    unsigned running;            /* index of the running request */
    struct prefetch *prefetches; /* one for each request */
    unsigned count;
    struct bytes *argv;
    size_t args, args_cap;
};

struct client {
    struct session session; /* first, so that a session's address is its client's */
    struct clients *all;
    TAILQ_ENTRY(client)
    by_age, same_input, same_output, paused;
    enum input_place input_place;
    enum output_place output_place;
    struct transport transport;
    char *peer, *local;
    int64_t born_usec, active_usec; /* monotonic */
    struct limits limits;
    struct resp_reader reader;
    struct client_input input;
    struct arrival arrival;
    struct outbuf out;
    const struct client_source *source; /* NULL: it only sends replies */
    size_t out_peak;                    /* most bytes of unsent replies in the last second or so */
    uint64_t woken_in; /* the last request (clients.request) that appended to its output */
    bool unix_socket;
};

struct clients {
    struct clients_wiring w;
    struct all_transports *transports;
    struct client_list by_age;
    struct client_list input[INPUT_PLACES], output[OUTPUT_PLACES];
    struct client_list paused; /* WAIT_PAUSE, in the order in which they will continue */
    struct all_limits *limits;
    size_t paused_count;
    struct client *next_checked; /* where housekeeping continues */
    struct loop_timer *run_timer, *pause_timer;
    size_t count;
    size_t doomed; /* number of clients to close at the end of this turn */
    uint64_t last_id;
    /* Shared by all connections: only needed while one is being served. */
    char *scratch;
    size_t scratch_used;
    struct window window;
    struct suspended_turn *suspended; /* NULL: no turns run inside a request */
    uint64_t request;                 /* number of the running request */
    int64_t refusals_usec;            /* monotonic; no refused TLS handshake is logged before */
    size_t refusals_unlogged;         /* refused handshakes since the last log line */
    int64_t turn_usec; /* monotonic; read before a turn's first request, after slow ones, and once
                          a second */
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
/* NULL for a session without a connection, as in tests. */
struct client *client_of(struct session *session);
void client_list_to_write(struct client *client);
/* Does this client have requests of this turn that are running or still have to run? */
static inline bool client_has_arrived(const struct client *client)
{
    return client->input_place == INPUT_ARRIVED || client->input_place == INPUT_SUSPENDED;
}
static inline bool client_is_doomed(const struct client *client)
{
    return client->session.state == SESSION_ENDED;
}
static inline bool client_is_anon(const struct client *client)
{
    return limits_is_anon(&client->limits);
}
/* Closes and logs a client whose connection is lost; not logged if `why` is empty. */
void client_lost(struct client *client, struct bytes why);
/* Closes a client before its session begins. Logs this at most once a second. */
void client_refuse(struct client *client, struct bytes why);
/* Bytes of the client's requests in the turn's buffer that have not finished. */
size_t client_bytes_being_run(const struct client *client);
/* For CLIENT and INFO. */
struct client_usage {
    size_t total;
    size_t output, multi; /* included in total */
};
struct client_usage client_usage(const struct client *client);

/* client_io.c */
void client_read(struct client *client); /* call when there may be input */
void client_write(struct client *client);
/* Call for a client whose output waits for something else than room in its socket: the loop would
 * report at once, in each turn, that there is room. client_write asks for it again. */
void client_ignore_room(struct client *client);
void client_keep_input(struct client *client, const char *data, size_t len); /* appends */
void client_drop_input(struct client *client, size_t used); /* removes from the front */
/* Copies a big argument back between the other bytes, so that its request can be parsed again. */
void client_join_input(struct client *client);
/* Unanswered bytes, including a big argument. */
size_t client_input_bytes(const struct client *client);
/* Reads the clients for which the turn's buffer had no room. False: there were none. */
bool clients_read_more(struct clients *clients);

/* client_run.c */
bool client_may_read(const struct client *client);
/* Closes a client that exceeds the limit of unanswered input. */
void client_check_input(struct client *client);
/* Call when bytes were read into the turn's buffer, or (data NULL) into the client's input: their
 * requests run at the end of the turn. If the client is not SESSION_SERVING, the bytes must be in
 * its input, where they stay. */
void client_arrived(struct client *client, const char *data, size_t len);
void clients_run_listed(void *clients);
/* Removes the parsed requests of all clients except `but` from the window. They stay in the input
 * and are parsed again. */
void clients_give_back(struct clients *clients, const struct client *but);
struct client *clients_running(const struct clients *clients); /* whose request is running */
/* Bytes of the arguments of its running request, which are in its input or in the turn's buffer. */
size_t client_running_bytes(const struct client *client);
/* Schedules the complete requests in the client's input for the next turn. */
void client_list_to_run(struct client *client);
/* Ends a wait that net/ itself has started. */
void client_continue(struct client *client);
/* If the pause is over, lets all paused clients continue. Otherwise, arms the timer for its end. */
void clients_check_pause(struct clients *clients);
void window_init(struct window *window);
void window_drop(struct window *window);

#endif
