/* replicas_state: the structs behind replicas.h. Only for replicas.c, which keeps the list of
 * replicas and sends the stream, and replica_copies.c, which sends full copies. */
#pragma once

#include <sys/queue.h>
#include <sys/uio.h>

#include "server/base/loop.h"
#include "server/replica/full_copy.h"
#include "server/replica/replicas.h"

enum { ADDRESS_MAX = 256 };

enum state {
    HANDSHAKE, /* it has not asked for the stream yet */
    WAITING,   /* waits for a child to begin its copy */
    COPYING,   /* is being sent the copy */
    COPIED,    /* all of the copy was sent; the stream follows its first acknowledgement */
    ONLINE,    /* is being sent the stream */
};

TAILQ_HEAD(replica_list, replica);

struct replica {
    TAILQ_ENTRY(replica) in_order;
    struct replicas *all;
    struct session *session;
    struct client_source source;
    enum state state;
    struct replica_options options;
    bool closes;   /* is closed at the end of the turn */
    bool has_copy; /* acknowledged the copy before this server noticed the child's end */
    bool is_old;   /* SYNC: receives an RDB without +FULLRESYNC, and acknowledges nothing */
    char address[ADDRESS_MAX]; /* the address it announced; "" means that of the connection */
    uint64_t copied;           /* bytes of the copy sent */
    uint64_t sent;             /* offset of the next byte of the stream; from COPYING on */
    uint64_t applied, synced;  /* it acknowledged all bytes before these offsets; or 0 */
    int64_t heard_usec;        /* monotonic: when it last sent something */
    int64_t since_usec;        /* monotonic: when it began to wait */
    int64_t over_soft_usec;    /* when its lag began to exceed the soft limit, or 0 */
};

struct replicas {
    struct replicas_wiring w;
    struct replica_list list;
    struct full_copy *copy;
    /* How many bytes of copies may still be sent in this turn. When they are used up, copies_wait
     * is set, and the timer continues the sending in the next turn. */
    size_t copy_room;
    bool copies_wait;
    struct loop_timer *next_turn;
    int64_t pinged_usec;
    int64_t left_usec;  /* when the last one left, or all were closed, or 0 */
    size_t lag;         /* bytes of the backlog that are kept only because a replica needs them */
    uint64_t turned_at; /* the backlog's end at the end of the last turn */
    /* Offsets of the bytes added by the last turn that added more than the hard limit. */
    uint64_t burst_from, burst_end;
    struct replicas_report report;
};

/* Points `chunks`, at most `max`, to the bytes of a backlog from this offset on, and returns their
 * number. */
int replicas_view(const struct backlog *backlog, uint64_t offset, struct iovec *chunks, int max);
/* Sets the replica to ONLINE: the stream is sent from `sent` on. */
void replicas_go_online(struct replica *replica);
void replicas_close(struct replica *replica); /* at the end of the turn */

/* ---- replica_copies.c ---- */

bool replica_copies_make(struct replicas *all); /* false with errno */
void replica_copies_free(struct replicas *all);
/* Forks a child if one is due and none is running. Call in each turn, before output is sent. */
void replica_copies_begin(struct replicas *all);
/* Ends a copy that has failed or that no replica receives any more, and frees bytes of the copy
 * that no replica needs any more. Call in each turn. */
void replica_copies_update(struct replicas *all);
/* Points `chunks`, at most `max`, to the next bytes of the copy for a replica that is COPYING, and
 * returns the number of chunks. Returns 0 if all bytes that have arrived were sent, or if this
 * turn's `copy_room` is used up; the next turn then sends on. */
int replica_copies_peek(const struct replica *replica, struct iovec *chunks, int max);
/* Counts `len` bytes of the copy as sent. The last one makes the replica COPIED or ONLINE. */
void replica_copies_sent(struct replica *replica, size_t len);
