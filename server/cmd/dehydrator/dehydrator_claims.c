/* dehydrator_claims: commands that end claims, and commands that move deadlines. Each function here
 * implements two commands, which name their elements differently:
 *
 *                        by id        by id and token
 *     acknowledge        XACK         ACK
 *     give_back          NACK         RETRY
 *     move_deadlines     RESCHEDULE   EXTEND
 *
 * A token, from REDE.CLAIM ... TOKENS, names one claim of the element. So a worker that is late
 * can't end another worker's claim, even if the id was acknowledged and pushed again meanwhile. The
 * token stays valid after the lease has ended, until the element is claimed again, loses its
 * claim, or is removed. */
#include "server/cmd/dehydrator/dehydrator.h"
#include "server/cmd/dehydrator/dehydrator_args.h"
#include "store/base/number.h"
#include "store/delivery.h"
#include "store/tokens.h"
#include "store/txn/txn_dehydrator.h"

/* How a call names elements; the value is the number of arguments for each element. */
enum naming { BY_ID = 1, BY_TOKEN = 2 };

static bool parse_token(const struct call *call, int i, int64_t *token)
{
    return number_parse_int64(call->argv[i].data, call->argv[i].len, token) && *token >= 0 &&
           *token <= TOKEN_MAX;
}

/* Finds the key of argument 1, after checking the ids, or pairs of an id and a token, from argument
 * `first` on. Returns false after sending an error. */
static bool find_key(struct call *call, int first, enum naming naming, struct entry **entry)
{
    int64_t token;
    if ((call->argc - first) % (int)naming != 0) {
        fail_named(call, ERR_ARITY);
        return false;
    }
    for (int i = first; naming == BY_TOKEN && i < call->argc; i += BY_TOKEN)
        if (!parse_token(call, i + 1, &token)) {
            failf(call, ERR_BAD_MSEC, "token");
            return false;
        }
    return find_typed(call, 1, TYPE_DEHYDRATOR, entry);
}

/* Returns the element with the id at argument i, or NULL. BY_TOKEN, the element must also be under
 * the claim that has the token at i + 1. */
static struct element *find_named(const struct call *call, const struct entry *entry, int i,
                                  enum naming naming, struct stage *stage)
{
    int64_t token;
    struct element *element = find_element(entry, call->argv[i]);
    if (element == NULL) return NULL;
    *stage = dehydrator_stage(entry->object.dehydrator, element);
    if (naming == BY_ID) return element;
    return parse_token(call, i + 1, &token) && token != 0 && stage->token == token ? element : NULL;
}

/* XACK and ACK: removes the elements named. XACK also accepts elements that are due but not
 * claimed, and replies with an array of payloads, null for an id that is not removed; the array is
 * empty if the key is missing. ACK replies with the number removed. */
static void acknowledge(struct call *call)
{
    enum naming naming = (enum naming)call_variant(call);
    struct entry *entry;
    int64_t removed = 0;
    if (!find_key(call, 2, naming, &entry)) return;
    if (naming == BY_ID) resp_array(call->out, entry == NULL ? 0 : (size_t)call->argc - 2);
    for (int i = 2; entry != NULL && i < call->argc; i += (int)naming) {
        struct stage stage;
        struct element *element = find_named(call, entry, i, naming, &stage);
        bool ends = element != NULL &&
                    (naming == BY_TOKEN || stage.claimed || stage_is_due(&stage, call->txn->now));
        if (naming == BY_ID && ends) reply_bytes(call, element_payload(element));
        if (naming == BY_ID && !ends) resp_null(call->out);
        if (!ends) continue;
        txn_rede_finish(call->txn, entry, element, EVENT_REDE_ACK);
        removed++;
    }
    if (naming == BY_TOKEN) resp_integer(call->out, removed);
}

/* NACK and RETRY: gives claims back. NACK leaves an element whose lease has ended as it is: due.
 * Only RETRY accepts AUTO, FIRST and NOCOUNT. */
