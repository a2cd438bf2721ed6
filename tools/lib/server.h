/* server: what the measuring tools ask of the server (CONFIG, INFO), and the options of their
 * command lines that name the server. Any failure ends the program with a message. */
#pragma once

#include "tools/lib/link.h"

#define SERVER_OPTIONS "h:p:s:a:" /* for getopt */
#define SERVER_USAGE   "[-h host] [-p port] [-s socket] [-a password]"

void server_default(struct link_target *target);
/* Returns false if the option is not one of SERVER_OPTIONS. */
bool server_option(struct link_target *target, int option, const char *value);
/* Parses an option's value, a number of at least `least`. `tool` is the program's name, for
 * messages. */
long long server_count_option(const char *tool, const char *text, long long least);

/* Adds flags to notify-keyspace-events. Returns the old flags for server_restore_events. */
char *server_add_events(struct link *link, const char *flags);
void server_restore_events(struct link *link, char *old);

/* Requests a section of INFO. server_info_field reads its fields until the link's next reply. */
void server_ask_info(struct link *link, const char *section);
double server_info_field(const struct link *link, const char *field);
