/* dehydrator: commands that add elements to dehydrators, or access one by its id. The names of the
 * commands are those of the ReDe module. */
#include "server/cmd/cmd.h"
#include "server/cmd/dehydrator/dehydrator_args.h"
#include "store/struct/dict.h"
#include "store/base/random.h"
#include "store/txn/txn_dehydrator.h"

enum { GENERATED_ID_CHARS = 31 };

/* ---- push ------------------------------------------------------------------------------------ */

/* Pushes the element at argument i, whose id is argument i + 1. */
static void push_element(struct call *call, struct entry *entry, int i, msec at)
{
    const struct stage stage = { .at = at };
    txn_rede_push(call->txn, entry, call->argv[i + 1], call->argv[i], &stage);
}

/* Pushes the element at argument 3, whose id is argument 4. */
static void push_new_element(struct call *call, msec at)
{
    struct entry *entry;
    if (!find_typed(call, 1, TYPE_DEHYDRATOR, &entry)) return;
    if (find_element(entry, call->argv[4]) != NULL) {
        fail(call, ERR_DEHYDRATING);
        return;
    }
    if (is_full(call, entry, 1)) {
        fail(call, ERR_FULL);
        return;
    }
    push_element(call, entry_or_new(call, 1, entry, TYPE_DEHYDRATOR), 3, at);
    reply_ok(call);
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

/* A random byte below the greatest multiple of the alphabet's size gives a character. Other bytes
 * are dropped, because they would make some characters more frequent. */
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
    msec at;
    struct entry *entry;
    if (!arg_from_now(call, 2, "ttl", &at)) return;
    if (!find_typed(call, 1, TYPE_DEHYDRATOR, &entry)) return;
    if (is_full(call, entry, 1)) {
        fail(call, ERR_FULL);
        return;
    }
    char text[GENERATED_ID_CHARS];
    struct bytes id;
    do
        id = generate_id(&call->txn->store->random, text);
    while (find_element(entry, id) != NULL);
    entry = entry_or_new(call, 1, entry, TYPE_DEHYDRATOR);
    const struct stage stage = { .at = at };
    txn_rede_push(call->txn, entry, id, call->argv[3], &stage);
    reply_bytes(call, id);
}

/* ---- REDE.MPUSH ------------------------------------------------------------------------------ */

enum { TRIPLE = 3 }; /* ttl element id */

static struct bytes argument_key(const void *argument)
{
    return *(const struct bytes *)argument;
}

/* Returns whether all ids are new and none is given twice. */
static bool has_new_ids(const struct call *call, const struct entry *entry)
{
    static const struct dict_type type = { .key = argument_key };
    struct dict given;
    bool all_new = true;
    dict_init(&given, &type);
    for (int i = 2 + TRIPLE - 1; i < call->argc && all_new; i += TRIPLE) {
        const struct bytes *id = &call->argv[i];
        all_new = find_element(entry, *id) == NULL && dict_find(&given, *id) == NULL;
        if (all_new) dict_add(&given, (void *)(uintptr_t)id);
    }
    dict_drop(&given);
    return all_new;
}

static void cmd_rede_mpush(struct call *call)
{
    struct entry *entry;
    if ((call->argc - 2) % TRIPLE != 0) {
        fail_named(call, ERR_ARITY);
        return;
    }
    msec at;
    for (int i = 2; i < call->argc; i += TRIPLE)
        if (!arg_from_now(call, i, "ttl", &at)) return;
    if (!find_typed(call, 1, TYPE_DEHYDRATOR, &entry)) return;
    if (!has_new_ids(call, entry)) {
        fail(call, ERR_DEHYDRATING);
        return;
    }
    if (is_full(call, entry, (size_t)(call->argc - 2) / TRIPLE)) {
        fail(call, ERR_FULL);
        return;
    }
    entry = entry_or_new(call, 1, entry, TYPE_DEHYDRATOR);
    for (int i = 2; i < call->argc; i += TRIPLE)
        if (arg_from_now(call, i, "ttl", &at)) push_element(call, entry, i + 1, at);
    resp_integer(call->out, (call->argc - 2) / TRIPLE);
}

/* ---- one element by its id ------------------------------------------------------------------- */

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
    if (!find_typed(call, 1, TYPE_DEHYDRATOR, &entry)) return;
    struct element *element = find_element(entry, call->argv[2]);
    reply_payload(call, element);
    if (element != NULL) txn_rede_remove(call->txn, entry, element, EVENT_REDE_PULL);
}

