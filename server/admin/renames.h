/* renames: the option rename-command: gives commands other names, or disables them. */
#pragma once

#include "server/cmd/call/command.h"

/* Applies the lines of conf.renames in order. Returns NULL, or the error of the first line that is
 * invalid; later lines are then not applied. */
const char *renames_apply(struct commands *commands, const char *lines);
