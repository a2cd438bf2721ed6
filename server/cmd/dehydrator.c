/* dehydrator: the commands of dehydrators, as ReDe named them.
 * Knows arguments, replies and txn_rede_*; refuses to know how elements are kept in order.
 *
 * An element is due at its deadline, and stays until a command takes it. */
#include "server/args.h"
#include "server/call.h"
#include "server/cmd/cmd.h"
#include "server/command.h"
#include "server/error.h"
#include "store/dehydrator.h"
#include "store/instant.h"
#include "store/random.h"
#include "store/txn.h"

enum { GENERATED_ID_CHARS = 31 };

/* ---- push ------------------------------------------------------------------------------------ */

/* A ttl of 0 or less is due at once: who computes `when - now` may come late. */
static bool arg_due(struct call *call, int i, msec *at)
{
    msec ttl;
    if (!arg_int64_or(call, i, &ttl, ERR_BAD_TTL)) return false;
    if (ttl < 0) ttl = 0;
    if (instant_after(call->txn->now, ttl, at)) return true;
    fail(call, ERR_BAD_TTL);
    return false;
}

static bool has_id(const struct entry *entry, struct bytes id)
{
    return entry != NULL && dehydrator_find(entry->object.dehydrator, id) != NULL;
}

static void cmd_push(struct call *call)
{
    msec at;
    struct entry *entry;
    if (!arg_due(call, 2, &at)) return;
    if (!find_typed(call, 1, TYPE_DEHYDRATOR, &entry)) return;
    if (has_id(entry, call->argv[4])) {
        fail(call, ERR_DEHYDRATING);
        return;
    }
    entry = entry_or_new(call, 1, entry, TYPE_DEHYDRATOR);
    txn_rede_push(call->txn, entry, call->argv[4], call->argv[3], at);
    reply_ok(call);
}

/* Each byte of a random number that is below the greatest multiple of the alphabet's size gives a
 * character; the others are thrown away, or some characters would come more often. */
