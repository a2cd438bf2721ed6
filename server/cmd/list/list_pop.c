/* list_pop: commands that pop elements from an end of a list. BLPOP, BRPOP and BLMPOP block until
 * one of their lists has elements. */
#include "server/cmd/block.h"
#include "server/cmd/call/args.h"
#include "server/cmd/list/list.h"

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

/* Pops elements and replies with [key, [element ...]]. */
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
    run_multi_pop(call, TYPE_LIST, "LEFT", "RIGHT", false, pop_list_to_array);
}

static void cmd_blmpop(struct call *call)
{
    run_multi_pop(call, TYPE_LIST, "LEFT", "RIGHT", true, pop_list_to_array);
}

/* BLPOP and BRPOP: the reply is [key, element]. */
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
    ROW("LMPOP", cmd_lmpop, -4, WRITE | MOVABLE_KEYS, .find_keys = find_pop_keys,
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
    ROW("BLMPOP", cmd_blmpop, -5, WRITE | BLOCKING | MOVABLE_KEYS,
        .find_keys = find_blocking_pop_keys,
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

const struct command_group list_pop_commands = COMMAND_GROUP("list", rows);
