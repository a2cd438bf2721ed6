/* list: commands that push, pop, read and search elements, and change lists; list_move.c moves
 * elements between lists. BLPOP, BRPOP and BLMPOP block until one of their lists has elements. */
#include "server/cmd/list/list.h"
#include "server/cmd/block.h"
#include "server/cmd/call/args.h"

/* The variants of LPUSHX and RPUSHX, which push only if the list exists, are those of LPUSH and
 * RPUSH (LIST_HEAD and LIST_TAIL) plus 2. */
enum { IF_EXISTS = 2 };

static void push_list(struct call *call)
{
    int variant = call_variant(call);
    enum list_end end = (enum list_end)(variant % IF_EXISTS);
    struct entry *entry;
    if (!find_typed(call, 1, TYPE_LIST, &entry)) return;
    if (entry == NULL && variant >= IF_EXISTS) {
        resp_integer(call->out, 0);
        return;
    }
    entry = entry_or_new(call, 1, entry, TYPE_LIST);
    for (int i = 2; i < call->argc; i++)
        txn_list_push(call->txn, entry, end, call->argv[i]);
    resp_integer(call->out, (int64_t)list_count(entry->object.list));
}

static void cmd_llen(struct call *call)
{
    struct entry *entry;
    if (!find_typed_counted(call, 1, TYPE_LIST, &entry)) return;
    resp_integer(call->out, entry == NULL ? 0 : (int64_t)list_count(entry->object.list));
}

static void cmd_lindex(struct call *call)
{
    struct entry *entry;
    int64_t index;
    if (!find_typed_counted(call, 1, TYPE_LIST, &entry)) return;
    if (entry == NULL) {
        resp_null(call->out); /* even if the index is invalid */
        return;
    }
    if (!arg_int64(call, 2, &index)) return;
    int64_t count = (int64_t)list_count(entry->object.list);
    if (index < 0) index += count;
    if (index >= 0 && index < count)
        reply_bytes(call, list_at(entry->object.list, (size_t)index));
    else
        resp_null(call->out);
}

static void cmd_lrange(struct call *call)
{
    struct entry *entry;
    int64_t start, stop;
    size_t from = 0, to = 0;
    if (!arg_int64(call, 2, &start) || !arg_int64(call, 3, &stop)) return;
    if (!find_typed_counted(call, 1, TYPE_LIST, &entry)) return;
    if (entry != NULL) clip_range(start, stop, list_count(entry->object.list), &from, &to);

    resp_array(call->out, to - from);
    if (from == to) return;
    struct list_iter iter;
    struct bytes element;
    list_iter_at(&iter, entry->object.list, from);
    for (; from < to && list_iter_next(&iter, &element); from++)
        reply_bytes(call, element);
}

/* A search for equal elements from either end of a list. */
struct matches {
    struct bytes element;
    struct list_iter iter;
    size_t length;      /* elements in the list */
    size_t seen, limit; /* elements compared so far, and at most */
    int64_t skip;       /* matches to skip */
    bool backward;
};

static bool next_equal(struct matches *matches, size_t *index)
{
    struct bytes element;
    while (matches->seen < matches->limit) {
        if (matches->backward)
            list_iter_prev(&matches->iter, &element);
        else
            list_iter_next(&matches->iter, &element);
        size_t at = matches->seen++;
        if (!bytes_equal(element, matches->element)) continue;
        if (matches->skip-- > 0) continue;
        *index = matches->backward ? matches->length - 1 - at : at;
        return true;
    }
    return false;
}

