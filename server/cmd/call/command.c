/* command: see command.h. The table of rows. */
#include "server/cmd/call/command.h"

#include "store/base/ensure.h"
#include "store/mem/mem.h"

enum { NAME_MAX_LEN = 64 };

/* A name in upper case, packed so that two compares of words replace a compare of strings: its
 * first and its last 8 bytes, which overlap in names of 9 to 15 bytes. A name shorter than 8 bytes
 * is in `head` entirely. Equal keys mean equal names up to 16 bytes; longer names are compared in
 * full. */
struct name_key {
    uint64_t head, tail;
    size_t len;
};

enum { KEY_BYTES = 2 * sizeof(uint64_t) };

struct slot {
    struct name_key key;
    const struct command *row;
    const char *group;
    void *context;
    struct command_stats *stats; /* stats of the row, followed by those of its subcommands */
    char *new_name;              /* in upper case; NULL if not renamed */
};

/* An open hash table with linear probing. Its hash is cheap and has no secret: the names in the
 * table are ours or the configuration's, so clients can't provoke collisions. */
struct commands {
    struct slot **buckets; /* a power of two of them, at least four times `count`; NULL if free */
    size_t bucket_mask;
    struct slot **slots; /* in order of addition; disabled ones after `count` */
    size_t count, disabled, cap;
    unsigned ids; /* ids given to rows and subcommands so far */
};

