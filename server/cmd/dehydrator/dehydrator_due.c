/* dehydrator_due: commands that take or claim the due elements of a dehydrator.
 *
 * A claim moves the element's deadline to the end of the lease, or beyond it if a policy has
 * BACKOFF, and marks the element as claimed. At that instant the element is therefore due again
 * without any background work. */
#include "server/cmd/block.h"
#include "server/cmd/dehydrator/dehydrator.h"
#include "server/cmd/dehydrator/dehydrator_args.h"
#include "store/delivery.h"
#include "store/txn/dead_letter.h"
#include "store/txn/txn_token.h"

enum {
    COUNT_0 = 1 << 0,
    WITHIDS = 1 << 1,
    BLOCK = 1 << 2,
    TOKENS = 1 << 3
}; /* options that a command accepts */

struct take {
    int64_t limit;
    bool counts; /* COUNT gives the limit */
    bool with_ids, waits, with_tokens;
    msec until; /* the timeout of a blocking call */
};

static bool parse_take(struct call *call, int i, unsigned known, struct take *take)
{
    take->limit = INT64_MAX;
    for (; i < call->argc; i++) {
        if (arg_is(call, i, "COUNT")) {
            if (!arg_has_value(call, i)) return false;
            /* A command without COUNT_0 may block, and so can't take 0 elements. */
            bool or_0 = known & COUNT_0;
            take->counts = true;
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

/* Returns how many due elements may be delivered now, at most `limit`. */
static size_t count_deliverable(const struct call *call, const struct entry *entry, int64_t limit)
{
    return delivery_count(&call->txn->store->policies, entry, call->txn->now, limit, false);
}

/* As count_deliverable, but counts no more than may be claimed. */
static size_t count_claimable(const struct call *call, const struct entry *entry, int64_t limit)
{
    return delivery_count(&call->txn->store->policies, entry, call->txn->now, limit, true);
}

/* Counts deliveries for a policy's RATE before they happen. */
static void note_deliveries(struct call *call, struct entry *entry, size_t count)
{
    int64_t next;
    if (count > 0 &&
        delivery_rate_after(&call->txn->store->policies, entry, call->txn->now, count, &next))
        txn_rede_set_next_delivery(call->txn, entry, next);
}

/* Blocks until an element of the key at argument 1 may be taken or, if `claims`, claimed. */
static void block_until_due(struct call *call, const struct entry *entry, msec until, bool claims)
{
    block_on(call, &(struct block_request){
                       .first = 1,
                       .count = 1,
                       .type = TYPE_DEHYDRATOR,
                       .until = until,
                       .again = delivery_next_at(&call->txn->store->policies, entry, call->txn->now,
                                                 claims),
                       .no_answer = claims ? ANSWER_EMPTY : ANSWER_NULL,
                   });
}

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

/* Polls `count` elements, then those that became due through this: successors (dehydrator.c),
 * which take the place of an element that is removed. The reply begins with the number of elements,
 * which is unknown until the end, so the replies are collected first. Without successors they are
 * written at once. */
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

/* What each claim of a call receives. */
struct grant {
    msec lease_end;
    const struct policy *backoff; /* the policy with a BACKOFF, or NULL */
    bool with_tokens, with_key;
    bool no_tokens; /* the tokens are used up: the call can claim no more */
};

/* Claims the first element, and replies:
 *
 *     [key]          if the call names a prefix
 *     id
 *     payload
 *     deliveries     including this one
 *     [token]        if the call asks for tokens
 *
 * The element's deadline moves to the end of the lease or beyond it, so the next due element
 * becomes the first. */
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
    resp_array(call->out, 3u + (token != 0) + grant->with_key);
    if (grant->with_key) reply_bytes(call, entry_key(entry));
    reply_bytes(call, element_id(element));
    reply_bytes(call, element_payload(element));
    resp_integer(call->out, stage.deliveries);
    if (token != 0) resp_integer(call->out, token);
    txn_rede_move(call->txn, entry, element, &stage, EVENT_REDE_CLAIM);
}

/* May this server grant the call what it asks for? Only masters grant tokens. Returns false after
 * sending an error. */
static bool may_grant(struct call *call, const struct take *take)
{
    return !take->with_tokens || !call->txn->store->leases.granted_elsewhere ||
           fail(call, ERR_READONLY);
}

static void cmd_rede_claim(struct call *call)
{
    struct take take = { 0 };
    struct source source;
    msec lease_end;
    if (!arg_lease(call, 2, &lease_end)) return;
    if (!parse_take(call, 3, BLOCK | TOKENS, &take)) return;
    if (!may_grant(call, &take)) return;
    if (!find_source(call, TYPE_DEHYDRATOR, 1, 1, &source)) return;
    size_t due = count_claimable(call, source.entry, take.limit);
    /* First move elements to the dead letters if they were delivered too often. */
    if (due > 0 && dead_letter_limit(call->txn, source.entry) > 0)
        due = dead_letter_move_elements(call->txn, source.entry, due);
    if (due == 0 && take.waits) {
        block_until_due(call, source.entry, take.until, true);
        return;
    }
    if (fail_if(call, due > 0 && take.with_tokens && !txn_token_reserve(call->txn, (int64_t)due),
                ERR_NO_TOKENS))
        return;
    const struct grant grant = { .lease_end = lease_end,
                                 .backoff = find_backoff(call, source.key),
                                 .with_tokens = take.with_tokens };
    resp_array(call->out, due);
    note_deliveries(call, source.entry, due);
    while (due-- > 0)
        claim_first(call, source.entry, &grant);
}

/* A call gives up after this many misses, so that other clients are served. Each turn that delivers
 * nothing is a miss, and so is each dead element that is moved to the dead letters. */
enum { MISSES_AT_ONCE = 1000 };

/* Claims one element of the key whose turn it is. Returns false, and adds to *misses, if it claims
 * none: the key has expired, a policy has changed, the elements were claimed too often and became
 * dead letters, or no token is left (grant->no_tokens). */
static bool claim_in_turn(struct call *call, struct bytes key, struct grant *grant, size_t *misses)
{
    struct txn *txn = call->txn;
    struct entry *entry = txn_find(txn, key);
    ++*misses;
    if (entry == NULL || entry->object.type != TYPE_DEHYDRATOR) return false;
    if (count_claimable(call, entry, 1) == 0) return false;
    if (dead_letter_limit(txn, entry) > 0) {
        size_t before = dehydrator_count(entry->object.dehydrator);
        bool is_left = dead_letter_move_elements(txn, entry, 1) > 0;
        size_t after = dehydrator_count(entry->object.dehydrator);
        if (after < before) *misses += before - after;
        if (!is_left) {
            txn_drop_all_emptied(txn);
            return false;
        }
    }
    grant->no_tokens = grant->with_tokens && !txn_token_reserve(txn, 1);
    if (grant->no_tokens) return false;
    grant->backoff = find_backoff(call, key);
    note_deliveries(call, entry, 1);
    claim_first(call, entry, grant);
    --*misses;
    return true;
}

/* Claims up to `limit` elements, one for each turn; returns how many. If the call may block, gives
 * up after MISSES_AT_ONCE misses; *gave_up tells that it had claimed nothing by then.
 *
 * Also ends if the turns of some keys repeat without any change. Index and keys should not
 * disagree, but if they ever did, this loop would spin for ever. As in Brent's search for a cycle,
 * one missed key is remembered and replaced each time the number of turns without a change has
 * doubled; the loop ends when the remembered key is next again. */
static size_t claim_round(struct call *call, struct fair_index *index, size_t limit,
                          struct grant *grant, bool *gave_up)
{
    size_t most = call->block != NULL ? MISSES_AT_ONCE : SIZE_MAX;
    msec now = call->txn->now;
    struct bytes key;
    const char *missed = NULL; /* the key that was missed; compared, never read */
    size_t done = 0, misses = 0, unchanged = 0;
    while (done < limit && misses < most && !grant->no_tokens && fair_next(index, now, &key)) {
        uint64_t changes = call->txn->changes;
        bool is_again = key.data == missed;
        if (!is_again) done += claim_in_turn(call, key, grant, &misses);
        unchanged = call->txn->changes == changes ? unchanged + 1 : 0;
        if (unchanged == 0)
            missed = NULL;
        else if ((unchanged & (unchanged - 1)) == 0)
            missed = key.data;
        fair_turned(index, now);
        if (is_again) break;
    }
    *gave_up = done == 0 && misses >= most;
    return done;
}

/* Blocks until a dehydrator with the prefix has an element that may be claimed, or until there is
 * more to look through. Without BLOCK, the call only waits for its look to end, and then replies
 * with what it has found. */
static void block_until_turn(struct call *call, const struct take *take, uint64_t looks, msec again)
{
    block_on(call, &(struct block_request){
                       .first = 1,
                       .count = 1,
                       .kind = BLOCK_FOR_TURN,
                       .type = TYPE_DEHYDRATOR,
                       .until = take->waits ? take->until : NEVER,
                       .again = again,
                       .no_answer = ANSWER_EMPTY,
                       .or_gone = !take->waits,
                       .looks_needed = looks,
                   });
}

static void cmd_rede_fairclaim(struct call *call)
{
    struct take take = { 0 };
    struct bytes prefix;
    struct grant grant = { .with_key = true };
    struct txn *txn = call->txn;
    if (!arg_prefix(call, 1, &prefix)) return;
    if (!arg_lease(call, 2, &grant.lease_end)) return;
    if (!parse_take(call, 3, BLOCK | TOKENS, &take) || !may_grant(call, &take)) return;
    grant.with_tokens = take.with_tokens;
    size_t limit = take.counts ? (size_t)take.limit : 1;

    bool may_block = call->block != NULL;
    struct fair_index *index = fair_use(&txn->store->fair, txn->ks->db, prefix, txn->now);
    enum fair_state state = fair_build(index, txn->now, may_block ? FAIR_AT_ONCE : SIZE_MAX);
    uint64_t looks =
        may_block && call->ready != NULL ? call->block->looks_needed : fair_looks_needed(index);
    if (state < FAIR_CHECKING) {
        block_until_turn(call, &take, looks, 0);
        return;
    }

    struct resp_writer *out = call->out;
    struct outbuf elements;
    outbuf_init(&elements);
    struct resp_writer writer = resp_writer_to(out, &elements);
    call->out = &writer;
    bool gave_up;
    size_t done = claim_round(call, index, limit, &grant, &gave_up);
    call->out = out;
    if (done == 0 && grant.no_tokens) {
        fail(call, ERR_NO_TOKENS);
    } else if (gave_up) {
        fair_continue(index);
        block_until_turn(call, &take, looks, 0);
    } else if (done == 0 && (take.waits || (may_block && !fair_has_looked(index, looks)))) {
        msec next = fair_next_at(index, txn->now);
        block_until_turn(call, &take, looks,
                         instant_due(next, txn->now) ? instant_next(txn->now) : next);
    } else {
        resp_array(out, done);
        resp_splice(out, &elements);
    }
}

static const struct command rows[] = {
    ROW("REDE.POLL", cmd_rede_poll, -2, WRITE, .keys = KEY_FIRST,
        .key_flags = KEY_RW | KEY_ACCESS | KEY_DELETE, .since = "0.1.0", .origin = "ReDe",
        .replies = REPLIES("[bulk ...]: the payloads that were due, in order",
                           "[[bulk bulk] ...]: with WITHIDS: ids and payloads"),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_OPTION_UNKNOWN, ERR_OPTION_NO_VALUE, ERR_NOT_POSITIVE),
        .complexity = "O(K*log(N)) where K is the number of elements returned and N the number in "
                      "the dehydrator.",
        .syntax = "key [COUNT count] [WITHIDS]",
        .summary = "Removes and returns the elements that are due, earliest first."),
    ROW("REDE.BPOLL", cmd_rede_bpoll, -3, WRITE | NOSCRIPT | BLOCKING, .keys = KEY_FIRST,
        .key_flags = KEY_RW | KEY_ACCESS | KEY_DELETE, .since = "0.1.0",
        .replies = REPLIES("[bulk ...]: the payloads that were due, in order",
                           "[[bulk bulk] ...]: with WITHIDS: ids and payloads",
                           "null-array: the timeout was reached"),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_OPTION_UNKNOWN, ERR_OPTION_NO_VALUE,
                         ERR_TIMEOUT_NEGATIVE, ERR_TIMEOUT_FLOAT, ERR_COUNT_POSITIVE),
        .complexity = "O(K*log(N)) where K is the number of elements returned and N the number in "
                      "the dehydrator.",
        .syntax = "key timeout [COUNT count] [WITHIDS]",
        .summary = "Removes and returns the elements that are due, earliest first, or blocks until "
                   "one is due."),
    ROW("REDE.XPOLL", cmd_rede_xpoll, -2, READONLY, .keys = KEY_FIRST,
        .key_flags = KEY_RO | KEY_ACCESS, .since = "0.1.0", .origin = "ReDe",
        .replies = REPLIES("[bulk ...]: the ids of the elements that are due, in order"),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_OPTION_UNKNOWN, ERR_OPTION_NO_VALUE, ERR_NOT_POSITIVE),
        .complexity = "O(log(N)+K) where N is the number of elements and K the number returned.",
        .syntax = "key [COUNT count]",
        .summary = "Returns the ids of the elements that are due, earliest first."),
    ROW("REDE.CLAIM", cmd_rede_claim, -3, WRITE | BLOCKING, .keys = KEY_FIRST,
        .key_flags = KEY_RW | KEY_ACCESS | KEY_UPDATE, .since = "0.1.0",
        .replies = REPLIES(
            "[[bulk bulk integer] ...]: id, payload and number of deliveries of each claimed "
            "element; empty if none is due, even after the timeout of BLOCK",
            "[[bulk bulk integer integer] ...]: with TOKENS: the same, and the token of "
            "each claim"),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_OPTION_UNKNOWN, ERR_OPTION_NO_VALUE,
                         ERR_TIMEOUT_NEGATIVE, ERR_TIMEOUT_FLOAT, ERR_COUNT_POSITIVE, ERR_BAD_MSEC,
                         ERR_READONLY, ERR_NO_TOKENS),
        .complexity = "O(K*log(N)) where K is the number of elements returned and N the number in "
                      "the dehydrator.",
        .syntax = "key lease [COUNT count] [BLOCK timeout] [TOKENS]",
        .summary = "Returns the elements that are due and hides them for lease milliseconds."),
    ROW("REDE.FAIRCLAIM", cmd_rede_fairclaim, -3, WRITE | BLOCKING, .prefix = 1, .since = "0.2.0",
        .replies = REPLIES(
            "[[bulk bulk bulk integer] ...]: key, id, payload and number of deliveries of each "
            "claimed element; empty if none is due, even after the timeout of BLOCK",
            "[[bulk bulk bulk integer integer] ...]: with TOKENS: the same, and the token of "
            "each claim"),
        .errors = ERRORS(ERR_PREFIX, ERR_OPTION_UNKNOWN, ERR_OPTION_NO_VALUE, ERR_TIMEOUT_NEGATIVE,
                         ERR_TIMEOUT_FLOAT, ERR_COUNT_POSITIVE, ERR_BAD_MSEC, ERR_READONLY,
                         ERR_NO_TOKENS),
        .complexity = "O(K*log(N)) where K is the number of elements returned and N the number of "
                      "dehydrators and of their elements.",
        .syntax = "prefix lease [COUNT count] [BLOCK timeout] [TOKENS]",
        .summary = "Claims due elements of the dehydrators with a prefix, one of each in turn."),
};

const struct command_group dehydrator_due_commands = COMMAND_GROUP("dehydrator", rows);