static void cmd_lpos(struct call *call)
{
    int64_t rank = 1, most = 0; /* RANK; MAXLEN, 0 for the whole list */
    int64_t wanted = -1; /* COUNT; 0 for all matches; -1 without COUNT: one, not in an array */
    struct entry *entry;
    size_t index, count = 0;
    for (int i = 3; i < call->argc; i += 2) {
        bool has_value = i + 1 < call->argc;
        if (has_value && arg_is(call, i, "RANK")) {
            if (!arg_int64(call, i + 1, &rank)) return;
            if (fail_if(call, rank == 0, ERR_RANK_ZERO)) return;
            /* INT64_MIN can't be negated. Redis then finds all matches from the tail. */
            if (rank == INT64_MIN) rank = -1;
        } else if (has_value && arg_is(call, i, "COUNT")) {
            if (!arg_range(call, i + 1, 0, INT64_MAX, &wanted, ERR_COUNT_NEGATIVE)) return;
        } else if (has_value && arg_is(call, i, "MAXLEN")) {
            if (!arg_range(call, i + 1, 0, INT64_MAX, &most, ERR_MAXLEN_NEGATIVE)) return;
        } else {
            fail(call, ERR_SYNTAX);
            return;
        }
    }
    if (!find_typed_counted(call, 1, TYPE_LIST, &entry)) return;
    struct matches matches = { .element = call->argv[2],
                               .skip = (rank < 0 ? -rank : rank) - 1,
                               .backward = rank < 0 };
    if (entry != NULL) {
        matches.length = matches.limit = list_count(entry->object.list);
        if (most > 0 && (uint64_t)most < matches.length) matches.limit = (size_t)most;
        list_iter_at(&matches.iter, entry->object.list, rank < 0 ? matches.length - 1 : 0);
    }

    if (wanted < 0) {
        if (next_equal(&matches, &index))
            resp_integer(call->out, (int64_t)index);
        else
            resp_null(call->out);
        return;
    }
    /* Walk the list twice, because the number of matches is replied first. */
    struct matches counted = matches;
    while ((wanted == 0 || count < (uint64_t)wanted) && next_equal(&counted, &index))
        count++;
    resp_array(call->out, count);
    while (count-- > 0 && next_equal(&matches, &index))
        resp_integer(call->out, (int64_t)index);
}

static void cmd_lset(struct call *call)
{
    struct entry *entry;
    int64_t index;
    if (!find_typed(call, 1, TYPE_LIST, &entry)) return;
    if (fail_if(call, entry == NULL, ERR_NO_KEY)) return;
    if (!arg_int64(call, 2, &index)) return;
    int64_t count = (int64_t)list_count(entry->object.list);
    if (index < 0) index += count;
    if (fail_if(call, index < 0 || index >= count, ERR_INDEX)) return;
    txn_list_put(call->txn, entry, (size_t)index, call->argv[3]);
    reply_ok(call);
}

static void cmd_linsert(struct call *call)
{
    struct entry *entry;
    size_t index;
    struct list_pivot pivot = { call->argv[3], arg_is(call, 2, "AFTER") };
    if (fail_if(call, !pivot.after && !arg_is(call, 2, "BEFORE"), ERR_SYNTAX)) return;
    if (!find_typed(call, 1, TYPE_LIST, &entry)) return;
    if (entry == NULL) {
        resp_integer(call->out, 0);
        return;
    }
    const struct list *list = entry->object.list;
    if (!list_find(list, pivot.element, &index)) {
        resp_integer(call->out, -1);
        return;
    }
    txn_list_insert(call->txn, entry, index + pivot.after, call->argv[4], &pivot);
    resp_integer(call->out, (int64_t)list_count(list));
}

static void cmd_ltrim(struct call *call)
{
    struct entry *entry;
    int64_t start, stop;
    size_t from, to;
    if (!arg_int64(call, 2, &start) || !arg_int64(call, 3, &stop)) return;
    if (!find_typed(call, 1, TYPE_LIST, &entry)) return;
    if (entry != NULL) {
        clip_range(start, stop, list_count(entry->object.list), &from, &to);
        txn_list_keep(call->txn, entry, from, to);
    }
    reply_ok(call);
}

static void cmd_lrem(struct call *call)
{
    struct entry *entry;
    int64_t count;
    size_t removed = 0;
    if (!arg_int64(call, 2, &count)) return;
    if (!find_typed(call, 1, TYPE_LIST, &entry)) return;
    if (entry != NULL) removed = txn_list_remove(call->txn, entry, count, call->argv[3]);
    resp_integer(call->out, (int64_t)removed);
}

/* ---- popping --------------------------------------------------------------------------------- */

/* Replies with the first `count` elements from this end on. */
static void reply_elements(struct call *call, const struct list *list, enum list_end end,
                           size_t count)
{
    struct list_iter iter;
    struct bytes element;
    list_iter_at(&iter, list, end == LIST_HEAD ? 0 : list_count(list) - 1);
    while (count-- > 0) {
        if (end == LIST_HEAD)
            list_iter_next(&iter, &element);
        else
            list_iter_prev(&iter, &element);
        reply_bytes(call, element);
    }
}

