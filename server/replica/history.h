/* history: the names of the streams that the data belongs to. Two servers with the same id and
 * offset hold the same data.
 *
 * After a failover the new master continues the stream under an id of its own. It remembers the old
 * id up to the offset of the failover, so that other replicas of the old master can continue with
 * the new one without a full copy (Redis' PSYNC2):
 *
 *     replica was at    new master knows               result
 *     old id, 900       old id up to 1000, then new    continues from 900
 *     old id, 1100      old id up to 1000, then new    full copy: its bytes 1000 to 1099 differ
 *
 * A master that restarts does the same: its files contain id and offset (stream_position.h). */
#pragma once

#include "server/disk/format/stream_position.h"

/* Begins a new stream under a random id, without earlier ids. Returns false if there are no random
 * numbers. */
bool history_begin(struct history *history);
/* Continues under a new id. The old id stays valid for offsets up to `offset`. Returns false if
 * there are no random numbers for an id. */
bool history_branch(struct history *history, uint64_t offset);
/* Adopts a master's id, and forgets earlier streams. No effect if it has that id already. */
void history_adopt(struct history *history, const char *id);
/* Was the stream `id` up to `offset` part of this history before its last branch? */
bool history_had(const struct history *history, const char *id, uint64_t offset);
/* Can a peer that has received all bytes of the stream `id` before `offset` continue with this
 * history? The caller must still check that the backlog has the bytes from `offset` on. */
bool history_has(const struct history *history, const char *id, uint64_t offset);
