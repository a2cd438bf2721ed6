/* main: the command line, and the wiring of the parts into a daemon.
 * Depends on every part's constructor, and on nothing that a part does inside. */
#include <errno.h>
#include <locale.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "conf/conf.h"
#include "conf/words.h"
#include "proto/base/alloc.h"
#include "server/admin/admin.h"
#include "server/run/background.h"
#include "server/net/client.h"
#include "server/base/clock.h"
#include "server/cmd/cmd.h"
#include "server/cmd/key/policy_args.h"
#include "server/run/defrag_timer.h"
#include "server/run/dispatch.h"
#include "server/run/expire_timer.h"
#include "server/base/log.h"
#include "server/base/loop.h"
#include "server/net/net.h"
#include "server/react/notify.h"
#include "server/persist/persist.h"
#include "server/base/process.h"
#include "server/react/pubsub.h"
#include "server/run/replay_call.h"
#include "server/run/settle.h"
#include "server/react/commit_hooks.h"
#include "server/run/long_queries.h"
#include "server/react/tracking.h"
#include "server/script/script.h"
#include "server/base/version.h"
#include "server/react/blocked.h"
#include "server/react/watch.h"
#include "store/sweep/evict.h"
#include "store/mem/mem.h"
#include "store/base/siphash.h"
#include "store/store.h"
#include "store/txn/txn.h"

enum { HOUSEKEEPING_USEC = 1000 * 1000, RUN_ID_LEN = 40 };

struct parts {
    struct conf conf;
    struct clock clock;
    struct stats stats;
    struct commit_hooks hooks;
    struct dispatch dispatch;
    struct observer observer;
    struct loop *loop;
    struct store *store;
    struct pubsub *pubsub;
    struct notify *notify;
    struct watch *watch;
    struct blocked *blocked;
    struct tracking *tracking;
    struct commands *commands;
    struct clients *clients;
    struct net *net;
    struct background *background;
    struct expire_timer *expire_timer;
    struct defrag_timer *defrag_timer;
    struct long_queries *queries;
    struct settle *settle;
    struct scripting *scripting;
    struct persist *persist;
    struct loop_timer *housekeeping;
    int64_t loading_turn_usec;
    struct admin admin;
    char run_id[RUN_ID_LEN + 1];
    bool wrote_pid;
    bool memory_short;
    bool stops; /* a signal to stop came while a script ran: stop when it has ended */
};

/* --- failing to start --- */

