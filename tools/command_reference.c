/* command_reference: makes the reference of commands from the rows of the command table: in
 * doc/commands/, a page for each group of commands, and README.md, the index.
 *
 *     command_reference folder           writes the pages into the folder
 *     command_reference --forms          prints each command's replies and errors, for tests
 *     command_reference --json           prints each command as JSON, for tools/clients/generate */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/admin/command/syntax.h"
#include "server/cmd/call/error.h"
#include "store/base/ensure.h"
#include "store/base/json_text.h"
#include "store/policy/policy_rows.h"
#include "tools/reference/rows.h"

enum { PATH_SIZE = 4096 };

static void print_cell(FILE *to, const char *text)
{
    for (; *text != '\0'; text++)
        if (*text == '|')
            fputs("\\|", to);
        else
            fputc(*text == '\n' ? ' ' : *text, to);
}

static const struct page {
    const char *file, *title;
    const char *group; /* of the rows */
    const char *name;  /* only this command of the group; NULL for all others of it */
    const char *intro;
} pages[] = {
    { "keys.md", "Keys", "generic", NULL,
      "These commands work on keys of any type. A key is alive at its deadline and gone one "
      "millisecond later." },
    { "strings.md", "Strings", "string", NULL, NULL },
    { "bitmaps.md", "Bitmaps", "bitmap", NULL, "Bitmaps are strings." },
    { "hyperloglog.md", "HyperLogLog", "hyperloglog", NULL, "HyperLogLogs are strings." },
    { "lists.md", "Lists", "list", NULL, NULL },
    { "sets.md", "Sets", "set", NULL,
      "A member can have a deadline. One millisecond after its deadline the member is gone for "
      "every command, and counts never include it; the key is removed with its last member. SADD "
      "of an existing member keeps its deadline. Members of the results of ...STORE commands have "
      "no deadlines." },
    { "hashes.md", "Hashes", "hash", NULL,
      "A field can have a deadline. One millisecond after its deadline the field is gone for every "
      "command, and counts never include it; the key is removed with its last field. HSET of an "
      "existing field removes its deadline; HINCRBY, HINCRBYFLOAT and a failed HSETNX keep it." },
    { "sorted-sets.md", "Sorted sets", "sorted-set", NULL,
      "A member can have a deadline. One millisecond after its deadline the member is gone for "
      "every command, and counts and ranks never include it; the key is removed with its last "
      "member. ZADD and ZINCRBY of an existing member keep its deadline. Members of the results "
      "of ...STORE commands have no deadlines. BZTSPOP and BZTSMOVE interpret scores as Unix times "
      "in seconds, with fractions." },
    { "geo.md", "Places", "geo", NULL, "Places are sorted sets." },
    { "dehydrators.md", "Dehydrators", "dehydrator", NULL,
      "A dehydrator stores elements with an id, a payload and a deadline, and delivers them when "
      "they are due, in the order of their deadlines and then of arrival. An element with a ttl of "
      "0 or less is due at once. [Dehydrators](../dehydrators.md) explains them." },
    { "leases.md", "Leases", "lease", NULL,
      "A lease is a lock, or one of several permits, that ends after its ttl, unless it is "
      "extended or dropped. Each has a fencing token: an integer larger than any token granted "
      "before. "
      "[Leases](../leases.md) explains them." },
    { "streams.md", "Streams", "stream", NULL,
      "A stream holds entries in the order of their IDs. An entry has fields with values; its "
      "ID is a Unix time in milliseconds and a sequence number. A group remembers up to which "
      "entry it has read, and which entries its consumers have not acknowledged. A stream "
      "without entries keeps its key. The policy RETAIN removes entries after a time "
      "([Policies](../policies.md)).\n\n"
      "XREADGROUP with CLAIM first returns pending entries that were idle for long enough, in the "
      "order of their IDs, then new ones. Each entry then has two more numbers: the milliseconds "
      "since its last delivery (-1 if XNACK has released it), and how often it was delivered "
      "before; both are 0 for a new entry. An entry that XNACK has released can be claimed at "
      "once, or after its DELAY." },
    { "policies.md", "Policies", "generic", "POLICY",
      "Policies are rules of expiry and length for keys, by prefix or name. "
      "[Policies](../policies.md) explains the options." },
    { "expiry.md", "Looking ahead", "server", "EXPIRY",
      "These commands report what expires next, how much expires when, and how late expired data "
      "was removed." },
    { "pubsub.md", "Publish and subscribe", "pubsub", NULL,
      "In RESP2 a connection with subscriptions may only subscribe, unsubscribe, and call PING, "
      "QUIT and RESET." },
    { "transactions.md", "Transactions", "transactions", NULL, NULL },
    { "scripting.md", "Scripts and functions", "scripting", NULL, NULL },
    { "connection.md", "Connections", "connection", NULL, NULL },
    { "cluster.md", "Cluster", "cluster", NULL,
      "These commands are for clients that expect a cluster ([one daemon for clients of a "
      "cluster](../cluster.md)). Without `cluster-enabled emulated` they fail as on a Redis whose "
      "cluster support is off." },
    { "server.md", "Server", "server", NULL, NULL },
};

