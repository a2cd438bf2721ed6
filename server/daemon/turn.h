/* turn: what the daemon does in each turn of the loop, in each second, while it loads, and in a
 * turn inside a long script. Depends on net, run, react, persist and script. */
#ifndef SERVER_DAEMON_TURN_H
#define SERVER_DAEMON_TURN_H

#include "server/script/script.h"

struct parts;

/* For loop_on_turn_end. Like the other callbacks here it takes the parts. */
void turn_end(void *parts);
/* For the timer of housekeeping, which it sets again; the first time call turn_begin_seconds. */
void turn_second(void *parts);
void turn_begin_seconds(struct parts *parts);
/* For struct persist_wiring: loading and saving call them often. */
void turn_loading(void *parts);
void turn_working(void *parts);
/* For struct scripting: turns inside a script that runs for long. */
struct busy_wiring turn_busy(struct parts *parts);

#endif
