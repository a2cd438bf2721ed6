/* server: what the tools ask of the server they measure, and the options that name it.
 * Knows CONFIG, INFO and command lines; whatever fails ends the program with a message. */
#ifndef TOOLS_LIB_SERVER_H
#define TOOLS_LIB_SERVER_H

#include <stdbool.h>

#include "tools/lib/link.h"

#define SERVER_OPTIONS "h:p:s:a:" /* for getopt */
#define SERVER_USAGE   "[-h host] [-p port] [-s socket] [-a password]"

void server_default(struct link_target *target);
/* False: it is none of the options above. */
bool server_option(struct link_target *target, int option, const char *value);
/* An option's value: a number of at least `least`; `tool` names the program in the message. */
long long server_count_option(const char *tool, const char *text, long long least);

/* The server's flags, with these in front; the old ones are returned for server_restore_events. */
char *server_add_events(struct link *link, const char *flags);
void server_restore_events(struct link *link, char *old);

/* Asks for a section of INFO; its fields are read until the link's next reply. */
void server_ask_info(struct link *link, const char *section);
double server_info_field(const struct link *link, const char *field);

#endif
