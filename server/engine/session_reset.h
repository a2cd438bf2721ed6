/* session_reset: ends a session's MULTI, WATCH, subscriptions and login, and clears its fields. */
#pragma once

struct pubsub;
struct session;
struct watch;

/* Call when a connection closes. Resets the session to that of a new client. What stays: its id,
 * `changed`, `has_gone`, the outbuf, the state, last_command, last_parent, and the effect of CLIENT
 * REPLY SKIP. */
void session_reset(struct session *session, struct watch *watch, struct pubsub *pubsub);
