/* supervisor: see supervisor.h. A message about a change of state waits at most a second for a busy
 * manager. Any other message is dropped if the manager is busy, because the next one follows
 * soon. */
#include "server/daemon/supervisor.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "server/base/process.h"

enum {
    USEC_PER_SEC = 1000 * 1000,
    WORK_USEC = 2 * USEC_PER_SEC,  /* between two messages about long work */
    MORE_USEC = 60 * USEC_PER_SEC, /* the time that each message asks for */
    MESSAGE_MAX = SUPERVISOR_STATUS_MAX + 128,
};

void supervisor_init(struct supervisor *supervisor, const struct conf *conf)
{
    *supervisor = (struct supervisor){ 0 };
    supervisor->listens = conf->supervised != CONF_SUPERVISED_NO && getenv("NOTIFY_SOCKET") != NULL;
    const char *usec = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");
    bool for_us = usec != NULL && (pid == NULL || strtoll(pid, NULL, 10) == getpid());
    int64_t time = for_us ? strtoll(usec, NULL, 10) : 0;
    if (supervisor->listens && time > 0) supervisor->watchdog_usec = time;
}

static void send_keep_alive(void *ctx)
{
    struct supervisor *supervisor = ctx;
    supervisor->alive_usec = clock_mono_usec();
    process_notify_now("WATCHDOG=1");
    loop_timer_set(supervisor->timer, supervisor->watchdog_usec / 2);
}

void supervisor_begin(struct supervisor *supervisor, struct loop *loop)
{
    if (supervisor->watchdog_usec == 0) return;
    supervisor->timer = loop_timer_new(loop, send_keep_alive, supervisor);
    send_keep_alive(supervisor);
}

void supervisor_end(struct supervisor *supervisor)
{
    loop_timer_free(supervisor->timer);
    supervisor->timer = NULL;
}

static void keep_status(struct supervisor *supervisor, const char *text)
{
    snprintf(supervisor->status, sizeof(supervisor->status), "%s", text);
}

static bool send_state(struct supervisor *supervisor, const char *state, const char *text)
{
    char message[MESSAGE_MAX];
    if (!supervisor->listens) return false;
    keep_status(supervisor, text);
    snprintf(message, sizeof(message), "%s\nSTATUS=%s", state, supervisor->status);
    return process_notify(message);
}

bool supervisor_ready(struct supervisor *supervisor, const char *text)
{
    supervisor->working_usec = 0; /* the next long work is reported at once */
    return send_state(supervisor, "READY=1", text);
}

bool supervisor_reloading(struct supervisor *supervisor, const char *text)
{
    char state[64];
    snprintf(state, sizeof(state), "RELOADING=1\nMONOTONIC_USEC=%" PRId64, clock_mono_usec());
    return send_state(supervisor, state, text);
}

bool supervisor_stopping(struct supervisor *supervisor, const char *text)
{
    return send_state(supervisor, "STOPPING=1", text);
}

void supervisor_say(struct supervisor *supervisor, const char *text)
{
    char message[MESSAGE_MAX];
    if (!supervisor->listens || strcmp(supervisor->status, text) == 0) return;
    keep_status(supervisor, text);
    snprintf(message, sizeof(message), "STATUS=%s", supervisor->status);
    process_notify_now(message);
}

static bool wants_keep_alive(const struct supervisor *supervisor, int64_t now_usec)
{
    return supervisor->watchdog_usec > 0 &&
           now_usec - supervisor->alive_usec >= supervisor->watchdog_usec / 2;
}

void supervisor_live(struct supervisor *supervisor, int64_t now_usec)
{
    if (!wants_keep_alive(supervisor, now_usec)) return;
    supervisor->alive_usec = now_usec;
    process_notify_now("WATCHDOG=1");
}

bool supervisor_wants_work(const struct supervisor *supervisor, int64_t now_usec)
{
    if (!supervisor->listens) return false;
    return now_usec - supervisor->working_usec >= WORK_USEC ||
           wants_keep_alive(supervisor, now_usec);
}

void supervisor_work(struct supervisor *supervisor, int64_t now_usec, const char *text)
{
    char message[MESSAGE_MAX];
    if (!supervisor->listens) return;
    supervisor->working_usec = now_usec;
    keep_status(supervisor, text);
    bool alive = supervisor->watchdog_usec > 0;
    if (alive) supervisor->alive_usec = now_usec;
    snprintf(message, sizeof(message), "STATUS=%s\nEXTEND_TIMEOUT_USEC=%d%s", supervisor->status,
             (int)MORE_USEC, alive ? "\nWATCHDOG=1" : "");
    process_notify_now(message);
}
