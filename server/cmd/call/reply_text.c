/* reply_text: see reply_text.h. Writes RESP. */
#include "server/cmd/call/reply_text.h"

#include <stdio.h>

#include "store/mem/mem.h"

#define HELP_INDENT "    "

void reply_help(struct call *call, const char *const *lines, size_t count)
{
    resp_array(call->out, count + 2);
    for (size_t i = 0; i < count; i++)
        resp_status(call->out, lines[i]);
    resp_status(call->out, "HELP");
    resp_status(call->out, HELP_INDENT "Prints this help.");
}

static void reply_line(struct call *call, const char *word, const char *gap, const char *rest)
{
    size_t size = strlen(word) + strlen(gap) + strlen(rest) + 1;
    char *line = mem_alloc(size);
    snprintf(line, size, "%s%s%s", word, gap, rest);
    resp_status(call->out, line);
    mem_free(line);
}

void cmd_help(struct call *call)
{
    const struct command *parent = call->command.parent, *row;
    size_t count = parent->run != NULL;
    for (row = parent->subcommands; row->name != NULL; row++)
        count++;

    resp_array(call->out, 1 + 2 * count);
    reply_line(call, parent->name, " ", "<subcommand> [<arg> [value] [opt] ...]. Subcommands are:");
    if (parent->run != NULL) {
        resp_status(call->out, "(no subcommand)");
        reply_line(call, "", HELP_INDENT, parent->summary);
    }
    for (row = parent->subcommands; row->name != NULL; row++) {
        reply_line(call, row->name, row->syntax[0] != '\0' ? " " : "", row->syntax);
        reply_line(call, "", HELP_INDENT, row->summary);
    }
}

void reply_text(struct call *call, struct outbuf *text)
{
    size_t len = text->len;
    char *whole = mem_alloc(len + 1);
    outbuf_copy(text, whole);
    outbuf_drop(text);
    resp_verbatim(call->out, "txt", whole, len);
    mem_free(whole);
}

static void release_blob(void *blob)
{
    blob_free(blob);
}

void reply_big_bytes(struct call *call, struct bytes text)
{
    struct blob *blob = blob_share(text);
    if (blob != NULL)
        resp_bulk_shared(call->out, text.data, text.len, release_blob, blob);
    else
        resp_bulk(call->out, text.data, text.len);
}
