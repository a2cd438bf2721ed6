/* block: see block.h. */
#include "server/cmd/block.h"

#include <math.h>

#include "server/cmd/call/args.h"
#include "server/cmd/numkeys.h"
#include "store/base/number.h"

#define INT64_END 0x1p63L

/* As in Redis, a timeout too large for milliseconds is an error, like a negative one. */
bool arg_timeout(struct call *call, int i, msec *until)
{
    long double seconds;
    *until = NEVER;
    if (call->ready != NULL) return true; /* it is blocked already; its timeout does not change */
    if (!number_parse_long_double(call->argv[i].data, call->argv[i].len, &seconds))
        return fail(call, ERR_TIMEOUT_FLOAT);
    long double ttl = ceill(seconds * 1000);
    if (ttl < 0 || ttl >= INT64_END) return fail(call, ERR_TIMEOUT_NEGATIVE);
    if (ttl > 0 && !instant_after(call->txn->now, (msec)ttl, until)) *until = NEVER;
    return true;
}

bool find_source(struct call *call, enum type type, int first, int count, struct source *source)
{
    *source = (struct source){ 0 };
    if (call->ready != NULL) {
        *source = (struct source){ *call->ready, txn_find(call->txn, *call->ready) };
        return true;
    }
    for (int i = first; i < first + count && source->entry == NULL; i++) {
        source->key = call->argv[i];
        if (!find_typed(call, i, type, &source->entry)) return false;
    }
    return true;
}

void block_on(struct call *call, const struct block_request *request)
{
    if (call->block != NULL)
        *call->block = *request;
    else
        reply_no_answer(call->out, request->no_answer);
}

static bool arg_multi_pop(struct call *call, int i, const char *front, const char *back,
                          struct multi_pop *pop)
{
    int64_t keys;
    if (!arg_range(call, i, 1, INT64_MAX, &keys, ERR_NUMKEYS)) return false;
    pop->first = i + 1;
    if (keys >= call->argc - pop->first) return fail(call, ERR_SYNTAX);
    pop->count = (int)keys;
    int end = pop->first + pop->count;
    pop->back = arg_is(call, end, back);
    if (!pop->back && !arg_is(call, end, front)) return fail(call, ERR_SYNTAX);
    pop->wanted = 1;
    int at = end + 1;
    if (at == call->argc) return true;
    if (arg_is(call, at, "COUNT") && at + 1 < call->argc) {
        if (!arg_range(call, at + 1, 1, INT64_MAX, &pop->wanted, ERR_COUNT_POSITIVE)) return false;
        if (at + 2 == call->argc) return true;
    }
    return fail(call, ERR_SYNTAX);
}

void run_multi_pop(struct call *call, enum type type, const char *front, const char *back,
                   bool blocks,
                   void (*pop)(struct call *call, const struct source *source,
                               const struct multi_pop *how))
{
    struct multi_pop how;
    struct source source;
    msec until = NEVER;
    if (!arg_multi_pop(call, blocks ? 2 : 1, front, back, &how)) return;
    if (blocks && !arg_timeout(call, 1, &until)) return;
    if (!find_source(call, type, how.first, how.count, &source)) return;
    if (source.entry != NULL)
        pop(call, &source, &how);
    else if (blocks)
        block_on(call, &(struct block_request){
                           .first = how.first, .count = how.count, .type = type, .until = until });
    else
        resp_null_array(call->out);
}

int find_pop_keys(int argc, const struct bytes *argv, int *positions)
{
    return numkeys_find(argc, argv, 1, positions);
}

int find_blocking_pop_keys(int argc, const struct bytes *argv, int *positions)
{
    return numkeys_find(argc, argv, 2, positions);
}
