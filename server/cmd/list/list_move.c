/* list_move: commands that move elements from one end of a list to an end of another list, or of
 * the same one. BLMOVE, BRPOPLPUSH and BLMOVEM block until the source has elements. */
#include "server/cmd/block.h"
#include "server/cmd/call/args.h"
#include "server/cmd/list/list.h"

struct ends {
    enum list_end from, to;
};

static bool arg_list_end(struct call *call, int i, enum list_end *end)
{
    *end = arg_is(call, i, "LEFT") ? LIST_HEAD : LIST_TAIL;
    if (*end == LIST_HEAD || arg_is(call, i, "RIGHT")) return true;
    return fail(call, ERR_SYNTAX);
}

/* Parses two ends at arguments 3 and 4. RPOPLPUSH and BRPOPLPUSH, which have fewer arguments, move
 * from the tail to the head. */
static bool arg_list_ends(struct call *call, struct ends *ends)
{
    *ends = (struct ends){ LIST_TAIL, LIST_HEAD };
    if (call->argc < 5) return true;
    return arg_list_end(call, 3, &ends->from) && arg_list_end(call, 4, &ends->to);
}

/* Pushes before it pops. In the other order, a list whose only element moves within it would be
 * empty in between, and a replay of the two effects would drop the key, with its TTL. */
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

/* LMOVE and RPOPLPUSH. */
static void cmd_lmove(struct call *call)
{
    struct ends ends;
    struct entry *from;
    if (!arg_list_ends(call, &ends) || !find_typed(call, 1, TYPE_LIST, &from)) return;
    if (from != NULL)
        move_element(call, from, ends);
    else
        resp_null(call->out);
}

/* BLMOVE and BRPOPLPUSH. */
static void cmd_blmove(struct call *call)
{
    struct ends ends;
    struct source source;
    msec until;
    if (!arg_list_ends(call, &ends) || !arg_timeout(call, call->argc - 1, &until)) return;
    if (!find_source(call, TYPE_LIST, 1, 1, &source)) return;
    if (source.entry != NULL)
        move_element(call, source.entry, ends);
    else if (call->block != NULL)
        block_on(call, &(struct block_request){
                           .first = 1, .count = 1, .type = TYPE_LIST, .until = until });
    else
        resp_null(call->out); /* not a null array, as in Redis */
}

struct move {
    struct ends ends;
    int64_t count;
    bool exactly;    /* all or none; otherwise at most this many */
    bool one_by_one; /* OBO; otherwise BULK, which keeps their order */
};

/* Parses "[<COUNT | EXACTLY> number <OBO | BULK>]" from argument i on; both words must be given. */
static bool arg_how_many(struct call *call, int i, struct move *move)
{
    move->count = 1;
    if (i == call->argc) return true;
    move->exactly = arg_is(call, i, "EXACTLY");
    move->one_by_one = arg_is(call, i + 2, "OBO");
    bool valid = (move->exactly || arg_is(call, i, "COUNT")) && i + 3 == call->argc &&
                 (move->one_by_one || arg_is(call, i + 2, "BULK"));
    if (!valid) return fail(call, ERR_SYNTAX);
    return arg_range(call, i + 1, 1, INT64_MAX, &move->count, ERR_COUNT_POSITIVE);
}

/* An iterator over the elements at one end of a list, in either direction. */
struct run {
    struct list_iter iter;
    size_t left;
    bool ascending;
};

static struct run run_of(const struct list *list, enum list_end end, size_t count, bool ascending)
{
    struct run run = { .left = count, .ascending = ascending };
    size_t first = end == LIST_HEAD ? 0 : list_count(list) - count;
    list_iter_at(&run.iter, list, ascending ? first : first + count - 1);
    return run;
}

static bool run_next(struct run *run, struct bytes *element)
{
    if (run->left == 0) return false;
    run->left--;
    return (run->ascending ? list_iter_next : list_iter_prev)(&run->iter, element);
}

/* Pushes the `count` elements at one end of `from` to an end of `to`, in the list's order if
 * `ascending`, otherwise in reverse. Then pops them; move_element says why it pushes first. Within
 * one list the two ends must differ, and the elements are copied first, because a push may move
 * them in memory. */
