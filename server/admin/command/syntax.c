/* syntax: see syntax.h. A recursive-descent parser builds the tree in a fixed array of nodes. */
#include "server/admin/command/syntax.h"

#include <ctype.h>

#include "store/base/ensure.h"

struct parse {
    const char *at;
    struct syntax_node *nodes;
    int count;
};

static int new_node(struct parse *parse, enum syntax_kind kind)
{
    ensure(parse->count < SYNTAX_NODES_MAX, "a syntax of more than %d parts", SYNTAX_NODES_MAX);
    parse->nodes[parse->count] =
        (struct syntax_node){ .kind = kind, .child = SYNTAX_NONE, .next = SYNTAX_NONE };
    return parse->count++;
}

/* Tokens without letters, and the names of their arguments. */
static const struct {
    char token;
    const char *name;
} symbols[] = { { '=', "equal" }, { '~', "approximately" }, { '*', "new-id" }, { '$', "last-id" } };

/* Returns NULL if the word is not a symbol. */
static const char *symbol_name(struct bytes word)
{
    for (size_t i = 0; word.len == 1 && i < sizeof(symbols) / sizeof(symbols[0]); i++)
        if (word.data[0] == symbols[i].token) return symbols[i].name;
    return NULL;
}

static int parse_alternatives(struct parse *parse, char end);
static int wrap_sequence(struct parse *parse, int first);

/* Parses "[name ...]", which says that the last words of the chain from `first` may be repeated. */
static bool take_repetition(struct parse *parse, int first)
{
    const char *close = strchr(parse->at, ']'), *inner = strchr(parse->at + 1, '[');
    if (close == NULL || (inner != NULL && inner < close)) return false;
    if (close - parse->at < 4 || strncmp(close - 3, "...", 3) != 0) return false;
    int words = -1, length = 0; /* -1: the dots are not a word */
    for (const char *p = parse->at + 1; *p != ']'; p++)
        if (*p != ' ' && (p[-1] == ' ' || p[-1] == '[')) words++;
    parse->at = close + 1;
    for (int i = first; i != SYNTAX_NONE; i = parse->nodes[i].next)
        length++;
    for (; length > words && first != SYNTAX_NONE; length--)
        first = parse->nodes[first].next;
    if (first == SYNTAX_NONE) return true;
    if (length == 1) {
        parse->nodes[first].multiple = true;
        return true;
    }
    if (parse->nodes[first].kind == SYNTAX_TOKEN) {
        /* "[PREFIX prefix ...]": one repeated node replaces the first of the words. */
        struct syntax_node whole = parse->nodes[wrap_sequence(parse, first)];
        whole.multiple = whole.repeats_token = true;
        parse->nodes[first] = whole;
        return true;
    }
    /* Several words repeat together, so they become a block in place of the first. */
    struct syntax_node copy = parse->nodes[first];
    int moved = new_node(parse, copy.kind);
    parse->nodes[moved] = copy;
    parse->nodes[first] = (struct syntax_node){ .kind = SYNTAX_BLOCK,
                                                .name = copy.name.len > 0 ? copy.name : copy.token,
                                                .child = moved,
                                                .next = SYNTAX_NONE,
                                                .multiple = true };
    return true;
}

static int parse_item(struct parse *parse)
{
    char open = *parse->at;
    if (open == '[' || open == '<') {
        parse->at++;
        int group = parse_alternatives(parse, open == '[' ? ']' : '>');
        if (open == '[') parse->nodes[group].optional = true;
        return group;
    }

    const char *start = parse->at;
    while (*parse->at != '\0' && strchr(" []<>|", *parse->at) == NULL)
        parse->at++;
    ensure(parse->at > start, "a stray '%c' in a syntax", *start);
    struct bytes word = bytes_of(start, (size_t)(parse->at - start));

    bool has_lower = false, is_token = symbol_name(word) != NULL;
    for (size_t i = 0; i < word.len; i++) {
        has_lower |= islower((unsigned char)word.data[i]) != 0;
        is_token |= isupper((unsigned char)word.data[i]) != 0;
    }
    is_token &= !has_lower;
    int node = new_node(parse, is_token ? SYNTAX_TOKEN : SYNTAX_VALUE);
    if (is_token)
        parse->nodes[node].token = word;
    else
        parse->nodes[node].name = word;
    return node;
}

