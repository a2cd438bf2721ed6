/* wiring: makes the parts of the daemon, connects them, and loads the data. Depends on the
 * constructors of all parts. */
#ifndef SERVER_DAEMON_WIRING_H
#define SERVER_DAEMON_WIRING_H

#include <stdbool.h>

struct commands;
struct parts;

/* Makes all parts except the configuration, opens the ports and loads the data. Clients that
 * connect meanwhile receive LOADING errors. Returns false after reporting the reason. */
bool wiring_make(struct parts *parts);
/* Returns all commands, for their names and rules only: they must not be run. Free with
 * commands_free. */
struct commands *wiring_commands(void);
/* For conf.renames_fault: applies the lines of rename-command to a table from wiring_commands, to
 * find errors. */
const char *wiring_renames_fault(const char *lines);
const char *wiring_users_fault(const char *lines); /* for conf.users_fault: tries `user` lines */
/* Frees all parts, even if wiring_make has failed. */
void wiring_free(struct parts *parts);

#endif
