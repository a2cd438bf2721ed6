/* check: finds errors in options that the table of options can't find, because that table knows
 * neither commands nor users: errors in lines about commands and users and, for --check-config, in
 * the files that options name. Depends on acl and tls. */
#pragma once

#include "conf/conf.h"

/* Checks `dir`, the users, the clock and the certificates, and adds each fault to `error`, one per
 * line. Returns false if there are any. Changes the working directory to `dir`, because paths in
 * other options are relative to it. */
bool check_files(const struct conf *conf, struct conf_error *error);

/* For conf.renames_fault: applies the lines of rename-command to a table of all commands, only to
 * find errors. Returns the first error, or NULL. */
const char *check_renames(const char *lines);
const char *check_users(const char *lines); /* for conf.users_fault: tries `user` lines */
