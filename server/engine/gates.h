/* gates: the checks that a request passes before it is queued or runs. They are a table, in the
 * order of Redis 7.0, because clients can see the order. Depends on the engine and its parts.
 *
 * Scripts have gates of their own (server/script/host.c), with the questions below. */
#ifndef SERVER_ENGINE_GATES_H
#define SERVER_ENGINE_GATES_H

#include <stdbool.h>

#include "server/cmd/call/error.h"
#include "server/engine/engine.h"

/* True: a gate has refused the call and replied its error, and a refused EXEC has ended its MULTI.
 * Evicts keys if the call needs memory. */
bool gates_refuse(struct engine *engine, struct call *call);

/* Why writes are refused while persistence fails; NULL: they are not. */
const char *gates_persist_fault(const struct engine *engine);
bool gates_is_read_only(const struct engine *engine);   /* a replica that takes no writes */
bool gates_lacks_replicas(const struct engine *engine); /* fewer than min-replicas-to-write */
/* Are reads refused, because the data may be old? */
bool gates_is_stale(const struct engine *engine);

/* Replies the error of calls that are refused while a script is busy. */
void gates_fail_busy(const struct engine *engine, struct call *call);

#endif
