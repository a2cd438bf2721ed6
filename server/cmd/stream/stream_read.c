/* stream_read: XREAD and XREADGROUP. Both may block until an entry is added. XREADGROUP with CLAIM
 * also waits for pending entries: until one has been idle for long enough, or is released and
 * due. */
#include "server/cmd/block.h"
#include "server/cmd/stream/stream.h"
#include "server/cmd/stream/stream_delivery.h"
#include "store/mem/mem.h"

/* ---- the arguments --------------------------------------------------------------------------- */

struct read_args {
    int group, consumer; /* indexes of their arguments; 0 for XREAD */
    int64_t count;       /* for each stream, or 0 for no limit */
    int64_t max_count;   /* for all streams, or 0 for no limit */
    int64_t max_size;    /* bytes for all streams, or 0 for no limit */
    bool blocks, no_ack;
    msec until;         /* the timeout, or NEVER */
    msec claim;         /* claim entries that were idle for this span, or -1 */
    int first, streams; /* the argument of the first key, and the number of keys */
};

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
        return arg_range(call, value, 1, INT64_MAX, &args->max_count, ERR_MAXCOUNT);
    if (left > 0 && arg_is(call, value - 1, "MAXSIZE"))
        return arg_range(call, value, 1, INT64_MAX, &args->max_size, ERR_MAXSIZE);
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

/* Parses the ID for stream i of the command. "$", which only XREAD accepts, becomes the last ID of
 * the stream `entry`, or 0-0 if that is NULL; ">", which only XREADGROUP accepts, becomes
 * STREAM_ID_MAX. Returns false after sending an error. */
static bool parse_read_id(struct call *call, const struct read_args *args, int i,
                          const struct entry *entry, struct stream_id *id)
{
    int at = args->first + args->streams + i;
    bool is_group = args->group > 0;
    if (arg_is(call, at, "$")) {
        *id = entry != NULL ? stream_marks(entry->object.stream).last : STREAM_ID_MIN;
        return !is_group || fail(call, ERR_XREADGROUP_LAST);
    }
    if (arg_is(call, at, ">")) {
        *id = STREAM_ID_MAX;
        return is_group || fail(call, ERR_XREAD_NEW);
    }
    return arg_stream_id(call, at, id);
}

/* Finds the keys, which follow the word STREAMS. A group or a consumer may itself be named STREAMS,
 * so this skips the options and expects the word behind them, as the command does. If it is missing
 * there, the command will refuse the call; the first STREAMS from `from` on then counts, as in
 * Redis' key specification.
 * DIFFERS: Redis uses the first STREAMS in any call. (doc/differs.md) */
static int find_stream_keys(int from, int argc, const struct bytes *argv, int *positions)
{
    static const struct {
        const char *word;
        int length; /* the number of arguments, including the word */
    } options[] = {
        { "BLOCK", 2 }, { "COUNT", 2 },    { "CLAIM", 2 },   { "GROUP", 3 },
        { "NOACK", 1 }, { "MAXCOUNT", 2 }, { "MAXSIZE", 2 },
    };
    int at = 1;
    for (size_t o = 0; at < argc && o < sizeof(options) / sizeof(options[0]);) {
        bool is_option = bytes_is_word(argv[at], options[o].word);
        if (is_option) at += options[o].length;
        o = is_option ? 0 : o + 1;
    }
    if (at >= argc || !bytes_is_word(argv[at], "STREAMS"))
        for (at = from; at < argc && !bytes_is_word(argv[at], "STREAMS");)
            at++;
    int count = (argc - at - 1) / 2;
    if (at >= argc || count < 1) return -1;
    for (int i = 0; i < count; i++)
        positions[i] = at + 1 + i;
    return count;
}

static int find_xread_keys(int argc, const struct bytes *argv, int *positions)
{
    return find_stream_keys(1, argc, argv, positions);
}

static int find_xreadgroup_keys(int argc, const struct bytes *argv, int *positions)
{
    return find_stream_keys(4, argc, argv, positions);
}

