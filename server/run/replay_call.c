/* replay_call: see replay_call.h. */
#include "server/run/replay_call.h"

#include "server/call/call.h"
#include "store/txn/txn.h"

bool replay_call(struct dispatch *dispatch, unsigned *db, int argc, const struct bytes *argv)
{
    if (bytes_is_word(argv[0], "MULTI") || bytes_is_word(argv[0], "EXEC")) return true;
    struct command_ref command = commands_match(dispatch->commands, argc, argv);
    /* A file of a server that has not renamed it. */
    if (command.row == NULL) command = commands_match_original(dispatch->commands, argc, argv);
    bool is_data =
        command.row != NULL && ((command.row->flags & WRITE) || bytes_is_word(argv[0], "SELECT"));
    if (!is_data || !command_fits_arity(command.row, argc)) return false;
    struct outbuf out;
    struct session session;
    struct txn txn;
    outbuf_init(&out);
    session_init(&session, &out);
    session.authenticated = true;
    session.db = *db;
    session.out.mute = true;
    struct call call = { .command = command,
                         .argc = argc,
                         .argv = argv,
                         .txn = &txn,
                         .out = &session.out,
                         .session = &session,
                         .context = command.context };
    txn_begin(&txn, dispatch->store, clock_now(dispatch->clock), FROM_REPLAY);
    txn_call(&txn, *db);
    command.row->run(&call);
    txn_commit(&txn);
    *db = session.db;
    outbuf_drop(&out);
    return !call.failed;
}
