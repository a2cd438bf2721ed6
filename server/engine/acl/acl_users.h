/* acl_users: the table of users of acl.h. Only for server/engine/acl. */
#ifndef SERVER_ENGINE_ACL_ACL_USERS_H
#define SERVER_ENGINE_ACL_ACL_USERS_H

#include "server/engine/acl/acl.h"

struct acl_user *acl_users_find(const struct acl_users *users, struct bytes name);
void acl_users_add(struct acl_users *users, struct acl_user *user); /* takes it over */

#endif