/* ---- reading --------------------------------------------------------------------------------- */

enum {
    STREAMS_FEW = 8,      /* at most this many streams are read without an allocation */
    BLOCKED_COUNT = 1000, /* entries for a client that was blocked and gave no COUNT */
};

struct source_stream {
    int key;             /* index of its argument */
    struct entry *entry; /* NULL if the key is missing */
    struct stream_group *group;
    struct stream_id after; /* for a group, STREAM_ID_MAX means entries that are new to it */
    bool is_served;
};

struct reading {
    struct read_args args;
    size_t limit; /* most entries of each stream */
    struct read_budget budget;
    struct source_stream few[STREAMS_FEW];
    struct source_stream *streams;
};

static bool wants_new(const struct source_stream *stream)
{
    return stream_id_equal(stream->after, STREAM_ID_MAX);
}

static bool has_after(const struct stream *stream, struct stream_id after)
{
    struct stream_id top;
    return stream_final(stream, &top) && stream_id_before(after, top);
}

static bool has_entries(struct call *call, const struct reading *reading,
                        const struct source_stream *stream)
{
    if (stream->entry == NULL) {
        txn_miss_again(call->txn, call->argv[stream->key]);
        return false;
    }
    const struct stream *entries = stream->entry->object.stream;
    if (stream->group == NULL) return has_after(entries, stream->after);
    if (!wants_new(stream)) return true;
    msec idle = reading->args.claim;
    if (idle >= 0 && has_claims(call, stream->group, idle)) return true;
    return has_after(entries, group_position(stream->group).last);
}

/* Takes the entries after this ID, at most `limit`, out of the budget. Returns how many it
 * allows. */
static size_t take_after(struct reading *reading, const struct stream *stream,
                         struct stream_id after, size_t limit)
{
    struct stream_id from = after;
    size_t count = 0;
    if (stream_id_up(&from)) count = stream_count(stream) - stream_rank(stream, from);
    return budget_take_after(&reading->budget, stream, after, count < limit ? count : limit);
}

static void reply_name(struct call *call, const struct source_stream *stream)
{
    resp_named_next(call->out);
    reply_bytes(call, call->argv[stream->key]);
}

static bool reply_to_group(struct call *call, struct reading *reading,
                           const struct source_stream *stream)
{
    const struct stream *entries = stream->entry->object.stream;
    struct delivery delivery = { .target = { stream->entry, stream->group },
                                 .budget = &reading->budget,
                                 .no_ack = reading->args.no_ack };
    struct bytes name = call->argv[reading->args.consumer];
    delivery.consumer = consumer_or_new(call, &delivery.target, name);
    if (!wants_new(stream)) {
        size_t pending = take_history(&delivery, stream->after, reading->limit);
        if (pending == 0 && budget_is_spent(&reading->budget)) return false;
        reply_name(call, stream);
        resp_array(call->out, pending);
        deliver_history(call, &delivery, stream->after, pending);
        return true;
    }

    /* Claimed entries are collected, because their number is known only after claiming. */
    struct stream_id last = group_position(stream->group).last;
    delivery.with_counts = reading->args.claim >= 0;
    struct outbuf claims;
    size_t claimed = 0;
    outbuf_init(&claims);
    if (delivery.with_counts) {
        struct resp_writer writer = resp_writer_to(call->out, &claims);
        claimed = deliver_claims(call, &delivery, &writer, reading->args.claim, reading->limit);
    }
    size_t added = take_after(reading, entries, last, reading->limit - claimed);
    if (claimed + added > 0) {
        reply_name(call, stream);
        resp_array(call->out, claimed + added);
    }
    if (delivery.with_counts) resp_splice(call->out, &claims);
    deliver_new(call, &delivery, last, added);
    return claimed + added > 0;
}

/* Replies with the entries of one stream. Returns false, and replies nothing, if the stream must be
 * left out because none of its entries can be sent. */
