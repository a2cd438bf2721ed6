/* full_copy: the current data, written by a forked child into a pipe, for any number of replicas at
 * once. Depends on child, the loop and a store; knows no connection.
 *
 * The bytes stay in memory until every reader has received them. While FULL_COPY_AHEAD bytes or
 * more wait, the pipe is not read: a slow reader slows down the child instead of filling memory. */
#pragma once

#include "server/base/loop.h"
#include "server/replica/stream/backlog.h"
#include "store/store.h"

enum {
    FULL_COPY_AHEAD = 2 << 20,
    FULL_COPY_MARK = 40,
    FULL_COPY_REFUSAL = 512, /* longer than the line of any refusal */
};

enum full_copy_reader {
    COPY_FOR_REDIS_7, /* an RDB for each of these; the numbers are those of `rdb-copy-for` */
    COPY_FOR_REDIS_8,
    COPY_FOR_VALKEY_9,
    COPY_FOR_US, /* copy.h */
};

struct full_copy_form {
    enum full_copy_reader reader;
    bool sized;          /* sent after "$<length>", not between "$EOF:<mark>" and the mark */
    bool functions_only; /* an RDB of the functions, without keys */
    /* If the RDB can't hold all data, the copy is a line with an error in place of it. */
    bool must_be_whole;
};

struct full_copy;

/* Makes a full_copy in COPY_IDLE. `progress` is called when bytes have arrived or the copy has
 * ended. Returns NULL with errno on failure. */
struct full_copy *full_copy_new(struct loop *loop, const struct store *store,
                                void (*progress)(void *ctx), void *ctx);
void full_copy_free(struct full_copy *copy); /* kills a running child */

/* Forks a child that writes a copy in this form: COPY_RUNS. `stream_db` is the database that the
 * stream has selected after the copy. Only allowed in COPY_IDLE. Returns 0, or an errno and stays
 * there. */
int full_copy_begin(struct full_copy *copy, struct full_copy_form form, unsigned stream_db);
/* Kills the child if it still writes, and does what full_copy_reset does. */
void full_copy_cancel(struct full_copy *copy);

/* COPY_REFUSED: the copy must be whole, but can't be; its bytes are the error. */
enum full_copy_state { COPY_IDLE, COPY_RUNS, COPY_WHOLE, COPY_REFUSED, COPY_FAILED };
enum full_copy_state full_copy_state(const struct full_copy *copy);
struct full_copy_form full_copy_form(const struct full_copy *copy);
const char *full_copy_refusal(const struct full_copy *copy);
/* Returns the bytes that have arrived and are needed. The first offset is 0. */
const struct backlog *full_copy_bytes(const struct full_copy *copy);
/* Frees bytes that no reader needs: those before `least`, except a part of a chunk. The pipe is
 * read again if fewer than FULL_COPY_AHEAD bytes are left. */
void full_copy_taken(struct full_copy *copy, uint64_t least);
/* Frees the bytes of a copy that has ended and that no reader needs: COPY_IDLE, so that another
 * copy may begin. */
void full_copy_reset(struct full_copy *copy);

struct full_copy_report {
    uint64_t copied_memory;
    int64_t fork_usec;
};
struct full_copy_report full_copy_report(const struct full_copy *copy);