static void cmd_rede_look(struct call *call)
{
    struct entry *entry;
    if (!read_typed(call, 1, TYPE_DEHYDRATOR, &entry)) return;
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

/* ---- rows ------------------------------------------------------------------------------------ */

static const struct command rows[] = {
    { .name = "REDE.PUSH",
      .run = cmd_rede_push,
      .arity = 5,
      .flags = WRITE | GROWS | FAST,
      .keys = KEY_FIRST,
      .key_flags = KEY_RW | KEY_INSERT,
      .group = "dehydrator",
      .since = "0.1.0",
      .origin = "ReDe",
      .replies = REPLIES("OK: the element was added"),
      .errors = ERRORS(ERR_WRONGTYPE, ERR_DEHYDRATING, ERR_BAD_MSEC, ERR_FULL),
      .complexity = "O(log(N)) where N is the number of elements.",
      .syntax = "key ttl element id",
      .summary = "Adds an element to a dehydrator, due in ttl milliseconds." },
    { .name = "REDE.PUSHAT",
      .run = cmd_rede_pushat,
      .arity = 5,
      .flags = WRITE | GROWS | FAST,
      .keys = KEY_FIRST,
      .key_flags = KEY_RW | KEY_INSERT,
      .group = "dehydrator",
      .since = "0.1.0",
      .replies = REPLIES("OK: the element was added"),
      .errors = ERRORS(ERR_WRONGTYPE, ERR_DEHYDRATING, ERR_BAD_MSEC, ERR_FULL),
      .complexity = "O(log(N)) where N is the number of elements.",
      .syntax = "key unix-time-milliseconds element id",
      .summary = "Adds an element to a dehydrator, due at a Unix time in milliseconds." },
    { .name = "REDE.GIDPUSH",
      .run = cmd_rede_gidpush,
      .arity = 4,
      .flags = WRITE | GROWS | FAST,
      .keys = KEY_FIRST,
      .key_flags = KEY_RW | KEY_INSERT,
      .group = "dehydrator",
      .since = "0.1.0",
      .origin = "ReDe",
      .replies = REPLIES("bulk: the new id: 31 characters of 0-9 and A-Z"),
      .errors = ERRORS(ERR_WRONGTYPE, ERR_BAD_MSEC, ERR_FULL),
      .complexity = "O(log(N)) where N is the number of elements.",
      .syntax = "key ttl element",
      .summary = "Adds an element to a dehydrator under a generated id and returns the id." },
    { .name = "REDE.MPUSH",
      .run = cmd_rede_mpush,
      .arity = -5,
      .flags = WRITE | GROWS | FAST,
      .keys = KEY_FIRST,
      .key_flags = KEY_RW | KEY_INSERT,
      .group = "dehydrator",
      .since = "0.1.0",
      .replies = REPLIES("integer: the number of elements added"),
      .errors = ERRORS(ERR_WRONGTYPE, ERR_DEHYDRATING, ERR_BAD_MSEC, ERR_FULL),
      .complexity =
          "O(K*log(N)) where K is the number of elements given and N the number in the dehydrator.",
      .syntax = "key ttl element id [ttl element id ...]",
      .summary = "Adds several elements to a dehydrator, or none of them if an id is not new." },
    { .name = "REDE.PULL",
      .run = cmd_rede_pull,
      .arity = 3,
      .flags = WRITE | FAST,
      .keys = KEY_FIRST,
      .key_flags = KEY_RW | KEY_ACCESS | KEY_DELETE,
      .group = "dehydrator",
      .since = "0.1.0",
      .origin = "ReDe",
      .replies = REPLIES("bulk: the payload", "null: there is no such key or id"),
      .errors = ERRORS(ERR_WRONGTYPE),
      .complexity = "O(log(N)) where N is the number of elements.",
      .syntax = "key id",
      .summary = "Removes and returns an element by its id, whether it is due or not." },
    { .name = "REDE.LOOK",
      .run = cmd_rede_look,
      .arity = 3,
      .flags = READONLY | FAST,
      .keys = KEY_FIRST,
      .key_flags = KEY_RO | KEY_ACCESS,
      .group = "dehydrator",
      .since = "0.1.0",
      .origin = "ReDe",
      .replies = REPLIES("bulk: the payload", "null: there is no such key or id"),
      .errors = ERRORS(ERR_WRONGTYPE),
      .complexity = "O(1)",
      .syntax = "key id",
      .summary = "Returns an element by its id without removing it." },
    { .name = "REDE.UPDATE",
      .run = cmd_rede_update,
      .arity = 4,
      .flags = WRITE | GROWS | FAST,
      .keys = KEY_FIRST,
      .key_flags = KEY_RW | KEY_ACCESS | KEY_UPDATE,
      .group = "dehydrator",
      .since = "0.1.0",
      .origin = "ReDe",
      .replies = REPLIES("bulk: the old payload"),
      .errors = ERRORS(ERR_WRONGTYPE, ERR_NO_DEHYDRATOR, ERR_NO_ELEMENT),
      .complexity = "O(1)",
      .syntax = "key id element",
      .summary = "Replaces an element and returns the old one. The deadline does not change." },
};

const struct command_group dehydrator_commands = COMMAND_GROUP(rows);
