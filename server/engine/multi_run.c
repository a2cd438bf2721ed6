/* multi_run: runs the queue of multi.h at EXEC. */
#include "server/cmd/call/call.h"
#include "server/engine/engine.h"
#include "server/engine/multi.h"
#include "server/engine/rights.h"

struct running_queue {
    struct engine *engine;
    struct txn *txn;
};

static void run_queued(void *ctx, const struct call *queued)
{
    const struct running_queue *running = ctx;
    struct engine *engine = running->engine;
    struct call call = *queued;
    call.txn = running->txn;
    /* Permissions may have changed since the call was queued. */
    enum acl_verdict verdict = rights_check(engine, &call, ACL_IN_MULTI);
    if (verdict == ACL_ALLOWED) {
        engine_call(engine, &call);
        return;
    }
    engine->stats->errors++;
    failf(&call, ERR_NOPERM_IN_EXEC,
          verdict == ACL_NO_KEY       ? "no permission to touch the specified keys"
          : verdict == ACL_NO_CHANNEL ? "no permission to access one of the channels used as "
                                        "arguments"
                                      : "no permission to execute the command or subcommand");
    if (engine->observer != NULL) observe_error(engine->observer, &call);
}

/* DIFFERS: if a session publishes to itself, Redis 7.0 puts the message into the middle of EXEC's
 * array, which protocol parsers need not accept. Here it follows the array, as in Redis 7.2.
 * (doc/differs.md) */
void multi_run(struct engine *engine, struct call *exec)
{
    struct session *session = exec->session;
    struct running_queue running = { engine, exec->txn };
    struct outbuf pushes;
    outbuf_init(&pushes);
    session->pushes = &pushes;
    resp_array(exec->out, (size_t)multi_count(session));
    multi_each(session, run_queued, &running);
    session->pushes = NULL;
    multi_drop(session);
    outbuf_splice(session->out.out, &pushes);
}
