/* background: see background.h.
 *
 * The budget of a turn is as long as everything else has taken since the last slice, but not less
 * than 100 us and not more than 500 us. So a client that sends one request after the other waits
 * 100 us for each, while under a load of many requests a turn the background has half of the time.
 * Turns may be so long that 500 us are a small part of them, and what is due comes faster than it
 * is done: so for each half second in which every turn has left work, the budget may be longer by
 * what the others take.
 *
 * Slices take turns in small batches, each of some 20 us: how much that is, is learnt. */
#include "server/run/background.h"

#include "store/base/ensure.h"
#include "store/mem/mem.h"

enum {
    LEAST_USEC = 100,
    MOST_USEC = 500,
    BATCH_USEC = 20,
    FIRST_AMOUNT = 8,
    BEHIND_USEC = 500 * 1000,
    BEHIND_MAX = 4, /* times what the others take */
    WORKS_MAX = 16,
};

struct slice {
    struct background_work work;
    size_t amount; /* of the next batch */
    int64_t used;  /* usec in this turn */
};

struct background {
    struct clock *clock;
    struct loop_timer *again; /* work is left: the next turn comes without waiting */
    struct slice slices[WORKS_MAX];
    unsigned count, next; /* the slice that comes first in the next turn */
    bool worked;          /* in this turn */
    bool left;            /* the last turn's budget was spent */
    int64_t ended;        /* the last turn's slices, */
    int64_t since;        /* and since when work has been left after each */
};

/* The turn by itself is all that is wanted. */
static void on_again(void *ctx)
{
    (void)ctx;
}

struct background *background_new(struct loop *loop, struct clock *clock)
{
    struct background *background = mem_zalloc(sizeof(*background));
    background->clock = clock;
    background->again = loop_timer_new(loop, on_again, background);
    /* What is in the store already is looked at in the first turn. */
    loop_timer_set(background->again, 0);
    return background;
}

void background_free(struct background *background)
{
    if (background == NULL) return;
    loop_timer_free(background->again);
    mem_free(background);
}

static size_t first_amount(const struct background_work *work)
{
    return work->most < FIRST_AMOUNT ? work->most : FIRST_AMOUNT;
}

void background_add(struct background *background, const struct background_work *work)
{
    ensure(background->count < WORKS_MAX, "%u slices", background->count);
    background->slices[background->count++] =
        (struct slice){ .work = *work, .amount = first_amount(work) };
}

static int64_t budget(const struct background *background, int64_t now)
{
    if (!background->left) return LEAST_USEC;
    int64_t others = now - background->ended; /* the loop has not slept meanwhile */
    int64_t factor = (now - background->since) / BEHIND_USEC;
    int64_t behind = others * (factor < BEHIND_MAX ? factor : BEHIND_MAX);
    int64_t usec = others < LEAST_USEC ? LEAST_USEC : others > MOST_USEC ? MOST_USEC : others;
    return behind > usec ? behind : usec;
}

static void learn(struct slice *slice, int64_t usec)
{
    slice->used += usec;
    if (usec > BATCH_USEC && slice->amount > 1)
        slice->amount /= 2;
    else if (usec < BATCH_USEC / 2 && 2 * slice->amount <= slice->work.most)
        slice->amount *= 2;
}

/* True: the time is over. False: nobody found anything to do. */
static bool work_until(struct background *background, int64_t now, int64_t end)
{
    unsigned idle = 0;
    for (; idle < background->count;
         background->next = (background->next + 1) % background->count) {
        struct slice *slice = &background->slices[background->next];
        idle++;
        if (!slice->work.run(slice->work.ctx, slice->amount)) continue;
        idle = 0;
        background->worked = true;
        int64_t at = clock_quick_usec(background->clock);
        learn(slice, at - now);
        now = at;
        if (now >= end) return true;
    }
    return false;
}

static void end_slice(struct slice *slice, bool left)
{
    if (slice->used > 0 && slice->work.took != NULL) slice->work.took(slice->work.ctx, slice->used);
    slice->used = 0;
    /* What comes after a pause may be other work. */
    if (!left) slice->amount = first_amount(&slice->work);
}

bool background_turn(struct background *background)
{
    clock_tick(background->clock);
    int64_t now = clock_quick_usec(background->clock);
    background->worked = false;
    bool left = work_until(background, now, now + budget(background, now));
    if (left && !background->left) background->since = now;
    background->left = left;
    if (left) loop_timer_set(background->again, 0);
    if (!background->worked) return false;
    for (unsigned i = 0; i < background->count; i++)
        end_slice(&background->slices[i], left);
    background->ended = clock_quick_usec(background->clock);
    return true;
}

bool background_is_left(const struct background *background)
{
    return background->left;
}
