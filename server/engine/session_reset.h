/* session_reset: what RESET does to a session, which is also the first part of its end. */
#pragma once

struct monitor;
struct pubsub;
struct session;
struct tracking;
struct watch;

/* Ends the session's MULTI, WATCH, subscriptions, tracking and MONITOR, and clears its database,
 * RESP version, modes and name. As in Redis, no_evict and the names of the library stay, and so
 * does `redirects`. The caller then gives the session the user of a new one. `tracking` and
 * `monitor` may be NULL if the session uses neither. */
void session_reset(struct session *session, struct watch *watch, struct pubsub *pubsub,
                   struct tracking *tracking, struct monitor *monitor);
/* Ends the session: its wait and its login too. Frees all that it owns. Nothing may use the session
 * afterwards, except to end it again. */
void session_drop(struct session *session, struct watch *watch, struct pubsub *pubsub,
                  struct tracking *tracking, struct monitor *monitor);
