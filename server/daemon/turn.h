/* turn: the work of each turn of the loop and of each second, also during loading and inside a long
 * script; and the reports to the service manager during long work. Depends on net, engine, persist,
 * replication and script, and on the daemon's lifecycle, reload, status and supervisor. */
#pragma once

struct parts;

/* Does the work of a turn: a hook for loop_on_turn_end. The argument of this and the other
 * callbacks is the parts. */
void turn_end(void *parts);
/* Starts the work of each second. */
void turn_begin_seconds(struct parts *parts);
/* Callbacks for struct persist_wiring, which are called often during long work. turn_loading, for
 * loading files, reports to the service manager and runs a turn of the loop, at most every 20 ms;
 * it ends the process if the loop was stopped. turn_working, for work in which no turn may run,
 * only reports. */
void turn_loading(void *parts);
void turn_working(void *parts);
/* Returns the callbacks that run turns inside a long-running script, for struct scripting. */
struct busy_wiring turn_busy(struct parts *parts);