enum { PAGES = sizeof(pages) / sizeof(pages[0]) };

static const struct page *page_of(struct command_ref ref)
{
    const struct command *top = ref.parent != NULL ? ref.parent : ref.row;
    const struct page *found = NULL;
    for (size_t i = 0; i < PAGES; i++) {
        if (strcmp(pages[i].group, ref.group) != 0) continue;
        if (pages[i].name == NULL && found == NULL) found = &pages[i];
        if (pages[i].name != NULL && strcmp(pages[i].name, top->name) == 0) found = &pages[i];
    }
    ensure(found != NULL, "no page for the group '%s' of %s", ref.group, top->name);
    return found;
}

/* Prints a form as in RESP2, which lacks the types in the first column. */
static void print_form_in_resp2(FILE *to, const char *form, size_t len)
{
    static const struct {
        const char *resp3, *resp2;
    } words[] = { { "double", "bulk" },
                  { "verbatim", "bulk" },
                  { "map[", "[" },
                  { "set[", "[" },
                  { "push[", "[" } };
    enum { WORDS = sizeof(words) / sizeof(words[0]) };
    for (const char *at = form, *end = form + len; at < end;) {
        size_t i = 0;
        bool starts = at == form || !isalnum((unsigned char)at[-1]);
        while (i < WORDS && !(starts && strncmp(at, words[i].resp3, strlen(words[i].resp3)) == 0))
            i++;
        if (i < WORDS) {
            fputs(words[i].resp2, to);
            at += strlen(words[i].resp3);
        } else {
            fputc(*at++, to);
        }
    }
}

/* Prints a reply, "form: when" or "form". A form contains no colon. */
static void print_reply(FILE *to, const char *reply)
{
    int only = 0;
    if (strncmp(reply, "RESP2 ", 6) == 0 || strncmp(reply, "RESP3 ", 6) == 0) {
        only = reply[4] - '0';
        reply += 6;
    }
    size_t len = strcspn(reply, ":");
    fprintf(to, "    - `");
    if (only == 2)
        print_form_in_resp2(to, reply, len);
    else
        fprintf(to, "%.*s", (int)len, reply);
    fprintf(to, "`");
    if (only != 0) {
        fprintf(to, " in RESP%d", only);
    } else {
        char in_resp2[1024];
        FILE *text = fmemopen(in_resp2, sizeof(in_resp2), "w");
        print_form_in_resp2(text, reply, len);
        fclose(text);
        bool is_alike = strlen(in_resp2) == len && memcmp(in_resp2, reply, len) == 0;
        if (!is_alike) fprintf(to, ", in RESP2 `%s`", in_resp2);
    }
    const char *when = reply + len;
    bool has_condition = strncmp(when, ": with", strlen(": with")) == 0;
    fprintf(to, "%s%s\n", has_condition ? "," : "", has_condition ? when + 1 : when);
}

/* Prints the text of an error, with "..." in the place of its values. */
static void print_error(FILE *to, const char *format)
{
    fprintf(to, "    - ``");
    for (const char *at = format; *at != '\0';) {
        if (*at != '%') {
            fputc(*at++, to);
            continue;
        }
        fprintf(to, "...");
        at += strcspn(at, "sdf") + 1;
    }
    fprintf(to, "``\n");
}

