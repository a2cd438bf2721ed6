/* object: OBJECT and MEMORY: what a value is made of. Looking leaves no trace: no hit, no access.
 */
#include "server/args.h"
#include "server/cmd/cmd.h"

/* The entry under argument 2; NULL: null was replied. */
static struct entry *find_or_null(struct call *call)
{
    struct entry *entry = txn_find(call->txn, call->argv[2]);
    if (entry == NULL) resp_null(call->out);
    return entry;
}

static void cmd_object_encoding(struct call *call)
{
    const struct entry *entry = find_or_null(call);
    if (entry != NULL) resp_bulk_text(call->out, object_encoding(&entry->object));
}

/* Accesses are not counted, as under any policy of Redis but LFU. */
static void cmd_object_freq(struct call *call)
{
    if (find_or_null(call) != NULL) fail(call, ERR_NO_LFU);
}

static void cmd_object_idletime(struct call *call)
{
    const struct entry *entry = find_or_null(call);
    if (entry == NULL) return;
    int64_t idle = call->txn->now / 1000 - entry->accessed;
    resp_integer(call->out, idle > 0 ? idle : 0); /* a clock may be set back */
}

/* DIFFERS: Redis shares the strings 0 to 9999 and answers 2147483647 for them. (doc/differs.md) */
static void cmd_object_refcount(struct call *call)
{
    if (find_or_null(call) != NULL) resp_integer(call->out, 1);
}

/* SAMPLES is read, for its errors: sizes are counted, never estimated. */
static void cmd_memory_usage(struct call *call)
{
    for (int i = 3; i < call->argc; i += 2) {
        int64_t samples;
        bool valued = arg_is(call, i, "SAMPLES") && i + 1 < call->argc;
        if (valued && !arg_int64(call, i + 1, &samples)) return;
        if (valued && samples >= 0) continue;
        fail(call, ERR_SYNTAX);
        return;
    }
    const struct entry *entry = find_or_null(call);
    if (entry != NULL) resp_integer(call->out, (int64_t)entry_bytes(entry));
}

static void reply_lines(struct call *call, const char *const *lines, size_t count)
{
    resp_array(call->out, count);
    for (size_t i = 0; i < count; i++)
        resp_status(call->out, lines[i]);
}

static void cmd_object_help(struct call *call)
{
    static const char *const lines[] = {
        "OBJECT <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
        "ENCODING <key>",
        "    Return the kind of internal representation used in order to store the value",
        "    associated with a <key>.",
        "FREQ <key>",
        "    Return the access frequency index of the <key>. The returned integer is",
        "    proportional to the logarithm of the recent access frequency of the key.",
        "IDLETIME <key>",
        "    Return the idle time of the <key>, that is the approximated number of",
        "    seconds elapsed since the last access to the key.",
        "REFCOUNT <key>",
        "    Return the number of references of the value associated with the specified",
        "    <key>.",
        "HELP",
        "    Prints this help.",
    };
    reply_lines(call, lines, sizeof(lines) / sizeof(lines[0]));
}

/* DIFFERS: Redis lists DOCTOR, MALLOC-STATS, PURGE and STATS too. (doc/differs.md) */
static void cmd_memory_help(struct call *call)
{
    static const char *const lines[] = {
        "MEMORY <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
        "USAGE <key> [SAMPLES <count>]",
        "    Return memory in bytes used by <key> and its value. Nested values are",
        "    sampled up to <count> times (default: 5, 0 means sample all).",
        "HELP",
        "    Prints this help.",
    };
    reply_lines(call, lines, sizeof(lines) / sizeof(lines[0]));
}

static const struct command object_rows[] = {
    { .name = "ENCODING",
      .run = cmd_object_encoding,
      .arity = 3,
      .flags = READONLY,
      .acl = ACL_KEYSPACE,
      .keys = { .first = 2, .last = 2, .step = 1 },
      .group = "generic",
      .since = "2.2.3",
      .complexity = "O(1)",
      .syntax = "key",
      .summary = "Names the encoding of a key's value." },
    { .name = "FREQ",
      .run = cmd_object_freq,
      .arity = 3,
      .flags = READONLY,
      .acl = ACL_KEYSPACE,
      .keys = { .first = 2, .last = 2, .step = 1 },
      .group = "generic",
      .since = "4.0.0",
      .complexity = "O(1)",
      .syntax = "key",
      .summary = "Tells how often a key is used, where that is counted." },
    { .name = "IDLETIME",
      .run = cmd_object_idletime,
      .arity = 3,
      .flags = READONLY,
      .acl = ACL_KEYSPACE,
      .keys = { .first = 2, .last = 2, .step = 1 },
      .group = "generic",
      .since = "2.2.3",
      .complexity = "O(1)",
      .syntax = "key",
      .summary = "Tells the seconds since a key was last used." },
    { .name = "REFCOUNT",
      .run = cmd_object_refcount,
      .arity = 3,
      .flags = READONLY,
      .acl = ACL_KEYSPACE,
      .keys = { .first = 2, .last = 2, .step = 1 },
      .group = "generic",
      .since = "2.2.3",
      .complexity = "O(1)",
      .syntax = "key",
      .summary = "Tells how many hold a key's value: always 1." },
    { .name = "HELP",
      .run = cmd_object_help,
      .arity = 2,
      .flags = LOADING | STALE,
      .acl = ACL_KEYSPACE,
      .group = "generic",
      .since = "6.2.0",
      .complexity = "O(1)",
      .syntax = "",
      .summary = "Lists the subcommands." },
    { .name = NULL },
};

static const struct command memory_rows[] = {
    { .name = "USAGE",
      .run = cmd_memory_usage,
      .arity = -3,
      .flags = READONLY,
      .keys = { .first = 2, .last = 2, .step = 1 },
      .group = "server",
      .since = "4.0.0",
      .complexity = "O(1)",
      .syntax = "key [SAMPLES count]",
      .summary = "Tells the bytes of memory that a key and its value take." },
    { .name = "HELP",
      .run = cmd_memory_help,
      .arity = 2,
      .flags = LOADING | STALE,
      .group = "server",
      .since = "4.0.0",
      .complexity = "O(1)",
      .syntax = "",
      .summary = "Lists the subcommands." },
    { .name = NULL },
};

static const struct command rows[] = {
    { .name = "OBJECT",
      .arity = -2,
      .group = "generic",
      .since = "2.2.3",
      .complexity = "Depends on subcommand.",
      .syntax = "",
      .summary = "Tells about the value of a key.",
      .subcommands = object_rows },
    { .name = "MEMORY",
      .arity = -2,
      .group = "server",
      .since = "4.0.0",
      .complexity = "Depends on subcommand.",
      .syntax = "",
      .summary = "Tells about memory.",
      .subcommands = memory_rows },
};

const struct command_group object_commands = COMMAND_GROUP(rows);
