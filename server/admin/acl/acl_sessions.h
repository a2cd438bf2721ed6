/* acl_sessions: what a change of users means for the connections that have them. */
#ifndef SERVER_ADMIN_ACL_ACL_SESSIONS_H
#define SERVER_ADMIN_ACL_ACL_SESSIONS_H

#include "server/admin/admin.h"

/* Who asks, and where the connections are. */
struct acl_sessions {
    const struct acl_admin_context *context;
    struct session *self; /* it gets its reply before it is closed */
};

/* Closes the connections of all users that are deleted. */
void acl_sessions_close_deleted(const struct acl_sessions *sessions);
/* One user got other rules, as ACL SETUSER does: closes those of its sessions that listen to what
 * it may not hear any more. Sessions that subscribed as another user are left alone while the rules
 * about channels are not fewer than `before`, as in Redis. */
void acl_sessions_user_changed(const struct acl_sessions *sessions, const struct acl_user *user,
                               const struct acl_user *before);
/* Closes connections that are subscribed to channels, or track keys by prefixes, that their user
 * may not use any more. */
void acl_sessions_check_channels(struct acl_sessions *sessions);

#endif
