/* admin: the groups of commands about the server itself, and the context of each.
 * admin_add_all adds the groups to the table of commands.
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

#include "conf/conf.h"
#include "server/admin/memory_figures.h"
#include "server/base/clock.h"
#include "server/base/loop.h"
#include "server/cmd/call/command.h"
#include "server/engine/engine.h"
#include "server/engine/long_queries.h"
#include "server/engine/observe/observe.h"
#include "server/engine/observe/stats.h"
#include "server/engine/react/blocked.h"
#include "server/engine/react/notify.h"
#include "server/engine/react/pubsub.h"
#include "server/engine/react/tracking.h"
#include "server/engine/react/watch.h"
#include "server/net/client.h"
#include "server/net/tls/tls.h"
#include "server/script/script.h"
#include "store/store.h"
#include "store/sweep/defrag.h"

struct replication;

/* Why an option could not take effect. */
struct config_fault {
    const struct conf_option *option;
    char text[TLS_WHY_SIZE];
};

/* An option and the value that CONFIG SET is asked to set. */
struct config_wish {
    const struct conf_option *option;
    struct bytes value;
};

/* The parts of the server that its commands need. */
struct admin_parts {
    struct commands *commands;
    struct engine *engine;
    struct clients *clients;
    struct conf *conf;
    struct clock *clock;
    struct loop *loop;
    struct pubsub *pubsub;
    struct notify *notify;
    struct observer *observer;
    struct long_queries *queries;    /* NULL if no call blocks for long ones */
    const struct defrag *defrag;     /* NULL without defragmentation */
    struct scripting *scripting;     /* NULL without scripts */
    struct replication *replication; /* NULL if there is none */
    const char *run_id;              /* also the ID of the node of an emulated cluster */
    /* Called after CONFIG SET, to apply options that take effect at once, such as the log level.
     * Returns false if the journal could not be turned on. */
    bool (*changed)(void *ctx);
    /* Called before any option is set, with the options to set and their values. Returns true if
     * setting them would wait for a disk or a name server. A thread then does that part first: call
     * again when the thread has finished something (engine/preparing.h). NULL if no option
     * waits. */
    bool (*prepares)(void *ctx, const struct config_wish *wishes, size_t count);
    /* Called before `changed` to apply those of the options that may fail (ports, directories). On
     * failure returns false with the first error in `fault`: then restore the old values and call
     * again. NULL if no option can fail. */
    bool (*try)(void *ctx, const struct conf_option *const *set, size_t count,
                struct config_fault *fault);
    void *ctx;
};
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
bool config_apply(const struct admin_parts *parts);

/* INFO TIME MODULE LOLWUT SHUTDOWN. */
struct server_context {
    struct clients *clients;
    const struct conf *conf;
    struct clock *clock;
    struct engine *engine;
    struct loop *loop;
    struct pubsub *pubsub;
    struct blocked *blocked;
    const struct tracking *tracking;
    struct store *store;
    struct stats *stats;
    struct observer *observer;
    struct commands *commands;
    struct persist *persist;               /* NULL without persistence */
    const struct defrag *defrag;           /* NULL without defragmentation */
    struct scripting *scripting;           /* NULL without scripts */
    const struct replication *replication; /* NULL if there is none */
    const struct watch *watch;
    const struct memory_context *memory;
    int64_t started_mono_usec;
    const char *run_id;
};
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

/* MEMORY; context: struct memory_context. */
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
    struct server_context server;
    struct memory_context memory;
};

/* Adds all groups to the table. */
void admin_add_all(struct admin *admin, const struct admin_parts *parts);
