/* server_world: the wiring of server/daemon/ without sockets, and a listener between the store and
 * its commit hooks, which keeps each effect and passes on those that the hooks want. */
#include "tests/support/server_world.h"

#include <stdlib.h>
#include <string.h>

#include "server/cmd/cmd.h"
#include "server/engine/session_reset.h"
#include "server/engine/unblock.h"
#include "store/base/ensure.h"
#include "store/mem/mem.h"
#include "store/sweep/expiry.h"

enum { WORDS_MAX = 64, BATCH = 64 };

/* ---- listening ------------------------------------------------------------------------------- */

enum { KEPT = LISTEN_CHANGES | LISTEN_EVENTS };

static unsigned take_begin(void *ctx, const struct txn *txn)
{
    struct server_world *world = ctx;
    world->hooks_want = world->to_hooks.begin(world->to_hooks.ctx, txn);
    return KEPT;
}

static void take_effect(void *ctx, const struct txn *txn, const struct effect *effect)
{
    struct server_world *world = ctx;
    world_keep(&world->world, effect);
    if (((world->hooks_want & LISTEN_CHANGES) && effect->kind != EFFECT_NONE) ||
        ((world->hooks_want & LISTEN_EVENTS) && effect->event != EVENT_NONE))
        world->to_hooks.effect(world->to_hooks.ctx, txn, effect);
}

static void take_commit(void *ctx, const struct txn *txn)
{
    struct server_world *world = ctx;
    world->world.commits++;
    if (world->hooks_want != 0) world->to_hooks.commit(world->to_hooks.ctx, txn);
}

static void listen(struct server_world *world, enum server_world_listening listening)
{
    struct store *store = world->world.store;
    world->hooks.store = store;
    world->to_hooks = commit_hooks_listener(&world->hooks);
    if (listening == SERVER_WORLD_PLAIN)
        store_listen(store, 0, &world->to_hooks);
    else
        store_listen(
            store, KEPT,
            &(struct effect_listener){
                .begin = take_begin, .effect = take_effect, .commit = take_commit, .ctx = world });
}

/* ---- wiring ---------------------------------------------------------------------------------- */

static bool accept_change(void *ctx)
{
    (void)ctx;
    return true;
}

static void add_commands(struct server_world *world)
{
    cmd_add_all(world->engine.commands, &world->conf.proto_max_bulk_len);
    world->scripting = scripting_new(&world->engine);
    scripting_add_commands(world->scripting, world->engine.commands);
    admin_add_all(&world->admin, &(struct admin_parts){ .commands = world->engine.commands,
                                                        .engine = &world->engine,
                                                        .clients = world->clients,
                                                        .conf = &world->conf,
                                                        .clock = &world->clock,
                                                        .loop = world->loop,
                                                        .pubsub = world->pubsub,
                                                        .notify = world->hooks.notify,
                                                        .observer = &world->observer,
                                                        .scripting = world->scripting,
                                                        .run_id = "0",
                                                        .changed = accept_change });
}

static struct tls *tls_of_worlds;

void server_world_use_tls(struct tls *tls)
{
    tls_of_worlds = tls;
}

static void make_server(struct server_world *world)
{
    world->pubsub = pubsub_new();
    world->hooks.watch = watch_new();
    world->hooks.blocked = blocked_new();
    world->hooks.tracking = tracking_new();
    world->hooks.notify = notify_new(world->pubsub);
    world->loop = loop_new();
    world->engine = (struct engine){ .commands = commands_new(),
                                     .store = world->world.store,
                                     .conf = &world->conf,
                                     .clock = &world->clock,
                                     .hooks = &world->hooks,
                                     .blocked = world->hooks.blocked,
                                     .watch = world->hooks.watch,
                                     .stats = &world->stats,
                                     .observer = &world->observer };
    observer_init(&world->observer, &world->conf, &world->clock);
    world->clients = clients_new(&(struct clients_wiring){ .loop = world->loop,
                                                           .clock = &world->clock,
                                                           .conf = &world->conf,
                                                           .engine = &world->engine,
                                                           .pubsub = world->pubsub,
                                                           .stats = &world->stats,
                                                           .tls = tls_of_worlds });
    world->engine.acl = acl_new(world->engine.commands, &world->conf);
    add_commands(world);
}

