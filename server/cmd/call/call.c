/* call: see call.h. Error replies are formatted in a buffer on the stack, and cut at
 * LINE_MAX_CHARS. They may quote control bytes that a client sent; resp_error replaces those, so an
 * error stays one line. */
#include "server/cmd/call/call.h"

#include <stdarg.h>
#include <stdio.h>

#include "server/cmd/call/error.h"
#include "server/cmd/call/session.h"
#include "store/mem/mem.h"

enum {
    LARGE = 1 << 20, /* bytes that need a check: the memory reserve covers smaller needs */
    LINE_MAX_CHARS = 2048,
    NAME_MAX_CHARS = 128,
};

bool call_any_key(const struct call *call,
                  bool (*test)(void *ctx, const struct call *call, struct bytes key), void *ctx)
{
    int *positions = mem_alloc((size_t)call->argc * sizeof(*positions));
    int count = command_keys(call->command.row, call->argc, call->argv, positions);
    bool found = false;
    for (int i = 0; i < count && !found; i++)
        found = test(ctx, call, call->argv[positions[i]]);
    mem_free(positions);
    return found;
}

bool call_has_room(size_t bytes)
{
    return bytes < LARGE || mem_has_room(2 * bytes);
}

/* A key that is named twice counts twice, as ZUNION reads it twice. */
static bool add_value_bytes(void *ctx, const struct call *call, struct bytes key)
{
    size_t *sum = ctx;
    const struct entry *entry = keyspace_find(call->txn->ks, key);
    if (entry != NULL) *sum += object_bytes(&entry->object);
    return false;
}

/* Must the call be refused because it may need more memory than is left? This is decided before the
 * call begins: a command can't fail halfway, and no key is evicted while it runs. */
static bool lacks_room(const struct call *call)
{
    unsigned flags = call->command.row->flags;
    size_t bytes = 0, values = 0;
    if (!(flags & (GROWS | COPIES))) return false;
    for (int i = 1; (flags & GROWS) && i < call->argc; i++)
        bytes += call->argv[i].len;
    if (!call_has_room(bytes)) return true;
    if (!(flags & COPIES)) return false;
    call_any_key(call, add_value_bytes, &values);
    return !call_has_room(values);
}

void reply_no_answer(struct resp_writer *out, enum no_answer answer)
{
    switch (answer) {
    case ANSWER_NULL: resp_null_array(out); break;
    case ANSWER_EMPTY: resp_array(out, 0); break;
    case ANSWER_MISSING:
        resp_array(out, 2);
        resp_null(out);
        resp_bulk_text(out, "missing");
        break;
    }
}

void call_run(struct call *call)
{
    struct txn *txn = call->txn;
    const struct session *session = call->session;
    txn->caller = call->session;
    txn->no_touch = session != NULL && session->no_touch;
    if (session != NULL)
        txn->by = (uint32_t)session->author << 16 | call->command.stats->id | call->by_script;
    unsigned flags = call->command.row->flags;
    txn->may_write |= (flags & WRITE) != 0;
    if (flags & NAMES_MEMBERS) txn_names_members(txn, call->argv + 1, (size_t)call->argc - 1);
    if (lacks_room(call))
        fail(call, ERR_OOM);
    else
        call->command.row->run(call);
    if (call->failed) txn_call_failed(txn);
}

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
    /* This word becomes part of a name in INFO (errorstat_ERR). A script chooses the first word of
     * its errors, so '_' replaces separators and everything that is not printable ASCII. */
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