static void print_item(FILE *to, const struct row *item)
{
    static const struct {
        unsigned flag;
        const char *text;
    } kinds[] = {
        { WRITE, "write" },
        { READONLY, "read-only" },
        { GROWS, "refused when memory is full" },
        { BLOCKING, "can block, except inside MULTI" },
        { ADMIN, "for administrators" },
        { NO_MULTI, "not allowed inside MULTI" },
        { NO_AUTH, "allowed before AUTH" },
        { LOADING, "allowed while data is loaded" },
    };
    const struct command *row = item->ref.row;
    fprintf(to, "\n## %s\n\n```\n%s%s%s\n```\n\n%s\n\n", item->name, item->name,
            row->syntax[0] != '\0' ? " " : "", row->syntax, row->summary);

    if (row->origin != NULL)
        fprintf(to, "- From %s; not in Redis.\n", row->origin);
    else if (row_is_own(row))
        fprintf(to, "- Specific to expired, since %s; not in Redis.\n", row->since);
    else if (row_is_in_redis_7_0(row))
        fprintf(to, "- In Redis since %s.\n", row->since);
    else
        fprintf(to, "- In Redis since %s, but not in Redis 7.0.\n", row->since);

    const char *between = "- Flags: ";
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (!(row->flags & kinds[i].flag)) continue;
        fprintf(to, "%s%s", between, kinds[i].text);
        between = "; ";
    }
    if (between[0] == ';') fprintf(to, ".\n");

    size_t len = strlen(row->complexity);
    fprintf(to, "- Complexity: %.*s.\n",
            (int)(len > 0 && row->complexity[len - 1] == '.' ? len - 1 : len), row->complexity);
    ensure(row->replies != NULL, "the row of %s has no replies", item->name);
    if (row->replies[0] != NULL) fprintf(to, "- Reply:\n");
    for (const char *const *reply = row->replies; *reply != NULL; reply++)
        print_reply(to, *reply);
    if (row->errors == NULL) return;
    fprintf(to, "- Errors:\n");
    for (const uint16_t *error = row->errors; *error != ERROR_COUNT; error++)
        if (strcmp(error_text(*error), "%s") != 0) print_error(to, error_text(*error));
}

static const char made[] = "<!-- Made from the command table by make reference. -->\n";

static void print_page(FILE *to, const struct page *page)
{
    fprintf(to, "%s# %s\n\n", made, page->title);
    if (page->intro != NULL) fprintf(to, "%s\n\n", page->intro);
    fprintf(to,
            "[How to read this page](README.md#how-to-read-a-page); [all commands](README.md).\n");
    for (size_t i = 0; i < row_count; i++) {
        if (page_of(rows[i].ref) != page) continue;
        print_item(to, &rows[i]);
        if (strcmp(rows[i].name, "POLICY SET") != 0) continue;
        fprintf(to, "\n**Options of POLICY SET:**\n\n"
                    "| option | applies to keys of type | what it does |\n|---|---|---|\n");
        for (unsigned option = 0; option < POLICY_OPTIONS; option++) {
            const struct policy_row *policy = &policy_rows[option];
            fprintf(to, "| `%s", policy->name);
            print_cell(to, policy_syntax[option]);
            fprintf(to, "` | %s | ", policy->types);
            print_cell(to, policy->help);
            fprintf(to, " |\n");
        }
    }
}

static void print_link(FILE *to, const struct row *item)
{
    fprintf(to, "[%s](%s#", item->name, page_of(item->ref)->file);
    /* The anchor of a heading, as GitHub derives it. */
    for (const char *at = item->name; *at != '\0'; at++)
        if (isalnum((unsigned char)*at) || *at == '-' || *at == '_' || *at == ' ')
            fputc(*at == ' ' ? '-' : tolower((unsigned char)*at), to);
    fprintf(to, ")");
}

static const char how_to_read[] =
    "\n"
    "## How to read a page\n"
    "\n"
    "**Syntax**: words in capitals are written as they are, in any case; `[]` is optional, `|` a\n"
    "choice, `<>` a choice that must be made, `...` more of the same.\n"
    "\n"
    "**Replies** name RESP3's types. The table also has the types of RESP2.\n"
    "\n"
    "| word | RESP3 | RESP2 |\n"
    "|---|---|---|\n"
    "| `OK` and other words in capitals | the simple string `+OK` | the same |\n"
    "| `simple` | any simple string | the same |\n"
    "| `bulk`, `'text'` | a bulk string `$3`; this one | the same |\n"
    "| `integer` | `:1` | the same |\n"
    "| `double` | `,1.5` | a bulk string |\n"
    "| `verbatim` | `=7`, its format is `txt` | a bulk string |\n"
    "| `null` | `_` | `$-1` |\n"
    "| `null-array` | `_` | `*-1` |\n"
    "| `[bulk integer]`, `[bulk ...]` | an array `*2` of these; of any number of them | the same "
    "|\n"
    "| `map[bulk integer ...]` | `%1` | an array of keys and values in turn |\n"
    "| `set[bulk ...]` | `~1` | an array |\n"
    "| `push[bulk ...]` | `>1`, which may come at any time | an array |\n"
    "| `a\\|b` | one of these | |\n"
    "| `any`, `none` | a reply of any type; no reply | |\n"
    "\n"
    "**Errors** are those of this command. `...` stands for a value. In addition, a command can "
    "fail in these cases:\n"
    "\n";

