/* dehydrator_look: commands that read dehydrators without changing them: counts, deadlines, ranges
 * and scans; and CRON.NEXT. */
#include "server/cmd/block.h"
#include "server/cmd/dehydrator/dehydrator.h"
#include "server/cmd/dehydrator/dehydrator_args.h"
#include "server/cmd/scan.h"
#include "store/base/number.h"
#include "store/fair.h"
#include "store/txn/txn_dehydrator.h"

/* REDE.TTN: the time until the next element is due, or null if there is none. A claimed element is
 * due at the end of its lease, or later with BACKOFF. */
static void cmd_rede_ttn(struct call *call)
{
    struct entry *entry;
    if (!find_typed_counted(call, 1, TYPE_DEHYDRATOR, &entry)) return;
    if (entry == NULL) {
        resp_null(call->out);
        return;
    }
    msec at = dehydrator_next(entry->object.dehydrator), now = call->txn->now;
    if (at == NEVER) { /* there are no elements: the key only remembers ids */
        resp_null(call->out);
        return;
    }
    resp_integer(call->out, instant_due(at, now) ? 0 : at - now);
}

static void cmd_rede_len(struct call *call)
{
    struct entry *entry;
    bool due = arg_is(call, 2, "DUE"), claimed = arg_is(call, 2, "CLAIMED");
    if (call->argc > 3 || (call->argc == 3 && !due && !claimed)) {
        arg_refuse_option(call, due || claimed ? 3 : 2, ERR_OPTION_UNKNOWN);
        return;
    }
    if (!find_typed_counted(call, 1, TYPE_DEHYDRATOR, &entry)) return;
    const struct dehydrator *dehydrator = entry == NULL ? NULL : entry->object.dehydrator;
    size_t count = 0;
    if (dehydrator != NULL && due)
        count = dehydrator_count_due(dehydrator, call->txn->now);
    else if (dehydrator != NULL && claimed)
        count = dehydrator_count_claimed(dehydrator, call->txn->now);
    else if (dehydrator != NULL)
        count = dehydrator_count(dehydrator);
    resp_integer(call->out, (int64_t)count);
}

static void reply_named_or_null(struct call *call, const char *name, bool has_value, int64_t value)
{
    resp_bulk_text(call->out, name);
    if (has_value)
        resp_integer(call->out, value);
    else
        resp_null(call->out);
}

/* REDE.INFO. A missing key is shown as an empty dehydrator, but with the tally of its deliveries,
 * which the store keeps when the last element is taken. */
static void cmd_rede_info(struct call *call)
{
    struct entry *entry;
    msec now = call->txn->now;
    if (!find_typed_counted(call, 1, TYPE_DEHYDRATOR, &entry)) return;
    struct dehydrator *empty = entry == NULL ? dehydrator_new() : NULL;
    const struct dehydrator *dehydrator = entry == NULL ? empty : entry->object.dehydrator;
    struct delivery_tally tally =
        entry == NULL ? txn_rede_drained(call->txn, call->argv[1]) : *dehydrator_tally(dehydrator);
    msec next = dehydrator_next(dehydrator), paused = dehydrator_paused(dehydrator, now);
    resp_map(call->out, 16);
    reply_named_count(call, "length", dehydrator_count(dehydrator));
    reply_named_count(call, "due", dehydrator_count_due(dehydrator, now));
    reply_named_count(call, "claimed", dehydrator_count_claimed(dehydrator, now));
    reply_named_count(call, "redelivered", dehydrator_count_redelivered(dehydrator));
    reply_named_or_null(call, "next-deadline", next != NEVER, next);
    reply_named_count(call, "distinct-ttls", dehydrator_count_deadlines(dehydrator));
    reply_named_count(call, "bytes", entry == NULL ? 0 : dehydrator_bytes(dehydrator));
    reply_named_or_null(call, "paused-until", paused != 0, paused == INSTANT_MAX ? -1 : paused);
    reply_named_or_null(call, "oldest-due-ms", instant_due(next, now), now - next);

    const struct delivery_counts none = { 0 };
    const struct delivery_counts *counts = tally.deliveries != NULL ? tally.deliveries : &none;
    const struct histogram lateness = delivery_lateness(counts);
    bool delivers = counts->delivered > 0;
    reply_named_count(call, "pushed", tally.pushed);
    reply_named_count(call, "delivered", counts->delivered);
    reply_named_count(call, "acked", counts->acked);
    reply_named_count(call, "retried", counts->retried);
    reply_named_count(call, "dead", counts->dead);
    reply_named_or_null(call, "lateness-p50", delivers, histogram_percentile(&lateness, 50));
    reply_named_or_null(call, "lateness-p99", delivers, histogram_percentile(&lateness, 99));
    if (empty != NULL) dehydrator_free(empty);
}

