/* acl_show: the subcommands of ACL that show users, categories and the log of refusals. */
#pragma once

#include "server/cmd/call/call.h"

void acl_show_user(struct call *call);       /* GETUSER */
void acl_show_list(struct call *call);       /* LIST */
void acl_show_users(struct call *call);      /* USERS */
void acl_show_caller(struct call *call);     /* WHOAMI */
void acl_show_categories(struct call *call); /* CAT */
void acl_show_log(struct call *call);        /* LOG */
void acl_show_help(struct call *call);       /* HELP */
