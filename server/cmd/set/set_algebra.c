/* set_algebra: SINTER, SUNION, SDIFF, their STORE and CARD forms, and SMOVE.
 *
 * An operation on n sets can look up each member in the other sets, or copy members into a new set.
 * Look-ups need no memory, so intersections use only these, and begin with the smallest sets, which
 * exclude most members. A union that is stored always copies. Other unions, and differences, copy
 * if the look-ups would probably cost more. */
#include <stdlib.h>

#include "server/cmd/call/args.h"
#include "server/cmd/set/set.h"
#include "store/mem/mem.h"

enum operation { INTERSECTION, UNION, DIFFERENCE };

struct operands {
    const struct set **sets; /* the existing sets, at first in the order of the arguments */
    size_t count;
    size_t missing;
    bool has_first; /* the first key exists */
};

/* Where the members of a result go. Each is counted, and is also written into `reply` or added to
 * `set` if that is not NULL. */
struct result {
    struct call *call;
    struct resp_writer *reply; /* writes members into a buffer, or NULL */
    struct set *set;           /* receives copies of the members, or NULL */
    size_t count, limit;       /* members so far, and at most; limit 0 for no limit */
};

static bool read_operands(struct call *call, int first, int keys, struct operands *in)
{
    *in = (struct operands){ .sets = mem_alloc((size_t)keys * sizeof(*in->sets)) };
    for (int i = 0; i < keys; i++) {
        struct entry *entry;
        if (!find_typed_counted(call, first + i, TYPE_SET, &entry)) {
            mem_free(in->sets);
            return false;
        }
        if (entry == NULL) {
            in->missing++;
            continue;
        }
        if (i == 0) in->has_first = true;
        in->sets[in->count++] = entry->object.set;
    }
    return true;
}

static int by_count(const void *a, const void *b)
{
    size_t x = set_count(*(const struct set *const *)a),
           y = set_count(*(const struct set *const *)b);
    return x < y ? -1 : x > y;
}

static int by_count_down(const void *a, const void *b)
{
    return by_count(b, a);
}

/* Returns false if the limit is reached. */
static bool add_to_result(struct result *result, struct bytes member)
{
    if (result->reply != NULL) resp_bulk(result->reply, member.data, member.len);
    if (result->set != NULL) set_add(result->set, member, NEVER);
    result->count++;
    return result->count != result->limit;
}

static bool is_in_any(const struct set *const *sets, size_t count, struct bytes member)
{
    for (size_t i = 0; i < count; i++)
        if (set_has(sets[i], member)) return true;
    return false;
}

/* The caller has sorted the sets from large to small: members of the first need no look-ups. */
static void unite_sets(const struct operands *in, struct result *result)
{
    struct set_iter iter;
    struct bytes member;
    for (size_t i = 0; i < in->count; i++) {
        set_iter_begin(&iter, in->sets[i]);
        while (set_iter_next(&iter, &member))
            if (!is_in_any(in->sets, i, member) && !add_to_result(result, member)) return;
    }
}

/* The caller has sorted the other sets from large to small, because a large set is more likely to
 * contain the member and so to end its look-ups. */
static void subtract_sets(const struct operands *in, struct result *result)
{
    struct set_iter iter;
    struct bytes member;
    set_iter_begin(&iter, in->sets[0]);
    while (set_iter_next(&iter, &member))
        if (!is_in_any(in->sets + 1, in->count - 1, member) && !add_to_result(result, member))
            return;
}

static void add_all(struct set *to, const struct set *from)
{
    struct set_iter iter;
    struct bytes member;
    set_iter_begin(&iter, from);
    while (set_iter_next(&iter, &member))
        set_add(to, member, NEVER);
}

static void remove_all(struct set *to, const struct set *from)
{
    struct set_iter iter;
    struct bytes member;
    set_iter_begin(&iter, from);
    while (set_count(to) > 0 && set_iter_next(&iter, &member))
        set_remove(to, member);
}

static void copy_result(enum operation operation, const struct operands *in, struct set *to)
{
    add_all(to, in->sets[0]);
    for (size_t i = 1; i < in->count; i++)
        (operation == UNION ? add_all : remove_all)(to, in->sets[i]);
}

