/* command: see command.h. The table of rows. */
#include "server/call/command.h"

#include <string.h>

#include "store/base/ensure.h"
#include "store/mem/mem.h"

enum { NAME_MAX_LEN = 64 };

struct slot {
    const struct command *row;
    void *context;
    struct command_stats *stats; /* of the row, then one for each of its subcommands */
};

/* All names are ours, so the table need not resist hash flooding: a cheap hash of the case-folded
 * name finds the place, and a collision moves on to the next place. */
struct commands {
    struct slot **places; /* a power of two of them, at least twice `count`; NULL: free */
    size_t place_mask;
    struct slot **slots; /* in the order in which they were added */
    size_t count, room;
};

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
    return mem_zalloc(sizeof(struct commands));
}

static void free_spans(void *ctx, struct command_ref ref)
{
    (void)ctx;
    mem_free(ref.stats->spans);
}

void commands_free(struct commands *commands)
{
    commands_each_stats(commands, free_spans, NULL);
    for (size_t i = 0; i < commands->count; i++) {
        mem_free(commands->slots[i]->stats);
        mem_free(commands->slots[i]);
    }
    mem_free(commands->places);
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

/* ---- places ---- */

/* Ignores case, by clearing a bit of each byte; bytes that differ in it alone collide, too. */
static size_t place_of(const struct commands *commands, struct bytes name)
{
    uint64_t head = 0, tail = 0;
    size_t part = name.len < sizeof(head) ? name.len : sizeof(head);
    memcpy(&head, name.data, part);
    memcpy(&tail, name.data + name.len - part, part);
    uint64_t folded = (head & UINT64_C(0xdfdfdfdfdfdfdfdf)) * UINT64_C(0x9e3779b97f4a7c15) ^
                      (tail & UINT64_C(0xdfdfdfdfdfdfdfdf)) * UINT64_C(0xc2b2ae3d27d4eb4f) ^
                      name.len * UINT64_C(0x165667b19e3779f9);
    return (folded ^ folded >> 32) & commands->place_mask;
}

static bool is_named(const struct command *row, struct bytes name)
{
    for (size_t i = 0; i < name.len; i++)
        if (row->name[i] == '\0' || row->name[i] != upper(name.data[i])) return false;
    return row->name[name.len] == '\0';
}

static const struct slot *find_slot(const struct commands *commands, struct bytes name)
{
    if (name.len > NAME_MAX_LEN || commands->count == 0) return NULL;
    size_t i = place_of(commands, name);
    for (; commands->places[i] != NULL; i = (i + 1) & commands->place_mask)
        if (is_named(commands->places[i]->row, name)) return commands->places[i];
    return NULL;
}

static void take_place(struct commands *commands, struct slot *slot)
{
    struct bytes name = bytes_of(slot->row->name, strlen(slot->row->name));
    size_t i = place_of(commands, name);
    while (commands->places[i] != NULL)
        i = (i + 1) & commands->place_mask;
    commands->places[i] = slot;
}

static void make_places(struct commands *commands, size_t places)
{
    mem_free(commands->places);
    commands->places = mem_zalloc(places * sizeof(struct slot *));
    commands->place_mask = places - 1;
    for (size_t i = 0; i < commands->count; i++)
        take_place(commands, commands->slots[i]);
}

static void add_row(struct commands *commands, const struct command *row, void *context)
{
    struct bytes name = bytes_of(row->name, strlen(row->name));
    ensure(name.len <= NAME_MAX_LEN, "the name %s is too long", row->name);
    ensure(find_slot(commands, name) == NULL, "two rows for %s", row->name);
    ensure(row->run != NULL || row->subcommands != NULL, "%s does nothing", row->name);
    if (commands->count == commands->room) {
        commands->room = commands->room > 0 ? 2 * commands->room : 64;
        commands->slots = mem_realloc(commands->slots, commands->room * sizeof(*commands->slots));
        make_places(commands, 4 * commands->room);
    }
    struct slot *slot = mem_alloc(sizeof(*slot));
    *slot = (struct slot){ .row = row, .context = context };
    slot->stats = mem_zalloc((1 + subcommand_count(row)) * sizeof(*slot->stats));
    commands->slots[commands->count++] = slot;
    take_place(commands, slot);
}

void commands_add(struct commands *commands, const struct command_group *group, void *context)
{
    for (size_t i = 0; i < group->count; i++)
        add_row(commands, &group->rows[i], context);
}

static struct command_ref ref_of(const struct slot *slot)
{
    return (struct command_ref){ .row = slot->row, .context = slot->context, .stats = slot->stats };
}

struct command_ref commands_find(const struct commands *commands, struct bytes name)
{
    const struct slot *slot = find_slot(commands, name);
    if (slot == NULL) return (struct command_ref){ 0 };
    return ref_of(slot);
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
