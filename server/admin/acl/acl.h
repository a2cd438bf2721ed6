/* Folder server/admin/acl: the command ACL. acl_admin contains the table of its subcommands, and
 * implements those that change users; acl_show implements those that only read; acl_sessions closes
 * connections whose user has lost permissions. The users themselves are in server/engine/acl. Start
 * with acl_admin.c.
 *
 * May use: conf proto/resp server/engine/acl server/admin server/base server/cmd/call server/net
 * server/engine/observe server/disk server/engine/react server/engine store/. */
