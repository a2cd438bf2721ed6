/* loop: readiness, timers and signals, on top of libevent. A turn of the loop waits, runs the
 * callbacks that are ready, and then runs the end-of-turn hooks in the order in which they were
 * added. */
#pragma once

#include "server/base/clock.h"
#include "store/base/instant.h"

struct loop;
struct loop_io;
struct loop_timer;

enum { LOOP_READ = 1, LOOP_WRITE = 2 };

struct loop *loop_new(void); /* NULL with errno */
void loop_free(struct loop *loop);
void loop_run(struct loop *loop);  /* until loop_stop, or until no event is left */
void loop_stop(struct loop *loop); /* after this turn */
bool loop_stopped(const struct loop *loop);
/* Run one turn: loop_poll without waiting, loop_wait after waiting until something is ready. Long
 * work such as loading calls them again and again, so that connections are served meanwhile. Do not
 * call them inside a callback; an end-of-turn hook may. */
void loop_poll(struct loop *loop);
void loop_wait(struct loop *loop);

/* Counts of turns, for INFO. A turn is measured from its first callback to its end, so the wait
 * before it is excluded. The time of a turn inside another turn is part of the outer one. */
struct loop_turns {
    uint64_t count;
    uint64_t usec, longest_usec;
};
/* Counts into `turns` from now on, by this clock. Both are borrowed. */
void loop_count_turns(struct loop *loop, const struct clock *clock, struct loop_turns *turns);
const char *loop_backend(const struct loop *loop);
/* libevent's own loop. For server/http only, which uses libevent's HTTP server. */
struct event_base;
struct event_base *loop_event_base(const struct loop *loop);

/* Watches the readiness of a descriptor, level-triggered. Each call of `ready` reports one of
 * LOOP_READ and LOOP_WRITE, and may free the io. Nothing is reported before loop_io_want, whose
 * `want` is any combination of the two; 0 pauses the reports. */
struct loop_io *loop_io_new(struct loop *loop, int fd, void (*ready)(void *ctx, unsigned what),
                            void *ctx);
void loop_io_want(struct loop_io *io, unsigned want);
/* Does what loop_io_want does, for code that may watch many descriptors: returns false with errno
 * if the kernel refuses to watch another one (fs.epoll.max_user_watches) or lacks memory. */
bool loop_io_try(struct loop_io *io, unsigned want);
void loop_io_free(struct loop_io *io); /* does not close the descriptor */

/* A timer fires once, after a span of the monotonic clock. */
struct loop_timer *loop_timer_new(struct loop *loop, void (*fire)(void *ctx), void *ctx);
void loop_timer_set(struct loop_timer *timer, int64_t usec); /* < 0 cancels */
/* Sets the timer, or cancels it if the span is negative. The span comes from clients, so any number
 * is valid: one that is too large stands for the longest possible span. */
void loop_timer_set_msec(struct loop_timer *timer, msec ttl);
void loop_timer_free(struct loop_timer *timer);

/* From now on, call `fire` for each such signal, and `hook` at the end of each turn. */
void loop_on_signal(struct loop *loop, int signal, void (*fire)(void *ctx), void *ctx);
void loop_on_turn_end(struct loop *loop, void (*hook)(void *ctx), void *ctx);
