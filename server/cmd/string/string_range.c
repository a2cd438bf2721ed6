/* string_range: SETRANGE, GETRANGE and SUBSTR, which address bytes of a string. bit.c implements
 * the commands that address bits. */
#include "server/cmd/call/args.h"
#include "server/cmd/string/string.h"

static void cmd_setrange(struct call *call)
{
    int64_t offset;
    struct entry *entry;
    struct bytes data = call->argv[3];
    if (!arg_int64(call, 2, &offset)) return;
    if (fail_if(call, offset < 0, ERR_OFFSET)) return;
    if (!find_typed(call, 1, TYPE_STRING, &entry)) return;
    size_t old_len = entry != NULL ? object_text(&entry->object).len : 0;
    if (data.len == 0) {
        resp_integer(call->out, (int64_t)old_len);
        return;
    }
    size_t end = (size_t)offset + data.len, limit = string_limit(call);
    if (fail_if(call, end > limit, ERR_STRING_TOO_BIG)) return;
    if (string_write(call, 1, entry, (size_t)offset, data, EVENT_SETRANGE))
        resp_integer(call->out, (int64_t)(end > old_len ? end : old_len));
}

static void cmd_getrange(struct call *call)
{
    int64_t start, end;
    struct entry *entry;
    size_t from = 0, to = 0;
    if (!arg_int64(call, 2, &start) || !arg_int64(call, 3, &end)) return;
    if (!find_typed_counted(call, 1, TYPE_STRING, &entry)) return;
    bool backwards = start < 0 && end < 0 && start > end;
    struct bytes text = entry != NULL ? object_text(&entry->object) : LIT("");
    if (!backwards) string_clip(start, end, text.len, &from, &to);
    resp_bulk(call->out, text.data + from, to - from);
}

static const struct command rows[] = {
    ROW("SETRANGE", cmd_setrange, 4, WRITE | GROWS, .keys = KEY_FIRST, .since = "2.2.0",
        .replies = REPLIES("integer: the length of the string, in bytes"),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_NOT_INTEGER, ERR_STRING_TOO_BIG, ERR_OFFSET),
        .complexity = "O(M) where M is the length of the value and of the padding before it.",
        .syntax = "key offset value",
        .summary = "Overwrites a part of a string value, starting at an offset. Pads a shorter "
                   "string with zero bytes."),
    ROW("GETRANGE", cmd_getrange, 4, READONLY, .keys = KEY_FIRST, .since = "2.4.0",
        .replies = REPLIES("bulk: this part of the string, empty if there is none"),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_NOT_INTEGER),
        .complexity = "O(N) where N is the number of bytes returned.", .syntax = "key start end",
        .summary = "Returns the part of a string value between two offsets."),
    ROW("SUBSTR", cmd_getrange, 4, READONLY, .keys = KEY_FIRST, .since = "1.0.0",
        .replies = REPLIES("bulk: this part of the string, empty if there is none"),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_NOT_INTEGER),
        .complexity = "O(N) where N is the number of bytes returned.", .syntax = "key start end",
        .summary = "Returns the part of a string value between two offsets, as GETRANGE does."),
};

const struct command_group string_range_commands = COMMAND_GROUP("string", rows);
