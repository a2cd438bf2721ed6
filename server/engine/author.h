/* author: creates the store's trail (store/trail/trail.h) as the option `why-memory` says, and
 * tells it the client and the command of each change, for EXPIRY WHY. */
#pragma once

#include "server/engine/engine.h"

/* Sets the store's trail to `why-memory` bytes, but at least TRAIL_MIN_BYTES, or removes it if the
 * option is 0. If the option has changed, the trail begins empty. Returns false if memory runs out;
 * the trail is then unchanged. */
bool author_configure(struct engine *engine);
