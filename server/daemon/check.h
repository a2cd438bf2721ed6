/* check: for --check-config: what a start would find wrong in the files that options name. Depends
 * on acl and tls. */
#ifndef SERVER_DAEMON_CHECK_H
#define SERVER_DAEMON_CHECK_H

#include <stdbool.h>

#include "conf/conf.h"

/* Adds to the error the faults of `dir`, of the users and of the certificates, one per line.
 * Changes to the folder `dir`, where relative paths begin. False: there are some. */
bool check_files(const struct conf *conf, struct conf_error *error);

#endif
