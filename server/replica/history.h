/* history: identifies the stream that the data comes from. Two servers with the same id and offset
 * hold the same data. After a failover the new master continues under an id of its own, and
 * remembers the old id up to the offset at which it took over, so that other replicas of the old
 * master can continue with it without a full copy (Redis' PSYNC2). A master that restarts does the
 * same: its files contain id and offset (stream_position.h). */
#ifndef SERVER_REPLICA_HISTORY_H
#define SERVER_REPLICA_HISTORY_H

#include <stdbool.h>
#include <stdint.h>

#include "server/disk/format/stream_position.h"

/* Begins a new stream without earlier ids. Returns false if there are no random numbers. */
bool history_begin(struct history *history);
/* Continues under a new id. The old one stays valid for offsets before `offset`. Returns false if
 * there are no random numbers for an id. */
bool history_branch(struct history *history, uint64_t offset);
/* Adopts a master's id, and forgets earlier streams. */
void history_adopt(struct history *history, const char *id);
/* Was the stream `id` up to `offset` part of this history before its last branch? */
bool history_had(const struct history *history, const char *id, uint64_t offset);
/* Can a peer that has received all bytes of the stream `id` before `offset` continue with this
 * history? */
bool history_has(const struct history *history, const char *id, uint64_t offset);

#endif
