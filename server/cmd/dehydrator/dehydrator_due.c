/* dehydrator_due: commands that take or claim the due elements of a dehydrator.
 *
 * An element is claimed until its lease ends. Then it is due again, without background work.
 */
#include "server/cmd/block.h"
#include "server/cmd/dehydrator/dehydrator.h"
#include "server/cmd/dehydrator/dehydrator_args.h"
#include "store/txn/dead_letter.h"
#include "store/txn/txn_token.h"

/* ---- options --------------------------------------------------------------------------------- */

enum {
    COUNT_0 = 1 << 0,
    WITHIDS = 1 << 1,
    BLOCK = 1 << 2,
    TOKENS = 1 << 3
}; /* options that a command accepts */

struct take {
    int64_t limit;
    bool with_ids, waits, with_tokens;
    msec until; /* the timeout of a blocking call */
};

/* Parses the options from argument i to the last. False: an error was sent. */
static bool parse_take(struct call *call, int i, unsigned known, struct take *take)
{
    take->limit = INT64_MAX;
    for (; i < call->argc; i++) {
        if (arg_is(call, i, "COUNT")) {
            if (!arg_has_value(call, i)) return false;
            /* A command without COUNT_0 may block, so it can't take 0 elements. */
            bool or_0 = known & COUNT_0;
            if (!arg_range(call, ++i, or_0 ? 0 : 1, INT64_MAX, &take->limit,
                           or_0 ? ERR_NOT_POSITIVE : ERR_COUNT_POSITIVE))
                return false;
        } else if ((known & WITHIDS) && arg_is(call, i, "WITHIDS")) {
            take->with_ids = true;
        } else if ((known & TOKENS) && arg_is(call, i, "TOKENS")) {
            take->with_tokens = true;
        } else if ((known & BLOCK) && arg_is(call, i, "BLOCK")) {
            if (!arg_has_value(call, i)) return false;
            take->waits = true;
            if (!arg_timeout(call, ++i, &take->until)) return false;
        } else {
            return arg_refuse_option(call, i, ERR_OPTION_UNKNOWN);
        }
    }
    return true;
}

/* ---- when and how many ----------------------------------------------------------------------- */

/* What a RATE allows now, and the microsecond of the next delivery. Without one: any number. */
static uint64_t rate_allows(const struct call *call, const struct entry *entry, int64_t *next)
{
    const struct policy *policy = find_rate(call);
    const struct extras *extras = dehydrator_extras(entry->object.dehydrator);
    *next = extras == NULL ? 0 : extras_next_usec(extras);
    return policy == NULL ? UINT64_MAX : policy_rate_allows(policy, next, call->txn->now);
}

/* How many due elements may be delivered now, at most `limit`. */
static size_t count_deliverable(const struct call *call, const struct entry *entry, int64_t limit)
{
    int64_t next;
    size_t due = count_due(call, entry, limit);
    uint64_t allowed = due == 0 ? 0 : rate_allows(call, entry, &next);
    return allowed < due ? (size_t)allowed : due;
}

/* Counts deliveries for the RATE, before they take place. */
static void note_deliveries(struct call *call, struct entry *entry, size_t count)
{
    int64_t next;
    const struct policy *policy = find_rate(call);
    if (policy == NULL || count == 0) return;
    rate_allows(call, entry, &next);
    txn_rede_set_next_delivery(call->txn, entry, policy_rate_after(policy, next, count));
}

/* As count_deliverable, but no more than may be claimed. */
static size_t count_claimable(const struct call *call, const struct entry *entry, int64_t limit)
{
    size_t due = count_deliverable(call, entry, limit);
    uint64_t left = due == 0 ? 0 : claims_left(call, entry);
    return left < due ? (size_t)left : due;
}

/* Blocks until an element of the key of argument 1 may be taken, or claimed. */
static void block_until_due(struct call *call, const struct entry *entry, msec until, bool claims)
{
    msec again = 0; /* when an element may be delivered; 0: not before a change of the key */
    if (entry != NULL) {
        const struct dehydrator *dehydrator = entry->object.dehydrator;
        int64_t next;
        again = dehydrator_next(dehydrator);
        msec paused = dehydrator_paused(dehydrator, call->txn->now);
        if (paused > again) again = paused;
        if (rate_allows(call, entry, &next) == 0 && next / USEC_PER_MSEC > again)
            again = next / USEC_PER_MSEC;
        if (claims && claims_left(call, entry) == 0) {
            msec end = dehydrator_next_lease_end(dehydrator, call->txn->now);
            if (end > again) again = end;
        }
    }
    block_on(call, &(struct block_request){
                       .first = 1,
                       .count = 1,
                       .type = TYPE_DEHYDRATOR,
                       .until = until,
                       .again = again,
                       .no_answer = claims ? ANSWER_EMPTY : ANSWER_NULL,
                   });
}

/* ---- poll ------------------------------------------------------------------------------------ */

