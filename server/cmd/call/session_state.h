/* session_state: what a session does with its requests. One state at a time; a waiting session also
 * has the reason.
 *
 *   SHAKING ---> SERVING <--> WAITING     a request waits for what the reason says
 *      |           |  |         |  |
 *      |           |  +->CLOSING<+  |      its replies are sent, and nothing more runs
 *      |           |       |        |
 *      +-----------+->ENDED<--------+      it is freed at the end of the turn
 *
 * A request that can't run now, or has not been answered yet, makes its session wait; its other
 * requests stay in the input meanwhile, so replies keep their order. There is one reason at a time,
 * because only a request that runs can make its session wait, and none runs while it waits.
 *
 * session.c has the only function that changes a state. Depends on nothing. */
#ifndef SERVER_CMD_CALL_SESSION_STATE_H
#define SERVER_CMD_CALL_SESSION_STATE_H

#include <stdbool.h>

enum session_state {
    SESSION_SERVING, /* its requests run in the turn that brings them */
    SESSION_WAITING, /* none runs until session_wake */
    SESSION_SHAKING, /* its TLS handshake has not ended: the client is unknown */
    SESSION_CLOSING, /* QUIT, end of input: it is closed once its replies are sent */
    SESSION_ENDED,   /* it gets no further reply */
    SESSION_STATES,
};

/* The part that makes a session wait keeps it in a list or an agenda of its own, and wakes it. */
enum wait_reason {
    WAIT_NOTHING,    /* in every state but SESSION_WAITING */
    WAIT_KEY,        /* BLPOP: for a key or a timeout (engine/react/blocked.h) */
    WAIT_REPLICAS,   /* WAIT: for replicas and the journal (replica/waits.h) */
    WAIT_LONG_REPLY, /* for an answer that takes longer than a turn (engine/long_queries.h) */
    WAIT_SETTLING,   /* for a key with many expired members (engine/settle.h) */
    WAIT_PAUSE,      /* for the end of CLIENT PAUSE (net/client_run.c) */
    /* For these the client itself is the cause; CLIENT LIST does not call it blocked. */
    WAIT_PENALTY, /* after a failed login; its replies wait, too (net/client_penalty.c) */
    WAIT_OUTPUT,  /* for the client to read its replies; nothing is read from it meanwhile */
    WAIT_REASONS,
};

/* May a session go from one state to another? */
static inline bool session_may_enter(enum session_state from, enum session_state to)
{
    static const bool allowed[SESSION_STATES][SESSION_STATES] = {
        [SESSION_SHAKING] = { [SESSION_SERVING] = true, [SESSION_ENDED] = true },
        [SESSION_SERVING] = { [SESSION_WAITING] = true,
                              [SESSION_CLOSING] = true,
                              [SESSION_ENDED] = true },
        [SESSION_WAITING] = { [SESSION_SERVING] = true,
                              [SESSION_CLOSING] = true,
                              [SESSION_ENDED] = true },
        [SESSION_CLOSING] = { [SESSION_ENDED] = true },
    };
    return allowed[from][to];
}

#endif
