/* host: see host.h. */
#include "server/script/host.h"

#include "server/cmd/call/error.h"
#include "server/engine/gates.h"
#include "server/engine/rights.h"
#include "store/base/ensure.h"
#include "store/trail/trail.h"

bool host_begin(struct host *host, struct call *caller, unsigned flags)
{
    const struct engine *engine = host->engine;
    bool read_only = caller->command.row->flags & READONLY;
    ensure(host->caller == NULL, "a script would run inside a script");
    bool plain = flags & SCRIPT_PLAIN; /* checked at each of its commands instead */
    if (!plain && !(flags & (SCRIPT_ALLOW_OOM | SCRIPT_NO_WRITES)) && engine->script_lacks_memory)
        return fail(caller, ERR_OOM);
    if (!plain && !(flags & SCRIPT_NO_WRITES)) {
        const char *why = gates_persist_fault(engine);
        if (why != NULL) return failf(caller, ERR_MISCONF, why);
        if (gates_is_read_only(engine)) return fail(caller, ERR_READONLY);
        if (gates_lacks_replicas(engine)) return fail(caller, ERR_NOREPLICAS);
        if (read_only) return fail(caller, ERR_SCRIPT_RO_COMMAND);
    }
    if (gates_is_stale(engine) && (plain || !(flags & SCRIPT_ALLOW_STALE)))
        return fail(caller, ERR_MASTERDOWN);
    if (read_only) flags |= SCRIPT_NO_WRITES;
    /* What a script reads may decide that it writes nothing. */
    if (!(flags & SCRIPT_NO_WRITES)) caller->txn->may_write = true;
    host->caller = caller;
    host->flags = flags;
    host->called_write = host->wrote = false;
    return true;
}

void host_end(struct host *host)
{
    host->caller = NULL;
}

int64_t host_usec(const struct host *host)
{
    const struct observer *observer = host->engine->observer;
    return observer != NULL ? observer->last_usec : 0;
}

/* May the script run this command now, by Redis' checks for commands of scripts? Returns false
 * after sending an error. */
static bool is_allowed(const struct host *host, struct call *call)
{
    const struct engine *engine = host->engine;
    const struct command *row = call->command.row;
    if (row == NULL && call->command.parent != NULL && call->argc < 2)
        return fail(call, ERR_SCRIPT_ARITY);
    if (row == NULL) return fail(call, ERR_SCRIPT_UNKNOWN);
    if (!command_fits_arity(row, call->argc)) return fail(call, ERR_SCRIPT_ARITY);
    if (row->flags & NOSCRIPT) return fail(call, ERR_NOT_FROM_SCRIPT);

    switch (rights_check(host->engine, call, ACL_IN_SCRIPT)) {
    case ACL_ALLOWED: break;
    case ACL_NO_KEY: return fail(call, ERR_SCRIPT_NOPERM_KEY);
    case ACL_NO_CHANNEL: return fail(call, ERR_SCRIPT_NOPERM_CHANNEL);
    default: return fail(call, ERR_SCRIPT_NOPERM_COMMAND);
    }
    if ((row->flags & (WRITE | MAY_REPLICATE)) && (host->flags & SCRIPT_NO_WRITES))
        return fail(call, ERR_SCRIPT_NO_WRITES);

    /* The state of the server, and its memory. */
    if (row->flags & WRITE) {
        if (gates_is_read_only(engine)) return fail(call, ERR_READONLY);
        if (gates_lacks_replicas(engine)) return fail(call, ERR_NOREPLICAS);
        const char *why = gates_persist_fault(engine);
        if (why != NULL) return failf(call, ERR_MISCONF, why);
    }
    if (!(row->flags & STALE) && gates_is_stale(engine)) return fail(call, ERR_SCRIPT_STALE);
    if ((row->flags & GROWS) && !host->called_write && !(host->flags & SCRIPT_ALLOW_OOM) &&
        engine->script_lacks_memory)
        return fail(call, ERR_OOM);
    return true;
}

bool host_may_call(const struct host *host, struct command_ref command, int argc,
                   const struct bytes *argv)
{
    const struct acl_user *user = host->caller != NULL ? host->caller->session->user : NULL;
    int at;
    return user == NULL || user->unrestricted ||
           acl_user_check(user, command, argc, argv, &at) == ACL_ALLOWED;
}

bool host_call(struct host *host, int argc, const struct bytes *argv, struct resp_writer *out)
{
    struct engine *engine = host->engine;
    struct session *session = host->caller->session;
    struct call call = { .command = commands_match(engine->commands, argc, argv),
                         .argc = argc,
                         .argv = argv,
                         .txn = host->caller->txn,
                         .out = out,
                         .session = session,
                         .from_script = true,
                         .by_script = TRAIL_SCRIPT };
    call.context = call.command.context;
    if (!is_allowed(host, &call)) {
        engine->stats->errors++;
        if (engine->observer != NULL) observe_rejected(engine->observer, &call);
        return false;
    }
    bool writes = call.command.row->flags & WRITE;
    uint64_t changes = call.txn->changes;
    host->called_write |= writes;
    engine_call(engine, &call);
    host->wrote |= writes && call.txn->changes != changes;
    return !call.failed;
}
