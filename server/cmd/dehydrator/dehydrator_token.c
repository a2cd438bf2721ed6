/* dehydrator_token: commands for the claims of REDE.CLAIM ... TOKENS. A claim is named by its id
 * and its token, so a worker that is late can't end the claim of another one, even if the id was
 * acknowledged and pushed again meanwhile.
 *
 * A claim whose lease has ended is held until the element is claimed again, given back, or removed.
 */
#include "server/cmd/dehydrator/dehydrator.h"
#include "server/cmd/dehydrator/dehydrator_args.h"
#include "store/base/number.h"
#include "store/tokens.h"
#include "store/txn/txn_dehydrator.h"

enum { PAIR = 2 }; /* id token */

static bool parse_token(const struct call *call, int i, int64_t *token)
{
    return number_parse_int64(call->argv[i].data, call->argv[i].len, token) && *token >= 0 &&
           *token <= TOKEN_MAX;
}

/* Checks the pairs from argument i to the last. */
static bool check_pairs(struct call *call, int i)
{
    int64_t token;
    if ((call->argc - i) % PAIR != 0) return fail_named(call, ERR_ARITY);
    for (; i < call->argc; i += PAIR) {
        if (parse_token(call, i + 1, &token)) continue;
        return failf(call, ERR_BAD_MSEC, "token");
    }
    return true;
}

/* The element that is claimed with the id at argument i and the token after it, or NULL. */
static struct element *find_claim(const struct call *call, const struct entry *entry, int i,
                                  struct stage *stage)
{
    int64_t token;
    struct element *element = find_element(entry, call->argv[i]);
    if (element == NULL || !parse_token(call, i + 1, &token) || token == 0) return NULL;
    *stage = dehydrator_stage(entry->object.dehydrator, element);
    return stage->token == token ? element : NULL;
}

static void cmd_rede_ack(struct call *call)
{
    struct entry *entry;
    struct stage stage;
    int64_t removed = 0;
    if (!check_pairs(call, 2) || !find_typed(call, 1, TYPE_DEHYDRATOR, &entry)) return;
    for (int i = 2; i < call->argc; i += PAIR) {
        struct element *element = find_claim(call, entry, i, &stage);
        if (element == NULL) continue;
        txn_rede_finish(call->txn, entry, element, EVENT_REDE_ACK);
        removed++;
    }
    resp_integer(call->out, removed);
}

static void cmd_rede_extend(struct call *call)
{
    struct entry *entry;
    struct stage stage;
    msec lease_end;
    int64_t extended = 0;
    const struct policy *backoff = find_backoff(call);
    if (!arg_lease(call, 2, &lease_end) || !check_pairs(call, 3)) return;
    if (!find_typed(call, 1, TYPE_DEHYDRATOR, &entry)) return;
    for (int i = 3; i < call->argc; i += PAIR) {
        struct element *element = find_claim(call, entry, i, &stage);
        if (element == NULL) continue;
        stage.at = hidden_until(call, backoff, lease_end, stage.deliveries);
        txn_rede_move(call->txn, entry, element, &stage, EVENT_REDE_RESCHEDULE);
        extended++;
    }
    resp_integer(call->out, extended);
}

static void cmd_rede_retry(struct call *call)
{
    struct entry *entry;
    struct stage stage;
    msec at = call->txn->now;
    int64_t given_back = 0;
    const struct policy *backoff = NULL;
    /* An odd number of words can't be pairs alone, so an id may be "NOCOUNT". */
    bool uncounted = (call->argc - 3) % PAIR != 0 && arg_is(call, 3, "NOCOUNT");
    int first = 3 + uncounted;
    if (arg_is(call, 2, "AUTO")) {
        backoff = find_backoff(call);
        if (backoff == NULL) {
            fail(call, ERR_NO_BACKOFF);
            return;
        }
    } else if (!arg_from_now(call, 2, "delay", &at)) {
        return;
    }
    if (!check_pairs(call, first)) return;
    if (!find_typed(call, 1, TYPE_DEHYDRATOR, &entry)) return;
    for (int i = first; i < call->argc; i += PAIR) {
        struct element *element = find_claim(call, entry, i, &stage);
        if (element == NULL) continue;
        if (uncounted && stage.deliveries > 0) stage.deliveries--;
        stage = (struct stage){ .at = hidden_until(call, backoff, at, stage.deliveries),
                                .deliveries = stage.deliveries };
        txn_rede_move(call->txn, entry, element, &stage, EVENT_REDE_NACK);
        given_back++;
    }
    resp_integer(call->out, given_back);
}

static const struct command rows[] = {
    { .name = "REDE.ACK",
      .run = cmd_rede_ack,
      .arity = -4,
      .flags = WRITE | FAST,
      .keys = KEY_FIRST,
      .key_flags = KEY_RW | KEY_DELETE,
      .since = "0.2.0",
      .replies = REPLIES("integer: the number of claims that still had their token; their elements "
                         "are removed, or due again if they have EVERY"),
      .errors = ERRORS(ERR_WRONGTYPE, ERR_BAD_MSEC),
      .complexity = "O(K*log(N)) where K is the number of ids given and N the number of elements.",
      .syntax = "key id token [id token ...]",
      .summary = "Removes the elements whose claims still have the given tokens." },
    { .name = "REDE.EXTEND",
      .run = cmd_rede_extend,
      .arity = -5,
      .flags = WRITE | FAST,
      .keys = KEY_FIRST,
      .key_flags = KEY_RW | KEY_UPDATE,
      .since = "0.2.0",
      .replies = REPLIES("integer: the number of claims that still had their token; their leases "
                         "end lease milliseconds from now"),
      .errors = ERRORS(ERR_WRONGTYPE, ERR_BAD_MSEC),
      .complexity = "O(K*log(N)) where K is the number of ids given and N the number of elements.",
      .syntax = "key lease id token [id token ...]",
      .summary = "Extends the leases of the claims that still have the given tokens, even leases "
                 "that have ended." },
    { .name = "REDE.RETRY",
      .run = cmd_rede_retry,
      .arity = -5,
      .flags = WRITE | FAST,
      .keys = KEY_FIRST,
      .key_flags = KEY_RW | KEY_UPDATE,
      .since = "0.2.0",
      .replies =
          REPLIES("integer: the number of claims that still had their token, now given back"),
      .errors = ERRORS(ERR_WRONGTYPE, ERR_BAD_MSEC, ERR_NO_BACKOFF),
      .complexity = "O(K*log(N)) where K is the number of ids given and N the number of elements.",
      .syntax = "key <delay | AUTO> [NOCOUNT] id token [id token ...]",
      .summary = "Ends the claims that still have the given tokens. The elements are due again in "
                 "delay milliseconds, or after the BACKOFF of the key's policy; with NOCOUNT the "
                 "delivery does not count." },
};

const struct command_group dehydrator_token_commands = COMMAND_GROUP("dehydrator", rows);
