/* list_move: commands that move an element from an end of a list to an end of another or the same
 * list. BLMOVE and BRPOPLPUSH block until there is an element. */
#include "server/cmd/call/args.h"
#include "server/cmd/blocking.h"
#include "server/cmd/cmd.h"

struct ends {
    enum list_end from, to;
};

static bool arg_list_end(struct call *call, int i, enum list_end *end)
{
    *end = arg_is(call, i, "LEFT") ? LIST_HEAD : LIST_TAIL;
    if (*end == LIST_HEAD || arg_is(call, i, "RIGHT")) return true;
    fail(call, ERR_SYNTAX);
    return false;
}

static bool arg_list_ends(struct call *call, struct ends *ends)
{
    return arg_list_end(call, 3, &ends->from) && arg_list_end(call, 4, &ends->to);
}

/* Pushes before it pops, so that a list never becomes empty while its only element moves within it.
 */
static void move_element(struct call *call, struct entry *from, struct ends ends)
{
    struct entry *to;
    if (!find_typed(call, 2, TYPE_LIST, &to)) return;
    const struct list *list = from->object.list;
    struct bytes element = list_at(list, ends.from == LIST_HEAD ? 0 : list_count(list) - 1);
    reply_bytes(call, element);
    to = entry_or_new(call, 2, to, TYPE_LIST);
    txn_list_push(call->txn, to, ends.to, element);
    txn_list_pop(call->txn, from, ends.from, 1);
}

static void move_or_reply_null(struct call *call, struct ends ends)
{
    struct entry *from;
    if (!find_typed(call, 1, TYPE_LIST, &from)) return;
    if (from != NULL)
        move_element(call, from, ends);
    else
        resp_null(call->out);
}

static void cmd_lmove(struct call *call)
{
    struct ends ends;
    if (arg_list_ends(call, &ends)) move_or_reply_null(call, ends);
}

static void cmd_rpoplpush(struct call *call)
{
    move_or_reply_null(call, (struct ends){ LIST_TAIL, LIST_HEAD });
}

static void move_or_block(struct call *call, struct ends ends)
{
    struct source source;
    msec until;
    if (!arg_timeout(call, call->argc - 1, &until)) return;
    if (!find_source(call, TYPE_LIST, 1, 1, &source)) return;
    if (source.entry != NULL)
        move_element(call, source.entry, ends);
    else if (call->block != NULL)
        block_on(call, &(struct block_request){
                           .first = 1, .count = 1, .type = TYPE_LIST, .until = until });
    else
        resp_null(call->out); /* not a null array, as in Redis */
}

static void cmd_blmove(struct call *call)
{
    struct ends ends;
    if (arg_list_ends(call, &ends)) move_or_block(call, ends);
}

static void cmd_brpoplpush(struct call *call)
{
    move_or_block(call, (struct ends){ LIST_TAIL, LIST_HEAD });
}

static const struct command rows[] = {
    { .name = "LMOVE",
      .run = cmd_lmove,
      .arity = 5,
      .flags = WRITE | GROWS,
      .keys = { .first = 1, .last = 2, .step = 1 },
      .specs = { KEY_AT(1, KEY_RW | KEY_ACCESS | KEY_DELETE), KEY_AT(2, KEY_RW | KEY_INSERT) },
      .group = "list",
      .since = "6.2.0",
      .replies = REPLIES("bulk: the element", "null: there is no such source"),
      .errors = ERRORS(ERR_WRONGTYPE, ERR_SYNTAX),
      .complexity = "O(1)",
      .syntax = "source destination <LEFT | RIGHT> <LEFT | RIGHT>",
      .summary = "Removes an element from an end of a list, pushes it to an end of another list "
                 "and returns it." },
    { .name = "RPOPLPUSH",
      .run = cmd_rpoplpush,
      .arity = 3,
      .flags = WRITE | GROWS,
      .keys = { .first = 1, .last = 2, .step = 1 },
      .specs = { KEY_AT(1, KEY_RW | KEY_ACCESS | KEY_DELETE), KEY_AT(2, KEY_RW | KEY_INSERT) },
      .group = "list",
      .since = "1.2.0",
      .replies = REPLIES("bulk: the element", "null: there is no such source"),
      .errors = ERRORS(ERR_WRONGTYPE),
      .complexity = "O(1)",
      .syntax = "source destination",
      .summary =
          "Removes the last element of a list, prepends it to another list and returns it." },
    { .name = "BLMOVE",
      .run = cmd_blmove,
      .arity = 6,
      .flags = WRITE | GROWS | NOSCRIPT | BLOCKING,
      .keys = { .first = 1, .last = 2, .step = 1 },
      .specs = { KEY_AT(1, KEY_RW | KEY_ACCESS | KEY_DELETE), KEY_AT(2, KEY_RW | KEY_INSERT) },
      .group = "list",
      .since = "6.2.0",
      .replies = REPLIES("bulk: the element", "null-array: the timeout ended",
                         "null: inside MULTI: there is no such source"),
      .errors = ERRORS(ERR_WRONGTYPE, ERR_SYNTAX, ERR_TIMEOUT_NEGATIVE, ERR_TIMEOUT_FLOAT),
      .complexity = "O(1)",
      .syntax = "source destination <LEFT | RIGHT> <LEFT | RIGHT> timeout",
      .summary = "Removes an element from an end of a list, pushes it to an end of another list "
                 "and returns it. Blocks until an element is available." },
    { .name = "BRPOPLPUSH",
      .run = cmd_brpoplpush,
      .arity = 4,
      .flags = WRITE | GROWS | NOSCRIPT | BLOCKING,
      .keys = { .first = 1, .last = 2, .step = 1 },
      .specs = { KEY_AT(1, KEY_RW | KEY_ACCESS | KEY_DELETE), KEY_AT(2, KEY_RW | KEY_INSERT) },
      .group = "list",
      .since = "2.2.0",
      .replies = REPLIES("bulk: the element", "null-array: the timeout ended",
                         "null: inside MULTI: there is no such source"),
      .errors = ERRORS(ERR_WRONGTYPE, ERR_TIMEOUT_NEGATIVE, ERR_TIMEOUT_FLOAT),
      .complexity = "O(1)",
      .syntax = "source destination timeout",
      .summary = "Removes the last element of a list, prepends it to another list and returns it. "
                 "Blocks until an element is available." },
};

const struct command_group list_move_commands = COMMAND_GROUP(rows);
