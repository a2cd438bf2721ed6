/* session_reset: see session_reset.h. */
#include "server/engine/session_reset.h"

#include "server/cmd/call/session.h"
#include "server/engine/acl/acl.h"
#include "server/engine/multi.h"
#include "server/engine/observe/monitor.h"
#include "server/engine/react/pubsub.h"
#include "server/engine/react/tracking.h"
#include "server/engine/react/watch.h"
#include "store/mem/blob.h"

void session_reset(struct session *session, struct watch *watch, struct pubsub *pubsub,
                   struct tracking *tracking, struct monitor *monitor)
{
    multi_drop(session);
    watch_forget(watch, session);
    pubsub_forget(pubsub, session);
    tracking_off(tracking, session);
    monitor_forget(monitor, session);
    session->db = 0;
    session->out.version = 2;
    /* After REPLY SKIP the reply of RESET itself stays silent. */
    if (session->reply_mode == REPLY_OFF) session->out.mute = false;
    session->reply_mode = REPLY_ON;
    session->no_touch = session->reads_replica = false;
    session_forget_author(session);
    blob_free(session->name);
    session->name = NULL;
}

void session_drop(struct session *session, struct watch *watch, struct pubsub *pubsub,
                  struct tracking *tracking, struct monitor *monitor)
{
    session_end_wait(session);
    session_reset(session, watch, pubsub, tracking, monitor);
    if (tracking != NULL) tracking_forget(tracking, session);
    acl_end_session(session);
    blob_free(session->lib_name);
    blob_free(session->lib_version);
    session->lib_name = session->lib_version = NULL;
}
