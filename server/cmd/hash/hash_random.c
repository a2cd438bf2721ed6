/* hash_random: HRANDFIELD. */
#include "server/cmd/call/args.h"
#include "server/cmd/hash/hash.h"
#include "server/cmd/sample.h"

static void cmd_hrandfield(struct call *call)
{
    int64_t count = 0;
    struct entry *entry;
    struct bytes field, value;
    bool with_values = call->argc > 3;
    if (call->argc > 2 && !sample_read_count(call, 2, &count)) return;
    if (fail_if(call, call->argc > 4 || (with_values && !arg_is(call, 3, "WITHVALUES")),
                ERR_SYNTAX))
        return;
    if (fail_if(call, with_values && (count < -INT64_MAX / 2 || count > INT64_MAX / 2),
                ERR_OUT_OF_RANGE))
        return;
    if (!find_typed_counted(call, 1, TYPE_HASH, &entry)) return;
    if (call->argc == 2 && entry == NULL) {
        resp_null(call->out);
    } else if (call->argc == 2) {
        hash_random(entry->object.hash, random_next, &call->txn->store->random, &field, &value);
        reply_bytes(call, field);
    } else if (entry == NULL || count == 0) {
        resp_array(call->out, 0);
    } else if (count < -SAMPLE_DRAWS_MAX) {
        fail(call, ERR_OUT_OF_RANGE);
    } else {
        sample_reply(call, &entry->object, count, with_values);
    }
}

static const struct command rows[] = {
    ROW("HRANDFIELD", cmd_hrandfield, -2, READONLY, .keys = KEY_FIRST,
        .tips = "nondeterministic_output", .since = "6.2.0",
        .replies = REPLIES(
            "bulk: a field", "null: there is no such key",
            "[bulk ...]: with count: fields; if it is negative, one may occur more than once",
            "RESP2 [bulk bulk ...]: with WITHVALUES: fields, each followed by its value",
            "RESP3 [[bulk bulk] ...]: with WITHVALUES: fields with their values"),
        .errors =
            ERRORS(ERR_WRONGTYPE, ERR_SYNTAX, ERR_NOT_INTEGER, ERR_OUT_OF_RANGE, ERR_NOT_BETWEEN),
        .complexity = "O(N) where N is the number of fields given.",
        .syntax = "key [count [WITHVALUES]]",
        .summary =
            "Returns random fields of a hash: count distinct ones, or -count independent draws."),
};

const struct command_group hash_random_commands = COMMAND_GROUP("hash", rows);
