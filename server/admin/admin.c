/* admin: see admin.h. */
#include "server/admin/admin.h"

#include "server/admin/memory_figures.h"
#include "store/mem/mem.h"

bool admin_allows(enum conf_allowed allow, const struct session *session)
{
    return allow == CONF_ALLOW_YES || (allow == CONF_ALLOW_LOCAL && clients_is_local(session));
}

void admin_add_all(struct admin *admin, const struct admin_parts *parts)
{
    struct commands *commands = parts->commands;
    struct engine *engine = parts->engine;
    admin->parts = *parts;
    admin->pubsub = (struct pubsub_context){ .pubsub = parts->pubsub, .hooks = engine->hooks };
    admin->parts.bytes_at_start = mem_used();
    admin->parts.started_mono_usec = clock_mono_usec();
    if (parts->clients != NULL) /* a tool that only lists commands needs none of these */
        admin->parts.parts_at_start = memory_figures_at_start(&admin->parts);
    commands_add(commands, &connection_commands, &admin->parts);
    commands_add(commands, &client_commands, &admin->parts);
    commands_add(commands, &acl_commands, &admin->parts);
    commands_add(commands, &transaction_commands, engine);
    commands_add(commands, &pubsub_commands, &admin->pubsub);
    commands_add(commands, &config_commands, &admin->parts);
    commands_add(commands, &server_commands, &admin->parts);
    commands_add(commands, &info_commands, &admin->parts);
    commands_add(commands, &cluster_commands, &admin->parts);
    commands_add(commands, &persistence_commands, engine->persist);
    commands_add(commands, &debug_commands, &admin->parts);
    commands_add(commands, &clock_commands, parts->clock);
    commands_add(commands, &command_commands, commands);
    commands_add(commands, &expiry_commands, parts->queries);
    commands_add(commands, &slowlog_commands, parts->observer);
    commands_add(commands, &latency_commands, &admin->parts);
    commands_add(commands, &memory_commands, &admin->parts);
}
