/* row_json: see row_json.h. */
#include "tools/reference/row_json.h"

#include "server/admin/command/syntax.h"
#include "store/base/ensure.h"
#include "store/base/json_text.h"

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

static void print_arguments(FILE *to, const struct syntax *syntax, int first);

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

void row_json_print(FILE *to, const struct row *row)
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
