/* scan: see scan.h. */
#include "server/cmd/scan.h"

#include <limits.h>

#include "server/cmd/call/args.h"
#include "store/base/number.h"

void scan_begin(struct scan *scan, struct call *call)
{
    *scan = (struct scan){ .call = call, .pattern = LIT("*"), .count = 10 };
    outbuf_init(&scan->collected);
    scan->out = resp_writer_to(call->out, &scan->collected);
}

/* Parses a cursor as Redis does, with strtoul: an empty text is 0, a sign may precede the digits,
 * and a NUL ends the text. */
bool scan_read_cursor(struct scan *scan, int i)
{
    struct bytes text = scan->call->argv[i];
    size_t len = strnlen(text.data, text.len);
    size_t digits = len > 0 && (text.data[0] == '-' || text.data[0] == '+');
    uint64_t value = 0;
    bool good = digits == 0 || len > 1;
    for (size_t at = digits; good && at < len; at++)
        good = text.data[at] >= '0' && text.data[at] <= '9' &&
               !__builtin_mul_overflow(value, (uint64_t)10, &value) &&
               !__builtin_add_overflow(value, (uint64_t)(text.data[at] - '0'), &value);
    if (!good) return fail(scan->call, ERR_INVALID_CURSOR);
    scan->cursor = len > 0 && text.data[0] == '-' ? 0 - value : value;
    return true;
}

bool scan_read_options(struct scan *scan, int i, int *type_at, const char *names_word)
{
    struct call *call = scan->call;
    if (type_at != NULL) *type_at = 0;
    for (; i < call->argc; i += 2) {
        bool valued = i + 1 < call->argc;
        if (names_word != NULL && arg_is(call, i, names_word)) {
            scan->names_only = true;
            i--;
            continue;
        }
        if (valued && arg_is(call, i, "COUNT")) {
            if (!arg_range(call, i + 1, LONG_MIN, LONG_MAX, &scan->count, ERR_NOT_INTEGER))
                return false;
            if (scan->count >= 1) continue;
        } else if (valued && arg_is(call, i, "MATCH")) {
            scan->pattern = call->argv[i + 1];
            continue;
        } else if (valued && type_at != NULL && arg_is(call, i, "TYPE")) {
            *type_at = i + 1;
            continue;
        }
        return fail(call, ERR_SYNTAX);
    }
    return true;
}

void scan_run(struct scan *scan, uint64_t (*step)(void *ctx, uint64_t cursor), void *ctx)
{
    int64_t steps;
    if (__builtin_mul_overflow(scan->count, (int64_t)10, &steps)) steps = INT64_MAX;
    do
        scan->cursor = step(ctx, scan->cursor);
    while (scan->cursor != 0 && steps-- > 0 && scan->visited < (uint64_t)scan->count);
}

bool scan_visit(struct scan *scan, struct bytes name)
{
    scan->visited++;
    return bytes_match(scan->pattern, name);
}

void scan_give(struct scan *scan, struct bytes item)
{
    scan->items++;
    resp_bulk(&scan->out, item.data, item.len);
}

void scan_give_double(struct scan *scan, double item)
{
    scan->items++;
    resp_bulk_double(&scan->out, item);
}

void scan_reply_items(struct scan *scan)
{
    resp_array(scan->call->out, scan->items);
    resp_splice(scan->call->out, &scan->collected);
}

void scan_reply(struct scan *scan)
{
    char text[sizeof("18446744073709551615")];
    resp_array(scan->call->out, 2);
    resp_bulk(scan->call->out, text, number_print_uint64(text, scan->cursor));
    scan_reply_items(scan);
}
