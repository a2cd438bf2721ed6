/* imported_slots: the slots whose keys this node is receiving because of CLUSTER MIGRATESLOTS, a
 * command of Valkey 9. Under other hosts there are none.
 *
 * During such an import the keys still belong to another node, which expires them and sends its
 * changes. The host hides these keys from clients here, but not from a module: if the module opened
 * an overdue one, it would expire here too. So the module ignores events about these keys and opens
 * none of them. When the import has ended, a scan finds them. */
#pragma once

#include "server/module/api/redis_api.h"

/* `on_taken` is called when this node has taken over slots. */
void imported_slots_start(RedisModuleCtx *ctx, void (*on_taken)(void));

/* Is the key in a slot that is being imported? O(1) if no slot is, otherwise O(length) */
bool imported_slots_has(struct bytes key);
