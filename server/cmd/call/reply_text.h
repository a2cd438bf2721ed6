/* reply_text: replies that are text for people: HELP, and verbatim strings. */
#pragma once

#include "server/cmd/call/call.h"

/* Implements the HELP subcommand of a command: lists its subcommands, HELP too, each with syntax
 * and summary. */
void cmd_help(struct call *call);
/* Replies to a HELP subcommand with a text of its own: these lines, then two about HELP itself. */
void reply_help(struct call *call, const char *const *lines, size_t count);

/* Replies with the text as one verbatim string and drops it. */
void reply_text(struct call *call, struct outbuf *text);
