/* session_reset: ends a session's wait, MULTI, WATCH, subscriptions and login, and clears its
 * fields. */
#pragma once

struct pubsub;
struct session;
struct watch;

/* Resets the session of a closed connection to that of a new client, and releases what it owns.
 * What stays: its id, `changed`, `has_gone`, the outbuf, the state, last_command, last_parent, and
 * the effect of CLIENT REPLY SKIP. */
void session_reset(struct session *session, struct watch *watch, struct pubsub *pubsub);