static void give_back(struct call *call)
{
    enum naming naming = (enum naming)call_variant(call);
    struct entry *entry;
    struct stage stage;
    msec at = call->txn->now;
    int64_t given_back = 0;
    const struct policy *backoff = NULL;
    bool goes_first = naming == BY_TOKEN && arg_is(call, 2, "FIRST");
    /* An odd number of words can't be pairs alone. Because of this test, an id may be "NOCOUNT". */
    bool uncounted =
        naming == BY_TOKEN && (call->argc - 3) % BY_TOKEN != 0 && arg_is(call, 3, "NOCOUNT");
    int first = 3 + uncounted;
    if (naming == BY_TOKEN && arg_is(call, 2, "AUTO")) {
        backoff = find_backoff(call, call->argv[1]);
        if (fail_if(call, backoff == NULL, ERR_NO_BACKOFF)) return;
    } else if (!goes_first && !arg_from_now(call, 2, "delay", &at)) {
        return;
    }
    if (!find_key(call, first, naming, &entry)) return;
    if (entry == NULL) {
        resp_integer(call->out, 0);
        return;
    }
    if (goes_first) {
        /* One millisecond before the first that is due. A deadline in the distant past would do the
         * same, but the delivery's lateness would then not show how long the elements have waited.
         */
        msec due = dehydrator_next(entry->object.dehydrator);
        at = due > call->txn->now ? call->txn->now : due > 0 ? due - 1 : 0;
    }

    for (int i = first; i < call->argc; i += (int)naming) {
        struct element *element = find_named(call, entry, i, naming, &stage);
        if (element == NULL) continue;
        if (naming == BY_ID && !stage_is_claimed(&stage, call->txn->now)) continue;
        if (uncounted && stage.deliveries > 0) stage.deliveries--;
        stage = (struct stage){ .at = claimed_until(call, backoff, at, stage.deliveries),
                                .deliveries = stage.deliveries };
        txn_rede_move(call->txn, entry, element, &stage, EVENT_REDE_NACK);
        given_back++;
    }
    resp_integer(call->out, given_back);
}

/* RESCHEDULE and EXTEND: moves deadlines. A claimed element stays claimed until its new instant,
 * even if its lease has just ended, as long as nobody else has claimed it.
 *
 * The policy CLAIMED limits how many claims may exist. If the lease has ended and the limit is
 * reached by other claims, the old claim can't come back: EXTEND skips the element, RESCHEDULE
 * moves it unclaimed. */
static void move_deadlines(struct call *call)
{
    enum naming naming = (enum naming)call_variant(call);
    struct entry *entry;
    struct stage stage;
    msec at;
    int64_t moved = 0;
    const struct policy *backoff = naming == BY_TOKEN ? find_backoff(call, call->argv[1]) : NULL;
    if (!(naming == BY_TOKEN ? arg_lease(call, 2, &at) : arg_from_now(call, 2, "ttl", &at))) return;
    if (!find_key(call, 3, naming, &entry)) return;

    for (int i = 3; i < call->argc; i += (int)naming) {
        struct element *element = find_named(call, entry, i, naming, &stage);
        if (element == NULL) continue;
        bool has_ended = stage.claimed && stage_is_due(&stage, call->txn->now);
        if (has_ended &&
            delivery_claims_left(&call->txn->store->policies, entry, call->txn->now) == 0) {
            if (naming == BY_TOKEN) continue;
            stage.claimed = false;
            stage.token = 0;
        }
        stage.at = claimed_until(call, backoff, at, stage.deliveries);
        txn_rede_move(call->txn, entry, element, &stage, EVENT_REDE_RESCHEDULE);
        moved++;
    }
    resp_integer(call->out, moved);
}