void server_world_init(struct server_world *world, enum server_world_listening listening)
{
    memset(world, 0, sizeof(*world));
    conf_init(&world->conf);
    clock_hold(&world->clock, SERVER_WORLD_START);
    rng_init(&world->rng, 1);
    world_init(&world->world);
    listen(world, listening);
    make_server(world);
    for (unsigned i = 0; i < SERVER_WORLD_CALLERS; i++) {
        struct server_world_caller *caller = &world->callers[i];
        outbuf_init(&caller->out);
        session_init(&caller->session, &caller->out);
        caller->session.id = i + 1;
        acl_begin_session(world->engine.acl, &caller->session);
    }
}

void server_world_drop(struct server_world *world)
{
    for (unsigned i = 0; i < SERVER_WORLD_CALLERS; i++) {
        session_drop(&world->callers[i].session, world->hooks.watch, world->pubsub,
                     world->hooks.tracking, world->observer.monitor);
        outbuf_drop(&world->callers[i].out);
        mem_free(world->callers[i].heard);
    }
    clients_free(world->clients);
    acl_free(world->engine.acl);
    commands_free(world->engine.commands);
    scripting_free(world->scripting);
    observer_drop(&world->observer);
    loop_free(world->loop);
    notify_free(world->hooks.notify);
    watch_free(world->hooks.watch);
    blocked_free(world->hooks.blocked);
    tracking_free(world->hooks.tracking);
    pubsub_free(world->pubsub);
    world_drop(&world->world);
    conf_drop(&world->conf);
}

/* ---- requests -------------------------------------------------------------------------------- */

struct session *server_world_session(struct server_world *world, unsigned caller)
{
    ensure(caller < SERVER_WORLD_CALLERS, "caller %u of %d", caller, SERVER_WORLD_CALLERS);
    return &world->callers[caller].session;
}

struct bytes server_world_heard(struct server_world *world, unsigned caller)
{
    struct server_world_caller *from = &world->callers[caller];
    size_t len = from->out.len;
    mem_free(from->heard);
    from->heard = mem_alloc(len + 1);
    outbuf_copy(&from->out, from->heard);
    from->heard[len] = '\0';
    outbuf_consume(&from->out, len);
    return bytes_of(from->heard, len);
}

/* Fills the store's pool of random numbers, which would come from the kernel, so that a program can
 * be repeated. */
static void give_random(struct server_world *world)
{
    struct random *random = &world->world.store->random;
    random->left = sizeof(random->pool) / sizeof(random->pool[0]);
    for (unsigned i = 0; i < random->left; i++)
        random->pool[i] = rng_next(&world->rng);
}

struct bytes server_world_call(struct server_world *world, unsigned caller, int argc,
                               const struct bytes *argv)
{
    struct session *session = server_world_session(world, caller);
    give_random(world);
    if (session->state == SESSION_SERVING)
        engine_request(&world->engine, session, commands_match(world->engine.commands, argc, argv),
                       argc, argv);
    tracking_turn(world->hooks.tracking);
    return server_world_heard(world, caller);
}

struct bytes server_world_send(struct server_world *world, unsigned caller, const char *line)
{
    struct bytes argv[WORDS_MAX];
    int argc = 0;
    for (const char *word = line; argc < WORDS_MAX; word += argv[argc - 1].len + 1) {
        argv[argc++] = bytes_of(word, strcspn(word, " "));
        if (word[argv[argc - 1].len] == '\0') break;
    }
    return server_world_call(world, caller, argc, argv);
}

/* ---- time ------------------------------------------------------------------------------------ */

void server_world_hold(struct server_world *world, msec at)
{
    clock_hold(&world->clock, at);
    world->world.now = at;
}

void server_world_expire(struct server_world *world)
{
    while (rewind_run(&world->world.store->rewind, clock_now(&world->clock), BATCH))
        continue;
    while (expiry_run(world->world.store, clock_now(&world->clock), BATCH) == BATCH)
        continue;
    reclaim_run(&world->world.store->reclaim, BATCH);
    while (unblock_due(&world->engine, BATCH) == BATCH)
        continue;
}

void server_world_step(struct server_world *world, msec at)
{
    server_world_hold(world, at);
    server_world_expire(world);
}