static struct bytes generate_id(struct random *random, char id[GENERATED_ID_CHARS])
{
    static const char alphabet[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    enum { LETTERS = sizeof(alphabet) - 1, FAIR = 256 / LETTERS * LETTERS };
    size_t made = 0;
    while (made < GENERATED_ID_CHARS) {
        uint64_t drawn = random_next(random);
        for (size_t i = 0; i < sizeof(drawn) && made < GENERATED_ID_CHARS; i++, drawn >>= 8) {
            unsigned byte = (unsigned)(drawn & 0xff);
            if (byte < FAIR) id[made++] = alphabet[byte % LETTERS];
        }
    }
    return bytes_of(id, GENERATED_ID_CHARS);
}

static void cmd_gidpush(struct call *call)
{
    msec at;
    struct entry *entry;
    if (!arg_due(call, 2, &at)) return;
    if (!find_typed(call, 1, TYPE_DEHYDRATOR, &entry)) return;
    char text[GENERATED_ID_CHARS];
    struct bytes id;
    do
        id = generate_id(&call->txn->store->random, text);
    while (has_id(entry, id));
    entry = entry_or_new(call, 1, entry, TYPE_DEHYDRATOR);
    txn_rede_push(call->txn, entry, id, call->argv[3], at);
    reply_bytes(call, id);
}

/* ---- by id ----------------------------------------------------------------------------------- */

static struct element *find_element(const struct entry *entry, struct bytes id)
{
    return entry == NULL ? NULL : dehydrator_find(entry->object.dehydrator, id);
}

static void reply_payload(struct call *call, const struct element *element)
{
    if (element == NULL)
        resp_null(call->out);
    else
        reply_bytes(call, element_payload(element));
}

static void cmd_pull(struct call *call)
{
    struct entry *entry;
    if (!find_typed(call, 1, TYPE_DEHYDRATOR, &entry)) return;
    struct element *element = find_element(entry, call->argv[2]);
    reply_payload(call, element);
    if (element != NULL) txn_rede_remove(call->txn, entry, element, EVENT_REDE_PULL);
}

static void cmd_look(struct call *call)
{
    struct entry *entry;
    if (!read_typed(call, 1, TYPE_DEHYDRATOR, &entry)) return;
    reply_payload(call, find_element(entry, call->argv[2]));
}

static void cmd_update(struct call *call)
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

static void cmd_xack(struct call *call)
{
    struct entry *entry;
    if (!find_typed(call, 1, TYPE_DEHYDRATOR, &entry)) return;
    if (entry == NULL) {
        resp_array(call->out, 0);
        return;
    }
    const struct dehydrator *dehydrator = entry->object.dehydrator;
    resp_array(call->out, (size_t)call->argc - 2);
    for (int i = 2; i < call->argc; i++) {
        struct element *element = dehydrator_find(dehydrator, call->argv[i]);
        if (element != NULL && !instant_due(dehydrator_at(dehydrator, element), call->txn->now))
            element = NULL;
        reply_payload(call, element);
        if (element != NULL) txn_rede_remove(call->txn, entry, element, EVENT_REDE_ACK);
    }
}

/* ---- by deadline ----------------------------------------------------------------------------- */

struct poll {
    int64_t limit;
    bool with_ids;
};

static bool parse_poll(struct call *call, bool ids_wanted, struct poll *poll)
{
    *poll = (struct poll){ .limit = INT64_MAX };
    for (int i = 2; i < call->argc; i++) {
        if (arg_is(call, i, "COUNT") && i + 1 < call->argc) {
            i++;
            if (!arg_range(call, i, 0, INT64_MAX, &poll->limit, ERR_NOT_POSITIVE)) return false;
        } else if (ids_wanted && arg_is(call, i, "WITHIDS")) {
            poll->with_ids = true;
        } else {
            fail(call, ERR_SYNTAX);
            return false;
        }
    }
    return true;
}

/* The next due element of a walk, or NULL. */
static struct element *next_due(struct dehydrator_walk *walk, msec now)
{
    msec at;
    struct element *element = dehydrator_walk_next(walk, &at);
    return element != NULL && instant_due(at, now) ? element : NULL;
}

/* How many are due, up to the limit. */
static size_t count_due(const struct call *call, const struct entry *entry, int64_t limit)
{
    if (entry == NULL) return 0;
    int64_t due = 0;
    struct dehydrator_walk walk;
    dehydrator_walk_begin(&walk, entry->object.dehydrator);
    while (due < limit && next_due(&walk, call->txn->now) != NULL)
        due++;
    dehydrator_walk_end(&walk);
    return (size_t)due;
}

static void cmd_poll(struct call *call)
{
    struct poll poll;
    struct entry *entry;
    if (!parse_poll(call, true, &poll)) return;
    if (!find_typed(call, 1, TYPE_DEHYDRATOR, &entry)) return;
    size_t due = count_due(call, entry, poll.limit);
    resp_array(call->out, due);
    while (due-- > 0) {
        struct element *element = dehydrator_first(entry->object.dehydrator);
        if (poll.with_ids) {
            resp_array(call->out, 2);
            reply_bytes(call, element_id(element));
        }
        reply_bytes(call, element_payload(element));
        txn_rede_remove(call->txn, entry, element, EVENT_REDE_POLL);
    }
}

static void cmd_xpoll(struct call *call)
{
    struct poll poll;
    struct entry *entry;
    if (!parse_poll(call, false, &poll)) return;
    if (!read_typed(call, 1, TYPE_DEHYDRATOR, &entry)) return;
    size_t due = count_due(call, entry, poll.limit);
    resp_array(call->out, due);
    if (due == 0) return;
    struct dehydrator_walk walk;
    dehydrator_walk_begin(&walk, entry->object.dehydrator);
    while (due-- > 0)
        reply_bytes(call, element_id(next_due(&walk, call->txn->now)));
    dehydrator_walk_end(&walk);
}

static void cmd_ttn(struct call *call)
{
    struct entry *entry;
    if (!read_typed(call, 1, TYPE_DEHYDRATOR, &entry)) return;
    if (entry == NULL) {
        resp_null(call->out);
        return;
    }
    msec at = dehydrator_next(entry->object.dehydrator), now = call->txn->now;
    resp_integer(call->out, instant_due(at, now) ? 0 : at - now);
}

/* ---- rows ------------------------------------------------------------------------------------ */

#define KEY_FIRST                                                                                  \
    {                                                                                              \
        .first = 1, .last = 1, .step = 1                                                           \
    }

static const struct command rows[] = {
    { .name = "REDE.PUSH",
      .run = cmd_push,
      .arity = 5,
      .flags = WRITE | GROWS | FAST,
      .keys = KEY_FIRST,
      .group = "dehydrator",
      .since = "0.1.0",
      .complexity = "O(log(N)), N elements",
      .syntax = "key ttl element id",
      .summary = "Puts an element into a dehydrator, due in ttl milliseconds." },
    { .name = "REDE.GIDPUSH",
      .run = cmd_gidpush,
      .arity = 4,
      .flags = WRITE | GROWS | FAST,
      .keys = KEY_FIRST,
      .group = "dehydrator",
      .since = "0.1.0",
      .complexity = "O(log(N)), N elements",
      .syntax = "key ttl element",
      .summary = "Puts an element into a dehydrator under a new id, and returns the id." },
    { .name = "REDE.PULL",
      .run = cmd_pull,
      .arity = 3,
      .flags = WRITE | FAST,
      .keys = KEY_FIRST,
      .group = "dehydrator",
      .since = "0.1.0",
      .complexity = "O(log(N)), N elements",
      .syntax = "key id",
      .summary = "Removes and returns an element, due or not." },
    { .name = "REDE.POLL",
      .run = cmd_poll,
      .arity = -2,
      .flags = WRITE,
      .keys = KEY_FIRST,
      .group = "dehydrator",
      .since = "0.1.0",
      .complexity = "O(K*log(N)), N elements, K returned",
      .syntax = "key [COUNT count] [WITHIDS]",
      .summary = "Removes and returns the elements that are due, earliest first." },
    { .name = "REDE.XPOLL",
      .run = cmd_xpoll,
      .arity = -2,
      .flags = READONLY,
      .keys = KEY_FIRST,
      .group = "dehydrator",
      .since = "0.1.0",
      .complexity = "O(K*log(K)), K returned",
      .syntax = "key [COUNT count]",
      .summary = "Lists the ids of the elements that are due, earliest first." },
    { .name = "REDE.XACK",
      .run = cmd_xack,
      .arity = -3,
      .flags = WRITE | FAST,
      .keys = KEY_FIRST,
      .group = "dehydrator",
      .since = "0.1.0",
      .complexity = "O(K*log(N)), N elements, K ids given",
      .syntax = "key id [id ...]",
      .summary = "Removes and returns those of the given elements that are due." },
    { .name = "REDE.LOOK",
      .run = cmd_look,
      .arity = 3,
      .flags = READONLY | FAST,
      .keys = KEY_FIRST,
      .group = "dehydrator",
      .since = "0.1.0",
      .complexity = "O(1)",
      .syntax = "key id",
      .summary = "Returns an element and leaves it where it is." },
    { .name = "REDE.TTN",
      .run = cmd_ttn,
      .arity = 2,
      .flags = READONLY | FAST,
      .keys = KEY_FIRST,
      .group = "dehydrator",
      .since = "0.1.0",
      .complexity = "O(1)",
      .syntax = "key",
      .summary = "Returns the milliseconds until the next element is due." },
    { .name = "REDE.UPDATE",
      .run = cmd_update,
      .arity = 4,
      .flags = WRITE | GROWS | FAST,
      .keys = KEY_FIRST,
      .group = "dehydrator",
      .since = "0.1.0",
      .complexity = "O(1)",
      .syntax = "key id element",
      .summary = "Replaces an element and returns the old one; its deadline stays." },
};

const struct command_group dehydrator_commands = COMMAND_GROUP(rows);