static const struct command by_id[] = {
    ROW("REDE.XACK", acknowledge, -3, WRITE | FAST, .variant = BY_ID, .keys = KEY_FIRST,
        .key_flags = KEY_RW | KEY_ACCESS | KEY_DELETE, .since = "0.1.0", .origin = "ReDe",
        .replies = REPLIES("[bulk|null ...]: the payloads of the elements removed; null for an id "
                           "that is absent or not yet due"),
        .errors = ERRORS(ERR_WRONGTYPE),
        .complexity =
            "O(K*log(N)) where K is the number of ids given and N the number of elements.",
        .syntax = "key id [id ...]",
        .summary = "Removes and returns those of the given elements that are due or claimed."),
    ROW("REDE.NACK", give_back, -4, WRITE | FAST, .variant = BY_ID, .keys = KEY_FIRST,
        .key_flags = KEY_RW | KEY_UPDATE, .since = "0.1.0",
        .replies = REPLIES("integer: the number of claims given back"),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_BAD_MSEC),
        .complexity =
            "O(K*log(N)) where K is the number of ids given and N the number of elements.",
        .syntax = "key delay id [id ...]",
        .summary =
            "Ends the claims of the given elements, which are due again in delay milliseconds."),
    ROW("REDE.RESCHEDULE", move_deadlines, -4, WRITE | FAST, .variant = BY_ID, .keys = KEY_FIRST,
        .key_flags = KEY_RW | KEY_UPDATE, .since = "0.1.0",
        .replies = REPLIES("integer: the number of elements whose deadline was moved"),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_BAD_MSEC),
        .complexity =
            "O(K*log(N)) where K is the number of ids given and N the number of elements.",
        .syntax = "key ttl id [id ...]",
        .summary = "Sets the deadlines of the given elements to ttl milliseconds from now."),
};

static const struct command by_token[] = {
    ROW("REDE.ACK", acknowledge, -4, WRITE | FAST, .variant = BY_TOKEN, .keys = KEY_FIRST,
        .key_flags = KEY_RW | KEY_DELETE, .since = "0.2.0",
        .replies =
            REPLIES("integer: the number of claims that still had their token; their elements "
                    "are removed, or due again if they have EVERY or CRON"),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_BAD_MSEC),
        .complexity =
            "O(K*log(N)) where K is the number of ids given and N the number of elements.",
        .syntax = "key id token [id token ...]",
        .summary = "Removes the elements whose claims still have the given tokens."),
    ROW("REDE.EXTEND", move_deadlines, -5, WRITE | FAST, .variant = BY_TOKEN, .keys = KEY_FIRST,
        .key_flags = KEY_RW | KEY_UPDATE, .since = "0.2.0",
        .replies = REPLIES("integer: the number of claims that still had their token; their leases "
                           "end lease milliseconds from now"),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_BAD_MSEC),
        .complexity =
            "O(K*log(N)) where K is the number of ids given and N the number of elements.",
        .syntax = "key lease id token [id token ...]",
        .summary = "Extends the leases of the claims that still have the given tokens, even leases "
                   "that have ended."),
    ROW("REDE.RETRY", give_back, -5, WRITE | FAST, .variant = BY_TOKEN, .keys = KEY_FIRST,
        .key_flags = KEY_RW | KEY_UPDATE, .since = "0.2.0",
        .replies =
            REPLIES("integer: the number of claims that still had their token, now given back"),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_BAD_MSEC, ERR_NO_BACKOFF),
        .complexity =
            "O(K*log(N)) where K is the number of ids given and N the number of elements.",
        .syntax = "key <delay | AUTO | FIRST> [NOCOUNT] id token [id token ...]",
        .summary =
            "Ends the claims that still have the given tokens. The elements are due again in "
            "delay milliseconds, after the BACKOFF of the key's policy, or now, before all "
            "that are due; with NOCOUNT the delivery does not count."),
};

const struct command_group dehydrator_claim_commands = COMMAND_GROUP("dehydrator", by_id);
const struct command_group dehydrator_token_commands = COMMAND_GROUP("dehydrator", by_token);
