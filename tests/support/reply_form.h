/* reply_form: does a reply have the form that a row of the command table declares?
 * The notation is described in server/cmd/call/command.h, at `replies`. */
#pragma once

#include <stdbool.h>

#include "proto/resp/resp_reply.h"

/* `declared` is one line of a row's replies: a form, which ": when" may follow. */
bool reply_form_matches(const char *declared, const struct resp_reply *reply, int version);
