/* gates: the checks that a request passes before it is queued or runs, as one list of ifs. The
 * order is that of Redis 7.0, because it decides which error a client sees if a request fails two
 * checks. Depends on the engine and its parts.
 *
 * Commands called by scripts pass other gates (server/script/host.c), which share the predicates
 * below. */
#pragma once

#include "server/cmd/call/error.h"
#include "server/engine/engine.h"

/* Runs the checks in order, up to the first that refuses the call. Returns true if one did: it has
 * then replied with the error. A refused EXEC has ended its MULTI, and any other refused call
 * inside a MULTI makes EXEC fail. May evict keys if the call needs memory. */
bool gates_refuse(struct engine *engine, struct call *call);

/* Returns the reason why writes are refused because persistence fails, for their error; NULL if
 * they are not refused for that. */
const char *gates_persist_fault(const struct engine *engine);
bool gates_is_read_only(const struct engine *engine);   /* a read-only replica */
bool gates_lacks_replicas(const struct engine *engine); /* fewer than min-replicas-to-write */
/* Are commands without the flag STALE refused, because this replica is not connected to its
 * master? */
bool gates_is_stale(const struct engine *engine);

/* Replies with the error for calls that are refused while a script is busy. */
void gates_fail_busy(const struct engine *engine, struct call *call);
