/* clock: the kernel's clocks behind clock.h.
 * Knows how to read them and how to stand still; refuses to know what time is used for. */
#include "server/clock.h"

#include <time.h>

#include "store/ensure.h"

static int64_t read_usec(clockid_t id)
{
    struct timespec now;
    int rc = clock_gettime(id, &now);
    ensure(rc == 0, "clock %d", (int)id);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static void tell(const struct clock *clock)
{
    if (clock->on_step != NULL) clock->on_step(clock->ctx);
}

void clock_init(struct clock *clock)
{
    *clock = (struct clock){ 0 };
    clock_tick(clock);
}

msec clock_tick(struct clock *clock)
{
    if (!clock->stepped) clock->now = read_usec(CLOCK_REALTIME) / 1000;
    return clock->now;
}

void clock_hold(struct clock *clock, msec at)
{
    clock->stepped = true;
    clock->now = at;
    tell(clock);
}

void clock_step(struct clock *clock, msec by)
{
    msec to;
    if (!instant_after(clock_tick(clock), by, &to)) to = by < 0 ? 0 : INSTANT_MAX;
    clock_hold(clock, to);
}

void clock_release(struct clock *clock)
{
    clock->stepped = false;
    clock_tick(clock);
    tell(clock);
}

int64_t clock_wall_usec(const struct clock *clock)
{
    int64_t held;
    if (!clock->stepped) return read_usec(CLOCK_REALTIME);
    return __builtin_mul_overflow(clock->now, (int64_t)1000, &held) ? INT64_MAX : held;
}

int64_t clock_mono_usec(void)
{
    return read_usec(CLOCK_MONOTONIC);
}