static const struct {
    enum error error;
    const char *when;
} common_errors[] = {
    { ERR_ARITY, "too few or too many arguments" },
    { ERR_UNKNOWN_COMMAND, "no such command" },
    { ERR_UNKNOWN_SUBCOMMAND, "no such subcommand" },
    { ERR_NOAUTH, "the default user needs a password and the connection has not sent AUTH" },
    { ERR_NOPERM_COMMAND, "the user may not run it: see [acl.md](../acl.md)" },
    { ERR_NOPERM_KEY, "the user may not use a key as the call does" },
    { ERR_NOPERM_CHANNEL, "the user may not use a channel of the call" },
    { ERR_LOADING, "data is being loaded" },
    { ERR_BUSY_SCRIPT, "a script or function has run for longer than `busy-reply-threshold`" },
    { ERR_OOM, "a command that can grow the data, and memory is full" },
    { ERR_MISCONF, "a command that writes, while writes can't be stored on disk" },
    { ERR_SUBSCRIBED, "in RESP2, after SUBSCRIBE" },
    { ERR_NO_MULTI, "a command that may not be queued" },
    { ERR_UNBLOCKED, "a blocked command, after CLIENT UNBLOCK" },
};

static void print_index(FILE *to, const struct page *page)
{
    (void)page;
    size_t redis = 0;
    for (size_t i = 0; i < row_count; i++)
        redis += row_is_in_redis_7_0(rows[i].ref.row);
    fprintf(to,
            "%s# Commands\n\n%zu commands, subcommands included: %zu of Redis 7.0, which answer as "
            "they do there ([differences](../differs.md)), and %zu others.\n",
            made, row_count, redis, row_count - redis);
    fprintf(to, "\n## By group\n");
    for (size_t i = 0; i < PAGES; i++) {
        fprintf(to, "\n**[%s](%s)**:", pages[i].title, pages[i].file);
        const char *between = "\n";
        for (size_t j = 0; j < row_count; j++) {
            if (page_of(rows[j].ref) != &pages[i]) continue;
            fprintf(to, "%s", between);
            print_link(to, &rows[j]);
            between = ",\n";
        }
        fprintf(to, "\n");
    }
    fputs(how_to_read, to);
    for (size_t i = 0; i < sizeof(common_errors) / sizeof(common_errors[0]); i++) {
        fprintf(to, "- %s:\n", common_errors[i].when);
        print_error(to, error_text(common_errors[i].error));
    }
    fprintf(
        to,
        "\n## By name\n\n| command | from | in Redis 7.0 | what it does |\n|---|---|---|---|\n");
    for (size_t i = 0; i < row_count; i++) {
        const struct command *row = rows[i].ref.row;
        fprintf(to, "| ");
        print_link(to, &rows[i]);
        fprintf(to, " | %s | %s | %s |\n", row_origin(row), row_is_in_redis_7_0(row) ? "yes" : "no",
                row->summary);
    }
}

/* ---- rows as lines of JSON ------------------------------------------------------------------- */

/* tools/clients/generate makes clients from these lines:
 *
 *     {"name": "REDE.CLAIM", "group": "dehydrator", "syntax": "key lease ...", "summary": "...",
 *      "redis_7_0": false, "readonly": false, "replies": ["form: when", ...],
 *      "arguments": [argument, ...]}
 *
 * "redis_7_0" tells whether Redis 7.0 has the command. An argument has a "type" as in COMMAND DOCS,
 * a "name" if it is a value, and, where they apply, "token", "optional", "multiple",
 * "repeats_token" and "arguments", its parts. */

enum { TEXT_MAX = 2048 };

