/* admin: the groups of commands about the server itself, and the context of each.
 *
 * Folder server/admin: commands about the server: CONFIG, DEBUG, MEMORY, EXPIRY, SLOWLOG, LATENCY,
 * CLUSTER, pub/sub, MULTI and others, one file for each group; INFO, ACL, CLIENT and COMMAND have
 * their own folders. The context of a group points to the parts of the server that its commands
 * need. renames applies rename-command; cluster replies as a cluster of one node would. Start with
 * slowlog_commands.c, the smallest group.
 *
 * May use: conf proto/resp server/engine/acl server/base server/cmd/call server/net
 * server/engine/observe server/disk server/engine/react server/replica server/replica/stream
 * server/engine server/script server/net/tls store/. */
#pragma once

#include "server/admin/admin_parts.h"

/* INFO and the metrics count overdue keys only up to this number, to bound their time. */
enum { OVERDUE_MOST = 10000 };

/* PING ECHO AUTH HELLO SELECT QUIT RESET; CLIENT; ACL; context: struct admin_parts. */
extern const struct command_group connection_commands;
extern const struct command_group client_commands;
extern const struct command_group acl_commands;

/* MULTI EXEC DISCARD WATCH UNWATCH; context: struct engine. */
extern const struct command_group transaction_commands;

/* SUBSCRIBE ... PUBSUB. */
struct pubsub_context {
    struct pubsub *pubsub;
    const struct commit_hooks *hooks; /* messages go to replicas too */
};
extern const struct command_group pubsub_commands;

/* CONFIG; context: struct admin_parts. */
extern const struct command_group config_commands;
/* Applies changed options. Returns false if the journal could not be turned on. */
bool config_apply(const struct admin_parts *context);

/* INFO TIME MODULE LOLWUT SHUTDOWN; context: struct admin_parts. */
extern const struct command_group server_commands;
extern const struct command_group info_commands;

/* CLUSTER READONLY READWRITE ASKING; context: struct admin_parts. */
extern const struct command_group cluster_commands;

/* SAVE BGSAVE BGREWRITEAOF LASTSAVE; context: struct persist, or NULL without persistence. */
extern const struct command_group persistence_commands;

/* EXPIRY; context: struct long_queries, or NULL. */
extern const struct command_group expiry_commands;

/* SLOWLOG MONITOR; context: struct observer. */
extern const struct command_group slowlog_commands;

/* LATENCY; context: struct admin_parts. */
extern const struct command_group latency_commands;

/* MEMORY; context: struct admin_parts. */
extern const struct command_group memory_commands;

/* DEBUG; context: struct admin_parts. */
extern const struct command_group debug_commands;

/* CLOCK; context: struct clock. */
extern const struct command_group clock_commands;

/* COMMAND; context: struct commands. */
extern const struct command_group command_commands;

/* Does this setting (yes, local, no) give the session access? */
bool admin_allows(enum conf_allowed allow, const struct session *session);

/* The contexts; must outlive the table. */
struct admin {
    struct admin_parts parts;
    struct pubsub_context pubsub;
};

/* Adds all groups to the table. */
void admin_add_all(struct admin *admin, const struct admin_parts *parts);
