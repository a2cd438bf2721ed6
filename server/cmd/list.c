/* list: lists pushed, popped, read and cut.
 * Knows positions; refuses to know how a list is laid out. */
#include "server/args.h"
#include "server/cmd/cmd.h"

static void push(struct call *call, enum list_end end)
{
    struct entry *entry;
    if (!find_typed(call, 1, TYPE_LIST, &entry)) return;
    entry = entry_or_new(call, 1, entry, TYPE_LIST);
    for (int i = 2; i < call->argc; i++)
        txn_list_push(call->txn, entry, end, call->argv[i]);
    resp_integer(call->out, (int64_t)list_count(entry->object.list));
}

static void cmd_lpush(struct call *call)
{
    push(call, LIST_HEAD);
}

static void cmd_rpush(struct call *call)
{
    push(call, LIST_TAIL);
}

/* The elements that a pop takes, in the order in which it takes them. */
static void reply_end(struct call *call, const struct list *list, enum list_end end, size_t count)
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

static void pop_some(struct call *call, enum list_end end)
{
    struct entry *entry;
    int64_t wanted;
    if (!arg_range(call, 2, 0, INT64_MAX, &wanted, ERR_NOT_POSITIVE)) return;
    if (!find_typed(call, 1, TYPE_LIST, &entry)) return;
    if (entry == NULL) {
        resp_null_array(call->out);
        return;
    }
    size_t count = list_count(entry->object.list);
    if ((uint64_t)wanted < count) count = (size_t)wanted;
    resp_array(call->out, count);
    if (count == 0) return;
    reply_end(call, entry->object.list, end, count); /* now: the mutator frees them */
    txn_list_pop(call->txn, entry, end, count);
}

static void pop(struct call *call, enum list_end end)
{
    struct entry *entry;
    if (call->argc > 3) {
        fail_named(call, ERR_ARITY);
        return;
    }
    if (call->argc == 3) {
        pop_some(call, end);
        return;
    }
    if (!find_typed(call, 1, TYPE_LIST, &entry)) return;
    if (entry == NULL) {
        resp_null(call->out);
        return;
    }
    reply_end(call, entry->object.list, end, 1);
    txn_list_pop(call->txn, entry, end, 1);
}

static void cmd_lpop(struct call *call)
{
    pop(call, LIST_HEAD);
}

static void cmd_rpop(struct call *call)
{
    pop(call, LIST_TAIL);
}

static void cmd_llen(struct call *call)
{
    struct entry *entry;
    if (!read_typed(call, 1, TYPE_LIST, &entry)) return;
    resp_integer(call->out, entry == NULL ? 0 : (int64_t)list_count(entry->object.list));
}

static void cmd_lindex(struct call *call)
{
    struct entry *entry;
    int64_t index;
    if (!read_typed(call, 1, TYPE_LIST, &entry)) return;
    if (entry == NULL) {
        resp_null(call->out); /* whatever the index is worth */
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
    if (!read_typed(call, 1, TYPE_LIST, &entry)) return;
    if (entry != NULL) clip_range(start, stop, list_count(entry->object.list), &from, &to);

    resp_array(call->out, to - from);
    if (from == to) return;
    struct list_iter iter;
    struct bytes element;
    list_iter_at(&iter, entry->object.list, from);
    for (; from < to && list_iter_next(&iter, &element); from++)
        reply_bytes(call, element);
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

static const struct command rows[] = {
    { .name = "LPUSH",
      .run = cmd_lpush,
      .arity = -3,
      .flags = WRITE | GROWS | FAST,
      .keys = { .first = 1, .last = 1, .step = 1 },
      .group = "list",
      .since = "1.0.0",
      .complexity = "O(1) for each element.",
      .syntax = "key element [element ...]",
      .summary = "Puts elements before the head of a list, one after another; makes the list if "
                 "there is none." },
    { .name = "RPUSH",
      .run = cmd_rpush,
      .arity = -3,
      .flags = WRITE | GROWS | FAST,
      .keys = { .first = 1, .last = 1, .step = 1 },
      .group = "list",
      .since = "1.0.0",
      .complexity = "O(1) for each element.",
      .syntax = "key element [element ...]",
      .summary = "Puts elements behind the tail of a list, one after another; makes the list if "
                 "there is none." },
    { .name = "LPOP",
      .run = cmd_lpop,
      .arity = -2,
      .flags = WRITE | FAST,
      .keys = { .first = 1, .last = 1, .step = 1 },
      .group = "list",
      .since = "1.0.0",
      .complexity = "O(N) where N is the number of elements returned.",
      .syntax = "key [count]",
      .summary = "Takes elements from the head of a list and gives them." },
    { .name = "RPOP",
      .run = cmd_rpop,
      .arity = -2,
      .flags = WRITE | FAST,
      .keys = { .first = 1, .last = 1, .step = 1 },
      .group = "list",
      .since = "1.0.0",
      .complexity = "O(N) where N is the number of elements returned.",
      .syntax = "key [count]",
      .summary = "Takes elements from the tail of a list and gives them." },
    { .name = "LLEN",
      .run = cmd_llen,
      .arity = 2,
      .flags = READONLY | FAST,
      .keys = { .first = 1, .last = 1, .step = 1 },
      .group = "list",
      .since = "1.0.0",
      .complexity = "O(1)",
      .syntax = "key",
      .summary = "Tells the length of a list." },
    { .name = "LINDEX",
      .run = cmd_lindex,
      .arity = 3,
      .flags = READONLY,
      .keys = { .first = 1, .last = 1, .step = 1 },
      .group = "list",
      .since = "1.0.0",
      .complexity = "O(N) where N is the number of nodes passed; O(1) at both ends.",
      .syntax = "key index",
      .summary = "Gives the element at an index, negative ones from the tail." },
    { .name = "LRANGE",
      .run = cmd_lrange,
      .arity = 4,
      .flags = READONLY,
      .keys = { .first = 1, .last = 1, .step = 1 },
      .group = "list",
      .since = "1.0.0",
      .complexity = "O(S+N) where S is the way to the start and N the number of elements given.",
      .syntax = "key start stop",
      .summary = "Gives the elements from one index to another." },
    { .name = "LTRIM",
      .run = cmd_ltrim,
      .arity = 4,
      .flags = WRITE,
      .keys = { .first = 1, .last = 1, .step = 1 },
      .group = "list",
      .since = "1.0.0",
      .complexity = "O(N) where N is the number of elements removed.",
      .syntax = "key start stop",
      .summary = "Keeps the elements from one index to another and drops the rest." },
    { .name = "LREM",
      .run = cmd_lrem,
      .arity = 4,
      .flags = WRITE,
      .keys = { .first = 1, .last = 1, .step = 1 },
      .group = "list",
      .since = "1.0.0",
      .complexity = "O(N) where N is the length of the list.",
      .syntax = "key count element",
      .summary = "Drops equal elements: count from the head, -count from the tail, all at 0." },
};

const struct command_group list_commands = COMMAND_GROUP(rows);
