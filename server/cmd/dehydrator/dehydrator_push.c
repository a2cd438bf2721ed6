/* dehydrator_push: see dehydrator_push.h. A push with the id of a claimed element does not touch
 * that element, because a worker is processing it: the new element becomes its successor, and is
 * added when the claimed one is acknowledged. */
#include "server/cmd/dehydrator/dehydrator_push.h"

#include "server/cmd/dehydrator/dehydrator_args.h"
#include "store/base/ensure.h"
#include "store/base/number.h"
#include "store/txn/txn_dehydrator.h"

#define SPAN_MAX (INT64_MAX / 4) /* so that an instant and a span can be added */

enum push_option { KEEP, REPLACE, POSTPONE, REMEMBER, EVERY, CRON, PUSH_OPTIONS };

static const char *const options[PUSH_OPTIONS] = {
    [KEEP] = "KEEP",         [REPLACE] = "REPLACE", [POSTPONE] = "POSTPONE",
    [REMEMBER] = "REMEMBER", [EVERY] = "EVERY",     [CRON] = "CRON",
};

bool is_push_option(const struct call *call, int i)
{
    return arg_word(call, i, options, PUSH_OPTIONS) >= 0;
}

/* Parses the span of at least 1 ms that follows the option at argument *i, and moves *i to it. */
static bool parse_span(struct call *call, int *i, const char *name, msec *span)
{
    if (!arg_has_value(call, *i)) return false;
    const struct bytes text = call->argv[++*i];
    if (number_parse_int64(text.data, text.len, span) && *span >= 1 && *span <= SPAN_MAX)
        return true;
    return failf(call, ERR_BAD_MSEC, name);
}

/* Sets the mode of the push. Returns false after sending an error if the call gives a second one of
 * KEEP, REPLACE and POSTPONE. */
static bool set_mode(struct call *call, int i, struct push *push, enum push_mode mode)
{
    if (push->mode != PUSH_NEW) return arg_refuse_option(call, i, ERR_OPTION_CONFLICT);
    push->mode = mode;
    return true;
}

/* Parses the span of EVERY, which CRON excludes. */
static bool parse_every(struct call *call, int *i, struct push *push)
{
    if (push->cron.len > 0) return arg_refuse_option(call, *i, ERR_OPTION_CONFLICT);
    return parse_span(call, i, "EVERY", &push->every);
}

/* Parses the text after CRON at argument *i, and perhaps ZONE and a name. */
static bool parse_cron(struct call *call, int *i, struct push *push)
{
    msec now = call->txn->now, after = push->at > now ? push->at : now, at;
    if (push->cron.len > 0 || push->every != 0)
        return arg_refuse_option(call, *i, ERR_OPTION_CONFLICT);
    if (!arg_has_value(call, *i)) return false;
    push->cron = call->argv[++*i];
    push->zone = ZONE_DEFAULT;
    if (arg_is(call, *i + 1, "ZONE")) {
        if (!arg_has_value(call, ++*i)) return false;
        push->zone = call->argv[++*i];
    }
    return find_schedule(call, push->cron, push->zone, after, &at) != NULL;
}

bool parse_push_options(struct call *call, int i, struct push *push)
{
    for (; i < call->argc; i++) {
        bool good;
        switch (arg_word(call, i, options, PUSH_OPTIONS)) {
        case KEEP: good = set_mode(call, i, push, PUSH_KEEP); break;
        case REPLACE: good = set_mode(call, i, push, PUSH_REPLACE); break;
        case POSTPONE:
            good = set_mode(call, i, push, PUSH_POSTPONE);
            if (!good || !arg_is(call, i + 1, "ATMOST")) break;
            i++;
            good = parse_span(call, &i, "ATMOST", &push->at_most);
            break;
        case REMEMBER: good = parse_span(call, &i, "REMEMBER", &push->remember); break;
        case EVERY: good = parse_every(call, &i, push); break;
        case CRON: good = parse_cron(call, &i, push); break;
        default: good = arg_refuse_option(call, i, ERR_OPTION_UNKNOWN); break;
        }
        if (!good) return false;
    }
    return true;
}

static const struct extras *extras_of(const struct entry *entry)
{
    return entry == NULL ? NULL : dehydrator_extras(entry->object.dehydrator);
}

static bool is_remembered(const struct call *call, const struct entry *entry, struct bytes id)
{
    const struct extras *extras = extras_of(entry);
    msec until = extras == NULL ? 0 : extras_remembered_until(extras, id);
    return until != 0 && !instant_due(until, call->txn->now);
}

