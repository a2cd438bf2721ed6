/* program: see program.h. A walk over the tree of a syntax line that writes arguments. It is the
 * tree that COMMAND DOCS replies, so the calls check that, too. */
#include "tests/support/program.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "server/admin/command/syntax.h"
#include "store/base/ensure.h"
#include "tests/support/payloads.h"

enum { FEW = 3, MANY = 20, NUMBERED = 200 };

struct maker {
    struct program_call *call;
    const struct program_source *source;
    const struct syntax_node *nodes;
    const char *group;
    msec now;
};

/* ---- values ---------------------------------------------------------------------------------- */

/* The first `good` of them are what a caller would mean. */
struct pool {
    const char *const *texts;
    unsigned count, good;
};

#define LIST(...)                                                                                  \
    (const char *const[])                                                                          \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }
#define POOL(good, ...)                                                                            \
    {                                                                                              \
        LIST(__VA_ARGS__), sizeof(LIST(__VA_ARGS__)) / sizeof(const char *), good                  \
    }

static const char long_text[] = "a value that is too long for whatever packs small values closely, "
                                "and goes on for a while yet until it is";

static const struct pool keys = POOL(9, "string", "list", "set", "hash", "sorted-set", "dehydrator",
                                     "stream", "lease", "k", "");
static const struct pool prefixes = POOL(3, "*", "d*", "dehydrator*", "k", "**", "");
static const struct pool texts =
    POOL(12, "a", "b", "c", "1", "", "d", "10", "-1", "3.5", "a\r\nb", "\xff\x01", long_text);
static const struct pool integers =
    POOL(8, "1", "0", "2", "-1", "5", "3", "-2", "100", "9223372036854775807",
         "-9223372036854775808", "9223372036854775808", "x", "1.5", "", " 1");
static const struct pool spans = POOL(6, "10", "1", "2", "100", "3", "1000", "0", "-1",
                                      "9223372036854775807", "9223372036854775", "x", "");
static const struct pool scores =
    POOL(9, "1", "2", "0", "3", "-1", "1.5", "-0", "0.1", "inf", "-inf", "1e300", "nan", "x", "");
static const struct pool bounds = POOL(13, "-inf", "+inf", "(1", "1", "-", "+", "(2", "0", "[a",
                                       "(a", "[b", "(c", "(150", "-1", "(x", "x", "");
static const struct pool patterns = POOL(6, "*", "a*", "[a-c]", "?", "s*", "*a*b*", "", "\\", "[");
static const struct pool types =
    POOL(6, "string", "list", "zset", "dehydrator", "stream", "lease", "nothing");
static const struct pool units = POOL(3, "ms", "s", "MS", "h", "");
static const struct pool durations = POOL(5, "1", "50ms", "3s", "2m", "1d", "0h", "9w", "");
/* The digests of "a" and "1", another, and one of a wrong length. */
static const struct pool digests =
    POOL(3, "e6c632b61e964e1f", "65CD25028F98F158", "0000000000000000", "123");
/* The first ones that a server_world grants. */
static const struct pool tokens = POOL(6, "1024000001", "1024000002", "1024000003", "1024000004",
                                       "1024000005", "1024000006", "1", "0", "-1", "x", "");
static const struct pool schedules =
    POOL(6, "* * * * *", "@daily", "*/7 * * * * *", "30 2 * * *", "0 0 29 2 */7", "5 */3 L 1-6 mon",
         "0 0 31 2 *", "61 * * * *", "");
/* Without files of zones only UTC exists. */
static const struct pool zones = POOL(1, "UTC", "Mars/Olympus", "../UTC", "");
static const struct pool cursors = POOL(3, "0", "1", "5", "x", "18446744073709551616");

static const struct pool ids =
    POOL(10, "1-1", "0", "1-2", "2", "1-3", "3-1", "5", "(1-1", "+", "-", "7-*", "$",
         "18446744073709551615-18446744073709551615", "18446744073709551616", "1-x", "");
static const struct pool groups = POOL(2, "g", "h", "i", "");
static const struct pool consumers = POOL(3, "c", "d", "e", "");

struct kind {
    const char *name;
    const struct pool *pool;
};

