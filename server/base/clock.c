/* clock: see clock.h. Reads the kernel's clocks and the CPU's time stamp counter. */
#include "server/base/clock.h"

#include <sys/prctl.h>
#include <time.h>

#include "store/base/ensure.h"

enum {
    RATED_USEC = 10 * 1000, /* a span long enough to measure the counter's rate */
    SET_USEC = 100 * 1000,  /* a greater difference means that the system clock was set */
};

/* The only function that reads the counter. Not inlined, because a test searches the program for
 * instructions of any other reader. */
#if defined(__x86_64__)
static __attribute__((noinline)) uint64_t read_counter(void)
{
    return __builtin_ia32_rdtsc();
}

/* May the process use the instruction? If the kernel forbids it, the instruction ends the process
 * with SIGSEGV. A kernel that can't answer the question does not forbid the instruction. */
static bool may_read_counter(void)
{
    int how = PR_TSC_ENABLE;
    return prctl(PR_GET_TSC, &how) != 0 || how == PR_TSC_ENABLE;
}
#else
static uint64_t read_counter(void)
{
    return 0;
}

static bool may_read_counter(void)
{
    return false;
}
#endif

static int64_t read_usec(clockid_t id)
{
    struct timespec now;
    int rc = clock_gettime(id, &now);
    ensure(rc == 0, "clock %d", (int)id);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static void notify_reader(const struct clock *clock)
{
    if (clock->on_step != NULL) clock->on_step(clock->ctx);
}

void clock_init(struct clock *clock)
{
    *clock = (struct clock){ .has_counter = may_read_counter() };
    clock_tick(clock);
}

msec clock_tick(struct clock *clock)
{
    if (clock->stepped) return clock->now;
    int64_t wall = read_usec(CLOCK_REALTIME) + clock->ahead_of_real_usec;
    clock->now = wall / 1000;
    int64_t ahead = wall - clock_mono_usec(), by = ahead - clock->ahead_usec;
    if (by <= -SET_USEC || by >= SET_USEC) { /* the clock was set */
        bool known = clock->ahead_usec != 0;
        clock->ahead_usec = ahead;
        if (known && clock->on_set != NULL) clock->on_set(clock->ctx, by / 1000);
    }
    return clock->now;
}

void clock_hold(struct clock *clock, msec at)
{
    clock->stepped = true;
    clock->now = at;
    notify_reader(clock);
}

void clock_step(struct clock *clock, msec by)
{
    msec to = instant_moved(clock_tick(clock), by);
    clock->finish = true;
    clock_hold(clock, to);
}

void clock_release(struct clock *clock)
{
    clock->stepped = false;
    clock->ahead_of_real_usec = 0;
    clock_tick(clock);
    notify_reader(clock);
}

void clock_run(struct clock *clock)
{
    if (!clock->stepped) return;
    int64_t real = read_usec(CLOCK_REALTIME), at;
    clock->stepped = false;
    if (!__builtin_mul_overflow(clock->now, (int64_t)1000, &at)) {
        clock->ahead_of_real_usec = at - real;
        clock->ahead_usec = 0; /* the system clock was not set */
    }
    clock_tick(clock);
    notify_reader(clock);
}

void clock_set(struct clock *clock, msec at)
{
    msec by = at - clock->now;
    clock_hold(clock, at);
    if (clock->on_set != NULL) clock->on_set(clock->ctx, by);
}

int64_t clock_wall_usec(const struct clock *clock)
{
    int64_t held;
    if (!clock->stepped) return read_usec(CLOCK_REALTIME) + clock->ahead_of_real_usec;
    return __builtin_mul_overflow(clock->now, (int64_t)1000, &held) ? INT64_MAX : held;
}

int64_t clock_mono_usec(void)
{
    return read_usec(CLOCK_MONOTONIC);
}

int64_t clock_quick_usec(const struct clock *clock)
{
    if (clock->usec_per_count == 0) return clock_mono_usec();
    uint64_t counts = read_counter() - clock->counter;
    if (counts >> 32 != 0) return clock_mono_usec();
    return clock->counter_usec + (int64_t)(counts * clock->usec_per_count >> 32);
}

int64_t clock_mark(struct clock *clock)
{
    if (!clock->has_counter) return clock_mono_usec();
    clock->counter = read_counter();
    clock->counter_usec = clock_mono_usec();
    int64_t span = clock->counter_usec - clock->rated_usec;
    if (clock->rated_usec != 0 && span < RATED_USEC) return clock->counter_usec;
    /* A counter that stands still or was set back has no rate. */
    bool usable = clock->rated_usec != 0 && clock->counter > clock->rated_counter;
    clock->usec_per_count =
        usable
            ? (uint64_t)(((unsigned __int128)span << 32) / (clock->counter - clock->rated_counter))
            : 0;
    clock->rated_counter = clock->counter;
    clock->rated_usec = clock->counter_usec;
    return clock->counter_usec;
}
