/* session_drop: ends a session: removes it from every part that refers to it. */
#ifndef SERVER_ENGINE_SESSION_DROP_H
#define SERVER_ENGINE_SESSION_DROP_H

struct pubsub;
struct session;
struct watch;

/* Resets the session to the state of a new one, for RESET and before closing. It keeps id, changed,
 * the outbuf, the state, and the effect of a CLIENT REPLY SKIP. */
void session_drop(struct session *session, struct watch *watch, struct pubsub *pubsub);

#endif