static void move_run(struct txn *txn, struct entry *from, struct entry *to, struct ends ends,
                     size_t count, bool ascending)
{
    struct bytes element;
    struct list *copy = from == to ? list_new() : NULL;
    struct run run = run_of(from->object.list, ends.from, count, ascending);
    while (copy != NULL && run_next(&run, &element))
        list_push(copy, LIST_TAIL, element);
    if (copy != NULL) run = run_of(copy, LIST_HEAD, count, true);
    while (run_next(&run, &element))
        txn_list_push(txn, to, ends.to, element);
    if (copy != NULL) list_free(copy);
    txn_list_pop(txn, from, ends.from, count);
}

static void move_elements(struct call *call, struct entry *from, const struct move *move)
{
    enum { OVERHEAD = 16 }; /* bytes for each element in the list, or in the journal's record */
    const struct list *list = from->object.list;
    struct entry *to;
    struct ends ends = move->ends;
    struct bytes element;
    if (!find_typed(call, 2, TYPE_LIST, &to)) return;
    size_t count = list_count(list);
    if ((uint64_t)move->count < count) count = (size_t)move->count;

    /* Until they are popped, the elements are in memory twice, or three times within one list. */
    size_t bytes = count * OVERHEAD;
    struct run run = run_of(list, ends.from, count, true);
    while (run_next(&run, &element))
        bytes += element.len;
    if (fail_if(call, !call_has_room(from == to ? 2 * bytes : bytes), ERR_OOM)) return;

    /* Choose the order of the pushes, and reply in the order that the elements have afterwards. */
    bool ascending = move->one_by_one ? ends.from == LIST_HEAD : ends.to == LIST_TAIL;
    run = run_of(list, ends.from, count, ascending == (ends.to == LIST_TAIL));
    resp_array(call->out, count);
    while (run_next(&run, &element))
        reply_bytes(call, element);

    if (from != to || ends.from != ends.to) {
        move_run(call->txn, from, entry_or_new(call, 2, to, TYPE_LIST), ends, count, ascending);
    } else if (move->one_by_one && count > 1) {
        /* From one end to the same end, BULK would leave everything in its place, and OBO reverses
         * the elements. No effect reverses elements in place, so they move to the other end and
         * back. */
        enum list_end end = ends.from, other = end == LIST_HEAD ? LIST_TAIL : LIST_HEAD;
        move_run(call->txn, from, from, (struct ends){ end, other }, count, other == LIST_TAIL);
        move_run(call->txn, from, from, (struct ends){ other, end }, count, end == LIST_HEAD);
    }
}

static bool has_enough(const struct entry *from, const struct move *move)
{
    if (from == NULL) return false;
    return !move->exactly || list_count(from->object.list) >= (uint64_t)move->count;
}

static void cmd_lmovem(struct call *call)
{
    struct move move = { .exactly = false };
    struct entry *from;
    if (!arg_list_ends(call, &move.ends) || !arg_how_many(call, 5, &move)) return;
    if (!find_typed(call, 1, TYPE_LIST, &from)) return;
    if (has_enough(from, &move))
        move_elements(call, from, &move);
    else if (move.exactly)
        resp_null_array(call->out);
    else
        resp_array(call->out, 0);
}

static void cmd_blmovem(struct call *call)
{
    enum { TIMEOUT = 5, HOW_MANY = 6, NUMBER = 7 };
    struct move move = { .exactly = false };
    struct source source;
    msec until;
    if (!arg_list_ends(call, &move.ends) || !arg_how_many(call, HOW_MANY, &move)) return;
    if (!arg_timeout(call, TIMEOUT, &until)) return;
    if (!find_source(call, TYPE_LIST, 1, 1, &source)) return;
    if (has_enough(source.entry, &move))
        move_elements(call, source.entry, &move);
    else
        block_on(call, &(struct block_request){ .first = 1,
                                                .count = 1,
                                                .type = TYPE_LIST,
                                                .until = until,
                                                .group = move.exactly ? NUMBER : 0 });
}

