/* check: finds the errors that would prevent a start in files that options name, for
 * --check-config. Depends on acl and tls. */
#ifndef SERVER_DAEMON_CHECK_H
#define SERVER_DAEMON_CHECK_H

#include <stdbool.h>

#include "conf/conf.h"

/* Adds the errors of `dir`, of the users and of the certificates to the error, one per line.
 * Changes the working directory to `dir`, because other options have paths relative to it. False:
 * there are errors. */
bool check_files(const struct conf *conf, struct conf_error *error);

#endif
