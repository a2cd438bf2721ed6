/* link: the connection of a replica to its master: connects, performs the handshake, receives a
 * full copy or continues the stream. Depends on sockets and the loop; knows no store, because the
 * link's owner loads copies and applies the stream.
 *
 * The bytes of the stream stay in the link until the owner has applied them. */
#pragma once

#include <sys/types.h>

#include "conf/conf.h"
#include "server/base/loop.h"
#include "server/replica/history.h"
#include "store/base/bytes.h"

struct link;
struct stats;
struct tls;

enum link_state {
    LINK_DOWN,       /* not connected: the owner decides when to try again */
    LINK_CONNECTING, /* connecting, up to the reply to PSYNC */
    LINK_COPY,       /* receives a full copy: link_copy_read */
    LINK_STREAM,     /* receives the stream: link_stream */
};

struct link_wiring {
    struct loop *loop;
    const struct conf *conf;
    struct stats *stats;
    /* Sets the id of the data's stream and the offset of the next byte to ask for (PSYNC). Returns
     * false if there is no data to continue with: a full copy is then needed. */
    bool (*position)(void *ctx, const char **id, uint64_t *offset);
    /* The master continues the stream (+CONTINUE) under this id, or under the same one if NULL. */
    void (*continues)(void *ctx, const char *id);
    /* The master has replied to PSYNC, with data (accepted) or with an error. */
    void (*answered)(void *ctx, bool accepted);
    void *ctx;
};

struct link *link_new(const struct link_wiring *wiring);
void link_free(struct link *link);

/* Begins to resolve the name and to connect. `tls` is borrowed while the link exists; NULL means
 * without TLS. An error is logged with the peer's name, and leads to LINK_DOWN. */
void link_connect(struct link *link, const char *host, int64_t port, struct tls *tls);
/* If `on`, later requests for the stream contain FAILOVER: they ask the peer, until now a replica
 * of this server, to become the master. */
void link_ask_failover(struct link *link, bool on);
void link_close(struct link *link, const char *why); /* NULL to close silently */
/* Closes the link silently, as of a server without a master: link_down_usec forgets when it was
 * lost. */
void link_end(struct link *link);
/* Was the last connection closed with a reason between the master's promise of a full copy and the
 * end of that copy? The owner then delays its next attempt. Returns true once for each such
 * connection. */
bool link_take_lost_copy(struct link *link);

enum link_state link_state(const struct link *link);
/* Returns "connect", "connecting", "handshake", "sync" or "connected", for ROLE. */
const char *link_step(const struct link *link);
int64_t link_silent_usec(const struct link *link); /* time since the last byte */
/* Returns the time since the stream was lost, or -1 if the link is in LINK_STREAM, or has not been
 * since link_new or link_end. */
int64_t link_down_usec(const struct link *link);

/* Returns the socket, or -1 if there is none, and the address of our end in `local`, as text with
 * the port. */
int link_socket(const struct link *link, char *local, size_t size);

#define LINK_NO_EFFECTS UINT64_MAX
/* Returns the offset from which the master's stream consists of effects (follower.h), or
 * LINK_NO_EFFECTS if all of it consists of commands of Redis or Valkey. Known after the
 * handshake. */
uint64_t link_effects_from(const struct link *link);

/* ---- a full copy ---- */

struct link_copy {
    char id[HISTORY_ID + 1];
    uint64_t offset;   /* offset of the first byte of the stream after the copy */
    bool is_rdb;       /* otherwise in the form of copy.h; known once link_copy_begins */
    uint64_t received; /* bytes of the copy so far */
    uint64_t length;   /* 0 if unknown */
};
/* Returns the copy that is being received; valid in LINK_COPY. */
const struct link_copy *link_copy(const struct link *link);
/* Have enough bytes of the copy arrived to know its form? Sets is_rdb. If false, try again when
 * more bytes have arrived. */
bool link_copy_begins(struct link *link);
/* Returns the bytes of the copy that have arrived and were not read. */
size_t link_copy_ready(const struct link *link);
/* Reads up to `size` bytes of the copy. Returns 0 if none has arrived; link_copy_ended says whether
 * the copy has ended. */
size_t link_copy_read(struct link *link, void *to, size_t size);
/* Were all bytes of the copy taken, and has its end arrived? */
bool link_copy_ended(const struct link *link);
/* Enters LINK_STREAM: the bytes after the copy are the stream. Call when link_copy_ended and the
 * copy is loaded. */
void link_copy_done(struct link *link);

/* ---- the stream ---- */

/* Returns the bytes that have arrived but that link_stream_take has not removed, borrowed until the
 * next turn of the loop. */
struct bytes link_stream(const struct link *link);
/* Removes the first `len` bytes of link_stream, which the owner has applied. */
void link_stream_take(struct link *link, size_t len);
/* If `on`, the link reads even while 4 MiB wait for the owner, who needs more bytes to continue: a
 * unit of the stream may be longer. */
void link_want_more(struct link *link, bool on);
/* Sends the master the offsets of the last byte that was applied, and of the last one that is
 * synced to disk (REPLCONF ACK). As in Redis, these are not the offsets of the bytes after them.
 * Effective only in LINK_STREAM. */
void link_acknowledge(struct link *link, uint64_t applied, uint64_t synced);
/* In LINK_COPY, sends an empty line, so that the master does not close the connection as silent
 * while a copy is received and loaded. Call about once a second. */
void link_keep_alive(struct link *link);
