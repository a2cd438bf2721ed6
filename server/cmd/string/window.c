/* window: CL.WINDOW: at most `limit` requests in any window of time.
 *
 * The state is a string: the instants of the admitted requests, packed as differences (layout
 * below). A request that is admitted at `t` counts until t + window - 1. The key expires when the
 * last request has left the window.
 *
 * The instants in a key never decrease: while the clock is behind the latest admitted request,
 * requests are admitted at that request's instant. So a clock that is set back can delay
 * requests, but can't admit too many. A clock that is set ahead counts as time that has passed, as
 * for all deadlines. */
#include <string.h>

#include "server/cmd/call/args.h"
#include "server/cmd/string/string.h"
#include "store/base/little_endian.h"
#include "store/mem/mem.h"

/* Layout, integers least significant byte first: entries, then a footer. To add a request, the
 * footer is overwritten with a new entry and a new footer.
 *
 *     entry   number: milliseconds since the entry before, times 2, plus 1 if a quantity follows
 *             number: quantity, if it is not 1
 *     footer  u64 start: offset of the first entry that counts
 *             u64 the instant to which this entry's difference is added
 *             u64 the instant of the last entry
 *             u64 the sum of the quantities from `start` on
 *             "CLW1": the version; a change of the layout needs another one
 *
 * A number has 7 bits in each byte, least significant first; the top bit of a byte is set if more
 * bytes follow. */
enum { FOOTER = 36, NUMBER_MAX = 10, ENTRY_MAX = 2 * NUMBER_MAX };

#define MAGIC "CLW1"

struct log {
    const unsigned char *entries;
    size_t end, start; /* offsets: the end of the entries; the first that counts */
    msec before, last;
    int64_t total;
};

static size_t put_packed(unsigned char *to, uint64_t value)
{
    size_t len = 0;
    for (; value >= 0x80; value >>= 7)
        to[len++] = (unsigned char)(value | 0x80);
    to[len++] = (unsigned char)value;
    return len;
}

/* Reads a number at *at and moves *at behind it. Returns false if no complete number is left. */
static bool take_packed(const struct log *log, size_t *at, uint64_t *value)
{
    *value = 0;
    for (unsigned shift = 0; *at < log->end && shift < 64; shift += 7) {
        unsigned char byte = log->entries[(*at)++];
        *value |= (uint64_t)(byte & 0x7f) << shift;
        if ((byte & 0x80) == 0) return true;
    }
    return false;
}

struct request {
    msec at;
    int64_t quantity;
};

/* Removes the first request from the log and stores it in *first. Returns false if there is none,
 * or if the bytes are damaged. */
static bool take_first(struct log *log, struct request *first)
{
    uint64_t step, quantity = 1;
    size_t at = log->start;
    if (!take_packed(log, &at, &step)) return false;
    if (step % 2 == 1 && !take_packed(log, &at, &quantity)) return false;
    if (step / 2 > (uint64_t)(log->last - log->before)) return false;
    if (quantity < 1 || quantity > (uint64_t)log->total) return false;
    log->start = at;
    log->before += (msec)(step / 2);
    log->total -= (int64_t)quantity;
    *first = (struct request){ .at = log->before, .quantity = (int64_t)quantity };
    return true;
}

/* Adds the request to the log, and writes to `to` the bytes that replace those of the string from
 * log->end on. Returns their length. */
static size_t put_tail(unsigned char *to, struct log *log, const struct request *request)
{
    uint64_t step = 2 * (uint64_t)(request->at - log->last) + (request->quantity != 1);
    size_t len = put_packed(to, step);
    if (request->quantity != 1) len += put_packed(to + len, (uint64_t)request->quantity);
    log->last = request->at;
    log->total += request->quantity;

    unsigned char *footer = to + len;
    little_put(footer, 8, log->start);
    little_put(footer + 8, 8, (uint64_t)log->before);
    little_put(footer + 16, 8, (uint64_t)log->last);
    little_put(footer + 24, 8, (uint64_t)log->total);
    memcpy(footer + 32, MAGIC, 4);
    return len + FOOTER;
}

/* Stores the log with the request added to it. Usually only the tail of the string is written.
 * Entries that no longer count stay in front, until they are more than a quarter as long as the
 * others; then the string is written anew without them. So the copying costs O(1) for each request
 * on average. Returns false after sending an error; the string is then unchanged. */
static bool store_request(struct call *call, struct entry *entry, struct log *log,
                          const struct request *request, msec until)
{
    size_t end = log->end, used = end - log->start;
    if (entry != NULL && log->start <= used / 4) {
        if (end + ENTRY_MAX + FOOTER > string_limit(call)) return fail(call, ERR_STRING_TOO_BIG);
        unsigned char tail[ENTRY_MAX + FOOTER];
        struct bytes bytes = bytes_of((const char *)tail, put_tail(tail, log, request));
        if (txn_string_write(call->txn, call->argv[1], entry, end, bytes, EVENT_SETRANGE) < 0)
            return fail(call, ERR_OOM);
        txn_key_expire(call->txn, entry, until);
        return true;
    }

    /* There must be memory for a copy of the entries and, at the same time, for the string made
     * from it. */
    if (!call_has_room(used + ENTRY_MAX + FOOTER)) return fail(call, ERR_OOM);
    unsigned char *bytes = mem_alloc(used + ENTRY_MAX + FOOTER);
    if (used > 0) memcpy(bytes, log->entries + log->start, used);
    log->start = 0;
    size_t len = used + put_tail(bytes + used, log, request);
    const struct string_set how = { .at = until, .continues = true, .event = EVENT_SET };
    txn_string_set_found(call->txn, call->argv[1], entry, bytes_of((const char *)bytes, len), &how);
    mem_free(bytes);
    return true;
}

