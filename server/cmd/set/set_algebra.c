/* set_algebra: intersections, unions and differences of sets: replied, counted or stored. Chooses
 * the order that needs the fewest look-ups.
 *
 * Members are read in place: a reply is written while members are found. Members are copied only to
 * be stored, or if look-ups would be many more than members. */
#include <stdlib.h>

#include "server/call/args.h"
#include "server/cmd/cmd.h"
#include "server/cmd/numkeys.h"
#include "store/mem/mem.h"

enum operation { INTERSECTION, UNION, DIFFERENCE };

struct operands {
    const struct set **sets; /* those that there are, in the order of the call */
    size_t count;
    size_t missing;
    bool has_first; /* the first key of the call is there */
};

/* Where members go: into a reply, into a set, or nowhere but the count. */
struct result {
    struct call *call;
    struct resp_writer *reply; /* written aside; NULL: none */
    struct set *set;           /* NULL: none */
    size_t count, limit;
};

/* ---- operands -------------------------------------------------------------------------------- */

static bool read_operands(struct call *call, int first, int keys, struct operands *in)
{
    *in = (struct operands){ .sets = mem_alloc((size_t)keys * sizeof(*in->sets)) };
    for (int i = 0; i < keys; i++) {
        struct entry *entry;
        if (!read_typed(call, first + i, TYPE_SET, &entry)) {
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

static void sort_sets(const struct set **sets, size_t count,
                      int (*order)(const void *, const void *))
{
    qsort(sets, count, sizeof(*sets), order);
}

/* ---- members found where they are ------------------------------------------------------------ */

static bool give(struct result *result, struct bytes member)
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

static bool is_in_all(const struct set *const *sets, size_t count, struct bytes member)
{
    for (size_t i = 0; i < count; i++)
        if (!set_has(sets[i], member)) return false;
    return true;
}

/* Out of the smallest, looked up in the smaller ones first, which are likelier not to have it. */
static void intersect(const struct operands *in, struct result *result)
{
    if (in->missing > 0) return;
    struct set_iter iter;
    struct bytes member;
    sort_sets(in->sets, in->count, by_count);
    set_iter_begin(&iter, in->sets[0]);
    while (set_iter_next(&iter, &member))
        if (is_in_all(in->sets + 1, in->count - 1, member) && !give(result, member)) return;
}

/* From the largest, whose members need no lookup, down. */
static void unite(const struct operands *in, struct result *result)
{
    struct set_iter iter;
    struct bytes member;
    for (size_t i = 0; i < in->count; i++) {
        set_iter_begin(&iter, in->sets[i]);
        while (set_iter_next(&iter, &member))
            if (!is_in_any(in->sets, i, member)) give(result, member);
    }
}

/* Looked up in the larger ones first, which are likelier to have it. */
static void subtract(const struct operands *in, struct result *result)
{
    struct set_iter iter;
    struct bytes member;
    set_iter_begin(&iter, in->sets[0]);
    while (set_iter_next(&iter, &member))
        if (!is_in_any(in->sets + 1, in->count - 1, member)) give(result, member);
}

/* ---- members copied -------------------------------------------------------------------------- */

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

static void gather(enum operation operation, const struct operands *in, struct set *to)
{
    add_all(to, in->sets[0]);
    for (size_t i = 1; i < in->count; i++)
        (operation == UNION ? add_all : remove_all)(to, in->sets[i]);
}

/* A difference is decided by Redis' rule: what is stored keeps the encoding of its way. */
static bool has_few_lookups(enum operation operation, const struct operands *in)
{
    enum { LOOKUPS_PER_MEMBER = 8 };
    size_t members = 0, lookups = 0;
    for (size_t i = 0; i < in->count; i++) {
        members += set_count(in->sets[i]);
        lookups += i * set_count(in->sets[i]);
    }
    if (operation == DIFFERENCE) return in->count * set_count(in->sets[0]) / 2 <= members;
    return lookups <= LOOKUPS_PER_MEMBER * members;
}

static void dispose(struct call *call, struct set *set)
{
    struct object object = { .set = set, .type = TYPE_SET };
    reclaim_object(&call->txn->store->reclaim, object);
}

static void give_gathered(enum operation operation, const struct operands *in,
                          struct result *result)
{
    struct set_iter iter;
    struct bytes member;
    struct set *set = set_new();
    gather(operation, in, set);
    set_iter_begin(&iter, set);
    while (set_iter_next(&iter, &member))
        give(result, member);
    dispose(result->call, set);
}

/* ---- operations ------------------------------------------------------------------------------ */

static void compute(enum operation operation, const struct operands *in, struct result *result)
{
    if (in->count == 0 || (operation == DIFFERENCE && !in->has_first)) return;
    if (operation == UNION) sort_sets(in->sets, in->count, by_count_down);
    if (operation == DIFFERENCE) sort_sets(in->sets + 1, in->count - 1, by_count_down);
    if (operation == INTERSECTION)
        intersect(in, result);
    else if (result->set != NULL && (operation == UNION || !has_few_lookups(operation, in)))
        gather(operation, in, result->set);
    else if (!has_few_lookups(operation, in))
        give_gathered(operation, in, result);
    else
        (operation == UNION ? unite : subtract)(in, result);
}

static void reply_operation(struct call *call, enum operation operation)
{
    struct operands in;
    if (!read_operands(call, 1, call->argc - 1, &in)) return;
    struct outbuf aside;
    struct resp_writer reply = *call->out;
    outbuf_init(&aside);
    reply.out = &aside;
    struct result result = { .call = call, .reply = &reply };
    compute(operation, &in, &result);
    mem_free(in.sets);
    resp_set(call->out, result.count);
    resp_splice(call->out, &aside);
}

static void store_operation(struct call *call, enum operation operation, enum event event)
{
    struct operands in;
    if (!read_operands(call, 2, call->argc - 2, &in)) return;
    struct object object = object_new(TYPE_SET);
    struct result result = { .call = call, .set = object.set };
    compute(operation, &in, &result);
    mem_free(in.sets);
    resp_integer(call->out, (int64_t)set_count(object.set));
    txn_key_store(call->txn, call->argv[1], object, event);
}

static void cmd_sinter(struct call *call)
{
    reply_operation(call, INTERSECTION);
}

static void cmd_sunion(struct call *call)
{
    reply_operation(call, UNION);
}

static void cmd_sdiff(struct call *call)
{
    reply_operation(call, DIFFERENCE);
}

static void cmd_sinterstore(struct call *call)
{
    store_operation(call, INTERSECTION, EVENT_SINTERSTORE);
}

static void cmd_sunionstore(struct call *call)
{
    store_operation(call, UNION, EVENT_SUNIONSTORE);
}

static void cmd_sdiffstore(struct call *call)
{
    store_operation(call, DIFFERENCE, EVENT_SDIFFSTORE);
}

/* ---- SINTERCARD ------------------------------------------------------------------------------ */

static int find_keys(int argc, const struct bytes *argv, int *positions)
{
    return numkeys_find(argc, argv, 1, positions);
}

static bool read_limit(struct call *call, int first, int64_t *limit)
{
    for (int i = first; i < call->argc; i += 2) {
        if (!arg_is(call, i, "LIMIT") || i + 1 == call->argc) {
            fail(call, ERR_SYNTAX);
            return false;
        }
        if (!arg_range(call, i + 1, 0, INT64_MAX, limit, ERR_LIMIT_NEGATIVE)) return false;
    }
    return true;
}

static void cmd_sintercard(struct call *call)
{
    int64_t keys, limit = 0;
    struct operands in;
    if (!arg_range(call, 1, 1, INT64_MAX, &keys, ERR_NUMKEYS)) return;
    if (keys > call->argc - 2) {
        fail(call, ERR_NUMKEYS_ARGS);
        return;
    }
    if (!read_limit(call, 2 + (int)keys, &limit)) return;
    if (!read_operands(call, 2, (int)keys, &in)) return;
    struct result result = { .call = call, .limit = (size_t)limit };
    compute(INTERSECTION, &in, &result);
    mem_free(in.sets);
    resp_integer(call->out, (int64_t)result.count);
}

/* ---- SMOVE ----------------------------------------------------------------------------------- */

/* The member brings its deadline along; without one it is added as SADD does.
 * Types are not looked at when there is nothing to move, as in Redis. */
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
    else /* now, not when the call ends: "del" comes before the other's "sadd" */
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
    { .name = "SINTER",
      .run = cmd_sinter,
      .arity = -2,
      .flags = READONLY | COPIES,
      .keys = KEY_RANGE(1, -1),
      .tips = "nondeterministic_output_order",
      .group = "set",
      .since = "1.0.0",
      .replies = REPLIES("set[bulk ...]: the members of the result"),
      .errors = ERRORS(ERR_WRONGTYPE),
      .complexity = "O(N*M), N members of the smallest set, M sets",
      .syntax = "key [key ...]",
      .summary = "Lists the members that are in every one of some sets." },
    { .name = "SINTERSTORE",
      .run = cmd_sinterstore,
      .arity = -3,
      .flags = WRITE | GROWS | COPIES,
      .keys = KEY_RANGE(1, -1),
      .specs = { KEY_AT(1, KEY_RW | KEY_UPDATE), KEYS_FROM(2, KEY_RO | KEY_ACCESS) },
      .group = "set",
      .since = "1.0.0",
      .replies = REPLIES("integer: the number of members of the result"),
      .errors = ERRORS(ERR_WRONGTYPE),
      .complexity = "O(N*M), N members of the smallest set, M sets",
      .syntax = "destination key [key ...]",
      .summary = "Stores the members that are in every one of some sets." },
    { .name = "SINTERCARD",
      .run = cmd_sintercard,
      .arity = -3,
      .flags = READONLY | MOVABLE_KEYS,
      .find_keys = find_keys,
      .specs = { KEYS_COUNTED_AT(1, KEY_RO | KEY_ACCESS) },
      .group = "set",
      .since = "7.0.0",
      .replies = REPLIES("integer: the number of members in all of the sets, at most LIMIT"),
      .errors =
          ERRORS(ERR_WRONGTYPE, ERR_SYNTAX, ERR_NUMKEYS, ERR_NUMKEYS_ARGS, ERR_LIMIT_NEGATIVE),
      .complexity = "O(N*M), N members of the smallest set, M sets",
      .syntax = "numkeys key [key ...] [LIMIT limit]",
      .summary = "Counts the members that are in every one of some sets, up to a limit." },
    { .name = "SUNION",
      .run = cmd_sunion,
      .arity = -2,
      .flags = READONLY | COPIES,
      .keys = KEY_RANGE(1, -1),
      .tips = "nondeterministic_output_order",
      .group = "set",
      .since = "1.0.0",
      .replies = REPLIES("set[bulk ...]: the members of the result"),
      .errors = ERRORS(ERR_WRONGTYPE),
      .complexity = "O(N), N members of all sets",
      .syntax = "key [key ...]",
      .summary = "Lists the members that are in any of some sets." },
    { .name = "SUNIONSTORE",
      .run = cmd_sunionstore,
      .arity = -3,
      .flags = WRITE | GROWS | COPIES,
      .keys = KEY_RANGE(1, -1),
      .specs = { KEY_AT(1, KEY_OW | KEY_UPDATE), KEYS_FROM(2, KEY_RO | KEY_ACCESS) },
      .group = "set",
      .since = "1.0.0",
      .replies = REPLIES("integer: the number of members of the result"),
      .errors = ERRORS(ERR_WRONGTYPE),
      .complexity = "O(N), N members of all sets",
      .syntax = "destination key [key ...]",
      .summary = "Stores the members that are in any of some sets." },
    { .name = "SDIFF",
      .run = cmd_sdiff,
      .arity = -2,
      .flags = READONLY | COPIES,
      .keys = KEY_RANGE(1, -1),
      .tips = "nondeterministic_output_order",
      .group = "set",
      .since = "1.0.0",
      .replies = REPLIES("set[bulk ...]: the members of the result"),
      .errors = ERRORS(ERR_WRONGTYPE),
      .complexity = "O(N), N members of all sets",
      .syntax = "key [key ...]",
      .summary = "Lists the members of the first set that are in none of the others." },
    { .name = "SDIFFSTORE",
      .run = cmd_sdiffstore,
      .arity = -3,
      .flags = WRITE | GROWS | COPIES,
      .keys = KEY_RANGE(1, -1),
      .specs = { KEY_AT(1, KEY_OW | KEY_UPDATE), KEYS_FROM(2, KEY_RO | KEY_ACCESS) },
      .group = "set",
      .since = "1.0.0",
      .replies = REPLIES("integer: the number of members of the result"),
      .errors = ERRORS(ERR_WRONGTYPE),
      .complexity = "O(N), N members of all sets",
      .syntax = "destination key [key ...]",
      .summary = "Stores the members of the first set that are in none of the others." },
    { .name = "SMOVE",
      .run = cmd_smove,
      .arity = 4,
      .flags = WRITE | FAST,
      .keys = KEY_RANGE(1, 2),
      .specs = { KEY_AT(1, KEY_RW | KEY_ACCESS | KEY_DELETE), KEY_AT(2, KEY_RW | KEY_INSERT) },
      .group = "set",
      .since = "1.0.0",
      .replies = REPLIES("integer: 1 if the member was moved, 0 if it is not in the source"),
      .errors = ERRORS(ERR_WRONGTYPE),
      .complexity = "O(1)",
      .syntax = "source destination member",
      .summary = "Moves a member from one set to another." },
};

const struct command_group set_algebra_commands = COMMAND_GROUP(rows);
