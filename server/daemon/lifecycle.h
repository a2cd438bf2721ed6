/* lifecycle: the daemon's life: reports that the daemon is ready or can't start, applies changed
 * options, reacts to signals, and stops. Depends on process, log, persist and loop. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct conf;
struct parts;

/* Reports why the daemon can't start: on standard error, and also in the log if that is a file or
 * syslog. If a program reads the log on standard output, reports only there. Returns false, so that
 * the caller can return the result. */
__attribute__((format(printf, 2, 3))) bool lifecycle_fail(const struct parts *parts,
                                                          const char *format, ...);

/* Writes the pid file, and notifies the service manager that the daemon is ready. */
void lifecycle_report_ready(struct parts *parts);
void lifecycle_on_signals(
    struct parts *parts); /* SIGTERM, SIGINT, SIGHUP; parts->loop must exist */
/* Returns the number of descriptors that io-threads and the metrics port need. */
int64_t lifecycle_more_files(const struct conf *conf);
/* Raises the limit on open files, and lowers maxclients to the number that it allows. */
void lifecycle_fit_maxclients(struct conf *conf);
/* Applies changed options, for CONFIG SET and reloads. Returns false if the journal could not be
 * started; appendonly is then no again. */
bool lifecycle_apply(void *parts);

/* Writes a snapshot if parts->stop_how.saves, then stops the loop. Does not stop it if the snapshot
 * fails, unless the stop is forced. */
void lifecycle_stop(struct parts *parts);
/* Ends the work of a daemon whose loop has stopped: saves the backlog for replicas, closes the
 * journal and removes the pid file. Returns false if some changes could not be written to disk. */
bool lifecycle_end(struct parts *parts);