/* Reports to the terminal, and also to the log if that is a file. */
__attribute__((format(printf, 2, 3))) static bool failed(const struct parts *parts,
                                                         const char *format, ...)
{
    char reason[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(reason, sizeof(reason), format, args);
    va_end(args);
    fprintf(stderr, "expired: %s\n", reason);
    if (parts->conf.logfile[0] != '\0') log_line(LOG_WARNING, "Can't start: %s", reason);
    return false;
}

static void say_exhausted(size_t wanted, bool ends)
{
    static int64_t said;
    int64_t now = clock_mono_usec();
    if (!ends && said != 0 && now - said < HOUSEKEEPING_USEC) return;
    said = now;
    log_line(LOG_WARNING, "Out of memory: %zu bytes wanted, %zu in use. %s", wanted, mem_used(),
             ends ? "The server ends now; the journal is complete. Give it more memory, or set "
                    "maxmemory"
                  : "Commands that need more are refused until memory is free. Set maxmemory, or "
                    "delete data");
}

/* --- while it runs --- */

/* Changes are in the journal before any reply or message about them is sent. */
static void send_all(struct parts *parts)
{
    tracking_turn(parts->tracking);
    persist_turn(parts->persist);
    clients_turn(parts->clients);
}

/* Runs what arrived, sends, then works in the background: no reply waits for background work, whose
 * own messages are sent after it. Returns when the next turn has to begin. */
static msec run_turn(struct parts *parts)
{
    clients_run(parts->clients);
    send_all(parts);
    if (background_turn(parts->background)) send_all(parts);
    return background_is_left(parts->background) ? AT_ONCE : expire_timer_next(parts->expire_timer);
}

/* A turn inside a request, whose transaction is open: see busy.h for what it leaves out. */
static void serve_inside(struct parts *parts)
{
    clients_run(parts->clients);
    persist_turn_inside(parts->persist);
    clients_turn(parts->clients);
}

static void stop_if_saved(struct parts *parts)
{
    parts->stops = false;
    if (parts->conf.save[0] != '\0' && persist_save_at_end(parts->persist) != PERSIST_DONE)
        log_line(LOG_WARNING,
                 "Not stopping: can't write the snapshot. Free space, or use SHUTDOWN NOSAVE to "
                 "stop without saving");
    else
        loop_stop(parts->loop);
}

/* Only deadlines of data and of blocked clients are instants of the wall clock, which may be set.
 * All other timers (the journal's syncs and retries, housekeeping, rests of defragmentation, limits
 * of connections) are spans of the monotonic clock. Their owners set them once, when they begin;
 * here each turn would have to ask for them again. */
static void on_turn_end(void *ctx)
{
    struct parts *parts = ctx;
    if (parts->dispatch.busy) {
        serve_inside(parts);
        return;
    }
    expire_timer_set(parts->expire_timer, run_turn(parts));
    if (parts->stops) stop_if_saved(parts);
}

/* DIFFERS: Redis stops when the script has ended, however long that takes. (doc/differs.md)
 * Without a snapshot to write, the server stops at once, and the journal has nothing of the script.
 * Otherwise the script is stopped first, if it has not changed data. */
static void on_term(void *ctx)
{
    struct parts *parts = ctx;
    log_line(LOG_NOTICE, "Received a signal to stop");
    if (!parts->dispatch.busy) {
        stop_if_saved(parts);
        return;
    }
    parts->stops = true;
    if (parts->conf.save[0] == '\0')
        loop_stop(parts->loop);
    else if (!busy_stop(parts->scripting))
        log_line(LOG_WARNING, "Stopping when the script that runs has ended. Use SHUTDOWN NOSAVE "
                              "to stop at once, without its changes");
}

static void on_interrupt(void *ctx)
{
    signal(SIGINT, SIG_DFL); /* a second SIGINT ends the process at once */
    on_term(ctx);
}

/* Log rotation: the old file was renamed, so create and open a new one. */
static void on_hangup(void *ctx)
{
    const struct parts *parts = ctx;
    if (!log_open(parts->conf.logfile, (enum log_level)parts->conf.loglevel))
        log_line(LOG_WARNING, "Can't open logfile %s: %s. Logging continues to the old file",
                 parts->conf.logfile, strerror(errno));
}

static void look_at_memory(struct parts *parts)
{
    bool is_short = mem_is_short();
    if (parts->memory_short && !is_short)
        log_line(LOG_NOTICE, "Memory is available again: commands are no longer refused");
    parts->memory_short = is_short;
}

static void on_second(void *ctx)
{
    struct parts *parts = ctx;
    look_at_memory(parts);
    clients_housekeeping(parts->clients);
    stats_sample(&parts->stats, clock_mono_usec());
    persist_second(parts->persist);
    defrag_timer_second(parts->defrag_timer);
    loop_timer_set(parts->housekeeping, HOUSEKEEPING_USEC);
}

static void fit_maxclients(struct conf *conf)
{
    int64_t possible = process_raise_files(conf->maxclients);
    if (possible >= conf->maxclients) return;
    log_line(LOG_WARNING,
             "maxclients lowered to %lld from %lld: the limit of open files (ulimit -n) is too low",
             (long long)possible, (long long)conf->maxclients);
    conf->maxclients = possible;
}

static bool on_config(void *ctx)
{
    struct parts *parts = ctx;
    log_set_level((enum log_level)parts->conf.loglevel);
    parts->store->counts_access =
        evict_counts_access((enum evict_policy)parts->conf.maxmemory_policy);
    fit_maxclients(&parts->conf);
    parts->dispatch.evicting = true;
    if (persist_configure(parts->persist)) return true;
    parts->conf.appendonly = false;
    return false;
}

/* False: some changes could not be written to the disk. */
static bool end_serving(struct parts *parts)
{
    char why[256];
    bool good = persist_stop(parts->persist, why, sizeof(why));
    if (!good) log_line(LOG_WARNING, "%s", why);
    if (parts->conf.supervised != CONF_SUPERVISED_NO) process_notify("STOPPING=1");
    if (parts->wrote_pid) unlink(parts->conf.pidfile);
    return good;
}

/* --- while a script runs --- */

static void begin_busy(void *ctx)
{
    const struct parts *parts = ctx;
    log_line(LOG_WARNING,
             "A script has run for longer than busy-reply-threshold: other clients are answered "
             "BUSY until it ends. SCRIPT KILL or FUNCTION KILL stops it, if it has not written");
    clients_set_aside(parts->clients);
}

/* To stop now means to leave the script's transaction unfinished: the journal has nothing of it. */
static void run_busy_turn(void *ctx)
{
    struct parts *parts = ctx;
    loop_poll(parts->loop);
    if (!loop_stopped(parts->loop)) return;
    log_line(LOG_WARNING, "Stopping while a script runs: none of its changes is kept");
    bool good = end_serving(parts);
    net_close(parts->net);
    clients_free(parts->clients);
    if (good) log_line(LOG_NOTICE, "Stopped");
    fflush(NULL);
    _exit(good ? EXIT_SUCCESS : EXIT_FAILURE);
}

static void end_busy(void *ctx)
{
    const struct parts *parts = ctx;
    clients_take_back(parts->clients);
}

/* --- loading --- */

enum { LOADING_TURN_USEC = 20 * 1000 };

/* Loading calls this often. Every 20 ms it runs a turn, so that connections get an answer (LOADING)
 * and a signal can stop the server. */
static void on_progress(void *ctx)
{
    struct parts *parts = ctx;
    int64_t now = clock_mono_usec();
    if (now < parts->loading_turn_usec + LOADING_TURN_USEC) return;
    parts->loading_turn_usec = now;
    loop_poll(parts->loop);
    if (!loop_stopped(parts->loop)) return;
    log_line(LOG_NOTICE, "Stopped while loading: the data files are unchanged");
    fflush(NULL);
    _exit(EXIT_SUCCESS);
}

static bool on_redis_command(void *ctx, unsigned *db, int argc, const struct bytes *argv)
{
    struct parts *parts = ctx;
    return replay_call(&parts->dispatch, db, argc, argv);
}

static bool load_data(struct parts *parts)
{
    char why[1024];
    parts->dispatch.loading = true;
    bool good = persist_start(parts->persist, why, sizeof(why));
    parts->dispatch.loading = false;
    return good || failed(parts, "%s", why);
}

/* --- wiring --- */

static bool make_run_id(char *run_id, size_t size)
{
    uint8_t id[RUN_ID_LEN / 2];
    if (getrandom(id, sizeof(id), 0) != (ssize_t)sizeof(id)) return false;
    for (size_t i = 0; i < sizeof(id); i++)
        snprintf(run_id + 2 * i, size - 2 * i, "%02x", id[i]);
    return true;
}

static void add_commands(struct parts *parts)
{
    cmd_add_all(parts->commands, &parts->conf.proto_max_bulk_len);
    scripting_add_commands(parts->scripting, parts->commands);
    admin_add_all(&parts->admin,
                  &(struct admin_parts){ .commands = parts->commands,
                                         .dispatch = &parts->dispatch,
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
                                         .run_id = parts->run_id,
                                         .changed = on_config,
                                         .ctx = parts });
}

static void make_data_side(struct parts *parts)
{
    parts->store = store_new((unsigned)parts->conf.databases);
    parts->store->counts_access =
        evict_counts_access((enum evict_policy)parts->conf.maxmemory_policy);
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
    parts->commands = commands_new();
    parts->dispatch = (struct dispatch){ .commands = parts->commands,
                                         .store = parts->store,
                                         .conf = &parts->conf,
                                         .clock = &parts->clock,
                                         .hooks = &parts->hooks,
                                         .watch = parts->watch,
                                         .blocked = parts->blocked,
                                         .stats = &parts->stats,
                                         .observer = &parts->observer };
    parts->settle = parts->dispatch.settle = settle_new(&parts->dispatch);
    observer_init(&parts->observer, &parts->conf, &parts->clock);
    parts->scripting = scripting_new(&parts->dispatch);
}

/* Sets the policies of the configuration, except those whose names the data set already has. */
static void make_policies(struct parts *parts)
{
    struct txn txn;
    commit_hooks_arm(&parts->hooks);
    txn_begin(&txn, parts->store, clock_now(&parts->clock), FROM_CLIENT);
    const char *at = parts->conf.policy, *end = at + strlen(at), *line, *why;
    size_t len;
    while (conf_next_line(&at, end, &line, &len)) {
        struct conf_words words;
        if (!conf_words_split(line, len, &words, &why)) continue;
        policy_words_set(&txn, words.at, words.count);
        conf_words_drop(&words);
    }
    txn_commit(&txn);
}

static bool make_event_side(struct parts *parts)
{
    parts->loop = loop_new();
    if (parts->loop == NULL)
        return failed(parts, "can't create the event loop: %s", strerror(errno));
    parts->persist = persist_new(&(struct persist_wiring){ .loop = parts->loop,
                                                           .clock = &parts->clock,
                                                           .conf = &parts->conf,
                                                           .store = parts->store,
                                                           .progress = on_progress,
                                                           .command = on_redis_command,
                                                           .ctx = parts });
    if (parts->persist == NULL)
        return failed(parts, "can't map memory to share with the child process: %s",
                      strerror(errno));
    parts->dispatch.persist = parts->hooks.persist = parts->persist;
    parts->clients = clients_new(&(struct clients_wiring){ .loop = parts->loop,
                                                           .clock = &parts->clock,
                                                           .conf = &parts->conf,
                                                           .dispatch = &parts->dispatch,
                                                           .pubsub = parts->pubsub,
                                                           .stats = &parts->stats,
                                                           .persist = parts->persist });
    parts->background = background_new(&parts->clock);
    parts->expire_timer =
        expire_timer_new(parts->loop, &parts->clock, &parts->dispatch, parts->background);
    if (parts->expire_timer == NULL)
        return failed(parts, "can't create a timer: %s", strerror(errno));
    parts->queries = long_queries_new(&parts->clock, parts->blocked);
    background_add(
        parts->background,
        &(struct background_work){ .run = long_queries_run, .ctx = parts->queries, .most = 1 });
    parts->defrag_timer = defrag_timer_new(parts->loop, &parts->clock, &parts->dispatch);
    struct background_work defrag = defrag_timer_work(parts->defrag_timer);
    background_add(parts->background, &defrag);
    background_add(parts->background, &(struct background_work){ .run = engine_collect,
                                                                 .ctx = parts->scripting->engine,
                                                                 .most = 64 });
    parts->scripting->busy = (struct busy_wiring){
        .begin = begin_busy, .turn = run_busy_turn, .end = end_busy, .ctx = parts
    };
    parts->housekeeping = loop_timer_new(parts->loop, on_second, parts);
    loop_timer_set(parts->housekeeping, HOUSEKEEPING_USEC);
    loop_on_signal(parts->loop, SIGTERM, on_term, parts);
    loop_on_signal(parts->loop, SIGINT, on_interrupt, parts);
    loop_on_signal(parts->loop, SIGHUP, on_hangup, parts);
    loop_on_turn_end(parts->loop, on_turn_end, parts);
    return true;
}

static bool make_parts(struct parts *parts)
{
    clock_init(&parts->clock);
    make_data_side(parts);
    if (!make_event_side(parts)) return false;
    if (!make_run_id(parts->run_id, sizeof(parts->run_id)))
        return failed(parts, "can't get random numbers: %s", strerror(errno));
    add_commands(parts);
    char why[512];
    parts->net = net_open(parts->loop, &parts->conf, parts->clients, why, sizeof(why));
    if (parts->net == NULL) return failed(parts, "%s", why);
    if (!load_data(parts)) return false;
    make_policies(parts);
    return true;
}

static void free_parts(struct parts *parts)
{
    net_close(parts->net);
    clients_free(parts->clients);
    persist_free(parts->persist);
    expire_timer_free(parts->expire_timer);
    background_free(parts->background);
    defrag_timer_free(parts->defrag_timer);
    long_queries_free(parts->queries);
    settle_free(parts->settle);
    scripting_free(parts->scripting);
    loop_timer_free(parts->housekeeping);
    loop_free(parts->loop);
    commands_free(parts->commands);
    observer_drop(&parts->observer);
    notify_free(parts->notify);
    watch_free(parts->watch);
    blocked_free(parts->blocked);
    tracking_free(parts->tracking);
    pubsub_free(parts->pubsub);
    store_free(parts->store);
}

/* --- the process --- */

static bool seed_hash(void)
{
    uint8_t key[16];
    if (getrandom(key, sizeof(key), 0) != (ssize_t)sizeof(key)) return false;
    siphash_seed(key);
    return true;
}

/* Makes `dir` absolute, so that CONFIG GET dir shows where the files are. */
static bool keep_absolute_dir(struct conf *conf)
{
    char *path = getcwd(NULL, 0);
    const char *why;
    bool kept = path != NULL && conf_set(conf, conf_find("dir"), path, &why);
    free(path);
    return kept;
}

/* Makes `import` absolute if the file exists relative to the folder that the daemon is started in.
 * Otherwise it is looked for in `dir`. */
static bool keep_absolute_import(struct conf *conf)
{
    const char *why;
    char *path = conf->import[0] != '\0' ? realpath(conf->import, NULL) : NULL;
    bool kept = path == NULL || conf_set(conf, conf_find("import"), path, &why);
    free(path);
    return kept;
}

static bool enter_process(struct parts *parts)
{
    const struct conf *conf = &parts->conf;
    if (!keep_absolute_import(&parts->conf)) return failed(parts, "import: %s", strerror(errno));
    if (chdir(conf->dir) != 0)
        return failed(parts, "dir: can't change to %s: %s", conf->dir, strerror(errno));
    if (!keep_absolute_dir(&parts->conf)) return failed(parts, "dir: %s", strerror(errno));
    if (!log_open(conf->logfile, (enum log_level)conf->loglevel)) {
        fprintf(stderr, "expired: logfile: can't open %s: %s\n", conf->logfile, strerror(errno));
        return false;
    }
    if (!seed_hash()) return failed(parts, "can't get random numbers: %s", strerror(errno));
    signal(SIGPIPE, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); /* a write beyond the limit fails, as on a full disk */
    mem_on_exhausted(say_exhausted);
    mem_keep_reserve(true);
    mem_purge_aside();
    log_line(LOG_NOTICE, "expired %s starting, pid %d, %s%s", EXPIRED_VERSION, (int)getpid(),
             conf->file[0] == '\0' ? "no configuration file" : "configured by ", conf->file);
    fit_maxclients(&parts->conf);
    return true;
}

static void report_ready(struct parts *parts)
{
    const struct conf *conf = &parts->conf;
    if (conf->pidfile[0] != '\0') {
        parts->wrote_pid = process_write_pid(conf->pidfile);
        if (!parts->wrote_pid)
            log_line(LOG_WARNING, "Can't write pidfile %s: %s", conf->pidfile, strerror(errno));
    }
    log_line(LOG_NOTICE, "Ready to accept connections");
    if (conf->supervised == CONF_SUPERVISED_NO) return;
    if (!process_notify("READY=1") && conf->supervised == CONF_SUPERVISED_SYSTEMD)
        log_line(LOG_WARNING, "supervised: can't notify systemd: NOTIFY_SOCKET does not work");
}

static bool serve_clients(struct parts *parts)
{
    loop_run(parts->loop);
    return end_serving(parts);
}

static int run_process(struct parts *parts)
{
    int parent = -1;
    if (parts->conf.daemonize && parts->conf.supervised == CONF_SUPERVISED_NO) {
        parent = process_detach();
        if (parent < 0) {
            failed(parts, "daemonize: %s", strerror(errno));
            return EXIT_FAILURE;
        }
    }
    if (!enter_process(parts)) return EXIT_FAILURE;
    bool good = make_parts(parts);
    if (good) {
        report_ready(parts);
        if (parent >= 0) process_detached(parent);
        good = serve_clients(parts);
    }
    free_parts(parts);
    if (good) log_line(LOG_NOTICE, "Stopped");
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}

static const char USAGE[] =
    "Usage: expired [file.conf] [--option value ...] [-]\n"
    "       expired --version\n"
    "       expired --help\n"
    "\n"
    "Each option of the configuration file can be given as --option. With -, expired reads more\n"
    "options from standard input. Without a file, it listens on port 6379 of the loopback\n"
    "addresses.\n"
    "\n"
    "Examples:\n"
    "       expired\n"
    "       expired /etc/expired.conf --loglevel verbose\n"
    "       expired --port 0 --unixsocket /tmp/expired.sock\n"
    "       echo 'maxmemory 128mb' | expired -\n";

static bool is_word(const char *arg, const char *brief, const char *full)
{
    return strcmp(arg, brief) == 0 || strcmp(arg, full) == 0;
}

int main(int argc, char **argv)
{
    static const struct proto_allocator allocator = { mem_realloc, mem_try_realloc, mem_free };
    proto_use_allocator(&allocator);
    setlocale(LC_COLLATE, ""); /* for SORT ALPHA; numbers stay as in C */
    if (argc >= 2 && is_word(argv[1], "-h", "--help")) return fputs(USAGE, stdout) < 0;
    if (argc >= 2 && is_word(argv[1], "-v", "--version"))
        return printf("expired v=%s malloc=%s bits=%zu\n", EXPIRED_VERSION, mem_allocator_name(),
                      8 * sizeof(void *)) < 0;

    struct parts parts = { 0 };
    struct conf_error error;
    int status = EXIT_FAILURE;
    conf_init(&parts.conf);
    parts.conf.policy_fault = policy_words_fault;
    if (conf_load_args(&parts.conf, argc, argv, &error))
        status = run_process(&parts);
    else
        fprintf(stderr, "expired: %s\n", error.text);
    conf_drop(&parts.conf);
    return status;
}
