/* block: see block.h. */
#include "server/cmd/block.h"

#include <math.h>

#include "server/cmd/call/args.h"
#include "store/base/number.h"

#define INT64_END 0x1p63L

/* As in Redis, a timeout too large for milliseconds is an error, like a negative one. */
bool arg_timeout(struct call *call, int i, msec *until)
{
    long double seconds;
    *until = NEVER;
    if (call->ready != NULL) return true;
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

void run_multi_pop(struct call *call, enum type type, const char *front, const char *back,
                   void (*pop)(struct call *call, const struct source *source,
                               const struct multi_pop *how))
{
    bool blocks = call_variant(call);
    struct multi_pop how = { .first = blocks ? 3 : 2, .wanted = 1 };
    struct source source;
    msec until = NEVER;
    int64_t keys;
    if (!arg_range(call, how.first - 1, 1, INT64_MAX, &keys, ERR_NUMKEYS)) return;
    if (fail_if(call, keys >= call->argc - how.first, ERR_SYNTAX)) return;
    how.count = (int)keys;
    int end = how.first + how.count, left = call->argc - end - 1;
    how.back = arg_is(call, end, back);
    if (fail_if(call, !how.back && !arg_is(call, end, front), ERR_SYNTAX)) return;
    bool counted = left >= 2 && arg_is(call, end + 1, "COUNT");
    if (counted && !arg_range(call, end + 2, 1, INT64_MAX, &how.wanted, ERR_COUNT_POSITIVE)) return;
    if (fail_if(call, left != (counted ? 2 : 0), ERR_SYNTAX)) return;
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
