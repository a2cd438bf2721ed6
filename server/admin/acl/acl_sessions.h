/* acl_sessions: closes connections whose user was deleted or lost permissions. */
#pragma once

#include "server/admin/admin.h"

/* The caller, and the list of connections. */
struct acl_sessions {
    const struct acl_admin_context *context;
    struct session *self; /* the caller's session, to which the reply is sent before it is closed */
};

/* Closes the connections of all users that are deleted. */
void acl_sessions_close_deleted(const struct acl_sessions *sessions);
/* After ACL SETUSER has changed the rules of one user, closes the user's sessions that subscribe to
 * channels, or track keys by prefixes, that the user may no longer use. As in Redis, channels are
 * checked only if a channel rule that the user had `before` is gone. */
void acl_sessions_user_changed(const struct acl_sessions *sessions, const struct acl_user *user,
                               const struct acl_user *before);
/* Closes all connections that subscribe to channels, or track keys by prefixes, that their users
 * may no longer use. */
void acl_sessions_check_channels(struct acl_sessions *sessions);
