/* cluster_keys: see cluster_keys.h. Visits all keys of the database, in the background if there are
 * many. Why not an index by slot? It would cost every server memory and time, and only
 * COUNTKEYSINSLOT and GETKEYSINSLOT would use it. */
#include "server/admin/cluster_keys.h"

#include "server/admin/admin.h"
#include "server/cmd/call/args.h"
#include "server/cmd/call/slot.h"
#include "store/mem/mem.h"

enum { STEPS_AT_ONCE = 2000, STEPS_AT_A_TIME = 64 };

/* The keys of one slot. */
struct question {
    const struct store *store;
    unsigned db;
    int slot;
    msec now;
    uint64_t cursor;
    size_t found, most;
    bool names;         /* reply with the keys, not with their number */
    struct outbuf text; /* the keys found so far, as bulk strings */
    struct resp_writer out;
};

static struct question *question_new(const struct call *call, int slot, size_t most)
{
    struct question *question = mem_zalloc(sizeof(*question));
    question->store = call->txn->store;
    question->db = call->txn->ks->db;
    question->slot = slot;
    question->most = most;
    outbuf_init(&question->text);
    question->out = resp_writer_to(call->out, &question->text);
    return question;
}

static void question_free(void *ctx)
{
    struct question *question = ctx;
    outbuf_drop(&question->text);
    mem_free(question);
}

static void visit_key(void *ctx, struct entry *entry)
{
    struct question *question = ctx;
    struct bytes key = entry_key(entry);
    if (question->found == question->most || slot_of(key) != question->slot) return;
    if (entry_expired(store_database(question->store, question->db), entry, question->now)) return;
    question->found++;
    if (question->names) resp_bulk(&question->out, key.data, key.len);
}

/* Visits keys in about `steps` steps. Returns true when all have been visited. */
static bool visit_some(struct question *question, msec now, size_t steps)
{
    const struct keyspace *ks = store_database(question->store, question->db);
    question->now = now;
    for (; steps > 0; steps--) {
        if (question->found == question->most) return true;
        question->cursor = keyspace_scan(ks, question->cursor, visit_key, question);
        if (question->cursor == 0) return true;
    }
    return false;
}

static bool work(void *ctx, msec now)
{
    return visit_some(ctx, now, STEPS_AT_A_TIME);
}

static void answer(void *ctx, msec now, struct resp_writer *out)
{
    struct question *question = ctx;
    (void)now;
    if (!question->names) {
        resp_integer(out, (int64_t)question->found);
        return;
    }
    resp_array(out, question->found);
    resp_splice(out, &question->text);
}

static const struct long_query_kind kind = { work, answer, question_free };

static void ask(struct call *call, struct question *question)
{
    const struct cluster_context *context = call->context;
    bool waits = call->block != NULL && context->queries != NULL;
    if (visit_some(question, call->txn->now, waits ? STEPS_AT_ONCE : SIZE_MAX)) {
        answer(question, call->txn->now, call->out);
        question_free(question);
        return;
    }
    long_queries_ask(context->queries, call->session, &kind, question);
}

void cluster_reply_keyslot(struct call *call)
{
    resp_integer(call->out, slot_of(call->argv[2]));
}

void cluster_reply_count(struct call *call)
{
    int64_t slot;
    if (!arg_int64(call, 2, &slot)) return;
    if (fail_if(call, slot < 0 || slot >= SLOTS, ERR_SLOT)) return;
    ask(call, question_new(call, (int)slot, SIZE_MAX));
}

void cluster_reply_keys(struct call *call)
{
    int64_t slot, most;
    if (!arg_int64(call, 2, &slot) || !arg_int64(call, 3, &most)) return;
    if (fail_if(call, slot < 0 || slot >= SLOTS || most < 0, ERR_SLOT_OR_COUNT)) return;
    struct question *question = question_new(call, (int)slot, (size_t)most);
    question->names = true;
    ask(call, question);
}
