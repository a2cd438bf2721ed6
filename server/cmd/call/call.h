/* call: one run of a command, with its arguments, transaction and reply. Requests,
 * scripts, replay and the module run the same functions.
 *
 * Folder server/cmd/call: the interface of commands. A command is a row (command.h), whose function
 * receives a struct call. Start here; doc/first-command.md explains how to add a command.
 *
 *     args          parses arguments, finds keys
 *     error         the texts of all errors
 *     command       rows, and the table of rows by name
 *     command_keys  the keys of a call
 *     category      the ACL categories of a row
 *     slot          the cluster slot of a key
 *     reply_text    replies for people: HELP, verbatim strings
 *     session       the state of a client between its commands
 *     saved_call    a copy of a call, queued by MULTI or blocked
 *     call_time     the duration of a call that blocks
 *     role, pause   what the gates must know of replication and of CLIENT PAUSE
 *
 * May use: proto/resp server/base store/. */
#pragma once

#include "proto/resp/resp_write.h"
#include "server/cmd/call/command.h"
#include "store/base/bytes.h"
#include "store/mem/blob.h"
#include "store/txn/txn.h"

struct session;

/* The reply to a client that waited in vain, or that would have to wait where it can't. */
enum no_answer {
    ANSWER_NULL,    /* a null array */
    ANSWER_EMPTY,   /* an empty array */
    ANSWER_MISSING, /* [null, "missing"], for GETFRESH */
};
void reply_no_answer(struct resp_writer *out, enum no_answer answer);

/* What a blocked client waits for. */
enum block_kind {
    BLOCK_FOR_KEY,    /* a value at one of several keys */
    BLOCK_FOR_TURN,   /* an element of any key with a prefix (store/fair.h) */
    BLOCK_FOR_SURVEY, /* the figures of a prefix (store/fair.h); the client only reads */
    BLOCK_KINDS
};

/* A command that found nothing fills this in, to block until one of its keys has a value of
 * `type`. */
struct block_request {
    int first, count;     /* the arguments that are the keys; with count 0, do not block */
    enum block_kind kind; /* except for BLOCK_FOR_KEY, the argument is a prefix with '*' */
    enum type type;
    msec until; /* instant of the timeout; NEVER without one */
    /* If an element exists but is not due yet: the instant at which it becomes due. The keys then
     * become ready at that instant, or earlier through an effect. With 0 or NEVER, only effects
     * make them ready. */
    msec again;
    int64_t usec; /* duration of the first run, for observe */
    enum no_answer no_answer;

    /* The index of an argument that tells which clients want the same thing (the name of a stream's
     * group, or a number of elements), or 0.
     *
     * When this client is tried and finds nothing, the clients behind it in the queue that have the
     * same command and an equal argument are skipped: they would find nothing either. With 0, all
     * with the same command are skipped, except clients that read streams, which are tried one by
     * one. */
    int group;
    /* Run again even if the key is gone or its type changes, to reply with an error. For a prefix:
     * run again even if a client that blocked earlier has just found nothing. */
    bool or_gone;
    uint64_t looks_needed; /* REDE.FAIRCLAIM: set by its first run, kept for later ones */
    /* For streams: */
    bool or_claims; /* run again even if only a group's pending entries change */
    /* The arguments with which the command runs again, `argc` of them as in the call; NULL if they
     * are those of the call. The code that called the command frees the array. */
    struct bytes *argv;
};

struct call {
    struct command_ref command;
    int argc;
    const struct bytes *argv; /* argv[0] is the name as the client sent it */
    struct txn *txn;
    struct resp_writer *out;
    struct session *session;     /* opaque to data commands */
    void *context;               /* the context with which the command's group was added */
    struct block_request *block; /* filled by a command to block; NULL if it can't (MULTI) */
    /* NULL on the first run. Otherwise the call was blocked, and runs again because this key is
     * ready. If it still finds nothing, it must not reply, and must fill `block` again. */
    const struct bytes *ready;
    bool from_script;    /* called by a script, on behalf of the script's session */
    uint16_t by_script;  /* TRAIL_SCRIPT if from_script, otherwise 0 */
    bool limits_keys;    /* the user may not read every key: for SORT's BY and GET */
    uint64_t secrets;    /* arguments redacted by call_redact, one bit each */
    bool failed;         /* an error was sent */
    char error_code[16]; /* the error's first word, as "ERR"; "" to count no error */
};

/* Runs the row's function in call->txn; the caller has begun the call there with txn_call. Every
 * command runs through this function: from requests, EXEC, scripts, blocked clients, replay and the
 * module. The session may be NULL. The caller also sets txn->no_expiry and no_purge, which decide
 * whether the call sees expired data.
 *
 * Replies with OOM, without running the function, if the call may need more memory than is left. */
void call_run(struct call *call);

/* Is there memory for this many bytes twice, for a copy and for its record in the journal? Always
 * true below 1 MiB, which the memory reserve covers. call_run asks this about the arguments of rows
 * with GROWS, and about the values at all keys of rows with COPIES. */
bool call_has_room(size_t bytes);

/* Returns the flags that the gates must check before the call runs: those of its row, or, for a
 * call that runs a script, those that the script declares. */
static inline unsigned call_flags(const struct call *call)
{
    const struct command *row = call->command.row;
    return row->flags & RUNS_SCRIPT ? row->vary_flags(call) : row->flags;
}

/* Returns the row's variant, whose meaning its function defines: a unit, an end of a list ... */
static inline int call_variant(const struct call *call)
{
    return call->command.row->variant;
}

/* Does `test` return true for any of the call's keys? False if its arguments are invalid. */
bool call_any_key(const struct call *call,
                  bool (*test)(void *ctx, const struct call *call, struct bytes key), void *ctx);

/* Hides an argument, such as a password, from MONITOR and SLOWLOG. Bit 63 stands for all arguments
 * from 63 on. */
static inline void call_redact(struct call *call, int i)
{
    call->secrets |= (uint64_t)1 << (i < 63 ? i : 63);
}
static inline bool call_redacts(const struct call *call, int i)
{
    return (call->secrets >> (i < 63 ? i : 63)) & 1;
}

/* Replies with a big text. If it is a blob, shares it instead of copying it. */
void reply_big_bytes(struct call *call, struct bytes text);
static inline void reply_bytes(struct call *call, struct bytes text)
{
    if (text.len >= BLOB_BIG)
        reply_big_bytes(call, text);
    else
        resp_bulk(call->out, text.data, text.len);
}
static inline void reply_named_integer(struct call *call, const char *name, int64_t value)
{
    resp_bulk_text(call->out, name);
    resp_integer(call->out, value);
}
static inline void reply_named_count(struct call *call, const char *name, size_t count)
{
    reply_named_integer(call, name, (int64_t)count);
}

static inline void reply_ok(struct call *call)
{
    resp_ok(call->out);
}
