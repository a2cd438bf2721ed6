/* check: implements --check-config: checks the files that options name for errors that would
 * prevent a start. Depends on acl and tls. */
#ifndef SERVER_DAEMON_CHECK_H
#define SERVER_DAEMON_CHECK_H

#include <stdbool.h>

#include "conf/conf.h"

/* Checks `dir`, the users, the clock and the certificates, and adds each fault to `error`, one per
 * line. Changes the working directory to `dir`, because paths in other options are relative to it.
 * Returns false if it found an error. */
bool check_files(const struct conf *conf, struct conf_error *error);

#endif
