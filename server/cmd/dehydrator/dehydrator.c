/* dehydrator: commands that add elements to dehydrators, those that access one element by its id,
 * and those that stop and continue the deliveries. Rows with the origin "ReDe" keep the names and
 * arguments of the ReDe module. */
#include "server/cmd/dehydrator/dehydrator.h"
#include "server/cmd/dehydrator/dehydrator_args.h"
#include "store/base/ensure.h"
#include "store/base/number.h"
#include "store/base/random.h"
#include "store/struct/dict.h"
#include "store/txn/txn_dehydrator.h"

/* ---- pushing one element --------------------------------------------------------------------- */

/* What a push does if the id exists. NEW fails. */
enum push_mode { PUSH_NEW, PUSH_KEEP, PUSH_REPLACE, PUSH_POSTPONE };

struct push {
    struct entry *entry; /* NULL if the key is missing; push_element then creates it */
    msec at;
    enum push_mode mode;
    msec at_most;         /* POSTPONE: the longest span after the first push, or 0 for no limit */
    msec remember, every; /* 0 if not given */
    struct bytes cron, zone; /* the values of CRON, valid; `cron` is empty without it */
};

enum pushed {
    PUSHED,
    PUSH_KEPT,  /* the id exists or is remembered, and nothing changed */
    PUSH_FAILED /* an error was sent */
};

#define SPAN_MAX (INT64_MAX / 4) /* so that an instant and a span can be added */

enum push_option { KEEP, REPLACE, POSTPONE, REMEMBER, EVERY, CRON, PUSH_WORDS };

static const char *const options[PUSH_WORDS] = {
    [KEEP] = "KEEP",         [REPLACE] = "REPLACE", [POSTPONE] = "POSTPONE",
    [REMEMBER] = "REMEMBER", [EVERY] = "EVERY",     [CRON] = "CRON",
};

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

/* Parses the value of CRON at argument *i, and ZONE with its value if that follows. */
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

/* Parses the options from argument i to the last. push->at is already the latest deadline that the
 * call gives: CRON fails if its schedule has no run after that. Returns false after sending an
 * error. */
