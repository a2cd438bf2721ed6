/* wiring: see wiring.h. */
#include "server/daemon/wiring.h"

#include "server/admin/client/client_list.h"
#include "server/admin/renames.h"
#include "server/base/host_names.h"
#include "server/base/log.h"
#include "server/base/loop.h"
#include "server/base/process.h"
#include "server/base/tzdata.h"
#include "server/cmd/cmd.h"
#include "server/daemon/lifecycle.h"
#include "server/daemon/parts.h"
#include "server/daemon/policy_lines.h"
#include "server/daemon/reopen.h"
#include "server/daemon/turn.h"
#include "server/disk/payload.h"
#include "server/disk/persist.h"
#include "server/engine/acl/acl.h"
#include "server/engine/background.h"
#include "server/engine/defrag_timer.h"
#include "server/engine/long_queries.h"
#include "server/engine/react/blocked.h"
#include "server/engine/react/notify.h"
#include "server/engine/react/pubsub.h"
#include "server/engine/react/tracking.h"
#include "server/engine/react/watch.h"
#include "server/engine/replay_call.h"
#include "server/engine/settle.h"
#include "server/engine/store_work.h"
#include "server/http/http.h"
#include "server/net/client.h"
#include "server/net/net.h"
#include "server/net/tls/tls.h"
#include "server/replica/replication.h"
#include "server/script/script.h"
#include "store/base/number.h"
#include "store/calendar/calendar.h"
#include "store/mem/mem.h"
#include "store/store.h"
#include "store/txn/txn.h"
#include "store/txn/txn_dehydrator.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { FREED_MOST = 64 << 20 };

static void add_commands(struct parts *parts)
{
    cmd_add_all(parts->commands, &parts->conf.proto_max_bulk_len);
    scripting_add_commands(parts->scripting, parts->commands);
    commands_add(parts->commands, &replica_commands, parts->replication);
    commands_add(parts->commands, &wait_commands, parts->replication);
    admin_add_all(&parts->admin,
                  &(struct admin_parts){ .commands = parts->commands,
                                         .engine = &parts->engine,
                                         .clients = parts->clients,
                                         .conf = &parts->conf,
                                         .clock = &parts->clock,
                                         .loop = parts->loop,
                                         .pubsub = parts->pubsub,
                                         .notify = parts->notify,
                                         .observer = &parts->observer,
                                         .queries = parts->queries,
                                         .defrag = defrag_timer_state(parts->defrag_timer),
                                         .scripting = parts->scripting,
                                         .replication = parts->replication,
                                         .run_id = parts->run_id,
                                         .changed = lifecycle_apply,
                                         .prepares = reopen_prepares,
                                         .try = reopen_try,
                                         .ctx = parts });
}

static void make_data_side(struct parts *parts)
{
    parts->store = store_new((unsigned)parts->conf.databases);
    parts->store->value_format = (struct value_format){ payload_pass, number_print_double };
    calendar_set_reader(parts->store->calendar, tzdata_read);
    parts->pubsub = pubsub_new();
    parts->notify = notify_new(parts->pubsub);
    notify_set_flags(parts->notify, parts->conf.notify_keyspace_events);
    parts->watch = watch_new();
    parts->blocked = blocked_new();
    parts->tracking = tracking_new();
    parts->hooks = (struct commit_hooks){ .store = parts->store,
                                          .watch = parts->watch,
                                          .blocked = parts->blocked,
                                          .tracking = parts->tracking,
                                          .notify = parts->notify };
    struct effect_listener listener = commit_hooks_listener(&parts->hooks);
    store_listen(parts->store, 0, &listener);
    parts->commands = commands_new();
    parts->engine = (struct engine){ .commands = parts->commands,
                                     .store = parts->store,
                                     .conf = &parts->conf,
                                     .clock = &parts->clock,
                                     .hooks = &parts->hooks,
                                     .watch = parts->watch,
                                     .blocked = parts->blocked,
                                     .stats = &parts->stats,
                                     .observer = &parts->observer };
    parts->acl = parts->engine.acl = acl_new(parts->commands, &parts->conf);
    engine_configure(&parts->engine);
    parts->settle = parts->engine.settle = settle_new(&parts->engine);
    observer_init(&parts->observer, &parts->conf, &parts->clock);
    parts->scripting = scripting_new(&parts->engine);
}

static bool on_redis_command(void *ctx, unsigned *db, int argc, const struct bytes *argv)
{
    struct parts *parts = ctx;
    return replay_call(&parts->engine, db, argc, argv);
}

static const struct stream_position *position_of_data(void *ctx)
{
    const struct parts *parts = ctx;
    return parts->replication != NULL ? replication_position(parts->replication) : NULL;
}

/* Called when a snapshot or an import was loaded in place of a journal. Grants, claims and
 * acknowledgements made since then are lost, so the next token leaps and, with restore-paused, all
 * dehydrators are paused. Returns true if it has changed the data. */
