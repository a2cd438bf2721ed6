/* session_drop: removes a session from every module that refers to it. */
#ifndef SERVER_ENGINE_SESSION_DROP_H
#define SERVER_ENGINE_SESSION_DROP_H

struct pubsub;
struct session;
struct watch;

/* Resets the session to that of a new client, for RESET and before closing. Keeps its id,
 * `changed`, the outbuf, the state, and the effect of CLIENT REPLY SKIP. */
void session_drop(struct session *session, struct watch *watch, struct pubsub *pubsub);

#endif