static void print_text(FILE *to, struct bytes text)
{
    char json[TEXT_MAX * JSON_TEXT_GROWTH];
    ensure(text.len <= TEXT_MAX, "a text of %zu bytes in a row", text.len);
    size_t len = json_text_put(json, text);
    fprintf(to, "\"%.*s\"", (int)len, json);
}

static void print_member(FILE *to, const char *name, const char *text)
{
    fprintf(to, "\"%s\": ", name);
    print_text(to, bytes_of(text, strlen(text)));
    fprintf(to, ", ");
}

static void print_arguments(FILE *to, const struct syntax *syntax, int first)
{
    fprintf(to, "[");
    for (int i = first; i != SYNTAX_NONE; i = syntax->nodes[i].next) {
        if (i != first) fprintf(to, ", ");
        const struct syntax_node *node = &syntax->nodes[i];
        fprintf(to, "{\"type\": \"%s\"", syntax_type(node));
        if (node->kind == SYNTAX_VALUE) {
            fprintf(to, ", \"name\": ");
            print_text(to, node->name);
        }
        if (node->token.len > 0) {
            fprintf(to, ", \"token\": ");
            print_text(to, node->token);
        }
        if (node->optional) fprintf(to, ", \"optional\": true");
        if (node->multiple) fprintf(to, ", \"multiple\": true");
        if (node->repeats_token) fprintf(to, ", \"repeats_token\": true");
        if (node->child != SYNTAX_NONE) {
            fprintf(to, ", \"arguments\": ");
            print_arguments(to, syntax, node->child);
        }
        fprintf(to, "}");
    }
    fprintf(to, "]");
}

static void row_json_print(FILE *to, const struct row *row)
{
    const struct command *command = row->ref.row;
    struct syntax syntax;
    syntax_parse(&syntax, command->syntax);
    fprintf(to, "{");
    print_member(to, "name", row->name);
    print_member(to, "group", row->ref.group);
    print_member(to, "syntax", command->syntax);
    print_member(to, "summary", command->summary);
    fprintf(to, "\"redis_7_0\": %s, ", row_is_in_redis_7_0(command) ? "true" : "false");
    fprintf(to, "\"readonly\": %s, ", command->flags & READONLY ? "true" : "false");
    fprintf(to, "\"replies\": [");
    for (const char *const *reply = command->replies; *reply != NULL; reply++) {
        if (reply != command->replies) fprintf(to, ", ");
        print_text(to, bytes_of(*reply, strlen(*reply)));
    }
    fprintf(to, "], \"arguments\": ");
    print_arguments(to, &syntax, syntax.first);
    fprintf(to, "}\n");
}

/* ---- the files ------------------------------------------------------------------------------- */

static void write_file(const char *folder, const char *name,
                       void (*print)(FILE *to, const struct page *page), const struct page *page)
{
    char path[PATH_SIZE];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE *to = fopen(path, "w");
    if (to == NULL) {
        perror(path);
        exit(1);
    }
    print(to, page);
    if (ferror(to) | fclose(to)) {
        perror(path);
        exit(1);
    }
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: command_reference folder|--forms|--json\n");
        return 2;
    }
    rows_collect();
    if (strcmp(argv[1], "--forms") == 0) {
        /* A line for each form of a reply or text of an error: the command, a tab, "redis" if Redis
         * 7.0 has the command, a tab, and the form, or "-" and the text. */
        for (size_t i = 0; i < row_count; i++) {
            const struct command *row = rows[i].ref.row;
            const char *redis = row_is_in_redis_7_0(row) ? "redis" : "";
            for (const char *const *reply = row->replies; *reply != NULL; reply++)
                printf("%s\t%s\t%s\n", rows[i].name, redis, *reply);
            for (const uint16_t *error = row->errors; error != NULL && *error != ERROR_COUNT;
                 error++)
                printf("%s\t%s\t-%s\n", rows[i].name, redis, error_text(*error));
        }
        return fflush(stdout) == 0 ? 0 : 1;
    }
    if (strcmp(argv[1], "--json") == 0) {
        for (size_t i = 0; i < row_count; i++)
            row_json_print(stdout, &rows[i]);
        return fflush(stdout) == 0 ? 0 : 1;
    }
    for (size_t i = 0; i < PAGES; i++)
        write_file(argv[1], pages[i].file, print_page, &pages[i]);
    write_file(argv[1], "README.md", print_index, NULL);
    return 0;
}
