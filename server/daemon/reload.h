/* reload: takes over what has changed in the configuration file, on SIGHUP. Depends on conf and on
 * lifecycle. */
#ifndef SERVER_DAEMON_RELOAD_H
#define SERVER_DAEMON_RELOAD_H

#include <stdbool.h>

struct parts;

/* What a reload needs to know of the start. */
struct reload {
    int argc;
    char *const *argv; /* main's */
    int start_dir;     /* where relative paths of the command line begin; -1: not known */
    char **read;       /* by option: the value as it was last read, as CONFIG GET shows it */
    bool wanted;       /* a reload waits for the end of the turn, of loading or of a script */
    bool failed;       /* the last one found faults */
};

/* Call when the options have been read, before they or the directory are changed. */
void reload_init(struct parts *parts, int argc, char *const *argv);
void reload_drop(struct parts *parts);

/* Reads the file and the command line again, as a start does. With a fault nothing changes, and the
 * log has all faults. Else the live options whose value was changed there since the last time take
 * their new value; one that CONFIG SET has changed keeps its value until then. The log names what
 * was changed, and what only a restart changes. Tells the service manager. Not while data are being
 * loaded or a script runs. */
void reload_options(struct parts *parts);

#endif
