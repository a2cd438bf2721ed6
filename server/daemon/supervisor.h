/* supervisor: sends messages to the service manager, as sd_notify(3) does: that the daemon is
 * ready, reloads or stops; a line about its state; keep-alives for the watchdog; and requests for
 * more time if starting or stopping takes long. Depends on process and the loop. */
#pragma once

#include "conf/conf.h"
#include "server/base/loop.h"

enum { SUPERVISOR_STATUS_MAX = 256 };

struct supervisor {
    bool listens;             /* a service manager receives the messages */
    int64_t watchdog_usec;    /* the manager kills the daemon after this long without a keep-alive;
                               * 0 means never */
    int64_t alive_usec;       /* monotonic: when the last keep-alive was sent */
    int64_t working_usec;     /* monotonic: when the last message about long work was sent */
    struct loop_timer *timer; /* sends the keep-alives; NULL without a watchdog */
    char status[SUPERVISOR_STATUS_MAX]; /* the line about the state that was last sent */
};

/* If `supervised` is no or NOTIFY_SOCKET is not set, the other functions send nothing. */
void supervisor_init(struct supervisor *supervisor, const struct conf *conf);
/* From now on, sends two keep-alives per watchdog interval while the loop runs. */
void supervisor_begin(struct supervisor *supervisor, struct loop *loop);
void supervisor_end(struct supervisor *supervisor);

/* Send one message with the line about the state. Return false if it could not be sent. */
bool supervisor_ready(struct supervisor *supervisor, const char *text);
bool supervisor_reloading(struct supervisor *supervisor, const char *text);
bool supervisor_stopping(struct supervisor *supervisor, const char *text);
/* Sends the line about the state if it differs from the last one. */
void supervisor_say(struct supervisor *supervisor, const char *text);

/* Sends a keep-alive if one is due. For a long script, during which the loop may not run: keeps the
 * watchdog from killing the daemon, but does not ask for more time to stop. */
void supervisor_live(struct supervisor *supervisor, int64_t now_usec);
/* Is supervisor_work due: two seconds after the last one, or for a keep-alive? Always false without
 * a service manager. Cheap, to be called often during work in which the loop does not run. */
bool supervisor_wants_work(const struct supervisor *supervisor, int64_t now_usec);
/* Sends a keep-alive and a line about the state, and asks for another minute to start or stop. */
void supervisor_work(struct supervisor *supervisor, int64_t now_usec, const char *text);