bool is_present(const struct call *call, const struct entry *entry, struct bytes id)
{
    return find_element(entry, id) != NULL || is_remembered(call, entry, id);
}

/* Computes the deadline of a push and the options that its element keeps. `first` is the instant of
 * the first push of its burst (see first_push), or 0 if this push begins one. */
static msec schedule(const struct call *call, const struct push *push, msec first,
                     struct push_options *with)
{
    msec at = push->at, latest, now = call->txn->now;
    *with = (struct push_options){ .remember = push->remember, .every = push->every };
    if (push->mode == PUSH_POSTPONE) {
        with->first = first != 0 ? first : now;
        if (push->at_most > 0 && instant_after(with->first, push->at_most, &latest) && at > latest)
            at = latest;
    }
    if (push->cron.len > 0) {
        /* Find the schedule again, because settling the key may have looked for other schedules. */
        char fault[CALENDAR_FAULT_MAX];
        const struct schedule *found =
            calendar_find(call->txn->store->calendar, push->cron, push->zone, fault);
        ensure(found != NULL, "a schedule that was parsed: %s", fault);
        at = calendar_next(found, at > now ? at : now);
        with->cron = calendar_text(found);
    }
    with->phase = at;
    return at;
}

static enum pushed add_element(struct call *call, struct push *push, struct bytes id,
                               struct bytes payload)
{
    struct push_options with;
    const struct stage stage = { .at = schedule(call, push, 0, &with) };
    if (is_full(call, push->entry, 1)) {
        fail(call, ERR_FULL);
        return PUSH_FAILED;
    }
    push->entry = entry_or_new(call, 1, push->entry, TYPE_DEHYDRATOR);
    txn_rede_push(call->txn, push->entry, id, payload, &stage);
    /* Forget an id whose span has ended but which was not collected yet. This must follow the push:
     * replayed in the other order, the key would be empty and dropped in between, and its TTL
     * lost. */
    txn_rede_forget(call->txn, push->entry, id);
    if (push_options_any(&with))
        txn_rede_set_options(call->txn, push->entry, find_element(push->entry, id), &with);
    return PUSHED;
}

/* A burst is a series of pushes with POSTPONE of one id, before any of them is delivered. Returns
 * the instant of its first push, from which ATMOST counts: that of the id's successor if there is
 * one, else `first`. */
static msec first_push(const struct push *push, struct bytes id, msec first)
{
    struct successor successor;
    const struct extras *extras = extras_of(push->entry);
    if (extras == NULL || !extras_successor(extras, id, &successor)) return first;
    return successor.options.first != 0 ? successor.options.first : first;
}

enum pushed push_element(struct call *call, struct push *push, struct bytes id,
                         struct bytes payload)
{
    struct element *element = find_element(push->entry, id);
    bool remembered = element == NULL && is_remembered(call, push->entry, id);
    if (element == NULL && !remembered) return add_element(call, push, id, payload);
    if (push->mode == PUSH_NEW) {
        fail(call, ERR_DEHYDRATING);
        return PUSH_FAILED;
    }
    if (push->mode == PUSH_KEEP || remembered) return PUSH_KEPT;
    if (dehydrator_stage(push->entry->object.dehydrator, element).claimed) {
        struct successor successor = { .id = id, .payload = payload };
        successor.at = schedule(call, push, first_push(push, id, 0), &successor.options);
        txn_rede_follow(call->txn, push->entry, &successor);
        return PUSHED;
    }

    struct push_options with, old = dehydrator_options(push->entry->object.dehydrator, element);
    bool was_delivered = dehydrator_stage(push->entry->object.dehydrator, element).deliveries > 0;
    msec first = first_push(push, id, was_delivered ? 0 : old.first);
    /* A claim that was given back leaves its element's successor, which is older than this push. */
    txn_rede_unfollow(call->txn, push->entry, id);
    const struct stage stage = { .at = schedule(call, push, first, &with) };
    txn_rede_update(call->txn, push->entry, element, payload);
    element = find_element(push->entry, id);
    if (push_options_any(&with) || push_options_any(&old))
        element = txn_rede_set_options(call->txn, push->entry, element, &with);
    txn_rede_move(call->txn, push->entry, element, &stage, EVENT_REDE_PUSH);
    return PUSHED;
}