static void pop_list(struct call *call)
{
    enum list_end end = (enum list_end)call_variant(call);
    struct entry *entry;
    int64_t wanted = 1;
    bool counted = call->argc == 3;
    if (call->argc > 3) {
        fail_named(call, ERR_ARITY);
        return;
    }
    if (counted && !arg_range(call, 2, 0, INT64_MAX, &wanted, ERR_NOT_POSITIVE)) return;
    if (!find_typed(call, 1, TYPE_LIST, &entry)) return;
    if (entry == NULL) {
        if (counted)
            resp_null_array(call->out);
        else
            resp_null(call->out);
        return;
    }
    size_t count = list_count(entry->object.list);
    if ((uint64_t)wanted < count) count = (size_t)wanted;
    if (counted) resp_array(call->out, count);
    if (count == 0) return;
    reply_elements(call, entry->object.list, end, count); /* before the mutator frees them */
    txn_list_pop(call->txn, entry, end, count);
}

static void pop_list_to_array(struct call *call, const struct source *source,
                              const struct multi_pop *pop)
{
    const struct list *list = source->entry->object.list;
    enum list_end end = pop->back ? LIST_TAIL : LIST_HEAD;
    size_t count = list_count(list);
    if ((uint64_t)pop->wanted < count) count = (size_t)pop->wanted;
    resp_array(call->out, 2);
    reply_bytes(call, source->key);
    resp_array(call->out, count);
    reply_elements(call, list, end, count);
    txn_list_pop(call->txn, source->entry, end, count);
}

static void cmd_lmpop(struct call *call)
{
    run_multi_pop(call, TYPE_LIST, "LEFT", "RIGHT", pop_list_to_array);
}

/* BLPOP and BRPOP. */
static void blocking_list_pop(struct call *call)
{
    enum list_end end = (enum list_end)call_variant(call);
    struct source source;
    msec until;
    int keys = call->argc - 2;
    if (!arg_timeout(call, call->argc - 1, &until)) return;
    if (!find_source(call, TYPE_LIST, 1, keys, &source)) return;
    if (source.entry == NULL) {
        block_on(call, &(struct block_request){
                           .first = 1, .count = keys, .type = TYPE_LIST, .until = until });
        return;
    }
    resp_array(call->out, 2);
    reply_bytes(call, source.key);
    reply_elements(call, source.entry->object.list, end, 1);
    txn_list_pop(call->txn, source.entry, end, 1);
}