static void poll_first(struct call *call, struct entry *entry, size_t count, bool with_ids)
{
    note_deliveries(call, entry, count);
    while (count-- > 0) {
        struct element *element = dehydrator_first(entry->object.dehydrator);
        if (with_ids) {
            resp_array(call->out, 2);
            reply_bytes(call, element_id(element));
        }
        reply_bytes(call, element_payload(element));
        txn_rede_finish(call->txn, entry, element, EVENT_REDE_POLL);
    }
}

/* Polls what may be delivered now: `count` elements, and then those that have become due meanwhile:
 * successors that replaced others. With successors the replies are collected, because their number
 * is not known before. */
static void poll_some(struct call *call, struct entry *entry, size_t count, const struct take *take)
{
    if (count == 0 || object_notes(&entry->object) == 0) {
        resp_array(call->out, count);
        poll_first(call, entry, count, take->with_ids);
        return;
    }
    struct resp_writer *out = call->out;
    struct outbuf elements;
    outbuf_init(&elements);
    struct resp_writer writer = resp_writer_to(out, &elements);
    call->out = &writer;
    size_t done = 0;
    for (; count > 0; count = count_deliverable(call, entry, take->limit - (int64_t)done)) {
        poll_first(call, entry, count, take->with_ids);
        done += count;
    }
    call->out = out;
    resp_array(out, done);
    resp_splice(out, &elements);
}

static void cmd_rede_poll(struct call *call)
{
    struct take take = { 0 };
    struct entry *entry;
    if (!parse_take(call, 2, COUNT_0 | WITHIDS, &take)) return;
    if (!find_typed(call, 1, TYPE_DEHYDRATOR, &entry)) return;
    poll_some(call, entry, count_deliverable(call, entry, take.limit), &take);
}

static void cmd_rede_bpoll(struct call *call)
{
    struct take take = { 0 };
    struct source source;
    if (!arg_timeout(call, 2, &take.until)) return;
    if (!parse_take(call, 3, WITHIDS, &take)) return;
    if (!find_source(call, TYPE_DEHYDRATOR, 1, 1, &source)) return;
    size_t due = count_deliverable(call, source.entry, take.limit);
    if (due > 0)
        poll_some(call, source.entry, due, &take);
    else
        block_until_due(call, source.entry, take.until, false);
}

static void cmd_rede_xpoll(struct call *call)
{
    struct take take = { 0 };
    struct entry *entry;
    if (!parse_take(call, 2, COUNT_0, &take)) return;
    if (!find_typed_counted(call, 1, TYPE_DEHYDRATOR, &entry)) return;
    size_t due = count_due(call, entry, take.limit);
    resp_array(call->out, due);
    if (due == 0) return;
    struct dehydrator_walk walk;
    msec at;
    dehydrator_walk_begin(&walk, entry->object.dehydrator);
    while (due-- > 0)
        reply_bytes(call, element_id(dehydrator_walk_next(&walk, &at)));
    dehydrator_walk_end(&walk);
}

/* ---- claim ----------------------------------------------------------------------------------- */

/* What each claim of a call gets. */
struct grant {
    msec lease_end;
    const struct policy *backoff; /* NULL: there is none */
    bool with_tokens;
};

/* Claims the first element and replies [id, payload, deliveries], this delivery included, and the
 * token if there is one. The element moves to the end of its lease, so the next one becomes the
 * first. */
static void claim_first(struct call *call, struct entry *entry, const struct grant *grant)
{
    int64_t token = grant->with_tokens ? txn_token_next(call->txn) : 0;
    struct dehydrator *dehydrator = entry->object.dehydrator;
    struct element *element = dehydrator_first(dehydrator);
    struct stage stage = dehydrator_stage(dehydrator, element);
    if (stage.deliveries < UINT32_MAX) stage.deliveries++;
    stage.at = claimed_until(call, grant->backoff, grant->lease_end, stage.deliveries);
    stage.claimed = true;
    stage.token = token;
    resp_array(call->out, token != 0 ? 4 : 3);
    reply_bytes(call, element_id(element));
    reply_bytes(call, element_payload(element));
    resp_integer(call->out, stage.deliveries);
    if (token != 0) resp_integer(call->out, token);
    txn_rede_move(call->txn, entry, element, &stage, EVENT_REDE_CLAIM);
}

