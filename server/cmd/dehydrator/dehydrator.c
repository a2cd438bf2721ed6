/* dehydrator: commands that add elements to dehydrators, and those that access one element by its
 * id. Rows with the origin "ReDe" keep the names and arguments of the ReDe module. */
#include "server/cmd/dehydrator/dehydrator.h"
#include "server/cmd/dehydrator/dehydrator_args.h"
#include "server/cmd/dehydrator/dehydrator_push.h"
#include "store/base/random.h"
#include "store/struct/dict.h"
#include "store/txn/txn_dehydrator.h"

enum { GENERATED_ID_CHARS = 31 };

/* Pushes the element at argument 3, whose id is argument 4. */
static void push_new_element(struct call *call, msec at)
{
    struct push push = { .at = at };
    if (!parse_push_options(call, 5, &push)) return;
    if (!find_typed(call, 1, TYPE_DEHYDRATOR, &push.entry)) return;
    enum pushed pushed = push_element(call, &push, call->argv[4], call->argv[3]);
    if (pushed == PUSHED)
        reply_ok(call);
    else if (pushed == PUSH_KEPT)
        resp_null(call->out);
}

static void cmd_rede_push(struct call *call)
{
    msec at;
    if (arg_from_now(call, 2, "ttl", &at)) push_new_element(call, at);
}

static void cmd_rede_pushat(struct call *call)
{
    msec at;
    if (arg_instant(call, 2, &at)) push_new_element(call, at);
}

/* Makes an id of random characters. Uses a random byte only if it is below the greatest multiple of
 * the alphabet's size, because byte % LETTERS would otherwise favour the first characters. */
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

static void cmd_rede_gidpush(struct call *call)
{
    struct push push = { 0 };
    if (!arg_from_now(call, 2, "ttl", &push.at) || !parse_push_options(call, 4, &push)) return;
    if (!find_typed(call, 1, TYPE_DEHYDRATOR, &push.entry)) return;
    char text[GENERATED_ID_CHARS];
    struct bytes id;
    do
        id = generate_id(&call->txn->store->random, text);
    while (is_present(call, push.entry, id));
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
    for (; end < call->argc && (end == 2 || !is_push_option(call, end)); end += TRIPLE)
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

    /* How many ids are new? An id that exists, or is given twice, counts as old. */
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

#define PUSH_OPTIONS                                                                               \
    "[KEEP | REPLACE | POSTPONE [ATMOST milliseconds]] [REMEMBER milliseconds] "                   \
    "[EVERY milliseconds | CRON spec [ZONE zone]]"

static const struct command rows[] = {
    ROW("REDE.PUSH", cmd_rede_push, -5, WRITE | GROWS | FAST, .keys = KEY_FIRST,
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
    ROW("REDE.PUSHAT", cmd_rede_pushat, -5, WRITE | GROWS | FAST, .keys = KEY_FIRST,
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
};

const struct command_group dehydrator_commands = COMMAND_GROUP("dehydrator", rows);