static const struct command rows[] = {
    ROW("LPUSH", push_list, -3, WRITE | GROWS | FAST, .variant = LIST_HEAD, .keys = KEY_FIRST,
        .key_flags = KEY_RW | KEY_INSERT, .since = "1.0.0",
        .replies = REPLIES("integer: the length of the list"), .errors = ERRORS(ERR_WRONGTYPE),
        .complexity = "O(1) for each element.", .syntax = "key element [element ...]",
        .summary =
            "Prepends one or more elements to a list. Creates the key if it does not exist."),
    ROW("RPUSH", push_list, -3, WRITE | GROWS | FAST, .variant = LIST_TAIL, .keys = KEY_FIRST,
        .key_flags = KEY_RW | KEY_INSERT, .since = "1.0.0",
        .replies = REPLIES("integer: the length of the list"), .errors = ERRORS(ERR_WRONGTYPE),
        .complexity = "O(1) for each element.", .syntax = "key element [element ...]",
        .summary = "Appends one or more elements to a list. Creates the key if it does not exist."),
    ROW("LPUSHX", push_list, -3, WRITE | GROWS | FAST, .variant = IF_EXISTS + LIST_HEAD,
        .keys = KEY_FIRST, .key_flags = KEY_RW | KEY_INSERT, .since = "2.2.0",
        .replies =
            REPLIES("integer: the length of the list, 0 if there is none and nothing was pushed"),
        .errors = ERRORS(ERR_WRONGTYPE), .complexity = "O(1) for each element.",
        .syntax = "key element [element ...]",
        .summary = "Prepends one or more elements to a list, only if the list exists."),
    ROW("RPUSHX", push_list, -3, WRITE | GROWS | FAST, .variant = IF_EXISTS + LIST_TAIL,
        .keys = KEY_FIRST, .key_flags = KEY_RW | KEY_INSERT, .since = "2.2.0",
        .replies =
            REPLIES("integer: the length of the list, 0 if there is none and nothing was pushed"),
        .errors = ERRORS(ERR_WRONGTYPE), .complexity = "O(1) for each element.",
        .syntax = "key element [element ...]",
        .summary = "Appends one or more elements to a list, only if the list exists."),
    ROW("LLEN", cmd_llen, 2, READONLY | FAST, .keys = KEY_FIRST, .key_flags = KEY_RO,
        .since = "1.0.0", .replies = REPLIES("integer: the length of the list, 0 if there is none"),
        .errors = ERRORS(ERR_WRONGTYPE), .complexity = "O(1)", .syntax = "key",
        .summary = "Returns the length of a list."),
    ROW("LINDEX", cmd_lindex, 3, READONLY, .keys = KEY_FIRST, .since = "1.0.0",
        .replies = REPLIES("bulk: the element", "null: there is no such key or index"),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_NOT_INTEGER),
        .complexity = "O(N) where N is the number of nodes between the index and the nearer end; "
                      "O(1) at both ends.",
        .syntax = "key index",
        .summary =
            "Returns the element at an index of a list. A negative index counts from the end."),
    ROW("LRANGE", cmd_lrange, 4, READONLY, .keys = KEY_FIRST, .since = "1.0.0",
        .replies = REPLIES("[bulk ...]: the elements"),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_NOT_INTEGER),
        .complexity = "O(S+N) where S is the distance of the start from the nearer end and N the "
                      "number of elements returned.",
        .syntax = "key start stop",
        .summary = "Returns the elements of a list between two indexes."),
    ROW("LPOS", cmd_lpos, -3, READONLY, .keys = KEY_FIRST, .since = "6.0.6",
        .replies = REPLIES("integer: the index of the match", "null: there is none",
                           "[integer ...]: with COUNT: the indexes of the matches"),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_SYNTAX, ERR_NOT_INTEGER, ERR_RANK_ZERO,
                         ERR_COUNT_NEGATIVE, ERR_MAXLEN_NEGATIVE),
        .complexity = "O(N) where N is the length of the list.",
        .syntax = "key element [RANK rank] [COUNT num-matches] [MAXLEN len]",
        .summary = "Returns the index of an element in a list, or the indexes of several matches."),
    ROW("LSET", cmd_lset, 4, WRITE | GROWS, .keys = KEY_FIRST, .since = "1.0.0",
        .replies = REPLIES("OK: the element was set"),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_NOT_INTEGER, ERR_NO_KEY, ERR_INDEX),
        .complexity = "O(N) where N is the number of nodes between the index and the nearer end; "
                      "O(1) at both ends.",
        .syntax = "key index element", .summary = "Sets the element at an index of a list."),
    ROW("LINSERT", cmd_linsert, 5, WRITE | GROWS, .keys = KEY_FIRST,
        .key_flags = KEY_RW | KEY_INSERT, .since = "2.2.0",
        .replies = REPLIES("integer: the length of the list; 0 if there is no such key, -1 if the "
                           "pivot was not found"),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_SYNTAX),
        .complexity = "O(N) where N is the length of the list up to the pivot.",
        .syntax = "key <BEFORE | AFTER> pivot element",
        .summary = "Inserts an element before or after another element of a list."),
    ROW("LTRIM", cmd_ltrim, 4, WRITE, .keys = KEY_FIRST, .key_flags = KEY_RW | KEY_DELETE,
        .since = "1.0.0", .replies = REPLIES("OK: the list was cut, or there is none"),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_NOT_INTEGER),
        .complexity = "O(N) where N is the number of elements removed.", .syntax = "key start stop",
        .summary = "Trims a list to the elements between two indexes."),
    ROW("LREM", cmd_lrem, 4, WRITE, .keys = KEY_FIRST, .key_flags = KEY_RW | KEY_DELETE,
        .since = "1.0.0", .replies = REPLIES("integer: the number of elements removed"),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_NOT_INTEGER),
        .complexity = "O(N) where N is the length of the list.", .syntax = "key count element",
        .summary = "Removes equal elements from a list: count from the head, -count from the tail, "
                   "or all if count is 0."),
    ROW("LPOP", pop_list, -2, WRITE | FAST, .variant = LIST_HEAD, .keys = KEY_FIRST,
        .key_flags = KEY_RW | KEY_ACCESS | KEY_DELETE, .since = "1.0.0",
        .replies = REPLIES("bulk: the element", "null: there is no such key",
                           "[bulk ...]: with count: the elements",
                           "null-array: with count: there is no such key"),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_NOT_POSITIVE),
        .complexity = "O(N) where N is the number of elements returned.", .syntax = "key [count]",
        .summary = "Removes and returns the first elements of a list."),
    ROW("RPOP", pop_list, -2, WRITE | FAST, .variant = LIST_TAIL, .keys = KEY_FIRST,
        .key_flags = KEY_RW | KEY_ACCESS | KEY_DELETE, .since = "1.0.0",
        .replies = REPLIES("bulk: the element", "null: there is no such key",
                           "[bulk ...]: with count: the elements",
                           "null-array: with count: there is no such key"),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_NOT_POSITIVE),
        .complexity = "O(N) where N is the number of elements returned.", .syntax = "key [count]",
        .summary = "Removes and returns the last elements of a list."),
    ROW("LMPOP", cmd_lmpop, -4, WRITE | MOVABLE_KEYS, .variant = false,
        .specs = { KEYS_COUNTED_AT(1, KEY_RW | KEY_ACCESS | KEY_DELETE) }, .since = "7.0.0",
        .replies = REPLIES("[bulk [bulk ...]]: the key and its elements",
                           "null-array: all the lists are empty"),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_SYNTAX, ERR_NUMKEYS, ERR_COUNT_POSITIVE),
        .complexity = "O(N+M) where N is the number of keys and M the number of elements returned.",
        .syntax = "numkeys key [key ...] <LEFT | RIGHT> [COUNT count]",
        .summary = "Removes and returns elements from an end of the first non-empty list."),
    ROW("BLPOP", blocking_list_pop, -3, WRITE | NOSCRIPT | BLOCKING, .variant = LIST_HEAD,
        .keys = { .first = 1, .last = -2, .step = 1 },
        .key_flags = KEY_RW | KEY_ACCESS | KEY_DELETE, .since = "2.0.0",
        .replies =
            REPLIES("[bulk bulk]: the key and its element", "null-array: the timeout was reached"),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_TIMEOUT_NEGATIVE, ERR_TIMEOUT_FLOAT),
        .complexity = "O(N) where N is the number of keys.", .syntax = "key [key ...] timeout",
        .summary = "Removes and returns the first element of the first non-empty list, or blocks "
                   "until one is available."),
    ROW("BRPOP", blocking_list_pop, -3, WRITE | NOSCRIPT | BLOCKING, .variant = LIST_TAIL,
        .keys = { .first = 1, .last = -2, .step = 1 },
        .key_flags = KEY_RW | KEY_ACCESS | KEY_DELETE, .since = "2.0.0",
        .replies =
            REPLIES("[bulk bulk]: the key and its element", "null-array: the timeout was reached"),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_TIMEOUT_NEGATIVE, ERR_TIMEOUT_FLOAT),
        .complexity = "O(N) where N is the number of keys.", .syntax = "key [key ...] timeout",
        .summary = "Removes and returns the last element of the first non-empty list, or blocks "
                   "until one is available."),
    ROW("BLMPOP", cmd_lmpop, -5, WRITE | BLOCKING | MOVABLE_KEYS, .variant = true,
        .specs = { KEYS_COUNTED_AT(2, KEY_RW | KEY_ACCESS | KEY_DELETE) }, .since = "7.0.0",
        .replies = REPLIES("[bulk [bulk ...]]: the key and its elements",
                           "null-array: the timeout was reached"),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_SYNTAX, ERR_TIMEOUT_NEGATIVE, ERR_NUMKEYS,
                         ERR_TIMEOUT_FLOAT, ERR_COUNT_POSITIVE),
        .complexity = "O(N+M) where N is the number of keys and M the number of elements returned.",
        .syntax = "timeout numkeys key [key ...] <LEFT | RIGHT> [COUNT count]",
        .summary =
            "Removes and returns elements from an end of the first non-empty list, or blocks "
            "until one is available."),
};

const struct command_group list_commands = COMMAND_GROUP("list", rows);