static void compute_set_operation(enum operation operation, const struct operands *in,
                                  struct result *result)
{
    if (in->count == 0 || (operation == DIFFERENCE && !in->has_first)) return;
    struct set_iter iter;
    struct bytes member;
    if (operation == INTERSECTION) {
        /* Look up each member of the smallest set in the others, from small to large, because a
         * small set is more likely to lack the member and so to end its look-ups. */
        if (in->missing > 0) return;
        qsort(in->sets, in->count, sizeof(*in->sets), by_count);
        set_iter_begin(&iter, in->sets[0]);
        while (set_iter_next(&iter, &member)) {
            size_t i = 1;
            while (i < in->count && set_has(in->sets[i], member))
                i++;
            if (i == in->count && !add_to_result(result, member)) return;
        }
        return;
    }
    if (operation == UNION) qsort(in->sets, in->count, sizeof(*in->sets), by_count_down);
    if (operation == DIFFERENCE)
        qsort(in->sets + 1, in->count - 1, sizeof(*in->sets), by_count_down);

    /* A union has at least as many members as its largest set, which is the first one here. */
    if (operation == UNION && result->limit > 0 && set_count(in->sets[0]) >= result->limit) {
        result->count = result->limit;
        return;
    }

    /* Are copies cheaper than look-ups? For a difference, the answer must be Redis', because the
     * encoding of a stored result depends on the algorithm. */
    enum { LOOKUPS_PER_MEMBER = 8 };
    size_t members = 0, lookups = 0;
    for (size_t i = 0; i < in->count; i++) {
        members += set_count(in->sets[i]);
        lookups += i * set_count(in->sets[i]);
    }
    bool copies = operation == DIFFERENCE ? in->count * set_count(in->sets[0]) / 2 > members
                                          : lookups > LOOKUPS_PER_MEMBER * members;
    if (result->set != NULL && (operation == UNION || copies)) {
        copy_result(operation, in, result->set);
        return;
    }
    if (!copies) {
        (operation == UNION ? unite_sets : subtract_sets)(in, result);
        return;
    }
    struct set *set = set_new();
    copy_result(operation, in, set);
    set_iter_begin(&iter, set);
    while (set_iter_next(&iter, &member) && add_to_result(result, member))
        continue;
    struct object object = { .set = set, .type = TYPE_SET };
    reclaim_object(&result->call->txn->store->reclaim, object);
}

static void reply_set_operation(struct call *call)
{
    enum operation operation = (enum operation)call_variant(call);
    struct operands in;
    if (!read_operands(call, 1, call->argc - 1, &in)) return;
    struct outbuf collected;
    outbuf_init(&collected);
    struct resp_writer reply = resp_writer_to(call->out, &collected);
    struct result result = { .call = call, .reply = &reply };
    compute_set_operation(operation, &in, &result);
    mem_free(in.sets);
    resp_set(call->out, result.count);
    resp_splice(call->out, &collected);
}

static void store_set_operation(struct call *call)
{
    static const enum event events[] = { [INTERSECTION] = EVENT_SINTERSTORE,
                                         [UNION] = EVENT_SUNIONSTORE,
                                         [DIFFERENCE] = EVENT_SDIFFSTORE };
    enum operation operation = (enum operation)call_variant(call);
    struct operands in;
    if (!read_operands(call, 2, call->argc - 2, &in)) return;
    struct object object = object_new(TYPE_SET);
    struct result result = { .call = call, .set = object.set };
    compute_set_operation(operation, &in, &result);
    mem_free(in.sets);
    resp_integer(call->out, (int64_t)set_count(object.set));
    txn_key_store(call->txn, call->argv[1], object, events[operation]);
}

/* Runs a command with the arguments "numkeys key ... [APPROX] [LIMIT limit]". Only unions accept
 * APPROX, which permits an estimate; the count is exact all the same. */
static void count_set_operation(struct call *call)
{
    enum operation operation = (enum operation)call_variant(call);
    int64_t keys, limit = 0;
    struct operands in;
    if (!arg_range(call, 1, 1, INT64_MAX, &keys, ERR_NUMKEYS)) return;
    if (fail_if(call, keys > call->argc - 2, ERR_NUMKEYS_ARGS)) return;
    for (int i = 2 + (int)keys; i < call->argc; i++) {
        if (operation == UNION && arg_is(call, i, "APPROX")) continue;
        if (fail_if(call, !arg_is(call, i, "LIMIT") || ++i == call->argc, ERR_SYNTAX)) return;
        if (!arg_range(call, i, 0, INT64_MAX, &limit, ERR_LIMIT_NEGATIVE)) return;
    }
    if (!read_operands(call, 2, (int)keys, &in)) return;
    struct result result = { .call = call, .limit = (size_t)limit };
    compute_set_operation(operation, &in, &result);
    mem_free(in.sets);
    resp_integer(call->out, (int64_t)result.count);
}