/* Reads the log without the requests that have left the window. Returns false after sending an
 * error. */
static bool find_log(struct call *call, msec span, const struct entry *entry, struct log *log)
{
    msec now = call->txn->now, end;
    *log = (struct log){ .before = now, .last = now };
    if (entry == NULL) return true;
    struct bytes text = object_text(&entry->object);
    if (text.len < FOOTER || memcmp(text.data + text.len - 4, MAGIC, 4) != 0)
        return fail(call, ERR_WINDOW_VALUE);
    const char *footer = text.data + text.len - FOOTER;
    uint64_t start = get_u64(footer);
    *log = (struct log){
        .entries = (const unsigned char *)text.data,
        .end = text.len - FOOTER,
        .start = (size_t)start,
        .before = (msec)get_u64(footer + 8),
        .last = (msec)get_u64(footer + 16),
        .total = (int64_t)get_u64(footer + 24),
    };
    if (start > log->end || log->total < 0 || !instant_ok(log->before) || !instant_ok(log->last) ||
        log->before > log->last || !instant_after(log->last, span, &end))
        return fail(call, ERR_WINDOW_VALUE);

    struct log rest = *log;
    struct request first;
    while (take_first(&rest, &first) && first.at <= now - span)
        *log = rest;

    if (log->total > 0 && log->start == log->end) return fail(call, ERR_WINDOW_VALUE);
    return true;
}

static void cmd_window(struct call *call)
{
    int64_t limit, span, quantity = 1; /* span: milliseconds */
    msec now = call->txn->now, wait = -1, end;
    struct log log;
    struct entry *entry;
    if (call->argc > 5) {
        fail_named(call, ERR_ARITY);
        return;
    }
    if (!arg_int64(call, 2, &limit) || !arg_int64(call, 3, &span)) return;
    if (call->argc > 4 && !arg_int64(call, 4, &quantity)) return;
    if (fail_if(call, limit < 1, ERR_WINDOW_LIMIT)) return;
    if (fail_if(call, span < 1 || !instant_after(now, span, &end), ERR_WINDOW_SPAN)) return;
    if (fail_if(call, quantity < 1 || quantity > limit, ERR_WINDOW_QUANTITY)) return;
    if (!find_typed(call, 1, TYPE_STRING, &entry) || !find_log(call, span, entry, &log)) return;

    bool is_limited = log.total > limit - quantity;
    if (is_limited) {
        /* When do enough requests leave the window? */
        struct log rest = log;
        struct request first = { .at = log.last };
        while (rest.total > limit - quantity && take_first(&rest, &first))
            continue;
        wait = first.at + span - now;
    } else {
        const struct request request = {
            .at = now > log.last ? now : log.last,
            .quantity = quantity,
        };
        if (!store_request(call, entry, &log, &request, request.at + span)) return;
    }
    resp_array(call->out, 5);
    resp_integer(call->out, is_limited);
    resp_integer(call->out, limit);
    resp_integer(call->out, log.total < limit ? limit - log.total : 0);
    resp_integer(call->out, wait);
    resp_integer(call->out, log.total > 0 ? log.last + span - now : 0);
}

static const struct command rows[] = {
    ROW("CL.WINDOW", cmd_window, -4, WRITE | GROWS | FAST, .keys = KEY_FIRST,
        .key_flags = KEY_RW | KEY_ACCESS | KEY_UPDATE, .since = "0.2.0",
        .replies = REPLIES("[integer integer integer integer integer]: 1 if the requests are "
                           "refused, else 0; the limit; how many are left; milliseconds until the "
                           "same call is allowed, -1 if it was allowed; milliseconds until the "
                           "window is empty"),
        .errors =
            ERRORS(ERR_WRONGTYPE, ERR_NOT_INTEGER, ERR_ARITY, ERR_WINDOW_LIMIT, ERR_WINDOW_SPAN,
                   ERR_WINDOW_QUANTITY, ERR_WINDOW_VALUE, ERR_STRING_TOO_BIG, ERR_OOM),
        .complexity =
            "O(1) amortized; O(N) with a quantity, or after a larger limit, where N is the "
            "number of requests that must leave the window first.",
        .syntax = "key limit window-milliseconds [quantity]",
        .summary =
            "Admits at most limit requests in any window of this length. Refused requests do "
            "not count."),
};

const struct command_group window_commands = COMMAND_GROUP("string", rows);
