/* rows: see rows.h. */
#include "tools/reference/rows.h"

#include <stdio.h>
#include <stdlib.h>

#include "server/admin/admin.h"
#include "server/cmd/cmd.h"
#include "server/replica/replication.h"
#include "server/script/script.h"
#include "store/base/ensure.h"

struct row rows[ROWS_MAX];
size_t row_count;

static void add_row(void *ctx, struct command_ref ref)
{
    (void)ctx;
    if (ref.row->run == NULL) return;
    ensure(row_count < ROWS_MAX, "more than %d commands", ROWS_MAX);
    struct row *row = &rows[row_count++];
    row->ref = ref;
    snprintf(row->name, sizeof(row->name), "%s%s%s", ref.parent != NULL ? ref.parent->name : "",
             ref.parent != NULL ? " " : "", ref.row->name);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct row *)a)->name, ((const struct row *)b)->name);
}

void rows_collect(void)
{
    static struct commit_hooks hooks;
    static struct admin admin;
    static struct engine engine = { .hooks = &hooks };
    engine.commands = commands_new();
    cmd_add_all(engine.commands, NULL);
    commands_add(engine.commands, &replica_commands, NULL);
    commands_add(engine.commands, &wait_commands, NULL);
    scripting_add_commands(NULL, engine.commands);
    admin_add_all(&admin, &(struct admin_parts){ .commands = engine.commands, .engine = &engine });
    commands_each_stats(engine.commands, add_row, NULL);
    qsort(rows, row_count, sizeof(rows[0]), by_name);
    commands_free(engine.commands);
}

bool row_is_own(const struct command *command)
{
    return command->since[0] == '0';
}

bool row_is_in_redis_7_0(const struct command *command)
{
    int major = atoi(command->since), minor = atoi(strchr(command->since, '.') + 1);
    return !row_is_own(command) && (major < 7 || (major == 7 && minor == 0));
}

const char *row_origin(const struct command *command)
{
    static char text[ROW_NAME_SIZE];
    if (command->origin != NULL) return command->origin;
    if (row_is_own(command)) return "expired";
    snprintf(text, sizeof(text), "Redis %s", command->since);
    return text;
}
