/* gates: see gates.h. */
#include "server/engine/gates.h"
#include "server/engine/multi.h"

#include "server/cmd/call/slot.h"
#include "server/engine/memory_limit.h"
#include "server/engine/rights.h"

enum {
    ECHO_MAX = 128,           /* most bytes of the client's input in an error line */
    ECHO_SIZE = ECHO_MAX + 4, /* the last argument is cut but keeps its quotes */
    NAME_SIZE = 128,
    TEXT_SIZE = 512,
};

/* The error's %s becomes `detail` or, if that is NULL, the command's name. A refused EXEC replies
 * with EXECABORT and the error inside it, or with the error alone if `is_plain`. Returns true, so
 * that a gate can return the result. */
static bool refuse_with(struct engine *engine, struct call *call, enum error error,
                        const char *detail, bool is_plain)
{
    static const char plain_code[] = "ERR ";
    char name[NAME_SIZE], line[TEXT_SIZE];
    if (detail == NULL) {
        command_full_name(call->command, name, sizeof(name));
        detail = name;
    }
    if (call->command.row == NULL || !(call->command.row->flags & RUNS_QUEUE)) {
        multi_break(call->session);
        failf(call, error, detail);
        return true;
    }

    multi_drop(call->session);
    watch_forget(engine->watch, call->session);
    if (is_plain) {
        failf(call, error, detail);
        return true;
    }
    snprintf(line, sizeof(line), error_text(error), detail);
    size_t skip = strncmp(line, plain_code, strlen(plain_code)) == 0 ? strlen(plain_code) : 0;
    failf(call, ERR_EXEC_REFUSED, line + skip);
    return true;
}

static bool refuse(struct engine *engine, struct call *call, enum error error)
{
    return refuse_with(engine, call, error, NULL, false);
}

static bool refuse_plainly(struct engine *engine, struct call *call, enum error error,
                           const char *detail)
{
    return refuse_with(engine, call, error, detail, true);
}

/* Returns a precision for "%.*s", which ends at a NUL as well, as in Redis. */
static int at_most(struct bytes text, size_t max)
{
    return (int)(text.len < max ? text.len : max);
}

static bool refuse_unknown(struct engine *engine, struct call *call)
{
    const struct command *parent = call->command.parent;
    struct bytes word = call->argv[parent != NULL ? 1 : 0];
    char text[TEXT_SIZE], name[ECHO_MAX + 1], args[ECHO_SIZE + 1] = "";
    size_t len = 0;

    snprintf(name, sizeof(name), "%.*s", at_most(word, ECHO_MAX), word.data);
    if (parent != NULL) {
        snprintf(text, sizeof(text), error_text(ERR_UNKNOWN_SUBCOMMAND), name, parent->name);
    } else {
        for (int i = 1; i < call->argc && len < ECHO_MAX; i++)
            len += (size_t)snprintf(args + len, sizeof(args) - len, "'%.*s' ",
                                    at_most(call->argv[i], ECHO_MAX - len), call->argv[i].data);
        snprintf(text, sizeof(text), error_text(ERR_UNKNOWN_COMMAND), name, args);
    }
    return refuse_with(engine, call, ERR_WORDED, text, false);
}

struct one_slot {
    int slot;
    bool holds; /* all keys so far are in `slot` */
};

static void check_slot(void *ctx, const struct call *call)
{
    struct one_slot *one = ctx;
    one->holds = one->holds && slot_is_one(call, &one->slot);
}

static enum error busy_error(const struct engine *engine)
{
    return engine->busy == BUSY_FUNCTION ? ERR_BUSY_FUNCTION : ERR_BUSY_SCRIPT;
}

