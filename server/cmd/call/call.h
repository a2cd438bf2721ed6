/* call: one command being run: its arguments, transaction and reply. All that a data command sees
 * of the server.
 *
 * Folder server/cmd/call: the interface of commands. A command is a row (command.h) whose function
 * gets a struct call: arguments, transaction, output, session. args parses arguments, error has
 * every error text, command_keys finds the keys of a call, category the ACL categories of a row,
 * slot the slots of a cluster. session.h is the state of a client between its commands; saved_call
 * is a copy of a call, for MULTI and blocked clients; role.h and pause.h are what the engine's
 * gates and background work must know of replication and CLIENT PAUSE.
 * Depends on proto/resp, server/base and store/. Start here; doc/first-command.md adds a command.
 */
#ifndef SERVER_CMD_CALL_CALL_H
#define SERVER_CMD_CALL_CALL_H

#include <stdbool.h>

#include "proto/resp/resp_write.h"
#include "server/cmd/call/command.h"
#include "store/base/bytes.h"
#include "store/mem/blob.h"
#include "store/txn/txn.h"

struct session;

/* A command that found nothing asks to block until one of its keys has a value of this type. */
struct block_request {
    int first, count; /* arguments that are the keys; count 0: it does not block */
    enum type type;
    msec until; /* the timeout passes at this instant; NEVER: no timeout */
    /* An element is there but not due before this instant: the keys become ready then, or earlier
     * through an effect. 0 and NEVER: only through an effect. */
    msec again;
    int64_t usec;  /* for observe: the time of the first run */
    bool is_array; /* the reply at a timeout is an empty array, else null */

    /* Of streams, where clients with the same command may find different entries: */
    int group;      /* the argument that names the group: clients with the same one find the same;
                       0: only this client can tell */
    bool or_gone;   /* run again also if a key is gone, or has another type: to reply an error */
    bool or_claims; /* run again also if the pending entries of a group change */
    /* To be kept in place of the call's arguments, as many as these. Allocated; the caller of the
     * command frees them. NULL: the call's own. */
    struct bytes *argv;
};

struct call {
    struct command_ref command;
    int argc;
    const struct bytes *argv; /* argv[0] is the name as the client sent it */
    struct txn *txn;
    struct resp_writer *out;
    struct session *session;     /* opaque to data commands */
    void *context;               /* the context that the command's group was added with */
    struct block_request *block; /* filled by a call that blocks; NULL: it must not block (MULTI) */
    /* The call was blocked and runs again because this key is ready and has the right type. If it
     * still finds nothing, it replies nothing and fills `block`. NULL: the first run. */
    const struct bytes *ready;
    bool from_script;    /* a script calls it, for the session that runs the script */
    bool limits_keys;    /* its user may not read every key: for SORT's BY and GET */
    uint64_t secrets;    /* arguments hidden by call_hide, one bit each */
    bool failed;         /* an error has been replied */
    char error_code[16]; /* the error's first word: "ERR", "WRONGTYPE"; "" without an error */
};

/* Runs the row's function in call->txn, whose txn_call has begun the call: for requests, EXEC,
 * scripts, blocked clients, replay and the module alike. The session may be NULL. The caller has
 * set txn->no_expiry and no_purge, which say what the call sees of expired data. Fails with OOM if
 * the system lacks the memory that the call needs. */
void call_run(struct call *call);

/* True as soon as `look` returns true for one of the call's keys. */
bool call_any_key(const struct call *call,
                  bool (*look)(void *ctx, const struct call *call, struct bytes key), void *ctx);

/* Hides a password from MONITOR and SLOWLOG. The last bit stands for all further arguments. */
static inline void call_hide(struct call *call, int i)
{
    call->secrets |= (uint64_t)1 << (i < 63 ? i : 63);
}
static inline bool call_hides(const struct call *call, int i)
{
    return (call->secrets >> (i < 63 ? i : 63)) & 1;
}

/* A big blob is sent from where it is, without a copy. */
void reply_big_bytes(struct call *call, struct bytes text);
static inline void reply_bytes(struct call *call, struct bytes text)
{
    if (text.len >= BLOB_BIG)
        reply_big_bytes(call, text);
    else
        resp_bulk(call->out, text.data, text.len);
}
static inline void reply_ok(struct call *call)
{
    resp_ok(call->out);
}

#endif
