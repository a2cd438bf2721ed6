/* full_copy: the current data, written by a forked child into a pipe, for any number of replicas at
 * once. Depends on child, the loop and a store; knows no connection.
 *
 * The bytes wait in memory until every reader has taken them. While more than FULL_COPY_AHEAD bytes
 * wait, the pipe is not read, so a slow reader slows down the child instead of using memory. */
#ifndef SERVER_REPLICA_FULL_COPY_H
#define SERVER_REPLICA_FULL_COPY_H

#include <stdbool.h>
#include <stdint.h>

#include "server/base/loop.h"
#include "server/replica/stream/backlog.h"
#include "store/store.h"

enum { FULL_COPY_AHEAD = 2 << 20, FULL_COPY_MARK = 40 };

/* The forms that readers understand. */
enum full_copy_form {
    COPY_OWN,       /* copy.h, between "$EOF:<mark>" and the mark */
    COPY_RDB,       /* the same with an RDB for Redis 7.0 */
    COPY_REDIS_8,   /* the same with an RDB for Redis 8 */
    COPY_VALKEY,    /* the same with an RDB for Valkey 9 */
    COPY_RDB_SIZED, /* an RDB after "$<length>" */
    COPY_FUNCTIONS, /* an RDB of the functions, between marks */
    COPY_FUNCTIONS_SIZED,
    COPY_FORMS
};

struct full_copy;

/* `progress` is called when bytes have arrived or the copy has ended. NULL with errno. */
struct full_copy *full_copy_new(struct loop *loop, const struct store *store,
                                void (*progress)(void *ctx), void *ctx);
void full_copy_free(struct full_copy *copy); /* kills a running child */

/* Forks. `stream_db`: the database that the stream has selected. 0 or an errno. */
int full_copy_begin(struct full_copy *copy, enum full_copy_form form, unsigned stream_db);
void full_copy_cancel(struct full_copy *copy);

enum full_copy_state { COPY_IDLE, COPY_RUNS, COPY_WHOLE, COPY_FAILED };
enum full_copy_state full_copy_state(const struct full_copy *copy);
enum full_copy_form full_copy_form(const struct full_copy *copy);
/* The bytes that have arrived and are needed. The first offset is 0. */
const struct backlog *full_copy_bytes(const struct full_copy *copy);
/* Frees the bytes before `least`, the lowest offset that a reader still needs. */
void full_copy_taken(struct full_copy *copy, uint64_t least);
/* Call after COPY_WHOLE or COPY_FAILED, when no reader needs the copy. */
void full_copy_reset(struct full_copy *copy);

struct full_copy_report {
    uint64_t copied_memory;
    int64_t fork_usec;
};
struct full_copy_report full_copy_report(const struct full_copy *copy);

#endif
