/* reload: applies changes to the configuration file on SIGHUP. Depends on conf and reopen. */
#pragma once

#include <stdbool.h>

struct parts;

/* Notes the options' values and the current directory, with which later reloads compare. Must
 * follow the reading of the options, and precede any change of them or of the directory. */
void reload_init(struct parts *parts, int argc, char *const *argv);
void reload_drop(struct parts *parts);

/* Would a reload now wait for a disk or a name server? If so, a thread begins to prepare it: call
 * again in each turn. */
bool reload_waits(struct parts *parts);
/* Reads the file and the command line again, as at the start. If they contain errors, logs all of
 * them and changes no option. Otherwise sets the live options whose values in the file have changed
 * since the file was last read. An option that CONFIG SET has changed thus keeps its value until
 * the file's value changes. Reads certificates and time zones again in any case. If certificates, a
 * port or dir fail, puts the tls and port options and dir back.
 *
 * Logs which options have changed and which need a restart, and notifies the service manager. Do
 * not call while data is being loaded or a script runs. */
void reload_options(struct parts *parts);
