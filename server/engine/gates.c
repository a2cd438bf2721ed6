/* gates: see gates.h. */
#include "server/engine/gates.h"

#include <stdio.h>
#include <string.h>

#include "server/cmd/call/call.h"
#include "server/cmd/call/slot.h"
#include "server/engine/memory_limit.h"
#include "server/engine/rights.h"

enum {
    ECHO_MAX = 128,           /* most bytes of the client's input in an error line */
    ECHO_SIZE = ECHO_MAX + 4, /* the last argument is cut but keeps its quotes */
    NAME_SIZE = 128,
    TEXT_SIZE = 512,
};

/* Why a gate refuses. */
struct refusal {
    enum error error;
    enum { ABORTS, PLAIN } in_exec;
    const char *detail; /* for the error's %s; NULL: the command's name */
    char text[TEXT_SIZE];
};

/* ---- names of commands ----------------------------------------------------------------------- */

/* A precision for "%.*s", which ends at a NUL as well, as in Redis. */
static int at_most(struct bytes text, size_t max)
{
    return (int)(text.len < max ? text.len : max);
}

static void write_unknown(const struct call *call, struct refusal *why)
{
    char name[ECHO_MAX + 1], args[ECHO_SIZE + 1];
    size_t len = 0;
    snprintf(name, sizeof(name), "%.*s", at_most(call->argv[0], ECHO_MAX), call->argv[0].data);
    args[0] = '\0';
    for (int i = 1; i < call->argc && len < ECHO_MAX; i++)
        len += (size_t)snprintf(args + len, sizeof(args) - len, "'%.*s' ",
                                at_most(call->argv[i], ECHO_MAX - len), call->argv[i].data);
    snprintf(why->text, sizeof(why->text), error_text(ERR_UNKNOWN_COMMAND), name, args);
}

/* ---- the gates ------------------------------------------------------------------------------- */

/* Each returns true to refuse the call. The error is the one in its row of GATES, unless the
 * function sets another. A function writes to *why only if it refuses. */

static bool is_unknown(struct engine *engine, struct call *call, struct refusal *why)
{
    (void)engine;
    if (call->command.row != NULL) return false;
    if (call->command.parent != NULL) {
        char name[ECHO_MAX + 1];
        snprintf(name, sizeof(name), "%.*s", at_most(call->argv[1], ECHO_MAX), call->argv[1].data);
        snprintf(why->text, sizeof(why->text), error_text(ERR_UNKNOWN_SUBCOMMAND), name,
                 call->command.parent->name);
    } else {
        write_unknown(call, why);
    }
    why->detail = why->text;
    return true;
}

static bool has_wrong_arity(struct engine *engine, struct call *call, struct refusal *why)
{
    (void)engine;
    (void)why;
    return !command_fits_arity(call->command.row, call->argc);
}

static bool needs_login(struct engine *engine, struct call *call, struct refusal *why)
{
    (void)why;
    return !(call->command.row->flags & NO_AUTH) && engine_needs_auth(engine, call->session);
}

static bool cannot_be_queued(struct engine *engine, struct call *call, struct refusal *why)
{
    (void)engine;
    (void)why;
    return call->session->multi != NULL && (call->command.row->flags & NO_MULTI);
}

