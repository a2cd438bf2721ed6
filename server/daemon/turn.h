/* turn: the work of each turn of the loop, of each second, of turns during loading, and of turns
 * inside a long script. Depends on net, engine, persist, replication and script. */
#ifndef SERVER_DAEMON_TURN_H
#define SERVER_DAEMON_TURN_H

#include "server/script/script.h"

struct parts;

/* Does the work of a turn: a hook for loop_on_turn_end. The argument of this and the other
 * callbacks is the parts. */
void turn_end(void *parts);
/* Starts the work of each second. */
void turn_begin_seconds(struct parts *parts);
/* Call often during long work (struct persist_wiring). turn_loading is for loading files, and runs
 * turns. turn_working is for other work, and only reports to the service manager. */
void turn_loading(void *parts);
void turn_working(void *parts);
/* Returns the callbacks that run turns inside a long-running script, for struct scripting. */
struct busy_wiring turn_busy(struct parts *parts);

#endif
