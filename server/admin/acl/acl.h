/* Folder server/admin/acl: the command ACL. acl_admin implements its subcommands, and closes
 * connections whose user has lost permissions. The users themselves are in server/engine/acl. Start
 * with acl_admin.c.
 *
 * May use: conf proto/resp server/engine/acl server/admin server/base server/cmd/call server/net
 * server/engine/observe server/disk server/engine/react server/engine store/. */
