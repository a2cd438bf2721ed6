/* parts: the parts of the running daemon. Only for server/daemon/ and main.c, which make and
 * connect them. Every other file receives the parts that it needs from its caller. */
#pragma once

#include <signal.h>

#include "conf/conf.h"
#include "server/admin/admin.h"
#include "server/base/clock.h"
#include "server/base/page_thread.h"
#include "server/daemon/supervisor.h"
#include "server/engine/engine.h"
#include "server/engine/expired_log_watch.h"
#include "server/engine/observe/observe.h"
#include "server/engine/observe/stats.h"
#include "server/engine/react/commit_hooks.h"

enum { RUN_ID_LEN = 40 };

/* The command line, and the state of the last reload. */
struct reload {
    int argc;
    char *const *argv; /* the arguments of main() */
    int start_dir;     /* the directory that the daemon was started in, or -1 if unknown */
    char **read;       /* for each option: the value last read, as CONFIG GET shows it */
    bool wanted;       /* reload at the end of the turn, of loading or of a script */
    bool waits;        /* a thread prepares the reload: see struct admin_parts */
    bool failed;       /* the last reload found errors */
};

struct parts {
    struct conf conf;
    struct clock clock;
    struct reload reload;
    struct supervisor supervisor;
    struct stats stats;
    struct commit_hooks hooks;
    struct expired_log_watch expired_logs;
    struct engine engine;
    struct observer observer;
    struct page_thread *page_thread; /* NULL if it could not start */
    struct loop *loop;
    struct store *store;
    struct pubsub *pubsub;
    struct notify *notify;
    struct watch *watch;
    struct blocked *blocked;
    struct tracking *tracking;
    struct commands *commands;
    struct acl *acl;
    struct tls *tls; /* NULL if no option needs TLS, see tls_is_wanted */
    struct clients *clients;
    struct net *net;
    struct host_names *names; /* addresses of bind and metrics-bind, resolved ahead */
    struct http *http;        /* NULL if metrics-port is 0 */
    struct background *background;
    struct store_work *store_work;
    struct defrag_timer *defrag_timer;
    struct long_queries *queries;
    struct settle *settle;
    struct scripting *scripting;
    struct persist *persist;
    struct replication *replication;
    struct loop_timer *housekeeping;
    int64_t loading_turn_usec;
    unsigned seconds; /* counts seconds, if a service manager listens */
    struct admin admin;
    char run_id[RUN_ID_LEN + 1];
    bool wrote_pid;
    bool memory_short;
    struct sigaction interrupt;    /* the action of SIGINT before the first one */
    bool interrupted;              /* SIGINT was received: another one kills the process */
    struct conf_shutdown stop_how; /* how lifecycle_stop stops: with or without a snapshot */
    bool stops; /* a signal asked to stop: stop at the end of the turn, after any script */
};