static bool on_restored(void *ctx)
{
    struct parts *parts = ctx;
    struct txn txn;
    size_t paused = 0;
    tokens_distrust(&parts->store->tokens);
    if (!parts->conf.restore_paused || parts->conf.replicaof[0] != '\0') return false;
    txn_begin(&txn, parts->store, clock_now(&parts->clock), FROM_REPLAY);
    for (unsigned db = 0; db < parts->store->database_count; db++) {
        txn_call(&txn, db);
        paused += txn_rede_pause_all(&txn);
    }
    txn_commit(&txn);
    log_line(LOG_NOTICE,
             "Paused %zu dehydrator%s of the restored data (restore-paused). REDE.RESUME ends a "
             "pause",
             paused, log_plural(paused));
    return paused > 0;
}

/* Adds the kinds of background work, in the order in which they receive their slices. */
static bool make_background(struct parts *parts)
{
    parts->background = background_new(&parts->clock);
    parts->store_work =
        store_work_new(parts->loop, &parts->clock, &parts->engine, parts->background);
    if (parts->store_work == NULL)
        return lifecycle_fail(parts, "can't create a timer: %s", strerror(errno));
    parts->engine.work = parts->store_work;
    parts->queries = long_queries_new(&parts->clock, parts->blocked);
    background_add(
        parts->background,
        &(struct background_work){ .run = long_queries_run, .ctx = parts->queries, .most = 1 });
    parts->defrag_timer = defrag_timer_new(parts->loop, &parts->clock, &parts->engine);
    struct background_work defrag = defrag_timer_work(parts->defrag_timer);
    background_add(parts->background, &defrag);
    parts->engine.garbage = interpreter_garbage;
    parts->engine.garbage_ctx = parts->scripting->interpreter;
    background_add(parts->background,
                   &(struct background_work){ .run = interpreter_collect,
                                              .ctx = parts->scripting->interpreter,
                                              .most = 64 });
    return true;
}

static void on_prepared(void *ctx)
{
    struct parts *parts = ctx;
    parts->reload.waits = false;
    preparing_ended(&parts->engine.preparing);
}

static bool make_event_side(struct parts *parts)
{
    parts->loop = loop_new();
    if (parts->loop == NULL)
        return lifecycle_fail(parts, "can't create the event loop: %s", strerror(errno));
    loop_count_turns(parts->loop, &parts->clock, &parts->stats.turns);
    parts->names = host_names_new(parts->loop, on_prepared, parts);
    parts->persist = persist_new(&(struct persist_wiring){ .loop = parts->loop,
                                                           .clock = &parts->clock,
                                                           .conf = &parts->conf,
                                                           .store = parts->store,
                                                           .progress = turn_loading,
                                                           .works = turn_working,
                                                           .command = on_redis_command,
                                                           .stream_position = position_of_data,
                                                           .restored = on_restored,
                                                           .files_done = on_prepared,
                                                           .ctx = parts });
    if (parts->persist == NULL)
        return lifecycle_fail(parts, "can't map memory to share with the child process: %s",
                              strerror(errno));
    parts->engine.persist = parts->hooks.persist = parts->persist;
    parts->store->listener.brief = persist_brief_tail(parts->persist);
    if (tls_is_wanted(&parts->conf)) {
        char why[TLS_WHY_SIZE];
        parts->tls = tls_new(&parts->conf, why, sizeof(why));
        if (parts->tls == NULL) return lifecycle_fail(parts, "%s", why);
        tls_remind(parts->tls, clock_wall_usec(&parts->clock) / 1000000);
    }
    parts->clients = clients_new(&(struct clients_wiring){ .loop = parts->loop,
                                                           .clock = &parts->clock,
                                                           .conf = &parts->conf,
                                                           .engine = &parts->engine,
                                                           .pubsub = parts->pubsub,
                                                           .stats = &parts->stats,
                                                           .persist = parts->persist,
                                                           .tls = parts->tls });
    if (!clients_start_threads(parts->clients))
        return lifecycle_fail(parts, "can't start the threads of io-threads: %s", strerror(errno));
    parts->replication = replication_new(&(struct replication_wiring){ .loop = parts->loop,
                                                                       .clock = &parts->clock,
                                                                       .conf = &parts->conf,
                                                                       .engine = &parts->engine,
                                                                       .clients = parts->clients });
    if (parts->replication == NULL)
        return lifecycle_fail(parts, "can't prepare replication: %s", strerror(errno));
    if (!make_background(parts)) return false;
    parts->scripting->running.wiring = turn_busy(parts);
    turn_begin_seconds(parts);
    supervisor_begin(&parts->supervisor, parts->loop);
    lifecycle_on_signals(parts);
    loop_on_turn_end(parts->loop, turn_end, parts);
    return true;
}

/* Makes the users of `aclfile` or of the option `user`. Then replaces the value of that option, so
 * that plain passwords do not stay in memory. */
