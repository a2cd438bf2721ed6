/* supervisor: what the service manager is told, by sd_notify(3): that the daemon is ready, reloads
 * or stops, a line about its state, signs of life, and that it needs more time where starting or
 * stopping takes long. Depends on process and the loop. */
#ifndef SERVER_DAEMON_SUPERVISOR_H
#define SERVER_DAEMON_SUPERVISOR_H

#include <stdbool.h>
#include <stdint.h>

#include "conf/conf.h"
#include "server/base/loop.h"

enum { SUPERVISOR_STATUS_MAX = 256 };

struct supervisor {
    bool listens;          /* there is somebody to tell */
    int64_t watchdog_usec; /* without a sign of life for so long, the daemon is killed; 0: never */
    int64_t alive_usec;    /* monotonic times: of the last sign of life, */
    int64_t working_usec;  /* ... and of the last message about long work */
    struct loop_timer *timer;           /* of the signs of life; NULL: none */
    char status[SUPERVISOR_STATUS_MAX]; /* as last sent */
};

/* Nothing is ever sent if `supervised` is no. */
void supervisor_init(struct supervisor *supervisor, const struct conf *conf);
/* Sends a sign of life twice in each time of the watchdog, from now on, while the loop turns. */
void supervisor_begin(struct supervisor *supervisor, struct loop *loop);
void supervisor_end(struct supervisor *supervisor);

/* Each sends one message; text is the line about the state. False: it could not be sent. */
bool supervisor_ready(struct supervisor *supervisor, const char *text);
bool supervisor_reloading(struct supervisor *supervisor, const char *text);
bool supervisor_stopping(struct supervisor *supervisor, const char *text);
/* Sends the line about the state if it differs from the last one. */
void supervisor_say(struct supervisor *supervisor, const char *text);

/* A sign of life if it is time for one. For a script, which may keep the loop from turning for as
 * long as it likes, but must not put off a stop. */
void supervisor_live(struct supervisor *supervisor, int64_t now_usec);
/* For work that keeps the loop from turning: call often. True, at most every two seconds: it is
 * time for supervisor_work. */
bool supervisor_wants_work(const struct supervisor *supervisor, int64_t now_usec);
/* A sign of life, a line about the state, and another minute for starting or stopping. */
void supervisor_work(struct supervisor *supervisor, int64_t now_usec, const char *text);

#endif
