/* string_number: commands that increment and decrement the number in a string, keeping the key's
 * deadline. store/base/number parses and prints the numbers. */
#include <math.h>

#include "server/cmd/call/args.h"
#include "server/cmd/string/string.h"
#include "store/base/number.h"

static void put_number(struct call *call, struct entry *entry, struct bytes text, enum event event)
{
    const struct string_set how = {
        .at = NEVER,
        .keep_ttl = true,
        .soft = SOFT_KEPT,
        .text = event == EVENT_INCRBYFLOAT,
        .event = event,
    };
    txn_string_set_found(call->txn, call->argv[1], entry, text, &how);
}

/* INCR, DECR, INCRBY and DECRBY. The variant is 1, or -1 to decrement. */
static void cmd_incr(struct call *call)
{
    struct entry *entry;
    int64_t value = 0, by = 1;
    if (call->argc > 2 && !arg_int64(call, 2, &by)) return;
    if (fail_if(call, __builtin_mul_overflow(by, call_variant(call), &by), ERR_DECR_OVERFLOW))
        return;
    if (!find_typed(call, 1, TYPE_STRING, &entry)) return;
    if (entry != NULL) {
        struct bytes text = object_text(&entry->object);
        if (fail_if(call, !number_parse_int64(text.data, text.len, &value), ERR_NOT_INTEGER))
            return;
    }
    if (fail_if(call, __builtin_add_overflow(value, by, &value), ERR_INCR_OVERFLOW)) return;
    char text[NUMBER_INT64_MAX_CHARS];
    put_number(call, entry, bytes_of(text, number_print_int64(text, value)), EVENT_INCRBY);
    resp_integer(call->out, value);
}

static void cmd_incrbyfloat(struct call *call)
{
    struct entry *entry;
    long double value = 0, by;
    if (!find_typed(call, 1, TYPE_STRING, &entry)) return;
    struct bytes old = entry == NULL ? LIT("0") : object_text(&entry->object);
    if (fail_if(call,
                !number_parse_long_double(old.data, old.len, &value) ||
                    !number_parse_long_double(call->argv[2].data, call->argv[2].len, &by),
                ERR_NOT_FLOAT))
        return;
    value += by;
    if (fail_if(call, isnan(value) || isinf(value), ERR_INCR_NAN)) return;
    char text[NUMBER_FIXED_MAX_CHARS];
    struct bytes sum = bytes_of(text, number_print_long_double(text, value));
    put_number(call, entry, sum, EVENT_INCRBYFLOAT);
    reply_bytes(call, sum);
}

static const struct command rows[] = {
    ROW("INCR", cmd_incr, 2, WRITE | GROWS | FAST, .variant = 1, .keys = KEY_FIRST,
        .key_flags = KEY_RW | KEY_ACCESS | KEY_UPDATE, .since = "1.0.0",
        .replies = REPLIES("integer: the new value"),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_NOT_INTEGER, ERR_INCR_OVERFLOW), .complexity = "O(1)",
        .syntax = "key",
        .summary = "Increments the integer value of a key by one. A missing key counts as 0."),
    ROW("DECR", cmd_incr, 2, WRITE | GROWS | FAST, .variant = -1, .keys = KEY_FIRST,
        .key_flags = KEY_RW | KEY_ACCESS | KEY_UPDATE, .since = "1.0.0",
        .replies = REPLIES("integer: the new value"),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_NOT_INTEGER, ERR_INCR_OVERFLOW), .complexity = "O(1)",
        .syntax = "key",
        .summary = "Decrements the integer value of a key by one. A missing key counts as 0."),
    ROW("INCRBY", cmd_incr, 3, WRITE | GROWS | FAST, .variant = 1, .keys = KEY_FIRST,
        .key_flags = KEY_RW | KEY_ACCESS | KEY_UPDATE, .since = "1.0.0",
        .replies = REPLIES("integer: the new value"),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_NOT_INTEGER, ERR_INCR_OVERFLOW), .complexity = "O(1)",
        .syntax = "key increment",
        .summary = "Increments the integer value of a key by a number. A missing key counts as 0."),
    ROW("DECRBY", cmd_incr, 3, WRITE | GROWS | FAST, .variant = -1, .keys = KEY_FIRST,
        .key_flags = KEY_RW | KEY_ACCESS | KEY_UPDATE, .since = "1.0.0",
        .replies = REPLIES("integer: the new value"),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_NOT_INTEGER, ERR_INCR_OVERFLOW, ERR_DECR_OVERFLOW),
        .complexity = "O(1)", .syntax = "key decrement",
        .summary = "Decrements the integer value of a key by a number. A missing key counts as 0."),
    ROW("INCRBYFLOAT", cmd_incrbyfloat, 3, WRITE | GROWS | FAST, .keys = KEY_FIRST,
        .key_flags = KEY_RW | KEY_ACCESS | KEY_UPDATE, .since = "2.6.0",
        .replies = REPLIES("bulk: the new value"),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_NOT_FLOAT, ERR_INCR_NAN), .complexity = "O(1)",
        .syntax = "key increment",
        .summary =
            "Increments the floating-point value of a key by a number. A missing key counts as 0."),
};

const struct command_group string_number_commands = COMMAND_GROUP("string", rows);
