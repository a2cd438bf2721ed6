/* author: keeps the store's trail in step with its option, and says to it who a session is. */
#ifndef SERVER_ENGINE_AUTHOR_H
#define SERVER_ENGINE_AUTHOR_H

#include <stdbool.h>

#include "server/engine/engine.h"

/* Gives the store a trail of `why-memory` bytes, or none if that is 0; an empty one if the option
 * has changed. Returns false without memory: then the trail stays as it was. */
bool author_configure(struct engine *engine);

#endif
