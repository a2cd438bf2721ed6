/* background: see background.h.
 *
 * The budget of a turn is 100 us. If the last turn left work undone, the budget is instead the time
 * that everything else took since the last slice, but at least 100 us and at most 500 us. A client
 * that waits for each reply before it sends the next request thus loses 100 us per request. Under a
 * load of many requests per turn, the background receives half of the time.
 *
 * If turns are long, 500 us is too small a share to keep up. The maximum therefore grows after each
 * half second in which every turn left work undone: by the time that everything else took in a
 * turn, up to four times that. After clock_step a turn has no limit: it finishes all work.
 *
 * Slices run in rotation, in batches of about 20 us, so that none starves. The units of work differ
 * in cost, so the size of each slice's batch is adapted to its measured speed. */
#include "server/engine/background.h"

#include "store/base/ensure.h"
#include "store/mem/mem.h"

enum {
    LEAST_USEC = 100,
    MOST_USEC = 500,
    BATCH_USEC = 20,
    FIRST_AMOUNT = 8,
    BEHIND_USEC = 500 * 1000,
    BEHIND_MAX = 4, /* most time for slices, as a multiple of all other time */
    WORKS_MAX = 16,
};

struct slice {
    struct background_work work;
    size_t amount; /* units in the next batch */
    int64_t used;  /* microseconds that it ran in this turn */
};

struct background {
    struct clock *clock;
    struct slice slices[WORKS_MAX];
    unsigned count, next; /* `next`: the slice to run next */
    bool (*serve)(void *ctx);
    void *serve_ctx;
    bool worked;   /* some slice did work in this turn */
    bool left;     /* the last turn spent its budget */
    int64_t ended; /* end of the last turn's slices */
    int64_t since; /* start of the time in which every turn left work */
};

struct background *background_new(struct clock *clock)
{
    struct background *background = mem_zalloc(sizeof(*background));
    background->clock = clock;
    return background;
}

void background_free(struct background *background)
{
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

void background_serve_with(struct background *background, bool (*serve)(void *ctx), void *ctx)
{
    background->serve = serve;
    background->serve_ctx = ctx;
}

bool background_turn(struct background *background)
{
    clock_tick(background->clock);
    int64_t now = clock_quick_usec(background->clock);
    int64_t budget = LEAST_USEC;
    if (background->clock->finish) {
        budget = INT64_MAX - now;
    } else if (background->left) {
        int64_t others = now - background->ended; /* the loop has not slept meanwhile */
        int64_t factor = (now - background->since) / BEHIND_USEC;
        int64_t behind = others * (factor < BEHIND_MAX ? factor : BEHIND_MAX);
        budget = others < LEAST_USEC ? LEAST_USEC : others > MOST_USEC ? MOST_USEC : others;
        if (behind > budget) budget = behind;
    }
    bool left = false; /* the budget is spent; otherwise no slice finds work any more */
    int64_t begun = now;
    background->worked = false;
    for (unsigned idle = 0; idle < background->count;
         background->next = (background->next + 1) % background->count) {
        struct slice *slice = &background->slices[background->next];
        idle++;
        bool worked = slice->work.run(slice->work.ctx, slice->amount);
        bool served = background->serve != NULL && background->serve(background->serve_ctx);
        if (!worked && !served) continue;
        idle = 0;
        background->worked = true;
        int64_t at = clock_quick_usec(background->clock), usec = at - begun;
        slice->used += usec;
        if (usec > BATCH_USEC && slice->amount > 1)
            slice->amount /= 2;
        else if (usec < BATCH_USEC / 2 && 2 * slice->amount <= slice->work.most)
            slice->amount *= 2;
        begun = at;
        left = at >= now + budget;
        if (left) break;
    }
    background->clock->finish = false;
    if (left && !background->left) background->since = now;
    background->left = left;
    if (!background->worked) return false;
    for (unsigned i = 0; i < background->count; i++) {
        struct slice *slice = &background->slices[i];
        const struct background_work *work = &slice->work;
        if (slice->used > 0 && work->took != NULL) work->took(work->ctx, slice->used);
        slice->used = 0;
        /* The next work may be of another kind, so start again with a small batch. */
        if (!left) slice->amount = first_amount(work);
    }
    background->ended = clock_quick_usec(background->clock);
    return true;
}

bool background_is_left(const struct background *background)
{
    return background->left;
}
