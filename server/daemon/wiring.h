/* wiring: makes the parts of the daemon, connects them, and loads the data. Depends on the
 * constructors of all parts. */
#ifndef SERVER_DAEMON_WIRING_H
#define SERVER_DAEMON_WIRING_H

#include <stdbool.h>

struct commands;
struct parts;

/* Makes all parts but the configuration, opens the ports and loads the data: clients that connect
 * meanwhile are answered LOADING. False: the reason has been reported. */
bool wiring_make(struct parts *parts);
/* All commands, for names and rules only: their contexts must not be used. Free with commands_free.
 */
struct commands *wiring_commands(void);
/* For conf.renames_fault: tries rename-command on a table of all commands, whose contexts are not
 * used. */
const char *wiring_renames_fault(const char *lines);
const char *wiring_users_fault(const char *lines); /* the same for conf.users_fault */
/* Frees what wiring_make has made, also after it has failed. */
void wiring_free(struct parts *parts);

#endif
