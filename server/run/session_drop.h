/* session_drop: the end of a session. Every part that remembers something of it forgets it. */
#ifndef SERVER_RUN_SESSION_DROP_H
#define SERVER_RUN_SESSION_DROP_H

struct pubsub;
struct session;
struct watch;

/* Forgets everything the server keeps for a session but its connection: RESET, and before closing.
 * What stays: id, wake, the outbuf, close_after_reply, and a CLIENT REPLY SKIP under way. */
void session_drop(struct session *session, struct watch *watch, struct pubsub *pubsub);

#endif
