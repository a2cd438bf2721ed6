/* admin: the groups of commands about the server itself, with what each may know.
 * main adds each to the table with its context. */
#ifndef SERVER_ADMIN_ADMIN_H
#define SERVER_ADMIN_ADMIN_H

#include "conf/conf.h"
#include "server/client.h"
#include "server/clock.h"
#include "server/command.h"
#include "server/dispatch.h"
#include "server/loop.h"
#include "server/notify.h"
#include "server/pubsub.h"
#include "server/stats.h"
#include "server/watch.h"
#include "store/store.h"

/* PING ECHO AUTH HELLO SELECT QUIT RESET; CLIENT. */
struct connection_context {
    struct clients *clients;
    const struct conf *conf;
    struct pubsub *pubsub;
    struct watch *watch;
};
extern const struct command_group connection_commands;
extern const struct command_group client_commands;

/* MULTI EXEC DISCARD WATCH UNWATCH; context: struct dispatch. */
extern const struct command_group transaction_commands;

/* SUBSCRIBE ... PUBSUB; context: struct pubsub. */
extern const struct command_group pubsub_commands;

/* CONFIG. */
struct config_context {
    struct conf *conf;
    struct notify *notify;
    struct stats *stats;
    struct store *store;
    void (*changed)(void *ctx); /* told after a SET, for what must follow at once (log level) */
    void *ctx;
};
extern const struct command_group config_commands;

/* INFO TIME SHUTDOWN. */
struct server_context {
    struct clients *clients;
    const struct conf *conf;
    struct clock *clock;
    struct loop *loop;
    struct pubsub *pubsub;
    struct store *store;
    struct stats *stats;
    int64_t started_mono_usec;
    char run_id[41];
};
extern const struct command_group server_commands;

/* DEBUG. */
struct debug_context {
    const struct conf *conf;
    struct clock *clock;
    struct clients *clients; /* for "local": who may */
};
extern const struct command_group debug_commands;

/* COMMAND; context: struct commands. */
extern const struct command_group command_commands;

#endif
