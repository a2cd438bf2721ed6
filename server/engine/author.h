/* author: keeps the store's trail in step with its option, and names sessions to it. */
#pragma once

#include "server/engine/engine.h"

/* Sets the store's trail to `why-memory` bytes, but at least TRAIL_MIN_BYTES, or removes it if the
 * option is 0. If the option has changed, the trail begins empty. Returns false if memory runs out;
 * the trail is then unchanged. */
bool author_configure(struct engine *engine);
