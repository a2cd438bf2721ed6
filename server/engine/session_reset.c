/* session_reset: see session_reset.h. */
#include "server/engine/session_reset.h"

#include "server/cmd/call/session.h"
#include "server/engine/acl/acl.h"
#include "server/engine/multi.h"
#include "server/engine/react/pubsub.h"
#include "server/engine/react/watch.h"
#include "store/mem/blob.h"

void session_reset(struct session *session, struct watch *watch, struct pubsub *pubsub)
{
    session_end_wait(session); /* the state is kept, and must not be WAITING */
    multi_drop(session);
    watch_forget(watch, session);
    pubsub_forget(pubsub, session);
    acl_end_session(session);
    blob_free(session->name);
    blob_free(session->lib_name);
    blob_free(session->lib_version);
    struct session old = *session;
    session_init(session, old.out.out);
    session->id = old.id;
    session->changed = old.changed;
    session->has_gone = old.has_gone;
    session->state = old.state;
    session->last_command = old.last_command;
    session->last_parent = old.last_parent;
    if (old.reply_mode == REPLY_SKIPPING) {
        session->reply_mode = REPLY_SKIPPING;
        session->out.mute = old.out.mute;
    }
}