static bool reply_stream(struct call *call, struct reading *reading,
                         const struct source_stream *stream)
{
    if (budget_is_spent(&reading->budget)) return false;
    budget_begin(&reading->budget, call->argv[stream->key]);
    if (stream->group != NULL) return reply_to_group(call, reading, stream);
    const struct stream *entries = stream->entry->object.stream;
    struct stream_id after = stream->after;
    struct stream_walk walk;
    struct stream_entry entry;
    size_t left = take_after(reading, entries, after, reading->limit);
    if (budget_is_spent(&reading->budget) && left == 0) return false;
    reply_name(call, stream);
    resp_array(call->out, left);
    if (left == 0 || !stream_id_up(&after)) return true;
    stream_walk_up(&walk, entries, after);
    for (; left > 0 && stream_walk_next(&walk, &entry); left--)
        reply_stream_entry(call->out, &entry);
    return true;
}

/* Replies with the streams that are served, and returns their number; 0 means that nothing was
 * replied. A stream may turn out to have nothing to send: with CLAIM, if a key is given twice, or
 * if the budget is spent. The number of streams is then unknown until the end, so the replies are
 * collected in a buffer. */
static size_t reply_served(struct call *call, struct reading *reading, size_t served)
{
    const struct read_budget *budget = &reading->budget;
    bool may_skip = reading->args.group > 0 || budget->counts || budget->measures;
    bool collects = reading->args.claim >= 0 || (may_skip && served > 1);
    if (served == 0) return 0;
    struct resp_writer *out = call->out, writer;
    struct outbuf collected;
    if (collects) {
        outbuf_init(&collected);
        writer = resp_writer_to(out, &collected);
        call->out = &writer;
    } else {
        resp_named(out, served);
    }
    size_t count = 0;
    for (int i = 0; i < reading->args.streams; i++)
        if (reading->streams[i].is_served)
            count += reply_stream(call, reading, &reading->streams[i]);
    call->out = out;
    if (!collects) return served;
    if (count > 0) resp_named(out, count);
    resp_splice(out, &collected);
    return count;
}

/* Blocks the client. `again` is the next instant at which an entry can be claimed, or NEVER. */
static void block_reading(struct call *call, const struct reading *reading, msec again)
{
    const struct read_args *args = &reading->args;
    struct block_request block = {
        .first = args->first,
        .count = args->streams,
        .type = TYPE_STREAM,
        .until = args->until,
        .again = again,
        /* The clients of a group all look for the same entries, so if one finds none, the others
         * need not be tried. With CLAIM each may ask for a different idle time, so all are tried.
         */
        .group = args->claim < 0 ? args->group : 0,
        .or_gone = args->group > 0,
        .or_claims = args->claim >= 0,
    };
    /* If there is a "$", the command runs again with a copy of its arguments in which each "$" is
     * the stream's present last ID. Otherwise that run would take "$" for the last ID of its time,
     * and miss the entry that woke it. */
    int ids = args->first + args->streams, found = 0;
    bool resolves = call->block != NULL && call->ready == NULL; /* a later run has no "$" */
    for (int i = ids; resolves && i < call->argc; i++)
        found += arg_is(call, i, "$");
    if (found > 0) {
        size_t views = (size_t)call->argc * sizeof(struct bytes);
        block.argv = mem_alloc(views + (size_t)found * STREAM_ID_CHARS);
        char *text = (char *)block.argv + views;
        for (int i = 0; i < call->argc; i++) {
            block.argv[i] = call->argv[i];
            if (i < ids || !arg_is(call, i, "$")) continue;
            block.argv[i] = bytes_of(text, stream_id_print(text, reading->streams[i - ids].after));
            text += STREAM_ID_CHARS;
        }
    }
    block_on(call, &block);
}

