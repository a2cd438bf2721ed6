/* server_world: everything of the daemon but its loop's turns and its sockets: all commands, a
 * world of data, a clock that is held, and a few callers whose replies stay here.
 * For tests of whole programs; commands that need a connection find none. */
#ifndef TESTS_SUPPORT_SERVER_WORLD_H
#define TESTS_SUPPORT_SERVER_WORLD_H

#include "server/admin/admin.h"
#include "tests/support/rng.h"
#include "tests/support/world.h"

enum { SERVER_WORLD_CALLERS = 5, SERVER_WORLD_START = 1000000 };

enum server_world_listening {
    SERVER_WORLD_KEEPS, /* every effect, for world_replay; the server's commit hooks are reported as
                           well */
    SERVER_WORLD_PLAIN, /* the commit hooks alone, as in the daemon */
};

struct server_world_caller {
    struct session session; /* first: waking finds the caller by it */
    struct outbuf out;
    char *heard; /* what server_world_heard gave last */
};

struct server_world {
    struct world world;      /* the data; now is the clock's business */
    struct store *listeners; /* empty; holds what the hooks want to listen to */
    struct rng rng;          /* what the store draws random numbers from */
    struct conf conf;
    struct clock clock;
    struct stats stats;
    struct commit_hooks hooks;
    struct dispatch dispatch;
    struct loop *loop;
    struct clients *clients;
    struct pubsub *pubsub;
    struct observer observer;
    struct admin admin;
    struct server_world_caller callers[SERVER_WORLD_CALLERS];
};

/* Callers are authenticated, in database 0, and speak RESP2. */
void server_world_init(struct server_world *world, enum server_world_listening listening);
void server_world_drop(struct server_world *world);

struct session *server_world_session(struct server_world *world, unsigned caller);

/* Runs one request and returns all that the caller has heard since it was last asked; valid until
 * the next time. Of a caller that waits nothing is run. */
struct bytes server_world_call(struct server_world *world, unsigned caller, int argc,
                               const struct bytes *argv);
struct bytes server_world_send(struct server_world *world, unsigned caller,
                               const char *line); /* words at single spaces */
struct bytes server_world_heard(struct server_world *world, unsigned caller);

/* The clock stands at this instant; what has expired by then is still there. */
void server_world_hold(struct server_world *world, msec at);
/* What the daemon's timer does until nothing is left. */
void server_world_expire(struct server_world *world);
/* Both. */
void server_world_step(struct server_world *world, msec at);

#endif