static char upper(char c)
{
    return c >= 'a' && c <= 'z' ? (char)(c - 'a' + 'A') : c;
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
    for (size_t i = 0; i < commands->count + commands->disabled; i++) {
        mem_free(commands->slots[i]->stats);
        mem_free(commands->slots[i]->new_name);
        mem_free(commands->slots[i]);
    }
    mem_free(commands->buckets);
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

/* ---- buckets ---- */

/* Converts eight bytes to upper case at once. In each byte that is a lower-case letter, `letters`
 * has the top bit (0x80); shifted right by two it is 0x20, the difference between the cases. The
 * additions can't carry into the next byte, because `low` has no top bits. */
static uint64_t upper_word(uint64_t word)
{
    const uint64_t ones = UINT64_C(0x0101010101010101), tops = ones << 7;
    uint64_t low = word & ~tops;
    uint64_t letters = (low + (0x80 - 'a') * ones) & ~(low + (0x7f - 'z') * ones) & ~word & tops;
    return word - (letters >> 2);
}

static uint64_t word_at(const char *data)
{
    uint64_t word;
    memcpy(&word, data, sizeof(word));
    return word;
}

static struct name_key key_of(struct bytes name)
{
    struct name_key key = { .len = name.len };
    uint32_t first, last;
    if (name.len >= sizeof(key.head)) {
        key.head = upper_word(word_at(name.data));
        key.tail = upper_word(word_at(name.data + name.len - sizeof(key.tail)));
    } else if (name.len >= sizeof(first)) { /* two halves that may overlap */
        memcpy(&first, name.data, sizeof(first));
        memcpy(&last, name.data + name.len - sizeof(last), sizeof(last));
        key.head = upper_word(first | (uint64_t)last << 32);
    } else if (name.len > 0) {
        key.head = upper_word((uint64_t)(unsigned char)name.data[0] |
                              (uint64_t)(unsigned char)name.data[name.len / 2] << 8 |
                              (uint64_t)(unsigned char)name.data[name.len - 1] << 16);
    }
    return key;
}

static size_t bucket_of(const struct commands *commands, const struct name_key *key)
{
    uint64_t mixed = key->head * UINT64_C(0x9e3779b97f4a7c15) ^
                     key->tail * UINT64_C(0xc2b2ae3d27d4eb4f) ^
                     key->len * UINT64_C(0x165667b19e3779f9);
    return (mixed ^ mixed >> 32) & commands->bucket_mask;
}

/* Is the name equal to `word`, which is in upper case? */
static bool is_same_name(const char *word, struct bytes name)
{
    for (size_t i = 0; i < name.len; i++)
        if (word[i] == '\0' || word[i] != upper(name.data[i])) return false;
    return word[name.len] == '\0';
}

static const char *name_of(const struct slot *slot)
{
    return slot->new_name != NULL ? slot->new_name : slot->row->name;
}

static const struct slot *find_slot(const struct commands *commands, struct bytes name)
{
    if (name.len > NAME_MAX_LEN || commands->count == 0) return NULL;
    struct name_key key = key_of(name);
    const struct slot *slot;
    for (size_t i = bucket_of(commands, &key); (slot = commands->buckets[i]) != NULL;
         i = (i + 1) & commands->bucket_mask)
        if (slot->key.head == key.head && slot->key.tail == key.tail && slot->key.len == key.len &&
            (name.len <= KEY_BYTES || is_same_name(name_of(slot), name)))
            return slot;
    return NULL;
}

static void take_bucket(struct commands *commands, struct slot *slot)
{
    size_t i = bucket_of(commands, &slot->key);
    while (commands->buckets[i] != NULL)
        i = (i + 1) & commands->bucket_mask;
    commands->buckets[i] = slot;
}

static void make_buckets(struct commands *commands, size_t buckets)
{
    mem_free(commands->buckets);
    commands->buckets = mem_zalloc(buckets * sizeof(struct slot *));
    commands->bucket_mask = buckets - 1;
    for (size_t i = 0; i < commands->count; i++)
        take_bucket(commands, commands->slots[i]);
}

void commands_add(struct commands *commands, const struct command_group *group, void *context)
{
    for (const struct command *row = group->rows; row < group->rows + group->count; row++) {
        struct bytes name = bytes_of(row->name, strlen(row->name));
        ensure(name.len <= NAME_MAX_LEN, "the name %s is too long", row->name);
        ensure(find_slot(commands, name) == NULL, "two rows for %s", row->name);
        ensure(row->run != NULL || row->subcommands != NULL, "%s does nothing", row->name);
        ensure(commands->disabled == 0, "%s is added after a command was disabled", row->name);
        if (commands->count == commands->cap) {
            commands->cap = commands->cap > 0 ? 2 * commands->cap : 64;
            commands->slots =
                mem_realloc(commands->slots, commands->cap * sizeof(*commands->slots));
            make_buckets(commands, 4 * commands->cap);
        }
        struct slot *slot = mem_alloc(sizeof(*slot));
        *slot = (struct slot){
            .key = key_of(name), .row = row, .group = group->name, .context = context
        };
        size_t rows = 1 + subcommand_count(row);
        slot->stats = mem_zalloc(rows * sizeof(*slot->stats));
        for (size_t i = 0; i < rows; i++)
            slot->stats[i].id = commands->ids++;
        commands->slots[commands->count++] = slot;
        take_bucket(commands, slot);
    }
}

static struct command_ref ref_of(const struct slot *slot)
{
    return (struct command_ref){
        .row = slot->row, .group = slot->group, .context = slot->context, .stats = slot->stats
    };
}

struct command_ref commands_find(const struct commands *commands, struct bytes name)
{
    const struct slot *slot = find_slot(commands, name);
    return slot != NULL ? ref_of(slot) : (struct command_ref){ 0 };
}

/* ---- renaming ---- */

struct command_ref commands_find_original(const struct commands *commands, struct bytes name)
{
    for (size_t i = 0; i < commands->count + commands->disabled; i++)
        if (is_same_name(commands->slots[i]->row->name, name)) return ref_of(commands->slots[i]);
    return (struct command_ref){ 0 };
}

const char *commands_rename(struct commands *commands, struct bytes name, struct bytes new_name)
{
    struct slot *slot = NULL;
    for (size_t i = 0; i < commands->count; i++)
        if (is_same_name(name_of(commands->slots[i]), name)) slot = commands->slots[i];
    if (slot == NULL) return "No such command in rename-command";
    if (new_name.len > NAME_MAX_LEN) return "The new name is longer than 64 bytes";
    const struct slot *other = find_slot(commands, new_name);
    if (new_name.len > 0 && other != NULL && other != slot)
        return "Target command name already exists";
    if (new_name.len == 0) { /* disable the command: its slot becomes the last one */
        size_t i = 0;
        while (commands->slots[i] != slot)
            i++;
        size_t after = commands->count + commands->disabled - i - 1;
        memmove(&commands->slots[i], &commands->slots[i + 1], after * sizeof(struct slot *));
        commands->slots[i + after] = slot;
        commands->count--;
        commands->disabled++;
    } else {
        mem_free(slot->new_name);
        slot->new_name = mem_zalloc(new_name.len + 1);
        for (size_t i = 0; i < new_name.len; i++)
            slot->new_name[i] = upper(new_name.data[i]);
        slot->key = key_of(new_name);
    }
    make_buckets(commands, commands->bucket_mask + 1);
    return NULL;
}

/* Turns the row for argv[0] into the row for argv. */
static void match_subcommand(struct command_ref *ref, int argc, const struct bytes *argv)
{
    if (ref->row == NULL || ref->row->subcommands == NULL || argc < 2) return;
    size_t i = 0;
    const struct command *rows = ref->row->subcommands;
    while (rows[i].name != NULL && !is_same_name(rows[i].name, argv[1]))
        i++;
    ref->parent = ref->row;
    ref->row = rows[i].name != NULL ? &rows[i] : NULL;
    ref->stats = ref->row != NULL ? ref->stats + 1 + i : NULL;
}

struct command_ref commands_match(const struct commands *commands, int argc,
                                  const struct bytes *argv)
{
    struct command_ref ref = commands_find(commands, argv[0]);
    match_subcommand(&ref, argc, argv);
    return ref;
}

struct command_ref commands_match_original(const struct commands *commands, int argc,
                                           const struct bytes *argv)
{
    struct command_ref ref = commands_find_original(commands, argv[0]);
    match_subcommand(&ref, argc, argv);
    return ref;
}

struct command_ref commands_subcommand(struct command_ref ref, size_t i)
{
    const struct command *row = ref.row->subcommands != NULL ? &ref.row->subcommands[i] : NULL;
    if (row == NULL || row->name == NULL) return (struct command_ref){ 0 };
    return (struct command_ref){ .row = row,
                                 .parent = ref.row,
                                 .group = ref.group,
                                 .context = ref.context,
                                 .stats = ref.stats + 1 + i };
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
        to[at++] = *text >= 'A' && *text <= 'Z' ? (char)(*text - 'A' + 'a') : *text;
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