static bool lacks_rights(struct engine *engine, struct call *call, struct refusal *why)
{
    if (!rights_are_limited(call->session)) return false;
    enum acl_where where = call->session->multi != NULL ? ACL_IN_MULTI : ACL_TOPLEVEL;
    enum acl_verdict verdict = rights_check(engine, call, where);
    if (verdict == ACL_ALLOWED) return false;
    why->error = rights_error(verdict);
    return true;
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

/* With `cluster-enabled emulated-strict`, refuse keys of several slots like a node of Redis
 * Cluster. */
static bool crosses_slots(struct engine *engine, struct call *call, struct refusal *why)
{
    (void)why;
    struct one_slot one = { SLOT_NONE, true };
    if (engine->conf->cluster != CONF_CLUSTER_STRICT) return false;
    if (call->command.row->flags & RUNS_QUEUE)
        multi_each(call->session, check_slot, &one);
    else
        check_slot(&one, call);
    return !one.holds;
}

/* A replica refers clients that asked for it to its master, for writes and, unless they sent
 * READONLY, for reads. */
static bool refers_to_master(struct engine *engine, struct call *call, struct refusal *why)
{
    if (!call->session->redirects || !engine->role.replica) return false;
    unsigned flags = multi_flags(call);
    if (!(flags & WRITE) && (call->session->reads_replica || !(flags & READONLY))) return false;
    snprintf(why->text, sizeof(why->text), "%s", engine->conf->replicaof); /* "host port" */
    char *space = strchr(why->text, ' ');
    if (space != NULL) *space = ':';
    why->detail = why->text;
    return true;
}

static bool lacks_memory(struct engine *engine, struct call *call, struct refusal *why)
{
    (void)why;
    return memory_limit_refuses(engine, call);
}

/* Refuses PING as well, so that monitoring notices. */
static bool cannot_persist(struct engine *engine, struct call *call, struct refusal *why)
{
    if (!(multi_flags(call) & (WRITE | REFUSED_WITH_WRITES))) return false;
    const char *fault = gates_persist_fault(engine);
    if (fault != NULL) why->detail = fault;
    return fault != NULL;
}

static bool writes_to_replica(struct engine *engine, struct call *call, struct refusal *why)
{
    (void)why;
    return gates_is_read_only(engine) && (multi_flags(call) & WRITE);
}

static bool writes_without_replicas(struct engine *engine, struct call *call, struct refusal *why)
{
    (void)why;
    return gates_lacks_replicas(engine) && (multi_flags(call) & WRITE);
}

static bool is_subscribed(struct engine *engine, struct call *call, struct refusal *why)
{
    (void)engine;
    (void)why;
    const struct session *session = call->session;
    return session->subscriber != NULL && !(call->command.row->flags & WHILE_SUBSCRIBED) &&
           !resp_has_push(&session->out) && session_subscriptions(session) > 0;
}

static bool is_monitor(struct engine *engine, struct call *call, struct refusal *why)
{
    (void)engine;
    (void)why;
    return call->session->monitoring && (call_flags(call) & (WRITE | READONLY | MAY_REPLICATE));
}

static bool reads_stale_data(struct engine *engine, struct call *call, struct refusal *why)
{
    (void)why;
    return gates_is_stale(engine) && !(multi_flags(call) & STALE);
}

static bool is_loading(struct engine *engine, struct call *call, struct refusal *why)
{
    (void)why;
    return engine->loading && !(call->command.row->flags & LOADING);
}

static enum error busy_error(const struct engine *engine)
{
    return engine->busy == BUSY_FUNCTION ? ERR_BUSY_FUNCTION : ERR_BUSY_SCRIPT;
}

static bool is_busy(struct engine *engine, struct call *call, struct refusal *why)
{
    if (!engine->busy || (call->command.row->flags & ALLOW_BUSY)) return false;
    why->error = busy_error(engine);
    return true;
}

/* The gates in order: the function, its error, and whether a refused EXEC replies with this error
 * alone (PLAIN) or inside EXECABORT (ABORTS). A macro and not an array of function pointers,
 * because the compiler inlines the functions: pointers would cost each request 15 calls. */
#define GATES(G)                                                                                   \
    G(is_unknown, ERR_WORDED, ABORTS)                                                              \
    G(has_wrong_arity, ERR_ARITY, ABORTS)                                                          \
    G(needs_login, ERR_NOAUTH, ABORTS)                                                             \
    G(cannot_be_queued, ERR_NO_MULTI, ABORTS)                                                      \
    G(lacks_rights, ERR_NOPERM_COMMAND, ABORTS)                                                    \
    G(crosses_slots, ERR_CROSSSLOT, PLAIN)                                                         \
    G(refers_to_master, ERR_REDIRECT, PLAIN)                                                       \
    G(lacks_memory, ERR_OOM, ABORTS)                                                               \
    G(cannot_persist, ERR_MISCONF, PLAIN)                                                          \
    G(writes_to_replica, ERR_READONLY, ABORTS)                                                     \
    G(writes_without_replicas, ERR_NOREPLICAS, ABORTS)                                             \
    G(is_subscribed, ERR_SUBSCRIBED, ABORTS)                                                       \
    G(is_monitor, ERR_MONITOR_KEYS, ABORTS)                                                        \
    G(reads_stale_data, ERR_MASTERDOWN, ABORTS)                                                    \
    G(is_loading, ERR_LOADING, ABORTS)                                                             \
    G(is_busy, ERR_BUSY_SCRIPT, ABORTS)

/* True: a gate refuses; fills in *why, which is written only then: most requests pass all gates. */
static bool find_refusal(struct engine *engine, struct call *call, struct refusal *why)
{
    why->error = ERROR_COUNT;
    why->detail = NULL;
#define G(refuses, id, how)                                                                        \
    if (refuses(engine, call, why)) {                                                              \
        if (why->error == ERROR_COUNT) why->error = (id);                                          \
        why->in_exec = (how);                                                                      \
        return true;                                                                               \
    }
    GATES(G)
#undef G
    return false;
}

/* ---- refusing -------------------------------------------------------------------------------- */

/* The only place where a refusal ends a MULTI, or makes its EXEC fail. */
static void refuse(struct engine *engine, struct call *call, const struct refusal *why)
{
    static const char plain_code[] = "ERR ";
    char name[NAME_SIZE], line[TEXT_SIZE];
    command_full_name(call->command, name, sizeof(name));
    const char *detail = why->detail != NULL ? why->detail : name;
    if (call->command.row == NULL || !(call->command.row->flags & RUNS_QUEUE)) {
        multi_break(call->session);
        failf(call, why->error, detail);
        return;
    }
    multi_drop(call->session);
    watch_forget(engine->watch, call->session);
    if (why->in_exec == PLAIN) {
        failf(call, why->error, detail);
        return;
    }
    snprintf(line, sizeof(line), error_text(why->error), detail);
    size_t skip = strncmp(line, plain_code, strlen(plain_code)) == 0 ? strlen(plain_code) : 0;
    failf(call, ERR_EXEC_REFUSED, line + skip);
}

bool gates_refuse(struct engine *engine, struct call *call)
{
    struct refusal why;
    if (!find_refusal(engine, call, &why)) return false;
    refuse(engine, call, &why);
    return true;
}

/* ---- predicates that scripts use as well ----------------------------------------------------- */

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