/* REDE.FAIRINFO: counts in slices while the client is blocked. In MULTI and scripts, which can't
 * block, counts at once. */
static void cmd_rede_fairinfo(struct call *call)
{
    struct bytes prefix;
    struct fair_figures figures;
    msec now = call->txn->now;
    if (!arg_prefix(call, 1, &prefix)) return;
    struct fair_index *index = fair_use(&call->txn->store->fair, call->txn->ks->db, prefix, now);
    size_t budget = call->block != NULL ? FAIR_AT_ONCE : SIZE_MAX;
    if (!fair_survey(index, call->ready != NULL, now, budget, &figures)) {
        block_on(call, &(struct block_request){ .first = 1,
                                                .count = 1,
                                                .kind = BLOCK_FOR_SURVEY,
                                                .type = TYPE_DEHYDRATOR,
                                                .until = NEVER,
                                                .or_gone = true });
        return;
    }
    resp_map(call->out, 6);
    reply_named_count(call, "keys", figures.keys);
    reply_named_count(call, "due-keys", figures.due);
    reply_named_count(call, "due", figures.due_elements);
    reply_named_count(call, "claimed", figures.claimed);
    reply_named_count(call, "other-types", figures.other_types);
    bool waits = instant_due(figures.oldest, now);
    reply_named_or_null(call, "oldest-due-ms", waits, now - figures.oldest);
}

/* Parses an instant, or "-" or "+" for the earliest or latest one. Returns false after sending an
 * error. */
static bool arg_bound(struct call *call, int i, msec *at)
{
    struct bytes arg = call->argv[i];
    *at = arg_is(call, i, "-") ? INT64_MIN : INT64_MAX;
    if (arg_is(call, i, "-") || arg_is(call, i, "+")) return true;
    if (number_parse_int64(arg.data, arg.len, at)) return true;
    return failf(call, ERR_BAD_MSEC, "min or max");
}

static size_t count_from_to(const struct entry *entry, msec min, msec max)
{
    if (entry == NULL || min > max) return 0;
    const struct dehydrator *dehydrator = entry->object.dehydrator;
    /* Nothing is due at INT64_MIN. */
    return dehydrator_count_between(dehydrator, min == INT64_MIN ? min : min - 1, max);
}

static void cmd_rede_count(struct call *call)
{
    msec min, max;
    struct entry *entry;
    if (!arg_bound(call, 2, &min) || !arg_bound(call, 3, &max)) return;
    if (!find_typed_counted(call, 1, TYPE_DEHYDRATOR, &entry)) return;
    resp_integer(call->out, (int64_t)count_from_to(entry, min, max));
}

static void cmd_rede_range(struct call *call)
{
    msec min, max;
    int64_t limit = INT64_MAX;
    struct entry *entry;
    if (!arg_bound(call, 2, &min) || !arg_bound(call, 3, &max)) return;
    if (call->argc > 4) { /* COUNT is the only option */
        bool is_count = arg_is(call, 4, "COUNT");
        if (is_count && !arg_has_value(call, 4)) return;
        if (!is_count || call->argc > 6) {
            arg_refuse_option(call, is_count ? 6 : 4, ERR_OPTION_UNKNOWN);
            return;
        }
        if (!arg_range(call, 5, 0, INT64_MAX, &limit, ERR_NOT_POSITIVE)) return;
    }
    if (!find_typed_counted(call, 1, TYPE_DEHYDRATOR, &entry)) return;
    size_t count = count_from_to(entry, min, max);
    if ((uint64_t)limit < count) count = (size_t)limit;
    resp_array(call->out, count);
    if (count == 0) return;
    struct dehydrator_walk walk;
    dehydrator_walk_from(&walk, entry->object.dehydrator, min);
    while (count-- > 0) {
        msec at;
        const struct element *element = dehydrator_walk_next(&walk, &at);
        resp_array(call->out, 2);
        reply_bytes(call, element_id(element));
        resp_integer(call->out, at);
    }
    dehydrator_walk_end(&walk);
}

