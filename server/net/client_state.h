/* client_state: what client.c (who is connected) and client_io.c (bytes in and out) share about a
 * connection. Nobody else includes it. */
#ifndef SERVER_NET_CLIENT_STATE_H
#define SERVER_NET_CLIENT_STATE_H

#include <sys/queue.h>

#include "proto/base/outbuf.h"
#include "proto/resp/resp_read.h"
#include "server/net/client.h"
#include "server/net/lookahead.h"
#include "store/struct/agenda.h"

TAILQ_HEAD(client_list, client);

enum {
    WINDOW = LOOKS_MAX,          /* requests that are looked up ahead together */
    CLIENT_READ = 64 * 1024,     /* bytes of one read */
    CLIENT_SCRATCH = 256 * 1024, /* of what a turn reads before it runs */
    /* Before AUTH, so that a crowd of unauthenticated clients can't take the memory.
     * DIFFERS: Redis reads and keeps more. (doc/differs.md) */
    ANON_READ = 1024,       /* bytes of one read, which bounds the replies of a turn */
    ANON_UNREAD = 1024,     /* bytes of replies that the peer may leave unread, as in Redis */
    ANON_QUERY = 64 * 1024, /* bytes of unanswered input; the longest AUTH or HELLO fits */
};

/* DIFFERS: Redis reads on while a client leaves its replies unread; here it is not read from while
 * more than this waits. (doc/differs.md) */
#define CLIENT_STALL_BYTES ((size_t)64 << 20)

/* Bytes of a request that is not whole yet; without such, no memory. */
struct client_input {
    char *data;
    size_t start, len, cap; /* data[start .. start + len) */
};

/* What a read has brought, until the turn has run it. */
struct arrival {
    const char *data; /* NULL: it stands in the client's input */
    size_t len;
    size_t parsed;  /* bytes of requests that went into the window */
    size_t used;    /* bytes of those that have run */
    unsigned left;  /* requests that it may still run in this turn */
    bool waits;     /* in clients.arrived */
    bool ended;     /* there is no further request to take from it */
    bool holds;     /* what was taken has to run before more is parsed */
    bool cut;       /* a request could not run: it stays, with all behind it */
    bool malformed; /* what follows the parsed bytes */
};

/* Requests parsed, not yet run, and their arguments one behind another. */
struct request;
struct window {
    struct request *requests; /* WINDOW of them */
    struct look *looks;       /* and what was looked up for each */
    unsigned count;
    struct bytes *argv;
    size_t args, args_cap;
};

struct client {
    struct session session; /* first: a session leads to its client by its address */
    struct clients *all;
    TAILQ_ENTRY(client) by_age, to_write, to_run, arrived, paused;
    struct loop_io *io;
    int fd;
    char *peer, *local;
    int64_t born_usec, active_usec; /* monotonic */
    int64_t over_soft_usec;         /* since when over the soft limit of its output; 0: it is not */
    struct deadline soft_end;       /* until when it may be, in clients.soft_ends */
    struct resp_reader reader;
    struct client_input input;
    struct arrival arrival;
    struct outbuf out;
    size_t anon_out;  /* bytes at the end of out that are replies to unauthenticated requests */
    size_t uncounted; /* its share of dispatch.uncounted */
    bool unix_socket;
    bool listed_to_write; /* the end of this turn looks at it */
    bool held;            /* ... when what its replies acknowledge is safe */
    bool listed_to_run;   /* whole requests may wait in its input */
    bool write_blocked;   /* the socket took less than there was */
    bool stalled;         /* too many replies wait: nothing is read until some have left */
    bool is_paused;       /* CLIENT PAUSE holds its next request up */
    bool doomed;          /* closed at the end of this turn, whatever waits */
};

struct clients {
    struct clients_wiring w;
    struct client_list by_age, to_write, to_run, arrived;
    struct client_list held;   /* of those to write: what they may say is not safe yet */
    struct client_list paused; /* in the order in which they will go on */
    size_t paused_count;
    struct client *next_checked; /* where housekeeping goes on */
    struct loop_timer *run_timer, *pause_timer, *soft_timer;
    struct agenda soft_ends; /* of clients over the soft limit; monotonic milliseconds */
    size_t count;
    size_t doomed; /* of them, those that end with this turn */
    uint64_t last_id;
    /* What every connection needs only while it is served. */
    char *scratch;
    size_t scratch_used;
    struct window window;
    int64_t turn_usec; /* monotonic, of about now */
};

/* client.c */
void client_doom(struct client *client);
void client_free(struct client *client);
void client_list_to_write(struct client *client);
/* It has to authenticate first. */
bool client_is_anon(const struct client *client);
/* Its memory is not counted while it is unauthenticated: to be called when either has changed. */
void client_count_memory(struct client *client);
/* What one request may make of replies, before it runs: a reply beyond the hard limit is not
 * finished. */
void client_bound_output(struct client *client);
/* Dooms it when more replies wait than the hard limit of its class, and says so in the log. Over
 * the soft limit, a timer does so when that has lasted too long. */
void client_check_output(struct client *client);
void client_watch_soft(struct client *client); /* the soft limit alone */
/* "id=7 addr=127.0.0.1:50312 name=worker" for the log. */
struct client_label {
    char text[256];
};
struct client_label client_label(const struct client *client);

/* client_io.c */
void client_ready(void *client, unsigned what);
void client_write(struct client *client);
void client_keep_input(struct client *client, const char *data, size_t len); /* at its end */
void client_drop_input(struct client *client, size_t used);                  /* at its front */

/* client_run.c */
bool client_may_read(const struct client *client);
/* Bytes came, in the turn's buffer or (NULL) in the client's input, where no request has been
 * parsed yet: they run at the end of the turn. */
void client_arrived(struct client *client, const char *data, size_t len);
void clients_run_listed(void *clients);
/* The next turn runs what is whole in its input. */
void client_list_to_run(struct client *client);
void client_end_pause(struct client *client); /* fine without */
/* When the pause is over, all go on; otherwise sees to it that the end is noticed. */
void clients_look_at_pause(struct clients *clients);
void window_init(struct window *window);
void window_drop(struct window *window);

#endif
