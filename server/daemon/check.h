/* check: finds errors in options that the table of options can't find, because that table knows
 * no policies, commands or users: errors in lines about these and, for --check-config, in the files
 * that options name. Depends on acl, tls and policy_lines. */
#pragma once

#include "conf/conf.h"

/* Checks `dir`, the users, the clock and the certificates, and adds each fault to `error`, one per
 * line. Returns false if there are any. Changes the working directory to `dir`, because paths in
 * other options are relative to it. */
bool check_files(const struct conf *conf, struct conf_error *error);

/* Sets the defaults, and the callbacks that check lines about policies, commands and users. */
void check_conf_init(struct conf *conf);
