/* server_world: the daemon without sockets and without the turns of its loop: all commands, a world
 * with data, a stepped clock, and a few callers whose replies are kept. For tests of whole
 * programs. Commands that need a connection find none. */
#pragma once

#include "server/admin/admin.h"
#include "server/script/script.h"
#include "tests/support/rng.h"
#include "tests/support/world.h"

enum { SERVER_WORLD_CALLERS = 5, SERVER_WORLD_START = 1000000 };

enum server_world_listening {
    SERVER_WORLD_KEEPS, /* keeps every effect for world_replay, and calls the commit hooks */
    SERVER_WORLD_PLAIN, /* calls the commit hooks only, as the daemon does */
};

struct server_world_caller {
    struct session session; /* first: its address is the caller's */
    struct outbuf out;
    char *heard; /* the last result of server_world_heard */
};

struct server_world {
    struct world world;              /* the data; its `now` follows the clock */
    struct effect_listener to_hooks; /* the listener of the hooks, */
    unsigned hooks_want;             /* and the event mask that its begin returned last */
    struct rng rng;                  /* the source of the store's random numbers */
    struct conf conf;
    struct clock clock;
    struct stats stats;
    struct commit_hooks hooks;
    struct engine engine;
    struct loop *loop;
    struct clients *clients;
    struct pubsub *pubsub;
    struct observer observer;
    struct scripting *scripting;
    struct admin admin;
    struct server_world_caller callers[SERVER_WORLD_CALLERS];
};

/* The clients of worlds that are made from now on may come over TLS. NULL: not. */
void server_world_use_tls(struct tls *tls);

/* Callers are authenticated, in database 0, and speak RESP2. */
void server_world_init(struct server_world *world, enum server_world_listening listening);
void server_world_drop(struct server_world *world);

struct session *server_world_session(struct server_world *world, unsigned caller);

/* Runs one request, unless the caller is blocked, and returns the caller's output since the last
 * call; valid until the next call. */
struct bytes server_world_call(struct server_world *world, unsigned caller, int argc,
                               const struct bytes *argv);
struct bytes server_world_send(struct server_world *world, unsigned caller,
                               const char *line); /* words between single spaces */
struct bytes server_world_heard(struct server_world *world, unsigned caller);

/* Sets the clock. Expired data is not removed yet. */
void server_world_hold(struct server_world *world, msec at);
/* Does the work of the daemon's timer until nothing is due. */
void server_world_expire(struct server_world *world);
/* server_world_hold, then server_world_expire. */
void server_world_step(struct server_world *world, msec at);
