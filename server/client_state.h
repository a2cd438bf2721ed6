/* client_state: what client.c (who is connected) and client_io.c (bytes in and out) share about a
 * connection. Nobody else includes it. */
#ifndef SERVER_CLIENT_STATE_H
#define SERVER_CLIENT_STATE_H

#include <sys/queue.h>

#include "proto/outbuf.h"
#include "proto/resp_read.h"
#include "server/client.h"

TAILQ_HEAD(client_list, client);

/* Bytes of a request that is not whole yet; without such, no memory. */
struct client_input {
    char *data;
    size_t start, len, cap; /* data[start .. start + len) */
};

struct client {
    struct session session; /* first: a session leads to its client by its address */
    struct clients *all;
    TAILQ_ENTRY(client) by_age, to_write, to_run, paused;
    struct loop_io *io;
    int fd;
    char *peer, *local;
    int64_t born_usec, active_usec; /* monotonic */
    int64_t over_soft_usec;         /* since when over the soft limit of its output; 0: it is not */
    struct resp_reader reader;
    struct client_input input;
    struct outbuf out;
    bool unix_socket;
    bool listed_to_write; /* the end of this turn looks at it */
    bool listed_to_run;   /* whole requests may wait in its input */
    bool write_blocked;   /* the socket took less than there was */
    bool stalled;         /* too many replies wait: nothing is read until some have left */
    bool is_paused;       /* CLIENT PAUSE holds its next request up */
    bool doomed;          /* closed at the end of this turn, whatever waits */
};

struct clients {
    struct clients_wiring w;
    struct client_list by_age, to_write, to_run;
    struct client_list paused; /* in the order in which they will go on */
    size_t paused_count;
    struct client *next_checked; /* where housekeeping goes on */
    struct loop_timer *run_timer, *pause_timer;
    size_t count;
    size_t doomed; /* of them, those that end with this turn */
    uint64_t last_id;
    /* What every connection needs only while it is served. */
    char *scratch;
    struct bytes *argv;
    size_t argv_cap;
};

/* client.c */
void client_doom(struct client *client);
void client_free(struct client *client);
void client_list_to_write(struct client *client);
/* Dooms it when more replies wait than its class may have; says so in the log. */
/* What one request may make of replies, before it runs: a reply beyond the hard limit is not
 * finished. */
void client_bound_output(struct client *client);
void client_check_output(struct client *client);
/* "id=7 addr=127.0.0.1:50312 name=worker" for the log. */
struct client_label {
    char text[256];
};
struct client_label client_label(const struct client *client);

/* client_io.c */
enum { CLIENT_SCRATCH = 64 * 1024 };
void client_ready(void *client, unsigned what);
void clients_run_listed(void *clients);
void client_write(struct client *client);
/* The next turn runs what is whole in its input. */
void client_list_to_run(struct client *client);
/* Its next request has to wait. */
void client_pause(struct client *client);
void client_end_pause(struct client *client); /* fine without */
/* When the pause is over, all go on; otherwise sees to it that the end is noticed. */
void clients_look_at_pause(struct clients *clients);

#endif