/* In commands of streams. */
static const struct kind stream_kinds[] = {
    { "id", &ids },
    { "start", &ids },
    { "end", &ids },
    { "threshold", &ids },
    { "last-id", &ids },
    { "max-deleted-id", &ids },
    { "lastid", &ids },
    { "group", &groups },
    { "consumer", &consumers },
    { "ms", &spans },
    { "min-idle-time", &spans },
    { "entries-read", &integers },
    { "entries-added", &integers },
};

static const struct kind kinds[] = {
    { "key", &keys },           { "newkey", &keys },       { "destination", &keys },
    { "increment", &scores },   { "score", &scores },      { "decrement", &integers },
    { "count", &integers },     { "index", &integers },    { "offset", &integers },
    { "seconds", &spans },      { "ttl", &spans },         { "milliseconds", &spans },
    { "min", &bounds },         { "max", &bounds },        { "pattern", &patterns },
    { "type", &types },         { "cursor", &cursors },    { "source", &keys },
    { "dst", &keys },           { "src", &keys },          { "key1", &keys },
    { "key2", &keys },          { "delay", &spans },       { "unit", &units },
    { "duration", &durations }, { "dead-key", &keys },     { "log-key", &keys },
    { "lowerbound", &scores },  { "upperbound", &scores }, { "comparison-digest", &digests },
    { "token", &tokens },       { "spec", &schedules },    { "zone", &zones },
    { "prefix", &prefixes },
};

static unsigned below(const struct maker *maker, unsigned limit)
{
    return maker->source->below(maker->source->ctx, limit);
}

static const char *from(const struct maker *maker, const struct pool *pool)
{
    bool strange = below(maker, 16) == 15;
    return pool->texts[below(maker, strange ? pool->count : pool->good)];
}

static bool is_word(struct bytes word, const char *text)
{
    return bytes_equal(word, bytes_of(text, strlen(text)));
}

static void add(struct program_call *call, struct bytes text)
{
    if (call->argc == PROGRAM_ARGS_MAX) {
        call->overflowed = true;
        return;
    }
    call->is_key[call->argc] = call->counts_keys[call->argc] = false;
    call->counts_rest[call->argc] = 0;
    call->argv[call->argc++] = text;
}

static void add_text(struct program_call *call, const char *text)
{
    add(call, bytes_of(text, strlen(text)));
}

static void add_number(struct program_call *call, int64_t number)
{
    char text[32];
    size_t len = (size_t)snprintf(text, sizeof(text), "%" PRId64, number);
    if (call->text_len + len > PROGRAM_TEXT_MAX) {
        call->overflowed = true;
        return;
    }
    memcpy(call->text + call->text_len, text, len);
    add(call, bytes_of(call->text + call->text_len, len));
    call->text_len += len;
}

static bool is_own_key(const char *group)
{
    for (unsigned i = 0; group != NULL && i < keys.count; i++)
        if (strcmp(keys.texts[i], group) == 0) return true;
    return false;
}

static void add_key(const struct maker *maker)
{
    bool own = is_own_key(maker->group) && below(maker, 4) != 3;
    add_text(maker->call, own ? maker->group : from(maker, &keys));
    maker->call->is_key[maker->call->argc - 1] = true;
}

/* Just before, at and behind now. */
static int64_t near_now(const struct maker *maker)
{
    return maker->now + (int64_t)below(maker, 8) - 2;
}

/* Start and stop are positions, or bounds where BYSCORE or BYLEX says so. */
static const struct pool *pool_of(const struct maker *maker, struct bytes name)
{
    bool of_stream = maker->group != NULL && strcmp(maker->group, "stream") == 0;
    for (size_t i = 0; of_stream && i < sizeof(stream_kinds) / sizeof(stream_kinds[0]); i++)
        if (is_word(name, stream_kinds[i].name)) return stream_kinds[i].pool;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (is_word(name, kinds[i].name)) return kinds[i].pool;
    if (is_word(name, "start") || is_word(name, "stop"))
        return below(maker, 3) < 2 ? &integers : &bounds;
    return &texts;
}

/* How many arguments each field or member behind a count has: "field value [field value ...]" has
 * two. */