static void cmd_rede_claim(struct call *call)
{
    struct take take = { 0 };
    struct source source;
    msec lease_end;
    if (!arg_lease(call, 2, &lease_end)) return;
    if (!parse_take(call, 3, BLOCK | TOKENS, &take)) return;
    if (take.with_tokens && call->txn->store->leases.granted_elsewhere) {
        fail(call, ERR_READONLY);
        return;
    }
    if (!find_source(call, TYPE_DEHYDRATOR, 1, 1, &source)) return;
    size_t due = count_claimable(call, source.entry, take.limit);
    /* First move those that were delivered too often. */
    if (due > 0 && dead_letter_limit(call->txn, source.entry) > 0)
        due = dead_letter_move_elements(call->txn, source.entry, due);
    if (due == 0 && take.waits) {
        block_until_due(call, source.entry, take.until, true);
        return;
    }
    if (due > 0 && take.with_tokens && !txn_token_reserve(call->txn, (int64_t)due)) {
        fail(call, ERR_NO_TOKENS);
        return;
    }
    const struct grant grant = { lease_end, find_backoff(call), take.with_tokens };
    resp_array(call->out, due);
    note_deliveries(call, source.entry, due);
    while (due-- > 0)
        claim_first(call, source.entry, &grant);
}

/* ---- rows ------------------------------------------------------------------------------------ */

static const struct command rows[] = {
    { .name = "REDE.POLL",
      .run = cmd_rede_poll,
      .arity = -2,
      .flags = WRITE,
      .keys = KEY_FIRST,
      .key_flags = KEY_RW | KEY_ACCESS | KEY_DELETE,
      .since = "0.1.0",
      .origin = "ReDe",
      .replies = REPLIES("[bulk ...]: the payloads that were due, in order",
                         "[[bulk bulk] ...]: with WITHIDS: ids and payloads"),
      .errors = ERRORS(ERR_WRONGTYPE, ERR_OPTION_UNKNOWN, ERR_OPTION_NO_VALUE, ERR_NOT_POSITIVE),
      .complexity = "O(K*log(N)) where K is the number of elements returned and N the number in "
                    "the dehydrator.",
      .syntax = "key [COUNT count] [WITHIDS]",
      .summary = "Removes and returns the elements that are due, earliest first." },
    { .name = "REDE.BPOLL",
      .run = cmd_rede_bpoll,
      .arity = -3,
      .flags = WRITE | NOSCRIPT | BLOCKING,
      .keys = KEY_FIRST,
      .key_flags = KEY_RW | KEY_ACCESS | KEY_DELETE,
      .since = "0.1.0",
      .replies = REPLIES("[bulk ...]: the payloads that were due, in order",
                         "[[bulk bulk] ...]: with WITHIDS: ids and payloads",
                         "null-array: the timeout was reached"),
      .errors = ERRORS(ERR_WRONGTYPE, ERR_OPTION_UNKNOWN, ERR_OPTION_NO_VALUE, ERR_TIMEOUT_NEGATIVE,
                       ERR_TIMEOUT_FLOAT, ERR_COUNT_POSITIVE),
      .complexity = "O(K*log(N)) where K is the number of elements returned and N the number in "
                    "the dehydrator.",
      .syntax = "key timeout [COUNT count] [WITHIDS]",
      .summary = "Removes and returns the elements that are due, earliest first, or blocks until "
                 "one is due." },
    { .name = "REDE.XPOLL",
      .run = cmd_rede_xpoll,
      .arity = -2,
      .flags = READONLY,
      .keys = KEY_FIRST,
      .key_flags = KEY_RO | KEY_ACCESS,
      .since = "0.1.0",
      .origin = "ReDe",
      .replies = REPLIES("[bulk ...]: the ids of the elements that are due, in order"),
      .errors = ERRORS(ERR_WRONGTYPE, ERR_OPTION_UNKNOWN, ERR_OPTION_NO_VALUE, ERR_NOT_POSITIVE),
      .complexity = "O(log(N)+K) where N is the number of elements and K the number returned.",
      .syntax = "key [COUNT count]",
      .summary = "Returns the ids of the elements that are due, earliest first." },
    { .name = "REDE.CLAIM",
      .run = cmd_rede_claim,
      .arity = -3,
      .flags = WRITE | BLOCKING,
      .keys = KEY_FIRST,
      .key_flags = KEY_RW | KEY_ACCESS | KEY_UPDATE,
      .since = "0.1.0",
      .replies =
          REPLIES("[[bulk bulk integer] ...]: id, payload and number of deliveries of each claimed "
                  "element; empty if none is due, even after the timeout of BLOCK",
                  "[[bulk bulk integer integer] ...]: with TOKENS: the same, and the token of "
                  "each claim"),
      .errors =
          ERRORS(ERR_WRONGTYPE, ERR_OPTION_UNKNOWN, ERR_OPTION_NO_VALUE, ERR_TIMEOUT_NEGATIVE,
                 ERR_TIMEOUT_FLOAT, ERR_COUNT_POSITIVE, ERR_BAD_MSEC, ERR_READONLY, ERR_NO_TOKENS),
      .complexity = "O(K*log(N)) where K is the number of elements returned and N the number in "
                    "the dehydrator.",
      .syntax = "key lease [COUNT count] [BLOCK timeout] [TOKENS]",
      .summary = "Returns the elements that are due and hides them for lease milliseconds." },
};

const struct command_group dehydrator_due_commands = COMMAND_GROUP("dehydrator", rows);
