/* error: see error.h. An error reply is one line, formatted in a bounded buffer; resp_write
 * replaces control bytes that came from a client. */
#include "server/cmd/call/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "server/cmd/call/call.h"

enum { LINE_MAX_CHARS = 2048, NAME_MAX_CHARS = 128 };

static const char *const texts[ERROR_COUNT] = {
#define E(id, text) [id] = (text),
    ERROR_LIST(E)
#undef E
};

const char *error_text(enum error error)
{
    return texts[error];
}

static void reply_error(struct call *call, const char *line, size_t len)
{
    const char *space = memchr(line, ' ', len);
    size_t code = space != NULL ? (size_t)(space - line) : len;
    if (code >= sizeof(call->error_code)) code = 0;
    /* A script chooses the first word of its errors. This word is a name in INFO, so separators
     * become '_'. */
    for (size_t i = 0; i < code; i++) {
        bool plain = line[i] > ' ' && line[i] < 0x7f && strchr("#:=,", line[i]) == NULL;
        call->error_code[i] = plain ? line[i] : '_';
    }
    call->error_code[code] = '\0';
    call->failed = true;
    resp_error(call->out, line, len);
}

void error_reply(struct call *call, enum error error)
{
    const char *text = error_text(error);
    reply_error(call, text, strlen(text));
}

bool failf(struct call *call, enum error error, ...)
{
    char line[LINE_MAX_CHARS];
    va_list values;
    va_start(values, error);
    int len = vsnprintf(line, sizeof(line), error_text(error), values);
    va_end(values);
    if (len < 0) len = 0;
    reply_error(call, line, (size_t)len < sizeof(line) ? (size_t)len : sizeof(line) - 1);
    return false;
}

void fail_line(struct call *call, const char *line, size_t len, bool counted)
{
    reply_error(call, line, len);
    if (counted) call->error_code[0] = '\0';
}

void error_reply_named(struct call *call, enum error error)
{
    char name[NAME_MAX_CHARS];
    command_full_name(call->command, name, sizeof(name));
    failf(call, error, name);
}
