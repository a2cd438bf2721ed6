/* call: one command being run: what it was given and where its reply goes.
 * All that a data command sees of the server. */
#ifndef SERVER_CALL_CALL_H
#define SERVER_CALL_CALL_H

#include <stdbool.h>

#include "proto/resp/resp_write.h"
#include "server/call/command.h"
#include "store/base/bytes.h"
#include "store/txn/txn.h"

struct session;

/* What a call waits for that found nothing: something of a type at one of its keys. */
struct wait {
    int first, count; /* arguments that are the keys; count 0: it does not wait */
    enum type type;
    msec until; /* due at this instant; NEVER: it waits as long as it takes */
    /* What it waits for is there, but not due before this instant: its keys are ready then, if no
     * effect makes them so earlier. 0 and NEVER: only effects do. */
    msec again;
    int64_t usec;  /* observe's: what its first run has taken */
    bool is_array; /* its reply when nothing came is an array without elements, else null */
};

struct call {
    struct command_ref command;
    int argc;
    const struct bytes *argv; /* argv[0] is the name as it was sent */
    struct txn *txn;
    struct resp_writer *out;
    struct session *session; /* opaque to data commands */
    void *context;           /* what the command's group was added with */
    struct wait *wait;       /* to be filled by a call that waits; NULL: it must not (MULTI) */
    /* It has waited and runs again for this key, which is there and of the type it waits for. If
     * that has nothing for it still, it replies nothing and fills `wait`. NULL: the first time. */
    const struct bytes *ready;
    uint64_t secrets;    /* arguments that nobody is shown: call_hide's */
    bool failed;         /* an error was replied */
    char error_code[16]; /* its first word: "ERR", "WRONGTYPE"; "" without one */
};

/* A password: neither MONITOR nor SLOWLOG shows it. The last bit stands for all that come behind.
 */
static inline void call_hide(struct call *call, int i)
{
    call->secrets |= (uint64_t)1 << (i < 63 ? i : 63);
}
static inline bool call_hides(const struct call *call, int i)
{
    return (call->secrets >> (i < 63 ? i : 63)) & 1;
}

static inline void reply_bytes(struct call *call, struct bytes text)
{
    resp_bulk(call->out, text.data, text.len);
}
static inline void reply_ok(struct call *call)
{
    resp_status(call->out, "OK");
}

#endif
