/* preparing: delays requests for which a thread must prepare something first: a file that is
 * synced, the addresses of a name. The command could do it, but all clients would wait. Instead the
 * session waits, and its request stays in the input and is tried again whenever a thread has
 * finished something, so nothing must be undone if the client leaves. A queue of MULTI is prepared
 * before its EXEC. The rows of commands define what they need (`prepares`). */
#ifndef SERVER_ENGINE_PREPARING_H
#define SERVER_ENGINE_PREPARING_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/queue.h>

struct call;

/* The sessions that wait; all zero if none does. */
struct preparing_list {
    LIST_HEAD(, preparing) waits;
    size_t count;
};

/* Does the call need a thread's work first? If so, its session waits. */
bool preparing_delays(struct preparing_list *list, const struct call *call);
/* Call when a thread has finished something: wakes all waiting sessions, whose requests are tried
 * again. */
void preparing_ended(struct preparing_list *list);

#endif
