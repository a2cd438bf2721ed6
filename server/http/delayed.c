/* delayed: see delayed.h. A request whose connection ends meanwhile stays here; libevent frees it
 * when it is answered. */
#include "server/http/delayed.h"

#include <event2/http.h>

#include "server/base/clock.h"
#include "store/base/ensure.h"
#include "store/mem/mem.h"

enum { DELAYED_MAX = 32, DELAY_USEC = 1000 * 1000 };

struct waiting {
    struct evhttp_request *request;
    int status;
    const char *reason;
    int64_t due_usec;
};

struct delayed {
    struct loop_timer *timer; /* for the first one */
    unsigned first, count;
    struct waiting ring[DELAYED_MAX]; /* in the order in which they are due */
};

static void send_first(struct delayed *delayed)
{
    const struct waiting *waiting = &delayed->ring[delayed->first];
    delayed->first = (delayed->first + 1) % DELAYED_MAX;
    delayed->count--;
    evhttp_send_reply(waiting->request, waiting->status, waiting->reason, NULL);
}

static void on_due(void *ctx)
{
    struct delayed *delayed = ctx;
    int64_t now = clock_mono_usec();
    while (delayed->count > 0 && delayed->ring[delayed->first].due_usec <= now)
        send_first(delayed);
    if (delayed->count > 0)
        loop_timer_set(delayed->timer, delayed->ring[delayed->first].due_usec - now);
}

struct delayed *delayed_new(struct loop *loop)
{
    struct delayed *delayed = mem_zalloc(sizeof(*delayed));
    delayed->timer = loop_timer_new(loop, on_due, delayed);
    return delayed;
}

void delayed_free(struct delayed *delayed)
{
    if (delayed == NULL) return;
    while (delayed->count > 0)
        send_first(delayed);
    loop_timer_free(delayed->timer);
    mem_free(delayed);
}

bool delayed_full(const struct delayed *delayed)
{
    return delayed->count == DELAYED_MAX;
}

void delayed_add(struct delayed *delayed, struct evhttp_request *request, int status,
                 const char *reason)
{
    ensure(!delayed_full(delayed), "%u wait", delayed->count);
    unsigned place = (delayed->first + delayed->count++) % DELAYED_MAX;
    delayed->ring[place] =
        (struct waiting){ request, status, reason, clock_mono_usec() + DELAY_USEC };
    if (delayed->count == 1) loop_timer_set(delayed->timer, DELAY_USEC);
}