bool gates_refuse(struct engine *engine, struct call *call)
{
    const struct command *row = call->command.row;
    const struct session *session = call->session;

    /* The command itself: does it exist, and may this client call it here? */
    if (row == NULL) return refuse_unknown(engine, call);
    if (!command_fits_arity(row, call->argc)) return refuse(engine, call, ERR_ARITY);
    if (!(row->flags & NO_AUTH) && engine_needs_auth(engine, session))
        return refuse(engine, call, ERR_NOAUTH);
    if (session->multi != NULL && (row->flags & NO_MULTI))
        return refuse(engine, call, ERR_NO_MULTI);
    if (rights_are_limited(session)) {
        enum acl_where where = session->multi != NULL ? ACL_IN_MULTI : ACL_TOPLEVEL;
        enum acl_verdict verdict = rights_check(engine, call, where);
        if (verdict != ACL_ALLOWED) return refuse(engine, call, rights_error(verdict));
    }

    /* Is the data here? In a strict cluster all keys of a call must be in one slot. A replica
     * refers clients that asked for redirection to its master: for writes, and for reads unless the
     * client has sent READONLY. */
    unsigned flags = multi_flags(call); /* for EXEC, includes those of its queue */
    if (engine->conf->cluster == CONF_CLUSTER_STRICT) {
        struct one_slot one = { SLOT_NONE, true };
        if (row->flags & RUNS_QUEUE)
            multi_each(call->session, check_slot, &one);
        else
            check_slot(&one, call);
        if (!one.holds)
            return refuse_plainly(engine, call, row->prefix > 0 ? ERR_PREFIX_SLOT : ERR_CROSSSLOT,
                                  NULL);
    }
    if (session->redirects && engine->role.replica &&
        ((flags & WRITE) || ((flags & READONLY) && !session->reads_replica))) {
        char address[TEXT_SIZE];
        snprintf(address, sizeof(address), "%s", engine->conf->replicaof); /* "host port" */
        char *space = strchr(address, ' ');
        if (space != NULL) *space = ':';
        return refuse_plainly(engine, call, ERR_REDIRECT, address);
    }

    /* Can a write be kept by memory, disk and replicas? While nothing can be persisted, PING is
     * refused too, so that monitoring notices. */
    if (memory_limit_refuses(engine, call, flags)) return refuse(engine, call, ERR_OOM);
    if (flags & (WRITE | REFUSED_WITH_WRITES)) {
        const char *fault = gates_persist_fault(engine);
        if (fault != NULL) return refuse_plainly(engine, call, ERR_MISCONF, fault);
    }
    if (flags & WRITE) {
        if (gates_is_read_only(engine)) return refuse(engine, call, ERR_READONLY);
        if (gates_lacks_replicas(engine)) return refuse(engine, call, ERR_NOREPLICAS);
    }

    /* The states of the client and of the server. */
    if (session->subscriber != NULL && !(row->flags & WHILE_SUBSCRIBED) &&
        !resp_has_push(&session->out) && session_subscriptions(session) > 0)
        return refuse(engine, call, ERR_SUBSCRIBED);
    if (session->monitoring && (call_flags(call) & (WRITE | READONLY | MAY_REPLICATE)))
        return refuse(engine, call, ERR_MONITOR_KEYS);
    if (gates_is_stale(engine) && !(flags & STALE)) return refuse(engine, call, ERR_MASTERDOWN);
    if (engine->loading && !(row->flags & LOADING)) return refuse(engine, call, ERR_LOADING);
    if (engine->busy && !(row->flags & ALLOW_BUSY)) return refuse(engine, call, busy_error(engine));
    return false;
}

const char *gates_persist_fault(const struct engine *engine)
{
    return engine->persist != NULL ? persist_refusal(engine->persist) : NULL;
}

bool gates_is_read_only(const struct engine *engine)
{
    return engine->role.replica && engine->conf->replica_read_only;
}

bool gates_lacks_replicas(const struct engine *engine)
{
    return !engine->role.replica && engine->role.few_replicas;
}

bool gates_is_stale(const struct engine *engine)
{
    return engine->role.stale && !engine->conf->replica_serve_stale_data;
}

void gates_fail_busy(const struct engine *engine, struct call *call)
{
    fail(call, busy_error(engine));
}
