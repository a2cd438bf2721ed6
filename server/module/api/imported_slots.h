/* imported_slots: the slots whose keys this node is receiving by CLUSTER MIGRATESLOTS. Depends on
 * the host; hosts other than Valkey 9 have none.
 *
 * During such an import the keys belong to another node, which expires them and sends its changes.
 * Clients do not see these keys here, but a module does; if it opened one, the key would expire
 * here too. Events about these keys are therefore ignored, none of them is opened, and a scan finds
 * them when the import has ended. */
#ifndef SERVER_MODULE_API_IMPORTED_SLOTS_H
#define SERVER_MODULE_API_IMPORTED_SLOTS_H

#include <stdbool.h>

#include "server/module/api/redis_api.h"

/* `on_taken` is called when this node has taken over slots. */
void imported_slots_start(RedisModuleCtx *ctx, void (*on_taken)(void));

/* Is the key in a slot that is being imported? O(1) if no slot is, otherwise O(length) */
bool imported_slots_has(struct bytes key);

#endif
