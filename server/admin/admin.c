/* admin: see admin.h. Fills in the context of each group of commands, and adds the groups to the
 * table of commands. */
#include "server/admin/admin.h"

static void make_client_contexts(struct admin *admin, const struct admin_parts *parts)
{
    admin->connection = (struct connection_context){ .clients = parts->clients,
                                                     .conf = parts->conf,
                                                     .pubsub = parts->pubsub,
                                                     .watch = parts->engine->watch,
                                                     .tracking = parts->engine->hooks->tracking,
                                                     .pause = &parts->engine->pause,
                                                     .observer = parts->observer,
                                                     .engine = parts->engine,
                                                     .replication = parts->replication };
    admin->acl = (struct acl_admin_context){ parts->engine->acl, parts->clients };
    admin->pubsub =
        (struct pubsub_context){ .pubsub = parts->pubsub, .hooks = parts->engine->hooks };
    admin->cluster = (struct cluster_context){ .conf = parts->conf,
                                               .loading = &parts->engine->loading,
                                               .replication = parts->replication,
                                               .queries = parts->queries,
                                               .node_id = parts->run_id };
    admin->debug = (struct debug_context){ .conf = parts->conf,
                                           .clock = parts->clock,
                                           .clients = parts->clients,
                                           .persist = parts->engine->persist };
}

static void make_server_contexts(struct admin *admin, const struct admin_parts *parts)
{
    struct commands *commands = parts->commands;
    admin->config = (struct config_context){ .conf = parts->conf,
                                             .notify = parts->notify,
                                             .stats = parts->engine->stats,
                                             .store = parts->engine->store,
                                             .observer = parts->observer,
                                             .commands = commands,
                                             .clients = parts->clients,
                                             .acl = parts->engine->acl,
                                             .loading = &parts->engine->loading,
                                             .changed = parts->changed,
                                             .prepares = parts->prepares,
                                             .try = parts->try,
                                             .ctx = parts->ctx };
    admin->server = (struct server_context){ .clients = parts->clients,
                                             .conf = parts->conf,
                                             .clock = parts->clock,
                                             .engine = parts->engine,
                                             .loop = parts->loop,
                                             .pubsub = parts->pubsub,
                                             .blocked = parts->engine->blocked,
                                             .tracking = parts->engine->hooks->tracking,
                                             .store = parts->engine->store,
                                             .stats = parts->engine->stats,
                                             .observer = parts->observer,
                                             .commands = commands,
                                             .persist = parts->engine->persist,
                                             .defrag = parts->defrag,
                                             .scripting = parts->scripting,
                                             .replication = parts->replication,
                                             .watch = parts->engine->watch,
                                             .memory = &admin->memory,
                                             .started_mono_usec = clock_mono_usec(),
                                             .run_id = parts->run_id };
    admin->latency = (struct latency_context){ parts->observer, commands };
}

bool admin_allows(enum conf_allowed allow, const struct session *session)
{
    return allow == CONF_ALLOW_YES || (allow == CONF_ALLOW_LOCAL && clients_is_local(session));
}

void admin_add_all(struct admin *admin, const struct admin_parts *parts)
{
    struct commands *commands = parts->commands;
    make_client_contexts(admin, parts);
    admin->memory = (struct memory_context){ .store = parts->engine->store,
                                             .clients = parts->clients,
                                             .scripting = parts->scripting,
                                             .persist = parts->engine->persist,
                                             .replication = parts->replication,
                                             .bytes_at_start = mem_used() };
    if (parts->clients != NULL) /* a tool that only lists commands needs none of these */
        admin->memory.parts_at_start = memory_figures_at_start(&admin->memory);
    make_server_contexts(admin, parts);
    commands_add(commands, &connection_commands, &admin->connection);
    commands_add(commands, &client_commands, &admin->connection);
    commands_add(commands, &acl_commands, &admin->acl);
    commands_add(commands, &transaction_commands, parts->engine);
    commands_add(commands, &pubsub_commands, &admin->pubsub);
    commands_add(commands, &config_commands, &admin->config);
    commands_add(commands, &server_commands, &admin->server);
    commands_add(commands, &info_commands, &admin->server);
    commands_add(commands, &cluster_commands, &admin->cluster);
    commands_add(commands, &persistence_commands, parts->engine->persist);
    commands_add(commands, &debug_commands, &admin->debug);
    commands_add(commands, &clock_commands, admin->debug.clock);
    commands_add(commands, &command_commands, commands);
    commands_add(commands, &expiry_commands, parts->queries);
    commands_add(commands, &slowlog_commands, parts->observer);
    commands_add(commands, &latency_commands, &admin->latency);
    commands_add(commands, &memory_commands, &admin->memory);
}