static void read_streams(struct call *call, struct reading *reading)
{
    const struct read_args *args = &reading->args;
    size_t served = 0;
    reading->limit = args->count > 0 ? (size_t)args->count : SIZE_MAX;
    for (int i = 0; i < args->streams; i++) {
        struct source_stream *stream = &reading->streams[i];
        *stream = (struct source_stream){ .key = args->first + i };
        if (!find_typed_counted(call, stream->key, TYPE_STREAM, &stream->entry)) return;
        struct bytes key = call->argv[stream->key], name = call->argv[args->group];
        if (args->group > 0 && stream->entry != NULL)
            stream->group = group_find(stream_groups(stream->entry->object.stream), name);
        if (args->group > 0 && stream->group == NULL) {
            failf(call, ERR_XREADGROUP_NOGROUP, arg_width(call, stream->key), key.data,
                  arg_width(call, args->group), name.data);
            return;
        }
        if (!parse_read_id(call, args, i, stream->entry, &stream->after)) return;
    }
    for (int i = 0; i < args->streams; i++) {
        struct source_stream *stream = &reading->streams[i];
        stream->is_served = has_entries(call, reading, stream);
        served += stream->is_served;
    }
    if (reply_served(call, reading, served) > 0) return;
    if (!args->blocks) {
        resp_null_array(call->out);
        return;
    }
    msec next = NEVER;
    for (int i = 0; i < args->streams && args->claim >= 0; i++) {
        msec at = next_claim(reading->streams[i].group, args->claim);
        if (at < next) next = at;
    }
    block_reading(call, reading, next);
}

/* The run of a client that was blocked: reads only the key that is ready.
 * DIFFERS: if the entry was added and removed again in one transaction, Redis 7.0 replies with an
 * empty list. Here the client keeps waiting, as in Redis 8 and Valkey 9. (doc/differs.md) */
static void read_ready(struct call *call, struct reading *reading)
{
    const struct read_args *args = &reading->args;
    struct source_stream *stream = &reading->streams[0];
    int i = 0;
    while (i + 1 < args->streams && !bytes_equal(call->argv[args->first + i], *call->ready))
        i++;
    *stream = (struct source_stream){ .key = args->first + i };
    stream->entry = txn_find(call->txn, *call->ready);
    if (fail_if(call, stream->entry == NULL || stream->entry->object.type != TYPE_STREAM,
                ERR_STREAM_GONE))
        return;
    if (!parse_read_id(call, args, i, stream->entry, &stream->after)) return;
    if (args->group > 0) {
        struct bytes name = call->argv[args->group];
        stream->group = group_find(stream_groups(stream->entry->object.stream), name);
        if (fail_if(call, stream->group == NULL, ERR_GROUP_GONE)) return;
    }

    reading->limit = args->count > 0 ? (size_t)args->count : BLOCKED_COUNT;
    reading->args.streams = 1;
    stream->is_served = has_entries(call, reading, stream);
    if (reply_served(call, reading, stream->is_served) > 0) return;
    block_reading(call, reading, args->claim >= 0 ? next_claim(stream->group, args->claim) : NEVER);
}

static void cmd_xread(struct call *call)
{
    struct reading reading;
    struct read_args *args = &reading.args;
    bool is_group = call->command.row->flags & WRITE;
    *args = (struct read_args){ .until = NEVER, .claim = -1 };
    for (int i = 1; i < call->argc && args->first == 0;) {
        if (i + 1 < call->argc && arg_is(call, i, "STREAMS")) {
            args->first = i + 1;
            args->streams = (call->argc - args->first) / 2;
            if (fail_if(call, (call->argc - args->first) % 2 != 0, ERR_XREAD_UNBALANCED)) return;
        } else if (!parse_option(call, &i, is_group, args)) {
            return;
        }
    }
    if (fail_if(call, args->first == 0, ERR_SYNTAX)) return;
    bool is_below = args->max_count > 0 && args->max_count < args->count;
    if (fail_if(call, is_below, ERR_MAXCOUNT_COUNT)) return;
    if (fail_if(call, is_group && args->group == 0, ERR_XREADGROUP_MISSING)) return;

    reading.budget = read_budget(args->max_count, args->max_size);
    reading.streams = reading.few;
    if (args->streams > STREAMS_FEW)
        reading.streams = mem_alloc((size_t)args->streams * sizeof(*reading.streams));
    if (call->ready != NULL)
        read_ready(call, &reading);
    else
        read_streams(call, &reading);
    if (reading.streams != reading.few) mem_free(reading.streams);
}

