/* reply_form: does a reply look as a row of the command table declares it?
 * The notation stands in server/call/command.h, at `replies`. */
#ifndef TESTS_SUPPORT_REPLY_FORM_H
#define TESTS_SUPPORT_REPLY_FORM_H

#include <stdbool.h>

#include "proto/resp/resp_reply.h"

/* `declared` is one line of a row's replies: a form, perhaps with ": when" behind it. */
bool reply_form_matches(const char *declared, const struct resp_reply *reply, int version);

#endif
