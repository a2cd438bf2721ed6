/* preparing: delays requests for which a thread must prepare something first, such as the sync of a
 * file or the addresses of a name. If the command did this itself, all clients would wait. Instead
 * the session waits: its request stays in the input, and is tried again whenever a thread has
 * finished something. If the client leaves, there is nothing to undo. EXEC waits for what the
 * commands of its queue need. The row of a command defines what it needs (`prepares`). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/queue.h>

struct call;

/* The sessions that wait; all zero if none does. */
struct preparing_list {
    LIST_HEAD(, preparing) waits;
    size_t count;
};

/* Does the call need a thread's work first? If so, its session waits, and the request must be tried
 * again after session_wake. */
bool preparing_delays(struct preparing_list *list, const struct call *call);
/* Wakes all waiting sessions, whose requests are then tried again. Call when a thread has finished
 * something. */
void preparing_ended(struct preparing_list *list);