#define READ_ERRORS                                                                                \
    ERR_WRONGTYPE, ERR_SYNTAX, ERR_NOT_INTEGER, ERR_TIMEOUT, ERR_TIMEOUT_NEGATIVE, ERR_STREAM_ID,  \
        ERR_XREAD_UNBALANCED, ERR_XREAD_SCRIPT, ERR_MAXCOUNT, ERR_MAXCOUNT_COUNT, ERR_MAXSIZE

static const struct command rows[] = {
    ROW("XREAD", cmd_xread, -4, READONLY | BLOCKING | MOVABLE_KEYS, .find_keys = find_xread_keys,
        .specs = { KEYS_AFTER("STREAMS", 1, KEY_RO | KEY_ACCESS) }, .since = "5.0.0",
        .replies =
            REPLIES("RESP2 [[bulk [[bulk [bulk ...]] ...]] ...]: keys, each with its entries",
                    "RESP3 map[bulk [[bulk [bulk ...]] ...] ...]: keys, each with its entries",
                    "null-array: there is nothing, or the timeout was reached"),
        .errors =
            ERRORS(READ_ERRORS, ERR_XREAD_GROUP, ERR_XREAD_NOACK, ERR_XREAD_CLAIM, ERR_XREAD_NEW),
        .complexity = "O(log(N)+M) for each stream, where N is the number of its entries and M the "
                      "number returned.",
        .syntax = "[COUNT count] [MAXCOUNT count] [MAXSIZE bytes] [BLOCK milliseconds] STREAMS key "
                  "[key ...] id [id ...]",
        .summary = "Returns the entries of streams after the given IDs, or blocks until there is "
                   "one. COUNT limits the entries of each stream, MAXCOUNT those of all together, "
                   "and MAXSIZE the bytes of the reply, which has at least one entry."),
    ROW("XREADGROUP", cmd_xread, -7, WRITE | BLOCKING | MOVABLE_KEYS,
        .find_keys = find_xreadgroup_keys,
        .specs = { KEYS_AFTER("STREAMS", 4, KEY_RO | KEY_ACCESS) }, .since = "5.0.0",
        .replies = REPLIES("RESP2 [[bulk [any ...]] ...]: keys, each with its entries",
                           "RESP3 map[bulk [any ...] ...]: keys, each with its entries",
                           "null-array: there is nothing, or the timeout was reached"),
        .errors =
            ERRORS(READ_ERRORS, ERR_XREADGROUP_MISSING, ERR_XREADGROUP_NOGROUP, ERR_XREADGROUP_LAST,
                   ERR_CLAIM_IDLE, ERR_CLAIM_IDLE_NEGATIVE, ERR_STREAM_GONE, ERR_GROUP_GONE),
        .complexity =
            "O(log(N)+M*log(P)) for each stream, where N is the number of its entries, M "
            "the number returned and P that of the group's pending entries. For the own "
            "pending entries among more than 64 consumers also O(R) where R is the number of "
            "others' entries between them.",
        .syntax = "GROUP group consumer [COUNT count] [MAXCOUNT count] [MAXSIZE bytes] [BLOCK "
                  "milliseconds] [CLAIM min-idle-time] [NOACK] STREAMS key [key ...] id [id ...]",
        .summary =
            "Delivers entries of streams to a consumer of a group: new ones, those that it "
            "has not acknowledged yet, and with CLAIM those that others have left idle. "
            "Blocks until there is one, if BLOCK is given. COUNT, MAXCOUNT and MAXSIZE limit "
            "the reply as in XREAD."),
};

const struct command_group stream_read_commands = COMMAND_GROUP("stream", rows);
