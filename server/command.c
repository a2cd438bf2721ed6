/* command: the table of rows, and what can be told of a call from its row alone. */
#include "server/command.h"

#include <string.h>

#include "store/dict.h"
#include "store/ensure.h"
#include "store/mem.h"

enum { NAME_MAX_LEN = 64 };

struct slot {
    const struct command *row;
    void *context;
    struct command_stats *stats; /* of the row, then of its subcommands */
};

struct commands {
    struct dict by_name; /* of slots, under their upper-case names */
    struct slot **slots; /* in order of addition */
    size_t count, room;
};

static struct bytes slot_name(const void *element)
{
    const struct slot *slot = element;
    return bytes_of(slot->row->name, strlen(slot->row->name));
}

static const struct dict_type slot_type = { .key = slot_name };

static char upper(char c)
{
    return c >= 'a' && c <= 'z' ? (char)(c - 'a' + 'A') : c;
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

struct commands *commands_new(void)
{
    struct commands *commands = mem_zalloc(sizeof(*commands));
    dict_init(&commands->by_name, &slot_type);
    return commands;
}

static void free_spans(void *ctx, struct command_ref ref)
{
    (void)ctx;
    mem_free(ref.stats->spans);
}

void commands_free(struct commands *commands)
{
    dict_drop(&commands->by_name);
    commands_each_stats(commands, free_spans, NULL);
    for (size_t i = 0; i < commands->count; i++) {
        mem_free(commands->slots[i]->stats);
        mem_free(commands->slots[i]);
    }
    mem_free(commands->slots);
    mem_free(commands);
}

static size_t subcommand_count(const struct command *row)
{
    size_t count = 0;
    if (row->subcommands != NULL)
        while (row->subcommands[count].name != NULL)
            count++;
    return count;
}

static void add(struct commands *commands, const struct command *row, void *context)
{
    struct bytes name = bytes_of(row->name, strlen(row->name));
    ensure(name.len <= NAME_MAX_LEN, "the name %s is too long", row->name);
    ensure(dict_find(&commands->by_name, name) == NULL, "two rows for %s", row->name);
    ensure(row->run != NULL || row->subcommands != NULL, "%s does nothing", row->name);
    if (commands->count == commands->room) {
        commands->room = commands->room > 0 ? 2 * commands->room : 64;
        commands->slots = mem_realloc(commands->slots, commands->room * sizeof(*commands->slots));
    }
    struct slot *slot = mem_alloc(sizeof(*slot));
    *slot = (struct slot){ .row = row, .context = context };
    slot->stats = mem_zalloc((1 + subcommand_count(row)) * sizeof(*slot->stats));
    commands->slots[commands->count++] = slot;
    dict_add(&commands->by_name, slot);
}

void commands_add(struct commands *commands, const struct command_group *group, void *context)
{
    for (size_t i = 0; i < group->count; i++)
        add(commands, &group->rows[i], context);
}

static struct command_ref ref_of(const struct slot *slot)
{
    return (struct command_ref){ .row = slot->row, .context = slot->context, .stats = slot->stats };
}

struct command_ref commands_find(const struct commands *commands, struct bytes name)
{
    char folded[NAME_MAX_LEN];
    if (name.len > sizeof(folded)) return (struct command_ref){ 0 };
    for (size_t i = 0; i < name.len; i++)
        folded[i] = upper(name.data[i]);
    const struct slot *slot = dict_find(&commands->by_name, bytes_of(folded, name.len));
    if (slot == NULL) return (struct command_ref){ 0 };
    return ref_of(slot);
}

static bool is_named(const struct command *row, struct bytes name)
{
    for (size_t i = 0; i < name.len; i++)
        if (row->name[i] == '\0' || row->name[i] != upper(name.data[i])) return false;
    return row->name[name.len] == '\0';
}

static const struct command *find_subcommand(const struct command *parent, struct bytes name)
{
    for (const struct command *row = parent->subcommands; row->name != NULL; row++)
        if (is_named(row, name)) return row;
    return NULL;
}

struct command_ref commands_match(const struct commands *commands, int argc,
                                  const struct bytes *argv)
{
    struct command_ref ref = commands_find(commands, argv[0]);
    if (ref.row == NULL || ref.row->subcommands == NULL || argc < 2) return ref;
    ref.parent = ref.row;
    ref.row = find_subcommand(ref.parent, argv[1]);
    ref.stats = ref.row != NULL ? ref.stats + 1 + (ref.row - ref.parent->subcommands) : NULL;
    return ref;
}

size_t commands_count(const struct commands *commands)
{
    return commands->count;
}

struct command_ref commands_at(const struct commands *commands, size_t index)
{
    ensure(index < commands->count, "command %zu of %zu", index, commands->count);
    return ref_of(commands->slots[index]);
}

void commands_each_stats(struct commands *commands,
                         void (*visit)(void *ctx, struct command_ref ref), void *ctx)
{
    for (size_t i = 0; i < commands->count; i++) {
        struct command_ref ref = ref_of(commands->slots[i]);
        visit(ctx, ref);
        ref.parent = ref.row;
        for (size_t sub = 0; sub < subcommand_count(ref.parent); sub++) {
            ref.row = &ref.parent->subcommands[sub];
            ref.stats++;
            visit(ctx, ref);
        }
    }
}

static size_t append_lower(char *to, size_t at, size_t size, const char *text)
{
    for (; *text != '\0' && at + 1 < size; text++)
        to[at++] = lower(*text);
    return at;
}

size_t command_full_name(struct command_ref ref, char *to, size_t size)
{
    size_t len = 0;
    if (ref.parent != NULL) {
        len = append_lower(to, len, size, ref.parent->name);
        len = append_lower(to, len, size, "|");
    }
    if (ref.row != NULL) len = append_lower(to, len, size, ref.row->name);
    to[len] = '\0';
    return len;
}
