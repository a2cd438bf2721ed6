/* call: see call.h. */
#include "server/cmd/call/call.h"

#include "server/cmd/call/error.h"
#include "server/cmd/call/session.h"
#include "store/mem/mem.h"

enum { LARGE = 1 << 20 }; /* bytes; the memory reserve covers smaller needs */

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

/* Adds the values at all keys. A key that is named twice counts twice, as ZUNION reads it twice. */
static bool add_value_bytes(void *ctx, const struct call *call, struct bytes key)
{
    size_t *sum = ctx;
    const struct entry *entry = keyspace_find(call->txn->ks, key);
    if (entry != NULL) *sum += object_bytes(&entry->object);
    return false;
}

/* No key is evicted during a command, and a command can't fail halfway. A command that may need
 * more memory than the system has is therefore refused before it begins. */
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
    if (call->command.row->flags & NAMES_MEMBERS)
        txn_names_members(txn, call->argv + 1, (size_t)call->argc - 1);
    if (lacks_room(call))
        fail(call, ERR_OOM);
    else
        call->command.row->run(call);
    if (call->failed) txn_call_failed(txn);
}