/* SMOVE: moves a member together with its deadline. A member without a deadline is added as by
 * SADD, so a policy may give it one. As in Redis, the types are not checked if the source is
 * missing. */
static void cmd_smove(struct call *call)
{
    struct bytes member = call->argv[3];
    struct entry *from = txn_find(call->txn, call->argv[1]);
    struct entry *to = txn_find(call->txn, call->argv[2]);
    if (from == NULL) {
        resp_integer(call->out, 0);
        return;
    }
    if (!find_typed(call, 1, TYPE_SET, &from) || !find_typed(call, 2, TYPE_SET, &to)) return;
    msec at = NEVER;
    bool moves = set_deadline(from->object.set, member, &at);
    resp_integer(call->out, moves);
    if (!moves || from == to) return;
    if (set_count(from->object.set) > 1)
        txn_set_remove(call->txn, from, member, EVENT_SREM);
    else /* removes the key now, so that its "del" event comes before the "sadd" event */
        txn_set_remove_all(call->txn, from, EVENT_SREM);
    to = entry_or_new(call, 2, to, TYPE_SET);
    struct lifetime life = { at == NEVER ? LIFE_ADD : LIFE_SET_NEW, at };
    txn_set_add(call->txn, to, member, life);
}

#define KEY_RANGE(from, to)                                                                        \
    {                                                                                              \
        .first = (from), .last = (to), .step = 1                                                   \
    }

