/* text: replies that are for people to read. */
#ifndef SERVER_ADMIN_TEXT_H
#define SERVER_ADMIN_TEXT_H

#include <stddef.h>

#include "server/call/call.h"

/* What a HELP subcommand answers: these lines, and two about HELP itself. */
void reply_help(struct call *call, const char *const *lines, size_t count);

/* The text as one verbatim string; `text` is dropped. */
void reply_text(struct call *call, struct outbuf *text);

#endif