static bool parse_push_options(struct call *call, int i, struct push *push)
{
    for (; i < call->argc; i++) {
        bool good;
        switch (arg_word(call, i, options, PUSH_WORDS)) {
        case KEEP: good = set_mode(call, i, push, PUSH_KEEP); break;
        case REPLACE: good = set_mode(call, i, push, PUSH_REPLACE); break;
        case POSTPONE:
            good = set_mode(call, i, push, PUSH_POSTPONE);
            if (!good || !arg_is(call, i + 1, "ATMOST")) break;
            i++;
            good = parse_span(call, &i, "ATMOST", &push->at_most);
            break;
        case REMEMBER: good = parse_span(call, &i, "REMEMBER", &push->remember); break;
        case EVERY: /* CRON excludes it */
            good = push->cron.len > 0 ? arg_refuse_option(call, i, ERR_OPTION_CONFLICT)
                                      : parse_span(call, &i, "EVERY", &push->every);
            break;
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

static bool is_present(const struct call *call, const struct entry *entry, struct bytes id)
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

/* Adds the element, or does what push->mode says if its id exists. A push with the id of a claimed
 * element does not touch that element, because a worker is processing it: the new element becomes
 * its successor, and is added when the claimed one is acknowledged. Does not reply, except with the
 * error of PUSH_FAILED. */
static enum pushed push_element(struct call *call, struct push *push, struct bytes id,
                                struct bytes payload)
{
    struct element *element = find_element(push->entry, id);
    bool remembered = element == NULL && is_remembered(call, push->entry, id);
    if (element == NULL && !remembered) {
        struct push_options with;
        const struct stage stage = { .at = schedule(call, push, 0, &with) };
        if (is_full(call, push->entry, 1)) {
            fail(call, ERR_FULL);
            return PUSH_FAILED;
        }
        push->entry = entry_or_new(call, 1, push->entry, TYPE_DEHYDRATOR);
        txn_rede_push(call->txn, push->entry, id, payload, &stage);
        /* Forget an id whose span has ended but which was not collected yet. This must follow the
         * push: replayed in the other order, the key would be empty and dropped in between, and
         * its TTL lost. */
        txn_rede_forget(call->txn, push->entry, id);
        if (push_options_any(&with))
            txn_rede_set_options(call->txn, push->entry, find_element(push->entry, id), &with);
        return PUSHED;
    }
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

/* ---- the commands ---------------------------------------------------------------------------- */

/* REDE.PUSH and REDE.PUSHAT, whose variant is true: pushes the element at argument 3, whose id is
 * argument 4. */
static void cmd_rede_push(struct call *call)
{
    struct push push = { 0 };
    if (!(call_variant(call) ? arg_instant(call, 2, &push.at)
                             : arg_from_now(call, 2, "ttl", &push.at)))
        return;
    if (!parse_push_options(call, 5, &push)) return;
    if (!find_typed(call, 1, TYPE_DEHYDRATOR, &push.entry)) return;
    enum pushed pushed = push_element(call, &push, call->argv[4], call->argv[3]);
    if (pushed == PUSHED)
        reply_ok(call);
    else if (pushed == PUSH_KEPT)
        resp_null(call->out);
}

static void cmd_rede_gidpush(struct call *call)
{
    static const char alphabet[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    enum { CHARS = 31, LETTERS = sizeof(alphabet) - 1, FAIR = 256 / LETTERS * LETTERS };
    struct push push = { 0 };
    if (!arg_from_now(call, 2, "ttl", &push.at) || !parse_push_options(call, 4, &push)) return;
    if (!find_typed(call, 1, TYPE_DEHYDRATOR, &push.entry)) return;

    /* Make an id of random characters. Use a random byte only below FAIR, a multiple of LETTERS:
     * otherwise byte % LETTERS would favour the first characters. */
    char text[CHARS];
    const struct bytes id = bytes_of(text, CHARS);
    do {
        for (size_t made = 0; made < CHARS;) {
            uint64_t drawn = random_next(&call->txn->store->random);
            for (size_t i = 0; i < sizeof(drawn) && made < CHARS; i++, drawn >>= 8) {
                unsigned byte = (unsigned)(drawn & 0xff);
                if (byte < FAIR) text[made++] = alphabet[byte % LETTERS];
            }
        }
    } while (is_present(call, push.entry, id));
    if (push_element(call, &push, id, call->argv[3]) == PUSHED) reply_bytes(call, id);
}

enum { TRIPLE = 3 }; /* ttl element id */

static struct bytes argument_key(const void *argument)
{
    return *(const struct bytes *)argument;
}

static void cmd_rede_mpush(struct call *call)
{
    struct push push = { 0 };
    int end = 2, count = 0, pushed = 0; /* end of the triples, where the options begin */
    for (; end < call->argc && (end == 2 || arg_word(call, end, options, PUSH_WORDS) < 0);
         end += TRIPLE)
        if (call->argc - end < TRIPLE) {
            fail_named(call, ERR_ARITY);
            return;
        }
    for (int i = 2; i < end; i += TRIPLE) {
        msec at;
        if (!arg_from_now(call, i, "ttl", &at)) return;
        if (at > push.at) push.at = at;
    }
    if (!parse_push_options(call, end, &push)) return;
    if (!find_typed(call, 1, TYPE_DEHYDRATOR, &push.entry)) return;

    /* Count the new ids. An id that is given twice counts once. */
    static const struct dict_type type = { .key = argument_key };
    struct dict given;
    dict_init(&given, &type);
    for (int i = 2 + TRIPLE - 1; i < end; i += TRIPLE) {
        const struct bytes *id = &call->argv[i];
        if (is_present(call, push.entry, *id) || dict_find(&given, *id) != NULL) continue;
        dict_add(&given, (void *)(uintptr_t)id);
        count++;
    }
    dict_drop(&given);

    if (fail_if(call, push.mode == PUSH_NEW && count < (end - 2) / TRIPLE, ERR_DEHYDRATING)) return;
    if (fail_if(call, is_full(call, push.entry, (size_t)count), ERR_FULL)) return;
    for (int i = 2; i < end; i += TRIPLE)
        if (arg_from_now(call, i, "ttl", &push.at))
            pushed += push_element(call, &push, call->argv[i + 2], call->argv[i + 1]) == PUSHED;
    resp_integer(call->out, pushed);
}

static void reply_payload(struct call *call, const struct element *element)
{
    if (element == NULL)
        resp_null(call->out);
    else
        reply_bytes(call, element_payload(element));
}

static void cmd_rede_pull(struct call *call)
{
    struct entry *entry;
    bool forget = call->argc > 3;
    if (call->argc > 4 || (forget && !arg_is(call, 3, "FORGET"))) {
        arg_refuse_option(call, arg_is(call, 3, "FORGET") ? 4 : 3, ERR_OPTION_UNKNOWN);
        return;
    }
    if (!find_typed(call, 1, TYPE_DEHYDRATOR, &entry)) return;
    struct element *element = find_element(entry, call->argv[2]);
    reply_payload(call, element);

    if (!forget && element != NULL)
        txn_rede_remove_delivered(call->txn, entry, element, EVENT_REDE_PULL);
    if (!forget || entry == NULL) return;
    /* Forget the id before removing the element, so that the key exists for both. */
    txn_rede_forget(call->txn, entry, call->argv[2]);
    if (element != NULL) txn_rede_remove(call->txn, entry, element, EVENT_REDE_PULL);
}

static void cmd_rede_look(struct call *call)
{
    struct entry *entry;
    if (!find_typed_counted(call, 1, TYPE_DEHYDRATOR, &entry)) return;
    reply_payload(call, find_element(entry, call->argv[2]));
}

static void cmd_rede_update(struct call *call)
{
    struct entry *entry;
    if (!find_typed(call, 1, TYPE_DEHYDRATOR, &entry)) return;
    struct element *element = find_element(entry, call->argv[2]);
    if (element == NULL) {
        fail(call, entry == NULL ? ERR_NO_DEHYDRATOR : ERR_NO_ELEMENT);
        return;
    }
    reply_payload(call, element);
    txn_rede_update(call->txn, entry, element, call->argv[3]);
}

/* REDE.PAUSE. While paused, a dehydrator still accepts pushes and acknowledgements, and its leases
 * end as usual. It stays paused when it becomes empty: a queue is often paused for a deployment
 * just after its workers have emptied it. */
static void cmd_rede_pause(struct call *call)
{
    msec until = INSTANT_MAX;
    struct entry *entry;
    bool ends = arg_is(call, 2, "UNTIL");
    if (ends && !arg_has_value(call, 2)) return;
    if (call->argc > (ends ? 4 : 2)) {
        arg_refuse_option(call, ends ? 4 : 2, ERR_OPTION_UNKNOWN);
        return;
    }
    if (ends && !arg_instant(call, 3, &until)) return;
    if (fail_if(call, instant_due(until, call->txn->now), ERR_PAUSE_PAST)) return;
    if (!find_typed(call, 1, TYPE_DEHYDRATOR, &entry)) return;
    txn_rede_pause(call->txn, entry_or_new(call, 1, entry, TYPE_DEHYDRATOR), until);
    reply_ok(call);
}

static void cmd_rede_resume(struct call *call)
{
    struct entry *entry;
    if (!find_typed(call, 1, TYPE_DEHYDRATOR, &entry)) return;
    if (entry != NULL && dehydrator_paused(entry->object.dehydrator, call->txn->now) != 0)
        txn_rede_pause(call->txn, entry, 0);
    reply_ok(call);
}

#define PUSH_OPTIONS                                                                               \
    "[KEEP | REPLACE | POSTPONE [ATMOST milliseconds]] [REMEMBER milliseconds] "                   \
    "[EVERY milliseconds | CRON spec [ZONE zone]]"

static const struct command rows[] = {
    ROW("REDE.PUSH", cmd_rede_push, -5, WRITE | GROWS | FAST, .variant = false, .keys = KEY_FIRST,
        .key_flags = KEY_RW | KEY_INSERT, .since = "0.1.0", .origin = "ReDe",
        .replies = REPLIES("OK: the element was added, or replaces one of the same id",
                           "null: the id exists and KEEP was given, or it is remembered and KEEP, "
                           "REPLACE or POSTPONE was given"),
        .errors =
            ERRORS(ERR_WRONGTYPE, ERR_OPTION_UNKNOWN, ERR_OPTION_NO_VALUE, ERR_OPTION_CONFLICT,
                   ERR_DEHYDRATING, ERR_BAD_MSEC, ERR_CRON, ERR_CRON_NEVER, ERR_FULL),
        .complexity = "O(log(N)) where N is the number of elements.",
        .syntax = "key ttl element id " PUSH_OPTIONS,
        .summary = "Adds an element to a dehydrator, due in ttl milliseconds."),
    ROW("REDE.PUSHAT", cmd_rede_push, -5, WRITE | GROWS | FAST, .variant = true, .keys = KEY_FIRST,
        .key_flags = KEY_RW | KEY_INSERT, .since = "0.1.0",
        .replies = REPLIES("OK: the element was added, or replaces one of the same id",
                           "null: the id exists and KEEP was given, or it is remembered and KEEP, "
                           "REPLACE or POSTPONE was given"),
        .errors =
            ERRORS(ERR_WRONGTYPE, ERR_OPTION_UNKNOWN, ERR_OPTION_NO_VALUE, ERR_OPTION_CONFLICT,
                   ERR_DEHYDRATING, ERR_BAD_MSEC, ERR_CRON, ERR_CRON_NEVER, ERR_FULL),
        .complexity = "O(log(N)) where N is the number of elements.",
        .syntax = "key unix-time-milliseconds element id " PUSH_OPTIONS,
        .summary = "Adds an element to a dehydrator, due at a Unix time in milliseconds."),
    ROW("REDE.GIDPUSH", cmd_rede_gidpush, -4, WRITE | GROWS | FAST, .keys = KEY_FIRST,
        .key_flags = KEY_RW | KEY_INSERT, .since = "0.1.0", .origin = "ReDe",
        .replies = REPLIES("bulk: the new id: 31 characters of 0-9 and A-Z"),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_OPTION_UNKNOWN, ERR_OPTION_NO_VALUE,
                         ERR_OPTION_CONFLICT, ERR_BAD_MSEC, ERR_CRON, ERR_CRON_NEVER, ERR_FULL),
        .complexity = "O(log(N)) where N is the number of elements.",
        .syntax = "key ttl element " PUSH_OPTIONS,
        .summary = "Adds an element to a dehydrator under a generated id and returns the id."),
    ROW("REDE.MPUSH", cmd_rede_mpush, -5, WRITE | GROWS | FAST, .keys = KEY_FIRST,
        .key_flags = KEY_RW | KEY_INSERT, .since = "0.1.0",
        .replies = REPLIES("integer: the number of elements added or replaced"),
        .errors =
            ERRORS(ERR_WRONGTYPE, ERR_OPTION_UNKNOWN, ERR_OPTION_NO_VALUE, ERR_OPTION_CONFLICT,
                   ERR_DEHYDRATING, ERR_BAD_MSEC, ERR_CRON, ERR_CRON_NEVER, ERR_FULL),
        .complexity = "O(K*log(N)) where K is the number of elements given and N the number in the "
                      "dehydrator.",
        .syntax = "key ttl element id [ttl element id ...] " PUSH_OPTIONS,
        .summary =
            "Adds several elements to a dehydrator. Without KEEP, REPLACE or POSTPONE it adds "
            "none if an id exists or is given twice."),
    ROW("REDE.PULL", cmd_rede_pull, -3, WRITE | FAST, .keys = KEY_FIRST,
        .key_flags = KEY_RW | KEY_ACCESS | KEY_DELETE, .since = "0.1.0", .origin = "ReDe",
        .replies = REPLIES("bulk: the payload", "null: there is no such key or id"),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_OPTION_UNKNOWN),
        .complexity = "O(log(N)) where N is the number of elements.", .syntax = "key id [FORGET]",
        .summary = "Removes and returns an element by its id, whether it is due or not. With "
                   "FORGET the id "
                   "is not remembered, so that it can be pushed again at once."),
    ROW("REDE.LOOK", cmd_rede_look, 3, READONLY | FAST, .keys = KEY_FIRST,
        .key_flags = KEY_RO | KEY_ACCESS, .since = "0.1.0", .origin = "ReDe",
        .replies = REPLIES("bulk: the payload", "null: there is no such key or id"),
        .errors = ERRORS(ERR_WRONGTYPE), .complexity = "O(1)", .syntax = "key id",
        .summary = "Returns an element by its id without removing it."),
    ROW("REDE.UPDATE", cmd_rede_update, 4, WRITE | GROWS | FAST, .keys = KEY_FIRST,
        .key_flags = KEY_RW | KEY_ACCESS | KEY_UPDATE, .since = "0.1.0", .origin = "ReDe",
        .replies = REPLIES("bulk: the old payload"),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_NO_DEHYDRATOR, ERR_NO_ELEMENT), .complexity = "O(1)",
        .syntax = "key id element",
        .summary =
            "Replaces the payload of an element and returns the old one. The deadline does not "
            "change."),
    ROW("REDE.PAUSE", cmd_rede_pause, -2, WRITE | GROWS | FAST, .keys = KEY_FIRST,
        .key_flags = KEY_RW | KEY_UPDATE, .since = "0.2.0",
        .replies = REPLIES("OK: it delivers nothing from now on"),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_OPTION_UNKNOWN, ERR_OPTION_NO_VALUE, ERR_BAD_MSEC,
                         ERR_PAUSE_PAST),
        .complexity = "O(1)", .syntax = "key [UNTIL unix-time-milliseconds]",
        .summary =
            "Stops the deliveries of a dehydrator, until a Unix time in milliseconds or until "
            "REDE.RESUME. Pushes and acknowledgements continue."),
    ROW("REDE.RESUME", cmd_rede_resume, 2, WRITE | FAST, .keys = KEY_FIRST,
        .key_flags = KEY_RW | KEY_UPDATE, .since = "0.2.0",
        .replies = REPLIES("OK: it is not paused"), .errors = ERRORS(ERR_WRONGTYPE),
        .complexity = "O(1)", .syntax = "key",
        .summary = "Ends the pause of a dehydrator and serves clients that wait for its elements."),
};

const struct command_group dehydrator_commands = COMMAND_GROUP("dehydrator", rows);