static bool make_users(struct parts *parts)
{
    struct outbuf why;
    const char *ignored;
    parts->acl->log.describe = client_list_describe;
    outbuf_init(&why);
    if (!acl_start(parts->acl, &why)) {
        char *text = mem_alloc(why.len + 1);
        outbuf_copy(&why, text);
        lifecycle_fail(parts, "%.*s", (int)why.len, text);
        mem_free(text);
        outbuf_drop(&why);
        return false;
    }
    char *lines = acl_option_lines(parts->acl);
    conf_set(&parts->conf, conf_find("user"), lines, &ignored);
    free(lines);
    return true;
}

bool wiring_make(struct parts *parts)
{
    clock_init(&parts->clock);
    supervisor_init(&parts->supervisor, &parts->conf);
    parts->page_thread = page_thread_new();
    make_data_side(parts);
    if (!make_event_side(parts)) return false;
    if (parts->conf.clock == CONF_CLOCK_STEPPED) {
        if (parts->conf.supervised == CONF_SUPERVISED_SYSTEMD || parts->supervisor.listens)
            return lifecycle_fail(parts, "clock stepped is for tests, not for a service: set clock "
                                         "to real, or supervised to no");
        parts->clock.obeys = parts->clock.stepped = true;
        log_line(LOG_WARNING, "The clock is stepped: time stands still until the command CLOCK "
                              "moves it. Do not use this server for anything but tests");
    }
    if (!process_random_hex(parts->run_id, RUN_ID_LEN))
        return lifecycle_fail(parts, "can't get random numbers: %s", strerror(errno));
    add_commands(parts);
    renames_apply(parts->commands, parts->conf.renames);
    if (!make_users(parts)) return false;
    char why[1024];
    parts->net = net_open(parts->loop, &parts->conf, parts->clients, why, sizeof(why));
    if (parts->net == NULL) return lifecycle_fail(parts, "%s", why);
    if (!reopen_http(parts, why, sizeof(why))) return lifecycle_fail(parts, "%s", why);
    parts->engine.loading = true;
    bool good = persist_start(parts->persist, why, sizeof(why));
    parts->engine.loading = false;
    if (!good) return lifecycle_fail(parts, "%s", why);
    /* The option has had its effect, and CONFIG REWRITE must not write it into the file. */
    const char *refused;
    conf_set(&parts->conf, conf_find("until"), "", &refused);
    replication_start(parts->replication);

    /* A replica that continues its master's stream keeps the policies of its master. */
    if (!replication_report(parts->replication).follows ||
        replication_position(parts->replication) == NULL) {
        struct txn txn;
        txn_begin(&txn, parts->store, clock_now(&parts->clock), FROM_CLIENT);
        txn_call(&txn, 0);
        policy_lines_set(&txn, parts->conf.policy);
        txn_commit(&txn);
    }
    if (!parts->engine.role.replica) fair_keep_all(&parts->store->fair, clock_now(&parts->clock));

    /* After an unclean end, clients may hold leases that were granted but not recorded. Grant none
     * for lease-max-ttl then. Two cases are safe. If there is no token, no lease was ever granted,
     * because the first grant of a run is always recorded. If the journal ends with the record of a
     * clean stop, it contains all leases. Without a journal nobody knows how the last run ended. */
    const struct tokens *tokens = &parts->store->tokens;
    bool clean = tokens->closed && persist_listens(parts->persist);
    if (parts->engine.role.replica || tokens->last == 0 || clean) return true;
    leases_hush(&parts->store->leases, clock_now(&parts->clock));
    log_line(LOG_NOTICE,
             "No leases are granted for %lld ms (lease-max-ttl): the last run "
             "may have granted some without recording them",
             (long long)parts->store->leases.max_ttl);
    return true;
}

void wiring_free(struct parts *parts)
{
    http_close(parts->http);
    net_close(parts->net);
    host_names_free(parts->names);
    clients_free(parts->clients);
    replication_free(parts->replication);
    tls_free(parts->tls);
    persist_free(parts->persist);
    store_work_free(parts->store_work);
    background_free(parts->background);
    defrag_timer_free(parts->defrag_timer);
    long_queries_free(parts->queries);
    settle_free(parts->settle);
    scripting_free(parts->scripting);
    supervisor_end(&parts->supervisor);
    loop_timer_free(parts->housekeeping);
    loop_free(parts->loop);
    acl_free(parts->acl);
    commands_free(parts->commands);
    observer_drop(&parts->observer);
    notify_free(parts->notify);
    watch_free(parts->watch);
    blocked_free(parts->blocked);
    tracking_free(parts->tracking);
    pubsub_free(parts->pubsub);
    /* Free a small store, because tests look for leaks, but not a large one: freeing 50 million
     * keys one by one would take seconds, and the kernel frees the memory anyway. */
    if (mem_used() < FREED_MOST) store_free(parts->store);
    page_thread_free(parts->page_thread);
}
