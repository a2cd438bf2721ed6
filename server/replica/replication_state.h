/* replication_state: the struct behind replication.h. Only for replication.c, replication_load.c
 * and replication_restart.c. */
#pragma once

#include "server/replica/follower.h"
#include "server/replica/replication.h"

enum { MASTER_HOST_MAX = 256, WHY = 448, USEC = 1000 * 1000 };

struct replication {
    struct replication_wiring w;
    struct backlog *backlog;
    struct feed *feed;
    struct stream_position position; /* the data's; replication_position updates offset and db */
    struct stream_position loaded;   /* `position` as loaded at the start; zeroed after following */
    struct replicas *replicas;
    struct link *link;
    struct follower *follower;
    struct waits *waits;
    struct failover *failover;
    bool active; /* the backlog holds the stream up to now */
    bool follows;
    bool has_position; /* the data has the `position` whose offset is the backlog's end */
    bool is_unshared;  /* a master that has restarted: no replica knows its new id yet */
    bool loading;      /* a full copy is being loaded */
    bool asks;         /* at the end of the turn: ask replicas for ACKs, or as a replica send one */
    char host[MASTER_HOST_MAX];
    int64_t port;
    int64_t retry_usec;  /* do not connect to the master before this time */
    unsigned bad_copies; /* how often in a row a full copy of this master, or the stream soon after
                          * it, has failed */
    int64_t copied_usec; /* when the last copy was loaded; 0 if none was since the last failure */
    uint64_t link_id;    /* id of the last connection to the master */
    int64_t link_usec;   /* monotonic: when that connection was begun */
    uint64_t full_copies;
    size_t uncounted; /* the lag of replicas as last added to engine.uncounted */
    /* For WAITAOF: the stream is synced to disk up to offset `synced`. Once the journal is synced
     * up to its position `mark`, `synced` becomes `marked`. */
    uint64_t synced, marked, mark;
    int64_t turned_usec; /* when the last turn inside a load ended */
    uint64_t given;      /* bytes of the copy passed to the loader so far */
    uint64_t loads_from; /* link_id of the connection that sends the copy */
    /* A loaded copy is acknowledged repeatedly until the stream after it begins. */
    struct loop_timer *ack_timer;
    msec ack_msec;     /* time until the next acknowledgement */
    uint64_t copy_end; /* offset of the first byte of that stream */
};

/* Updates the engine's role and the hooks' feed from the state. */
void replication_update_role(struct replication *r);
/* Makes the follower ready for the link's stream, which begins at this offset with this database
 * selected. */
void replication_stream_begins(struct replication *r, uint64_t offset, unsigned db);
/* Does the data still belong to the old id, which another master may know? True after the restart
 * of a master, which continues under a new id, while the new stream contains no bytes and no
 * replica knows its id. */
bool replication_is_unbranched(const struct replication *r);
/* Sends the master the offset that has been applied. */
void replication_acknowledge(struct replication *r);
/* The callback of ack_timer: acknowledges the copy once more if the stream has not begun. */
void replication_acknowledge_again(void *replication);
/* Delays the request for the next copy, longer after each failure in a row, because each copy costs
 * the master a fork. Call when a copy has ended early, or when the stream after it can't be
 * applied. */
void replication_delay_copy(struct replication *r);
/* Delays the request for the next copy if the link was closed during a copy (link_take_lost_copy).
 * Call when the link may have ended. */
void replication_note_lost_copy(struct replication *r);
