/* admin_parts: the parts of the server that its commands and the metrics port read and change. */
#pragma once

#include "conf/conf.h"
#include "server/base/clock.h"
#include "server/base/loop.h"
#include "server/cmd/call/command.h"
#include "server/engine/engine.h"
#include "server/engine/long_queries.h"
#include "server/engine/observe/observe.h"
#include "server/engine/observe/stats.h"
#include "server/engine/react/blocked.h"
#include "server/engine/react/notify.h"
#include "server/engine/react/pubsub.h"
#include "server/engine/react/tracking.h"
#include "server/engine/react/watch.h"
#include "server/net/client.h"
#include "server/net/tls/tls.h"
#include "server/script/script.h"
#include "store/store.h"
#include "store/sweep/defrag.h"

struct replication;

/* Why an option could not take effect. */
struct config_fault {
    const struct conf_option *option;
    char text[TLS_WHY_SIZE];
};

/* An option and the value that CONFIG SET is asked to set. */
struct config_wish {
    const struct conf_option *option;
    struct bytes value;
};

/* The context of most groups of commands. */
struct admin_parts {
    struct commands *commands;
    struct engine *engine;
    struct clients *clients;
    struct conf *conf;
    struct clock *clock;
    struct loop *loop;
    struct pubsub *pubsub;
    struct notify *notify;
    struct observer *observer;
    struct long_queries *queries;    /* NULL if no call blocks for long ones */
    const struct defrag *defrag;     /* NULL without defragmentation */
    struct scripting *scripting;     /* NULL without scripts */
    struct replication *replication; /* NULL if there is none */
    const char *run_id;              /* also the ID of the node of an emulated cluster */
    /* Called after CONFIG SET, to apply options that take effect at once, such as the log level.
     * Returns false if the journal could not be turned on. */
    bool (*changed)(void *ctx);
    /* Called before any option is set, with the options to set and their values. Returns true if
     * setting them would wait for a disk or a name server. A thread then does that part first: call
     * again when the thread has finished something (engine/preparing.h). NULL if no option
     * waits. */
    bool (*prepares)(void *ctx, const struct config_wish *wishes, size_t count);
    /* Called before `changed` to apply those of the options that may fail (ports, directories). On
     * failure returns false with the first error in `fault`: then restore the old values and call
     * again. NULL if no option can fail. */
    bool (*try)(void *ctx, const struct conf_option *const *set, size_t count,
                struct config_fault *fault);
    void *ctx;
    /* Set by admin_add_all. */
    size_t bytes_at_start, parts_at_start; /* see memory_figures.h */
    int64_t started_mono_usec;
};