struct scanned {
    struct scan scan;
    const struct dehydrator *dehydrator;
};

static void visit_element(void *ctx, struct element *element)
{
    struct scan *scan = ctx;
    if (!scan_visit(scan, element_id(element))) return;
    scan_give(scan, element_id(element));
    scan_give(scan, element_payload(element));
}

static uint64_t step_scan(void *ctx, uint64_t cursor)
{
    struct scanned *scanned = ctx;
    return dehydrator_scan(scanned->dehydrator, cursor, visit_element, &scanned->scan);
}

/* REDE.SCAN. Like HSCAN, checks the options only if the key exists. */
static void cmd_rede_scan(struct call *call)
{
    struct scanned scanned;
    struct scan *scan = &scanned.scan;
    struct entry *entry;
    scan_begin(scan, call);
    if (!scan_read_cursor(scan, 2) || !find_typed_counted(call, 1, TYPE_DEHYDRATOR, &entry)) return;
    if (entry == NULL) {
        scan->cursor = 0;
    } else {
        if (!scan_read_options(scan, 3, NULL, NULL)) return;
        scanned.dehydrator = entry->object.dehydrator;
        scan_run(scan, step_scan, &scanned);
    }
    scan_reply(scan);
}

/* CRON.NEXT shows what a schedule means before an element uses it. */

enum { INSTANTS_MAX = 1000 }; /* bounds the work of a call */

static void cmd_cron_next(struct call *call)
{
    enum option { ZONE, FROM, COUNT, OPTIONS };
    static const char *const options[OPTIONS] = { "ZONE", "FROM", "COUNT" };
    struct bytes zone = ZONE_DEFAULT;
    msec from = call->txn->now, at;
    int64_t count = 1;
    unsigned given = 0;
    for (int i = 2; i < call->argc; i += 2) {
        int option = arg_word(call, i, options, OPTIONS);
        if (option < 0) {
            arg_refuse_option(call, i, ERR_OPTION_UNKNOWN);
            return;
        }
        if (given & 1U << option) {
            arg_refuse_option(call, i, ERR_OPTION_CONFLICT);
            return;
        }
        given |= 1U << option;
        if (!arg_has_value(call, i)) return;
        if (option == ZONE) zone = call->argv[i + 1];
        if (option == FROM && !arg_instant(call, i + 1, &from)) return;
        if (option == COUNT && !arg_range(call, i + 1, 1, INSTANTS_MAX, &count, ERR_CRON_COUNT))
            return;
    }
    const struct schedule *schedule = find_schedule(call, call->argv[1], zone, from, &at);
    if (schedule == NULL) return;

    msec instants[INSTANTS_MAX];
    size_t found = 0;
    for (; at != NEVER && found < (size_t)count; at = calendar_next(schedule, at))
        instants[found++] = at;
    resp_array(call->out, found);
    for (size_t i = 0; i < found; i++)
        resp_integer(call->out, instants[i]);
}