static unsigned arguments_each(const struct maker *maker, int next)
{
    if (next == SYNTAX_NONE) return 0;
    const struct syntax_node *node = &maker->nodes[next];
    if (node->kind != SYNTAX_BLOCK) return 1;
    unsigned count = 0;
    for (int i = node->child; i != SYNTAX_NONE; i = maker->nodes[i].next)
        count++;
    return count;
}

static void add_value(const struct maker *maker, const struct syntax_node *node)
{
    struct bytes name = node->name;
    if (is_word(name, "numkeys")) {
        add_number(maker->call, 1); /* see count_keys */
        maker->call->counts_keys[maker->call->argc - 1] = true;
    } else if (is_word(name, "numfields") || is_word(name, "nummembers") ||
               is_word(name, "numids")) {
        add_number(maker->call, 1); /* see count_rest */
        maker->call->counts_rest[maker->call->argc - 1] = arguments_each(maker, node->next);
    } else if (is_word(name, "unix-time-milliseconds")) {
        add_number(maker->call, near_now(maker));
    } else if (is_word(name, "unix-time-seconds")) {
        add_number(maker->call, near_now(maker) / 1000 + below(maker, 3));
    } else if (is_word(name, "serialized-value")) {
        add(maker->call, payloads[below(maker, PAYLOADS)]);
    } else {
        const struct pool *pool = pool_of(maker, name);
        if (pool == &keys)
            add_key(maker);
        else if ((pool == &texts || pool == &scores) && below(maker, 3) == 2)
            add_number(maker->call, below(maker, NUMBERED));
        else
            add_text(maker->call, from(maker, pool));
    }
}

/* ---- the walk -------------------------------------------------------------------------------- */

static void add_node(const struct maker *maker, const struct syntax_node *node);

static void add_choice(const struct maker *maker, const struct syntax_node *node)
{
    const struct syntax_node *first = &maker->nodes[node->child], *chosen = first;
    unsigned ways = 1;
    int before = maker->call->argc;
    for (int i = first->next; i != SYNTAX_NONE; i = maker->nodes[i].next)
        ways++;
    for (unsigned skip = below(maker, ways); skip > 0; skip--)
        chosen = &maker->nodes[chosen->next];
    add_node(maker, chosen);
    /* One that is not optional is never empty, even if all of one alternative is optional. */
    if (!node->optional && maker->call->argc == before) add_node(maker, first);
}

static void add_chain(const struct maker *maker, int first)
{
    for (int i = first; i != SYNTAX_NONE; i = maker->nodes[i].next)
        add_node(maker, &maker->nodes[i]);
}

static void add_once(const struct maker *maker, const struct syntax_node *node, bool with_token)
{
    if (with_token && node->token.len > 0) add(maker->call, node->token);
    if (node->kind == SYNTAX_VALUE) add_value(maker, node);
    if (node->kind == SYNTAX_ONEOF) add_choice(maker, node);
    if (node->kind == SYNTAX_BLOCK) add_chain(maker, node->child);
}

static void add_node(const struct maker *maker, const struct syntax_node *node)
{
    if (node->optional && below(maker, 2) == 0) return;
    add_once(maker, node, true);
    if (!node->multiple) return;
    unsigned times = below(maker, FEW + 1);
    if (times == FEW && below(maker, 4) == 3) times = MANY;
    for (; times > 0; times--)
        add_once(maker, node, node->repeats_token);
}

static void change_number(struct program_call *call, int i, int64_t number)
{
    int argc = call->argc;
    bool is_key = call->is_key[i];
    call->argc = i;
    add_number(call, number);
    call->is_key[i] = is_key;
    call->argc = argc;
}

/* The arguments that "numfields" counts extend to the end of the call. */
static void count_rest(const struct maker *maker)
{
    struct program_call *call = maker->call;
    for (int i = 0; i < call->argc; i++) {
        unsigned each = call->counts_rest[i];
        if (each > 0) change_number(call, i, (call->argc - i - 1) / (int)each);
    }
}

