/* stream_read_args: see stream_read_args.h. */
#include "server/cmd/stream/stream_read_args.h"

#include "store/base/number.h"

static bool is_word(struct bytes text, char c)
{
    return text.len == 1 && text.data[0] == c;
}

static bool parse_limit(struct call *call, int i, int64_t *limit, enum error error)
{
    if (!arg_int64_or(call, i, limit, error)) return false;
    return *limit > 0 || fail(call, error);
}

/* Parses the option at *i and moves *i past it. */
static bool parse_option(struct call *call, int *i, bool is_group, struct read_args *args)
{
    int left = call->argc - *i - 1, value = *i + 1;
    *i += 2;

    /* The timeout is in milliseconds. A client that is already blocked keeps its own. */
    if (left > 0 && arg_is(call, value - 1, "BLOCK")) {
        int64_t span;
        if (call->from_script)
            return failf(call, ERR_XREAD_SCRIPT, arg_width(call, 0), call->argv[0].data);
        args->blocks = true;
        args->until = NEVER;
        if (call->ready != NULL) return true;
        if (!arg_int64_or(call, value, &span, ERR_TIMEOUT)) return false;
        if (span < 0) return fail(call, ERR_TIMEOUT_NEGATIVE);
        if (span > 0 && !instant_after(call->txn->now, span, &args->until)) args->until = NEVER;
        return true;
    }

    if (left > 0 && arg_is(call, value - 1, "COUNT")) {
        if (!arg_int64(call, value, &args->count)) return false;
        if (args->count < 0) args->count = 0;
        return true;
    }
    if (left > 0 && arg_is(call, value - 1, "MAXCOUNT"))
        return parse_limit(call, value, &args->max_count, ERR_MAXCOUNT);
    if (left > 0 && arg_is(call, value - 1, "MAXSIZE"))
        return parse_limit(call, value, &args->max_size, ERR_MAXSIZE);
    if (left > 0 && arg_is(call, value - 1, "CLAIM")) {
        if (!is_group) return fail(call, ERR_XREAD_CLAIM);
        if (!arg_int64_or(call, value, &args->claim, ERR_CLAIM_IDLE)) return false;
        return args->claim >= 0 || fail(call, ERR_CLAIM_IDLE_NEGATIVE);
    }
    if (left > 1 && arg_is(call, value - 1, "GROUP")) {
        if (!is_group) return fail(call, ERR_XREAD_GROUP);
        args->group = value;
        args->consumer = value + 1;
        ++*i;
        return true;
    }
    --*i;
    if (!arg_is(call, value - 1, "NOACK")) return fail(call, ERR_SYNTAX);
    args->no_ack = true;
    return is_group || fail(call, ERR_XREAD_NOACK);
}

bool parse_read(struct call *call, struct read_args *args)
{
    bool is_group = call->command.row->flags & WRITE;
    *args = (struct read_args){ .until = NEVER, .claim = -1 };
    for (int i = 1; i < call->argc && args->first == 0;) {
        if (i + 1 < call->argc && arg_is(call, i, "STREAMS")) {
            args->first = i + 1;
            args->streams = (call->argc - args->first) / 2;
            if ((call->argc - args->first) % 2 != 0) return fail(call, ERR_XREAD_UNBALANCED);
        } else if (!parse_option(call, &i, is_group, args)) {
            return false;
        }
    }
    if (args->first == 0) return fail(call, ERR_SYNTAX);
    if (args->max_count > 0 && args->max_count < args->count) return fail(call, ERR_MAXCOUNT_COUNT);
    return !is_group || args->group > 0 || fail(call, ERR_XREADGROUP_MISSING);
}

bool parse_read_id(struct call *call, const struct read_args *args, int i,
                   const struct entry *entry, struct stream_id *id)
{
    int at = args->first + args->streams + i;
    bool is_group = args->group > 0;
    if (is_word(call->argv[at], '$')) {
        *id = entry != NULL ? stream_marks(entry->object.stream).last : STREAM_ID_MIN;
        return !is_group || fail(call, ERR_XREADGROUP_LAST);
    }
    if (is_word(call->argv[at], '>')) {
        *id = STREAM_ID_MAX;
        return is_group || fail(call, ERR_XREAD_NEW);
    }
    return arg_stream_id(call, at, 0, id);
}

/* Returns the number of arguments of an option, including its word, or 0 for another word. */
static int option_length(struct bytes word)
{
    static const struct {
        const char *word;
        int length;
    } options[] = {
        { "BLOCK", 2 }, { "COUNT", 2 },    { "CLAIM", 2 },   { "GROUP", 3 },
        { "NOACK", 1 }, { "MAXCOUNT", 2 }, { "MAXSIZE", 2 },
    };
    for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
        if (bytes_is_word(word, options[i].word)) return options[i].length;
    return 0;
}

/* Finds the keys, which follow the word STREAMS. A group or a consumer may itself be named STREAMS,
 * so this skips the options and expects the word behind them, as the command does. If it is missing
 * there, the command will refuse the call; the first STREAMS from `from` on then counts, as in
 * Redis' key specification.
 * DIFFERS: Redis uses the first STREAMS in any call. (doc/differs.md) */
static int find_stream_keys(int from, int argc, const struct bytes *argv, int *positions)
{
    int at = 1, length;
    while (at < argc && (length = option_length(argv[at])) > 0)
        at += length;
    if (at >= argc || !bytes_is_word(argv[at], "STREAMS"))
        for (at = from; at < argc && !bytes_is_word(argv[at], "STREAMS");)
            at++;
    int count = (argc - at - 1) / 2;
    if (at >= argc || count < 1) return -1;
    for (int i = 0; i < count; i++)
        positions[i] = at + 1 + i;
    return count;
}

int find_xread_keys(int argc, const struct bytes *argv, int *positions)
{
    return find_stream_keys(1, argc, argv, positions);
}

int find_xreadgroup_keys(int argc, const struct bytes *argv, int *positions)
{
    return find_stream_keys(4, argc, argv, positions);
}