static const struct command rows[] = {
    ROW("REDE.TTN", cmd_rede_ttn, 2, READONLY | FAST, .keys = KEY_FIRST, .key_flags = KEY_RO,
        .since = "0.1.0", .origin = "ReDe",
        .replies =
            REPLIES("integer: the milliseconds until the next element is due; 0 if one is due",
                    "null: there are no elements"),
        .errors = ERRORS(ERR_WRONGTYPE), .complexity = "O(1)", .syntax = "key",
        .summary = "Returns the milliseconds until the next element is due."),
    ROW("REDE.LEN", cmd_rede_len, -2, READONLY | FAST, .keys = KEY_FIRST, .key_flags = KEY_RO,
        .since = "0.1.0",
        .replies = REPLIES("integer: the number of elements, or of those that are due or claimed"),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_OPTION_UNKNOWN),
        .complexity = "O(log(N)) where N is the number of elements.",
        .syntax = "key [DUE | CLAIMED]",
        .summary = "Returns the number of elements, or of those that are due or claimed."),
    ROW("REDE.COUNT", cmd_rede_count, 4, READONLY | FAST, .keys = KEY_FIRST, .key_flags = KEY_RO,
        .since = "0.2.0",
        .replies = REPLIES("integer: the number of elements that are due between the two instants"),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_BAD_MSEC),
        .complexity = "O(log(N)) where N is the number of elements.", .syntax = "key min max",
        .summary = "Returns the number of elements that are due between two Unix times in "
                   "milliseconds."),
    ROW("REDE.RANGE", cmd_rede_range, -4, READONLY, .keys = KEY_FIRST,
        .key_flags = KEY_RO | KEY_ACCESS, .since = "0.1.0",
        .replies = REPLIES(
            "[[bulk integer] ...]: ids and deadlines as Unix times in milliseconds, in order"),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_OPTION_UNKNOWN, ERR_OPTION_NO_VALUE, ERR_NOT_POSITIVE,
                         ERR_BAD_MSEC),
        .complexity = "O(log(N)+K) where N is the number of elements and K the number returned.",
        .syntax = "key min max [COUNT count]",
        .summary = "Returns the ids and deadlines of the elements that are due between two Unix "
                   "times in milliseconds."),
    ROW("REDE.SCAN", cmd_rede_scan, -3, READONLY, .keys = KEY_FIRST,
        .key_flags = KEY_RO | KEY_ACCESS, .tips = "nondeterministic_output", .since = "0.1.0",
        .replies = REPLIES(
            "[bulk [bulk bulk ...]]: the next cursor, 0 at the end; ids, each with its payload"),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_SYNTAX, ERR_NOT_INTEGER, ERR_INVALID_CURSOR),
        .complexity =
            "O(1) for each call. O(N) for a complete iteration, where N is the number of elements.",
        .syntax = "key cursor [MATCH pattern] [COUNT count]",
        .summary = "Returns some elements with their ids and the cursor for the next call. Begin "
                   "with cursor 0."),
    ROW("REDE.FAIRINFO", cmd_rede_fairinfo, 2, READONLY | BLOCKING, .prefix = 1, .since = "0.2.0",
        .replies = REPLIES(
            "map['keys' integer 'due-keys' integer 'due' integer 'claimed' integer 'other-types' "
            "integer 'oldest-due-ms' integer|null]: figures of the dehydrators with the prefix",
            "null-array: CLIENT UNBLOCK ended the wait"),
        .errors = ERRORS(ERR_PREFIX),
        .complexity = "O(N) where N is the number of keys in the database, in slices.",
        .syntax = "prefix", .summary = "Returns figures of all dehydrators with a prefix."),
    ROW("REDE.INFO", cmd_rede_info, 2, READONLY, .keys = KEY_FIRST, .key_flags = KEY_RO,
        .since = "0.1.0",
        .replies = REPLIES(
            "map['length' integer 'due' integer 'claimed' integer 'redelivered' integer "
            "'next-deadline' integer|null 'distinct-ttls' integer 'bytes' integer "
            "'paused-until' integer|null 'oldest-due-ms' integer|null 'pushed' integer "
            "'delivered' integer 'acked' integer 'retried' integer 'dead' integer "
            "'lateness-p50' integer|null 'lateness-p99' integer|null]: figures; all 0 or null "
            "if there is no such key. A pause without end is -1; times are in milliseconds"),
        .errors = ERRORS(ERR_WRONGTYPE),
        .complexity =
            "O(log(N)) where N is the number of elements. Distinct TTLs are counted up to 1,000.",
        .syntax = "key",
        .summary =
            "Returns the numbers of all, due and claimed elements, the next deadline, the memory "
            "used, the end of the pause, how many elements were delivered, and how late."),
    ROW("CRON.NEXT", cmd_cron_next, -2, READONLY | FAST | LOADING | STALE, .since = "0.2.0",
        .tips = "nondeterministic_output",
        .replies = REPLIES("[integer ...]: the next instants, as Unix times in milliseconds"),
        .errors = ERRORS(ERR_OPTION_UNKNOWN, ERR_OPTION_NO_VALUE, ERR_OPTION_CONFLICT, ERR_BAD_MSEC,
                         ERR_CRON, ERR_CRON_NEVER, ERR_CRON_COUNT),
        .complexity = "O(K) where K is the number of instants, each within 20 microseconds.",
        .syntax = "spec [ZONE zone] [FROM unix-time-milliseconds] [COUNT count]",
        .summary =
            "Lists the next instants of a schedule by the calendar in a time zone, after now "
            "or after FROM."),
};

const struct command_group dehydrator_look_commands = COMMAND_GROUP("dehydrator", rows);