/* A "numkeys" is the number of keys behind it, each of which may have a value. */
static void count_keys(const struct maker *maker)
{
    struct program_call *call = maker->call;
    for (int i = 0; i < call->argc; i++) {
        if (!call->counts_keys[i]) continue;
        int step = i + 2 < call->argc && call->is_key[i + 2] ? 1 : 2, at = i + 1;
        while (at < call->argc && call->is_key[at])
            at += step;
        change_number(call, i, (at - i - 1) / step);
    }
}

/* Behind STREAMS are as many IDs as keys. */
static void balance_streams(const struct maker *maker)
{
    struct program_call *call = maker->call;
    int first = 1, keys_end;
    while (first < call->argc && !is_word(call->argv[first - 1], "STREAMS"))
        first++;
    if (first >= call->argc || !call->is_key[first]) return;
    for (keys_end = first; keys_end < call->argc && call->is_key[keys_end];)
        keys_end++;
    call->argc = keys_end;
    for (int i = first; i < keys_end; i++)
        add_text(call, below(maker, 3) == 2 ? ">" : from(maker, &ids));
}

void program_make(struct program_call *call, struct command_ref ref, msec now,
                  const struct program_source *source)
{
    struct syntax syntax;
    struct maker maker = { call, source, syntax.nodes, ref.group, now };
    syntax_parse(&syntax, ref.row->syntax);
    call->argc = 0;
    call->text_len = 0;
    call->overflowed = false;
    if (ref.parent != NULL) add_text(call, ref.parent->name);
    add_text(call, ref.row->name);
    add_chain(&maker, syntax.first);
    count_keys(&maker);
    count_rest(&maker);
    balance_streams(&maker);
}

void program_spoil(struct program_call *call, const struct program_source *source)
{
    static const struct pool *const any[] = { &keys, &texts, &integers, &scores, &bounds, &spans };
    struct maker maker = { .call = call, .source = source };
    const struct pool *pool = any[below(&maker, sizeof(any) / sizeof(any[0]))];
    const char *text = from(&maker, pool);
    unsigned way = below(&maker, 3), which = below(&maker, PROGRAM_ARGS_MAX);
    if (way == 0)
        add_text(call, text);
    else if (way == 1 && call->argc > 1)
        call->argc--;
    else if (call->argc > 1)
        call->argv[1 + which % ((unsigned)call->argc - 1)] = bytes_of(text, strlen(text));
}

const char *program_text(const struct program_call *call)
{
    static char line[PROGRAM_ARGS_MAX * 16];
    size_t len = 0;
    line[0] = '\0';
    for (int i = 0; i < call->argc && len + 1 < sizeof(line); i++) {
        line[len++] = i > 0 ? ' ' : '\0';
        len -= i == 0;
        for (size_t j = 0; j < call->argv[i].len && len + 5 < sizeof(line); j++) {
            unsigned char c = (unsigned char)call->argv[i].data[j];
            bool plain = c > ' ' && c < 127;
            len += (size_t)snprintf(line + len, 5, plain ? "%c" : "\\x%02x", c);
        }
        if (call->argv[i].len == 0 && len + 3 < sizeof(line))
            len += (size_t)snprintf(line + len, 3, "''");
    }
    line[len] = '\0';
    return line;
}

/* ---- rows ------------------------------------------------------------------------------------ */

bool program_is_data(struct command_ref ref)
{
    return (ref.row->flags & (WRITE | READONLY)) != 0 && !(ref.row->flags & BLOCKING);
}

bool program_is_any(struct command_ref ref)
{
    (void)ref;
    return true;
}

static void add_row(struct program_rows *rows, struct command_ref ref,
                    bool (*wanted)(struct command_ref ref))
{
    if (ref.row->run == NULL || !wanted(ref)) return;
    ensure(rows->count < PROGRAM_ROWS_MAX, "more than %d rows", PROGRAM_ROWS_MAX);
    rows->refs[rows->count++] = ref;
}

void program_rows(struct program_rows *rows, const struct commands *commands,
                  bool (*wanted)(struct command_ref ref))
{
    rows->count = 0;
    for (size_t i = 0; i < commands_count(commands); i++) {
        struct command_ref ref = commands_at(commands, i), sub;
        add_row(rows, ref, wanted);
        for (size_t j = 0; (sub = commands_subcommand(ref, j)).row != NULL; j++)
            add_row(rows, sub, wanted);
    }
}
