/* preparing: delays requests for which a thread has to prepare something first: a file that is
 * synced, the addresses of a name. The command could do it, but all clients would wait. The
 * session waits, its request stays in the input, and is asked again whenever a thread has ended
 * something; so nothing has to be undone if the client leaves. A queue of MULTI is prepared before
 * its EXEC. The rows of commands say what they need (`prepares`). */
#ifndef SERVER_ENGINE_PREPARING_H
#define SERVER_ENGINE_PREPARING_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/queue.h>

struct call;
struct engine;

/* The sessions that wait; all zero: none. */
struct preparing_list {
    LIST_HEAD(, preparing) waits;
    size_t count;
};

/* Does the call need something first? If so, its session waits. */
bool preparing_delays(struct engine *engine, const struct call *call);
/* A thread has ended something: wakes all sessions that wait, which are asked again. */
void preparing_ended(struct engine *engine);

#endif