static const struct command rows[] = {
    ROW("LMOVE", cmd_lmove, 5, WRITE | GROWS, .keys = { .first = 1, .last = 2, .step = 1 },
        .specs = { KEY_AT(1, KEY_RW | KEY_ACCESS | KEY_DELETE), KEY_AT(2, KEY_RW | KEY_INSERT) },
        .since = "6.2.0", .replies = REPLIES("bulk: the element", "null: there is no such source"),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_SYNTAX), .complexity = "O(1)",
        .syntax = "source destination <LEFT | RIGHT> <LEFT | RIGHT>",
        .summary = "Removes an element from an end of a list, pushes it to an end of another list "
                   "and returns it."),
    ROW("RPOPLPUSH", cmd_lmove, 3, WRITE | GROWS, .keys = { .first = 1, .last = 2, .step = 1 },
        .specs = { KEY_AT(1, KEY_RW | KEY_ACCESS | KEY_DELETE), KEY_AT(2, KEY_RW | KEY_INSERT) },
        .since = "1.2.0", .replies = REPLIES("bulk: the element", "null: there is no such source"),
        .errors = ERRORS(ERR_WRONGTYPE), .complexity = "O(1)", .syntax = "source destination",
        .summary =
            "Removes the last element of a list, prepends it to another list and returns it."),
    ROW("BLMOVE", cmd_blmove, 6, WRITE | GROWS | NOSCRIPT | BLOCKING,
        .keys = { .first = 1, .last = 2, .step = 1 },
        .specs = { KEY_AT(1, KEY_RW | KEY_ACCESS | KEY_DELETE), KEY_AT(2, KEY_RW | KEY_INSERT) },
        .since = "6.2.0",
        .replies = REPLIES("bulk: the element", "null-array: the timeout was reached",
                           "null: inside MULTI: there is no such source"),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_SYNTAX, ERR_TIMEOUT_NEGATIVE, ERR_TIMEOUT_FLOAT),
        .complexity = "O(1)", .syntax = "source destination <LEFT | RIGHT> <LEFT | RIGHT> timeout",
        .summary = "Removes an element from an end of a list, pushes it to an end of another list "
                   "and returns it. Blocks until an element is available."),
    ROW("BRPOPLPUSH", cmd_blmove, 4, WRITE | GROWS | NOSCRIPT | BLOCKING,
        .keys = { .first = 1, .last = 2, .step = 1 },
        .specs = { KEY_AT(1, KEY_RW | KEY_ACCESS | KEY_DELETE), KEY_AT(2, KEY_RW | KEY_INSERT) },
        .since = "2.2.0",
        .replies = REPLIES("bulk: the element", "null-array: the timeout was reached",
                           "null: inside MULTI: there is no such source"),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_TIMEOUT_NEGATIVE, ERR_TIMEOUT_FLOAT),
        .complexity = "O(1)", .syntax = "source destination timeout",
        .summary =
            "Removes the last element of a list, prepends it to another list and returns it. "
            "Blocks until an element is available."),
    ROW("LMOVEM", cmd_lmovem, -5, WRITE | GROWS, .keys = { .first = 1, .last = 2, .step = 1 },
        .specs = { KEY_AT(1, KEY_RW | KEY_ACCESS | KEY_DELETE), KEY_AT(2, KEY_RW | KEY_INSERT) },
        .since = "8.10.0",
        .replies = REPLIES("[bulk ...]: the elements, in the order that they have at the "
                           "destination; empty if there is no such source",
                           "null-array: the source has fewer elements than EXACTLY asks for"),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_SYNTAX, ERR_COUNT_POSITIVE),
        .complexity = "O(N) where N is the number of elements moved.",
        .syntax = "source destination <LEFT | RIGHT> <LEFT | RIGHT> [<COUNT count|EXACTLY count> "
                  "<OBO | BULK>]",
        .summary =
            "Moves elements from an end of a list to an end of another one and returns them: "
            "one, at most COUNT, or EXACTLY that many. OBO moves them one by one, BULK keeps "
            "their order."),
    ROW("BLMOVEM", cmd_blmovem, -6, WRITE | GROWS | NOSCRIPT | BLOCKING,
        .keys = { .first = 1, .last = 2, .step = 1 },
        .specs = { KEY_AT(1, KEY_RW | KEY_ACCESS | KEY_DELETE), KEY_AT(2, KEY_RW | KEY_INSERT) },
        .since = "8.10.0",
        .replies =
            REPLIES("[bulk ...]: the elements, in the order that they have at the destination",
                    "null-array: the timeout was reached"),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_SYNTAX, ERR_COUNT_POSITIVE, ERR_TIMEOUT_NEGATIVE,
                         ERR_TIMEOUT_FLOAT),
        .complexity = "O(N) where N is the number of elements moved.",
        .syntax = "source destination <LEFT | RIGHT> <LEFT | RIGHT> timeout [<COUNT count|EXACTLY "
                  "count> <OBO | BULK>]",
        .summary =
            "Moves elements from an end of a list to an end of another one and returns them. "
            "Blocks until there is one, or with EXACTLY until there are that many."),
};

const struct command_group list_move_commands = COMMAND_GROUP("list", rows);
