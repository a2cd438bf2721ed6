/* Tests of unblock with random programs: clients block, push, disconnect and time out, and each
 * gets the replies that a model predicts. */
#include "tests/unit/server/engine/react/blocked_world.h"

#include <stdio.h>

#include "tests/support/rng.h"

enum { KEYS = 4, NAMED_MAX = 3, ELEMENTS_MAX = 64 };

/* The expected state: the elements of each key, and the keys that each caller waits for. */
struct model {
    int elements[KEYS][ELEMENTS_MAX];
    int counts[KEYS];
    struct {
        bool waits, tail;
        int keys[NAMED_MAX], count;
        uint64_t arrival;
        msec until;
    } who[PUSHER];
    uint64_t arrivals;
    char expected[CALLERS][512];
    int drawn;
};

static void expect(struct model *model, int caller, const char *text)
{
    strcat(model->expected[caller], text);
}

static int model_take(struct model *model, int key, bool tail)
{
    int *elements = model->elements[key], count = --model->counts[key];
    if (tail) return elements[count];
    int first = elements[0];
    memmove(elements, elements + 1, sizeof(int) * (size_t)count);
    return first;
}

static void model_answer(struct model *model, int caller, int key)
{
    char text[64];
    int element = model_take(model, key, model->who[caller].tail);
    snprintf(text, sizeof(text), "*2|$1|%c|$4|%d|", 'a' + key, element);
    expect(model, caller, text);
    model->who[caller].waits = false;
}

static bool model_waits_for(const struct model *model, int caller, int key)
{
    for (int i = 0; model->who[caller].waits && i < model->who[caller].count; i++)
        if (model->who[caller].keys[i] == key) return true;
    return false;
}

static void model_serve(struct model *model, int key)
{
    while (model->counts[key] > 0) {
        int first = -1;
        for (int caller = 0; caller < PUSHER; caller++)
            if (model_waits_for(model, caller, key) &&
                (first < 0 || model->who[caller].arrival < model->who[first].arrival))
                first = caller;
        if (first < 0) return;
        model_answer(model, first, key);
    }
}

static void step_pop(struct rng *rng, struct model *model, int caller)
{
    char line[64];
    msec ttl = rng_chance(rng, 50) ? 0 : rng_between(rng, 1, 40);
    bool tail = rng_chance(rng, 50);
    int len = snprintf(line, sizeof(line), tail ? "BRPOP" : "BLPOP");
    model->who[caller].tail = tail;
    model->who[caller].count = (int)rng_between(rng, 1, NAMED_MAX);
    for (int i = 0; i < model->who[caller].count; i++) {
        int key = model->who[caller].keys[i] = (int)rng_below(rng, KEYS);
        len += snprintf(line + len, sizeof(line) - (size_t)len, " %c", 'a' + key);
    }
    snprintf(line + len, sizeof(line) - (size_t)len, " 0.%03d", (int)ttl);
    ask(&callers[caller], line);
    for (int i = 0; i < model->who[caller].count; i++) {
        if (model->counts[model->who[caller].keys[i]] == 0) continue;
        model_answer(model, caller, model->who[caller].keys[i]);
        return;
    }
    model->who[caller].waits = true;
    model->who[caller].arrival = model->arrivals++;
    model->who[caller].until = ttl > 0 ? wall.now + ttl : NEVER;
}

/* Pushes to several keys in one MULTI. */
static void step_push(struct rng *rng, struct model *model)
{
    int order[KEYS * 2], pushes = (int)rng_between(rng, 1, KEYS * 2);
    ask(pusher, "MULTI");
    for (int i = 0; i < pushes; i++) {
        char line[64];
        int key = order[i] = (int)rng_below(rng, KEYS);
        if (model->counts[key] == ELEMENTS_MAX) model->counts[key] = 0;
        if (model->counts[key] == 0) {
            snprintf(line, sizeof(line), "DEL %c", 'a' + key);
            ask(pusher, line);
        }
        int element = 1000 + model->drawn++ % 9000;
        snprintf(line, sizeof(line), "RPUSH %c %d", 'a' + key, element);
        ask(pusher, line);
        model->elements[key][model->counts[key]++] = element;
    }
    ask(pusher, "EXEC");
    caller_heard(pusher);
    for (int i = 0; i < pushes; i++)
        model_serve(model, order[i]);
}

static void step_clock(struct rng *rng, struct model *model)
{
    wall.now += rng_between(rng, 0, 12);
    while (unblock_due(&engine, (size_t)rng_between(rng, 1, 3)) > 0)
        continue;
    for (int caller = 0; caller < PUSHER; caller++) {
        if (!model->who[caller].waits || model->who[caller].until > wall.now) continue;
        model->who[caller].waits = false;
        expect(model, caller, "*-1|");
    }
}

static void step_one(struct rng *rng, struct model *model)
{
    int caller = (int)rng_below(rng, PUSHER);
    uint64_t die = rng_below(rng, 100);
    if (die < 30) {
        step_push(rng, model);
    } else if (die < 40) {
        step_clock(rng, model);
    } else if (!model->who[caller].waits) {
        step_pop(rng, model, caller);
    } else if (die < 43) {
        session_end_wait(&callers[caller].session); /* it has disconnected */
        model->who[caller].waits = false;
    } else if (die < 46) {
        ck_assert(unblock_client(&engine, &callers[caller].session, false));
        model->who[caller].waits = false;
        expect(model, caller, "*-1|");
    }
}

START_TEST(every_client_gets_the_elements_that_a_model_predicts)
{
    struct rng rng;
    static struct model model;
    memset(&model, 0, sizeof(model));
    rng_init(&rng, test_seed());
    for (int step = 0; step < 8000; step++) {
        size_t waiting = 0;
        step_one(&rng, &model);
        blocked_check(blocked);
        ck_assert(!blocked_pending(blocked));
        for (int caller = 0; caller < PUSHER; caller++) {
            hears(&callers[caller], model.expected[caller]);
            ck_assert_int_eq(waits(&callers[caller]), model.who[caller].waits);
            model.expected[caller][0] = '\0';
            waiting += model.who[caller].waits;
        }
        ck_assert_uint_eq(blocked_count(blocked), waiting);
    }
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        every_client_gets_the_elements_that_a_model_predicts,
        NULL,
    };
    return blocked_suite("unblock_random", tests);
}
