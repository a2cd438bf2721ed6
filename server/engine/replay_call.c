/* replay_call: see replay_call.h. */
#include "server/engine/replay_call.h"

/* Returns the row of a command that a file or a stream may contain. */
static struct command_ref find_row(const struct commands *commands, int argc,
                                   const struct bytes *argv, bool with_messages)
{
    struct command_ref command = commands_match(commands, argc, argv);
    /* The file may come from a server without our rename-command. */
    if (command.row == NULL) command = commands_match_original(commands, argc, argv);
    if (command.row == NULL) return command;
    /* Only some commands are replayed: those that change data (PFCOUNT may), SELECT and, with
     * `with_messages`, those that send a message. Subscribing is not possible, because the session
     * ends with the call. */
    const unsigned message = PUBSUB | MAY_REPLICATE, caching = READONLY | MAY_REPLICATE;
    unsigned flags = command.row->flags;
    bool is_replayed = (flags & WRITE) || (flags & caching) == caching ||
                       (with_messages && (flags & message) == message) ||
                       bytes_is_word(argv[0], "SELECT");
    if (!is_replayed || !command_fits_arity(command.row, argc)) command.row = NULL;
    return command;
}

static bool run_row(struct command_ref command, struct txn *txn, unsigned *db, int argc,
                    const struct bytes *argv)
{
    struct outbuf out;
    struct session session;
    outbuf_init(&out);
    session_init(&session, &out);
    session.authenticated = true;
    session.db = *db;
    session.out.mute = true;
    struct call call = { .command = command,
                         .argc = argc,
                         .argv = argv,
                         .txn = txn,
                         .out = &session.out,
                         .session = &session,
                         .context = command.context };
    txn_call(txn, *db);
    call_run(&call);
    *db = session.db;
    outbuf_drop(&out);
    return !call.failed;
}

bool replay_call(struct engine *engine, unsigned *db, int argc, const struct bytes *argv)
{
    struct txn txn;
    if (bytes_is_word(argv[0], "MULTI") || bytes_is_word(argv[0], "EXEC")) return true;
    struct command_ref command = find_row(engine->commands, argc, argv, false);
    if (command.row == NULL) return false;
    txn_begin(&txn, engine->store, clock_now(engine->clock), FROM_REPLAY);
    bool good = run_row(command, &txn, db, argc, argv);
    txn_commit(&txn);
    return good;
}

bool replay_call_in(const struct commands *commands, struct txn *txn, unsigned *db, int argc,
                    const struct bytes *argv)
{
    struct command_ref command = find_row(commands, argc, argv, true);
    return command.row != NULL && run_row(command, txn, db, argc, argv);
}
