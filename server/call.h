/* call: one command being run: what it was given and where its reply goes.
 * All that a data command sees of the server. */
#ifndef SERVER_CALL_H
#define SERVER_CALL_H

#include <stdbool.h>

#include "proto/resp_write.h"
#include "server/command.h"
#include "store/bytes.h"
#include "store/txn.h"

struct session;

struct call {
    struct command_ref command;
    int argc;
    const struct bytes *argv; /* argv[0] is the name as it was sent */
    struct txn *txn;
    struct resp_writer *out;
    struct session *session; /* opaque to data commands */
    void *context;           /* what the command's group was added with */
    bool failed;             /* an error was replied */
};

static inline void reply_bytes(struct call *call, struct bytes text)
{
    resp_bulk(call->out, text.data, text.len);
}
static inline void reply_ok(struct call *call)
{
    resp_status(call->out, "OK");
}

#endif
