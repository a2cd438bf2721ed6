/* session: see session.h. */
#include "server/cmd/call/session.h"

#include "store/base/ensure.h"
#include "store/trail/trail.h"

void session_init(struct session *session, struct outbuf *out)
{
    *session = (struct session){ .out = { .out = out, .version = 2 } };
}

/* ---- states ---------------------------------------------------------------------------------- */

/* Leaving a wait calls the session's forget function, so no list can keep a session that does not
 * wait. */
static void enter(struct session *session, enum session_state state, enum wait_reason reason,
                  void (*forget)(struct session *session))
{
    void (*forget_old)(struct session *) = session->forget_wait;
    ensure(session_may_enter(session->state, state), "session %llu from state %d to %d, reason %d",
           (unsigned long long)session->id, session->state, state, reason);
    session->state = state;
    session->waits_for = reason;
    session->forget_wait = forget;
    if (forget_old != NULL) forget_old(session);
}

void session_wait(struct session *session, enum wait_reason reason,
                  void (*forget)(struct session *session))
{
    ensure(reason != WAIT_NOTHING, "session %llu waits for nothing",
           (unsigned long long)session->id);
    enter(session, SESSION_WAITING, reason, forget);
}

void session_end_wait(struct session *session)
{
    if (session->state == SESSION_WAITING) enter(session, SESSION_SERVING, WAIT_NOTHING, NULL);
}

void session_begin_handshake(struct session *session)
{
    session->state = SESSION_SHAKING; /* a new session may start in this state */
}

void session_end_handshake(struct session *session)
{
    if (session->state == SESSION_SHAKING) enter(session, SESSION_SERVING, WAIT_NOTHING, NULL);
}

void session_close(struct session *session)
{
    if (!session_is_over(session)) enter(session, SESSION_CLOSING, WAIT_NOTHING, NULL);
}

void session_end(struct session *session)
{
    if (session->state != SESSION_ENDED) enter(session, SESSION_ENDED, WAIT_NOTHING, NULL);
}

void session_forget_author(struct session *session)
{
    if (session->author != 0) trail_leave(session->trail, &session->author);
}

void session_notify(struct session *session)
{
    if (session->changed != NULL) session->changed(session);
}

void session_wake(struct session *session)
{
    session_end_wait(session);
    session_notify(session);
}

/* ---- checking -------------------------------------------------------------------------------- */

void session_check(const struct session *session)
{
    enum wait_reason reason = session->waits_for;
    bool blocked = session->blocked != NULL, delayed = session->delayed != NULL;
    bool blocks = reason == WAIT_KEY || reason == WAIT_REPLICAS || reason == WAIT_LONG_REPLY;
    ensure(session->state < SESSION_STATES && reason < WAIT_REASONS, "state %d, reason %d",
           session->state, reason);
    ensure((session->state == SESSION_WAITING) == (reason != WAIT_NOTHING), "state %d, reason %d",
           session->state, reason);
    ensure(blocked == blocks, "reason %d, blocked: %d", reason, blocked);
    ensure(delayed == (reason == WAIT_SETTLING), "reason %d, delayed: %d", reason, delayed);
    ensure((session->preparing != NULL) == (reason == WAIT_PREPARING), "reason %d", reason);
    ensure(reason != WAIT_NOTHING || session->forget_wait == NULL, "a wait was not forgotten");
}