/* Parses a chain of nodes up to `end` or '|'. */
static int parse_sequence(struct parse *parse, char end)
{
    int first = SYNTAX_NONE;
    for (;;) {
        while (*parse->at == ' ')
            parse->at++;
        if (*parse->at == end || *parse->at == '|' || *parse->at == '\0') return first;
        if (*parse->at == '[' && take_repetition(parse, first)) continue;
        int node = parse_item(parse), last = first;
        while (last != SYNTAX_NONE && parse->nodes[last].next != SYNTAX_NONE)
            last = parse->nodes[last].next;
        if (last == SYNTAX_NONE)
            first = node;
        else
            parse->nodes[last].next = node;
    }
}

/* Makes one node of a sequence: itself, a value with its token, or a block. */
static int wrap_sequence(struct parse *parse, int first)
{
    ensure(first != SYNTAX_NONE, "an empty group before '%s' in a syntax", parse->at);
    struct syntax_node *head = &parse->nodes[first];
    if (head->next == SYNTAX_NONE) return first;
    if (head->kind == SYNTAX_TOKEN && parse->nodes[head->next].next == SYNTAX_NONE) {
        int value = head->next;
        struct syntax_node *node = &parse->nodes[value];
        bool has_kind = node->kind == SYNTAX_VALUE || node->kind == SYNTAX_ONEOF;
        if (has_kind && !node->optional && node->token.len == 0) {
            node->token = head->token;
            return value;
        }
    }
    int block = new_node(parse, SYNTAX_BLOCK);
    /* A block has the name of its first part, a choice that of its first alternative. */
    const struct syntax_node *named = head;
    if (head->kind == SYNTAX_ONEOF && head->name.len == 0) named = &parse->nodes[head->child];
    parse->nodes[block].name = named->name.len > 0 ? named->name : named->token;
    parse->nodes[block].child = first;
    if (head->kind == SYNTAX_TOKEN) {
        parse->nodes[block].token = head->token;
        parse->nodes[block].child = head->next;
    }
    return block;
}

static int parse_alternatives(struct parse *parse, char end)
{
    int first = wrap_sequence(parse, parse_sequence(parse, end)), last = first;
    if (*parse->at == '|') {
        int choice = new_node(parse, SYNTAX_ONEOF);
        parse->nodes[choice].child = first;
        while (*parse->at == '|') {
            parse->at++;
            int node = wrap_sequence(parse, parse_sequence(parse, end));
            parse->nodes[last].next = node;
            last = node;
        }
        first = choice;
    }
    ensure(*parse->at == end, "a group without its '%c' in a syntax", end);
    parse->at++;
    return first;
}

void syntax_parse(struct syntax *syntax, const char *line)
{
    struct parse parse = { .at = line, .nodes = syntax->nodes };
    syntax->first = parse_sequence(&parse, '\0');
    ensure(*parse.at == '\0', "'%s' left over in a syntax", parse.at);
}

static bool is_among(struct bytes name, const char *const *names)
{
    for (; *names != NULL; names++)
        if (bytes_equal(name, bytes_of(*names, strlen(*names)))) return true;
    return false;
}

