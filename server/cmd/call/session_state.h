/* session_state: the states of a session, which decide what happens to its requests. A session in
 * WAITING also has a reason.
 *
 *   SHAKING ---> SERVING <--> WAITING     a request waits for the reason given
 *      |           |  |         |  |
 *      |           |  +->CLOSING<+  |      replies are sent, but no further request runs
 *      |           |       |        |
 *      +-----------+->ENDED<--------+      freed at the end of the turn
 *
 * A request that can't run or reply yet makes its session wait. The client's requests behind it
 * stay in the input, so that replies keep their order. A session never has two reasons at once:
 * only a session in SERVING can begin to wait, and no request runs during a wait. */
#pragma once

#include <stdbool.h>

enum session_state {
    SESSION_SERVING, /* requests run in the turn in which they arrive */
    SESSION_WAITING, /* no request runs until session_wake */
    SESSION_SHAKING, /* in its TLS handshake: the client is unknown */
    SESSION_CLOSING, /* QUIT, end of input: closed once its replies are sent */
    SESSION_ENDED,   /* no further reply is sent */
    SESSION_STATES,
};

/* Why a session waits. The module named with the reason wakes the session. */
enum wait_reason {
    WAIT_NOTHING,    /* in every state but SESSION_WAITING */
    WAIT_KEY,        /* BLPOP: for a key or a timeout (engine/react/blocked.h) */
    WAIT_REPLICAS,   /* WAIT: for replicas and the journal (replica/waits.h); FAILOVER: for the
                        addresses of a name */
    WAIT_LONG_REPLY, /* for a reply that takes longer than a turn (engine/long_queries.h) */
    WAIT_SETTLING,   /* for a key with many expired members (engine/settle.h) */
    WAIT_PREPARING,  /* for a thread that prepares its request (engine/preparing.h) */
    WAIT_PAUSE,      /* for the end of CLIENT PAUSE (net/requests.c) */
    /* Caused by the client itself, so CLIENT LIST does not show it as blocked. */
    WAIT_PENALTY, /* after a failed login, which also delays its replies (net/limits.c) */
    WAIT_OUTPUT,  /* for the client to read its replies; its input is not read */
    WAIT_REASONS,
};

/* May a session change from one state to the other? */
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
