/* host: see host.h. */
#include "server/script/host.h"

#include "server/cmd/call/error.h"
#include "server/engine/gates.h"
#include "server/engine/rights.h"
#include "store/base/ensure.h"

/* May a script begin that has not declared that it will not write? */
static bool may_write(const struct host *host, struct call *caller, bool read_only)
{
    const char *why = gates_persist_fault(host->engine);
    if (why != NULL)
        failf(caller, ERR_MISCONF, why);
    else if (gates_is_read_only(host->engine))
        fail(caller, ERR_READONLY);
    else if (gates_lacks_replicas(host->engine))
        fail(caller, ERR_NOREPLICAS);
    else if (read_only)
        fail(caller, ERR_SCRIPT_RO_COMMAND);
    else
        return true;
    return false;
}

bool host_begin(struct host *host, struct call *caller, unsigned flags, bool read_only)
{
    ensure(host->caller == NULL, "a script would run inside a script");
    bool plain = flags & SCRIPT_PLAIN; /* checked at each of its commands instead */
    if (!plain && !(flags & (SCRIPT_ALLOW_OOM | SCRIPT_NO_WRITES)) &&
        host->engine->script_lacks_memory)
        return fail(caller, ERR_OOM);
    if (!plain && !(flags & SCRIPT_NO_WRITES) && !may_write(host, caller, read_only)) return false;
    if (gates_is_stale(host->engine) && (plain || !(flags & SCRIPT_ALLOW_STALE)))
        return fail(caller, ERR_MASTERDOWN);
    if (read_only) flags |= SCRIPT_NO_WRITES;
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

static bool lacks_rights(struct host *host, struct call *call)
{
    switch (rights_check(host->engine, call, ACL_IN_SCRIPT)) {
    case ACL_ALLOWED: return false;
    case ACL_NO_KEY: fail(call, ERR_SCRIPT_NOPERM_KEY); return true;
    case ACL_NO_CHANNEL: fail(call, ERR_SCRIPT_NOPERM_CHANNEL); return true;
    default: fail(call, ERR_SCRIPT_NOPERM_COMMAND); return true;
    }
}

/* Refuses a command that the state of the server or its memory forbids. */
static bool is_untimely(const struct host *host, struct call *call)
{
    const struct engine *engine = host->engine;
    unsigned flags = call->command.row->flags;
    if ((flags & WRITE) && gates_is_read_only(engine))
        fail(call, ERR_READONLY);
    else if ((flags & WRITE) && gates_lacks_replicas(engine))
        fail(call, ERR_NOREPLICAS);
    else if ((flags & WRITE) && gates_persist_fault(engine) != NULL)
        failf(call, ERR_MISCONF, gates_persist_fault(engine));
    else if (!(flags & STALE) && gates_is_stale(engine))
        fail(call, ERR_SCRIPT_STALE);
    else if ((flags & GROWS) && !host->called_write && !(host->flags & SCRIPT_ALLOW_OOM) &&
             engine->script_lacks_memory)
        fail(call, ERR_OOM);
    return call->failed;
}

static bool is_refused(struct host *host, struct call *call)
{
    const struct command *row = call->command.row;
    if (row == NULL && call->command.parent != NULL && call->argc < 2)
        fail(call, ERR_SCRIPT_ARITY);
    else if (row == NULL)
        fail(call, ERR_SCRIPT_UNKNOWN);
    else if (!command_fits_arity(row, call->argc))
        fail(call, ERR_SCRIPT_ARITY);
    else if (row->flags & NOSCRIPT)
        fail(call, ERR_NOT_FROM_SCRIPT);
    else if (lacks_rights(host, call))
        return true;
    else if ((row->flags & (WRITE | MAY_REPLICATE)) && (host->flags & SCRIPT_NO_WRITES))
        fail(call, ERR_SCRIPT_NO_WRITES);
    else
        return is_untimely(host, call);
    return call->failed;
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
                         .from_script = true };
    call.context = call.command.context;
    if (is_refused(host, &call)) {
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