const char *syntax_type(const struct syntax_node *node)
{
    static const char *const keys[] = { "key",         "key1",      "key2", "newkey",
                                        "destination", "source",    "src",  "dst",
                                        "destkey",     "sourcekey", NULL };
    static const char *const integers[] = {
        "seconds", "milliseconds", "count",          "offset",    "index",      "start",
        "stop",    "end",          "increment",      "decrement", "cursor",     "ttl",
        "numkeys", "db",           "index1",         "index2",    "len",        "min-len",
        "rank",    "num-matches",  "limit",          "bit",       "client-id",  "protover",
        "version", "numreplicas",  "destination-db", "numfields", "nummembers", "delay",
        "numids",  "numlocal",     "lease",          "percent",   NULL,
    };
    static const char *const doubles[] = { "score",    "timeout",         "longitude",
                                           "latitude", "radius",          "width",
                                           "height",   "float-increment", NULL };
    static const char *const times[] = { "unix-time-seconds", "unix-time-milliseconds", NULL };
    switch (node->kind) {
    case SYNTAX_TOKEN: return "pure-token";
    case SYNTAX_ONEOF: return "oneof";
    case SYNTAX_BLOCK: return "block";
    default: break;
    }
    /* The name of a value implies its type. */
    if (is_among(node->name, keys)) return "key";
    if (is_among(node->name, integers)) return "integer";
    if (is_among(node->name, doubles)) return "double";
    if (is_among(node->name, times)) return "unix-time";
    return bytes_equal(node->name, LIT("pattern")) ? "pattern" : "string";
}

struct replying {
    const struct syntax_node *nodes;
    int key_spec, key_specs; /* spec of the next key; number of specs of the row */
};

static void reply_chain(struct resp_writer *out, struct replying *reply, int first);

static void reply_node(struct resp_writer *out, struct replying *reply,
                       const struct syntax_node *node)
{
    const char *type = syntax_type(node);
    bool is_key = reply->key_specs > 0 && strcmp(type, "key") == 0,
         has_flags = node->optional || node->multiple;
    bool has_token = node->token.len > 0;
    size_t fields = 2u + is_key + has_token + has_flags + (node->child != SYNTAX_NONE);
    struct bytes name = node->name.len > 0 ? node->name : node->token;
    resp_map(out, fields);
    resp_bulk_text(out, "name");
    if (node->kind == SYNTAX_ONEOF) name = LIT("option");
    if (symbol_name(name) != NULL) {
        resp_bulk_text(out, symbol_name(name));
    } else {
        char lower[64];
        size_t len = name.len < sizeof(lower) ? name.len : sizeof(lower);
        for (size_t i = 0; i < len; i++)
            lower[i] = (char)tolower((unsigned char)name.data[i]);
        resp_bulk(out, lower, len);
    }
    resp_bulk_text(out, "type");
    resp_bulk_text(out, type);
    if (is_key) {
        resp_bulk_text(out, "key_spec_index");
        resp_integer(out, reply->key_spec);
        if (reply->key_spec + 1 < reply->key_specs) reply->key_spec++;
    }
    if (has_token) {
        resp_bulk_text(out, "token");
        resp_bulk(out, node->token.data, node->token.len);
    }
    if (has_flags) {
        resp_bulk_text(out, "flags");
        resp_set(out, (size_t)node->optional + node->multiple + node->repeats_token);
        if (node->optional) resp_status(out, "optional");
        if (node->multiple) resp_status(out, "multiple");
        if (node->repeats_token) resp_status(out, "multiple_token");
    }
    if (node->child != SYNTAX_NONE) {
        resp_bulk_text(out, "arguments");
        reply_chain(out, reply, node->child);
    }
}

static void reply_chain(struct resp_writer *out, struct replying *reply, int first)
{
    size_t count = 0;
    for (int i = first; i != SYNTAX_NONE; i = reply->nodes[i].next)
        count++;
    resp_array(out, count);
    for (int i = first; i != SYNTAX_NONE; i = reply->nodes[i].next)
        reply_node(out, reply, &reply->nodes[i]);
}

void syntax_reply_arguments(struct resp_writer *out, const char *line, int key_specs)
{
    struct syntax syntax;
    syntax_parse(&syntax, line);
    struct replying reply = { .nodes = syntax.nodes, .key_specs = key_specs };
    reply_chain(out, &reply, syntax.first);
}