static const struct command rows[] = {
    ROW("SINTER", reply_set_operation, -2, READONLY | COPIES, .variant = INTERSECTION,
        .keys = KEY_RANGE(1, -1), .tips = "nondeterministic_output_order", .since = "1.0.0",
        .replies = REPLIES("set[bulk ...]: the members of the result"),
        .errors = ERRORS(ERR_WRONGTYPE),
        .complexity =
            "O(N*M) where N is the number of members in the smallest set and M the number of sets.",
        .syntax = "key [key ...]", .summary = "Returns the intersection of sets."),
    ROW("SINTERSTORE", store_set_operation, -3, WRITE | GROWS | COPIES, .variant = INTERSECTION,
        .keys = KEY_RANGE(1, -1),
        .specs = { KEY_AT(1, KEY_RW | KEY_UPDATE), KEYS_FROM(2, KEY_RO | KEY_ACCESS) },
        .since = "1.0.0", .replies = REPLIES("integer: the number of members of the result"),
        .errors = ERRORS(ERR_WRONGTYPE),
        .complexity =
            "O(N*M) where N is the number of members in the smallest set and M the number of sets.",
        .syntax = "destination key [key ...]",
        .summary = "Stores the intersection of sets in a key."),
    ROW("SINTERCARD", count_set_operation, -3, READONLY | MOVABLE_KEYS, .variant = INTERSECTION,
        .specs = { KEYS_COUNTED_AT(1, KEY_RO | KEY_ACCESS) }, .since = "7.0.0",
        .replies = REPLIES("integer: the number of members in all of the sets, at most LIMIT"),
        .errors =
            ERRORS(ERR_WRONGTYPE, ERR_SYNTAX, ERR_NUMKEYS, ERR_NUMKEYS_ARGS, ERR_LIMIT_NEGATIVE),
        .complexity =
            "O(N*M) where N is the number of members in the smallest set and M the number of sets.",
        .syntax = "numkeys key [key ...] [LIMIT limit]",
        .summary = "Returns the number of members in the intersection of sets, up to a limit."),
    ROW("SUNIONCARD", count_set_operation, -3, READONLY | MOVABLE_KEYS | COPIES, .variant = UNION,
        .specs = { KEYS_COUNTED_AT(1, KEY_RO | KEY_ACCESS) }, .since = "8.10.0",
        .replies = REPLIES("integer: the number of members in any of the sets, at most LIMIT"),
        .errors =
            ERRORS(ERR_WRONGTYPE, ERR_SYNTAX, ERR_NUMKEYS, ERR_NUMKEYS_ARGS, ERR_LIMIT_NEGATIVE),
        .complexity = "O(N) where N is the total number of members in all sets.",
        .syntax = "numkeys key [key ...] [APPROX] [LIMIT limit]",
        .summary = "Returns the number of members in the union of sets, up to a limit. It is exact "
                   "even with APPROX."),
    ROW("SDIFFCARD", count_set_operation, -3, READONLY | MOVABLE_KEYS | COPIES,
        .variant = DIFFERENCE, .specs = { KEYS_COUNTED_AT(1, KEY_RO | KEY_ACCESS) },
        .since = "8.10.0",
        .replies =
            REPLIES("integer: the number of members of the first set that are in none of the "
                    "others, at most LIMIT"),
        .errors =
            ERRORS(ERR_WRONGTYPE, ERR_SYNTAX, ERR_NUMKEYS, ERR_NUMKEYS_ARGS, ERR_LIMIT_NEGATIVE),
        .complexity = "O(N) where N is the total number of members in all sets.",
        .syntax = "numkeys key [key ...] [LIMIT limit]",
        .summary =
            "Returns the number of members of the first set that are in none of the others, up "
            "to a limit."),
    ROW("SUNION", reply_set_operation, -2, READONLY | COPIES, .variant = UNION,
        .keys = KEY_RANGE(1, -1), .tips = "nondeterministic_output_order", .since = "1.0.0",
        .replies = REPLIES("set[bulk ...]: the members of the result"),
        .errors = ERRORS(ERR_WRONGTYPE),
        .complexity = "O(N) where N is the total number of members in all sets.",
        .syntax = "key [key ...]", .summary = "Returns the union of sets."),
    ROW("SUNIONSTORE", store_set_operation, -3, WRITE | GROWS | COPIES, .variant = UNION,
        .keys = KEY_RANGE(1, -1),
        .specs = { KEY_AT(1, KEY_OW | KEY_UPDATE), KEYS_FROM(2, KEY_RO | KEY_ACCESS) },
        .since = "1.0.0", .replies = REPLIES("integer: the number of members of the result"),
        .errors = ERRORS(ERR_WRONGTYPE),
        .complexity = "O(N) where N is the total number of members in all sets.",
        .syntax = "destination key [key ...]", .summary = "Stores the union of sets in a key."),
    ROW("SDIFF", reply_set_operation, -2, READONLY | COPIES, .variant = DIFFERENCE,
        .keys = KEY_RANGE(1, -1), .tips = "nondeterministic_output_order", .since = "1.0.0",
        .replies = REPLIES("set[bulk ...]: the members of the result"),
        .errors = ERRORS(ERR_WRONGTYPE),
        .complexity = "O(N) where N is the total number of members in all sets.",
        .syntax = "key [key ...]",
        .summary = "Returns the members of the first set that are in none of the others."),
    ROW("SDIFFSTORE", store_set_operation, -3, WRITE | GROWS | COPIES, .variant = DIFFERENCE,
        .keys = KEY_RANGE(1, -1),
        .specs = { KEY_AT(1, KEY_OW | KEY_UPDATE), KEYS_FROM(2, KEY_RO | KEY_ACCESS) },
        .since = "1.0.0", .replies = REPLIES("integer: the number of members of the result"),
        .errors = ERRORS(ERR_WRONGTYPE),
        .complexity = "O(N) where N is the total number of members in all sets.",
        .syntax = "destination key [key ...]",
        .summary = "Stores in a key the members of the first set that are in none of the others."),
    ROW("SMOVE", cmd_smove, 4, WRITE | FAST, .keys = KEY_RANGE(1, 2),
        .specs = { KEY_AT(1, KEY_RW | KEY_ACCESS | KEY_DELETE), KEY_AT(2, KEY_RW | KEY_INSERT) },
        .since = "1.0.0",
        .replies = REPLIES("integer: 1 if the member was moved, 0 if it is not in the source"),
        .errors = ERRORS(ERR_WRONGTYPE), .complexity = "O(1)",
        .syntax = "source destination member",
        .summary = "Moves a member from one set to another."),
};

const struct command_group set_algebra_commands = COMMAND_GROUP("set", rows);
