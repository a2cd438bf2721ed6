/* stream_entries: commands that add entries to a stream, read them by ID, or remove them: XADD,
 * XLEN, XRANGE, XREVRANGE, XTRIM, XDEL; XSETID, which sets the stream's last ID; and XCFGSET and
 * XIDMPRECORD, which belong to the option IDMP of XADD. */
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "server/cmd/stream/stream.h"
#include "server/cmd/stream/stream_trim.h"
#include "store/base/little_endian.h"
#include "store/txn/txn_stream.h"

/* ---- IDMP ------------------------------------------------------------------------------------ */

/* The options IDMP and IDMPAUTO of XADD. A producer that repeats a request, because it does not
 * know whether the first one arrived, marks the entry with its own name and an idempotent ID, or
 * with IDMPAUTO lets a digest of the fields serve as this ID. An entry that the stream remembers is
 * not added again. */
enum { IDMP_DIGEST_BYTES = 16 };

struct idmp {
    int producer; /* the argument; 0 if not given */
    int text;     /* the argument of the idempotent ID; if 0, `digest` replaces it */
    char digest[IDMP_DIGEST_BYTES]; /* digest of the fields; set by idmp_check */
};

/* Checks the option when all are parsed, and computes the digest for IDMPAUTO from the names and
 * values from argument `fields` on. Returns false after sending an error.
 *
 * Clients must let the server choose the entry's ID (`by_time`: it is "*"). A replay must have the
 * ID (`complete`: it is "ms-seq"), because Redis writes the ID of the added entry to its files and
 * its replicas. */
static bool idmp_check(struct call *call, struct idmp *idmp, bool by_time, bool complete,
                       int fields)
{
    if (idmp->producer == 0) return true;
    bool fits = txn_replays(call->txn) ? complete : by_time;
    if (!fits) return fail(call, ERR_IDMP_ID);
    if (idmp->text != 0) return true;

    /* The digest is the sum of one hash for each name and value, so the order of the fields does
     * not matter. */
    uint64_t low = 0, high = 0;
    for (int i = fields; i + 1 < call->argc; i += 2) {
        struct bytes name = call->argv[i], value = call->argv[i + 1];
        XXH128_hash_t hash = XXH3_128bits(name.data, name.len);
        hash = XXH3_128bits_withSeed(value.data, value.len, hash.low64 ^ hash.high64);
        low += hash.low64;
        high += hash.high64;
    }
    put_u64(idmp->digest, low);
    put_u64(idmp->digest + sizeof(low), high);
    return true;
}

static struct bytes text_of(const struct call *call, const struct idmp *idmp)
{
    if (idmp->text == 0) return bytes_of(idmp->digest, IDMP_DIGEST_BYTES);
    return call->argv[idmp->text];
}

/* Remembers the text, unless the ID is not above the producer's last one, which can happen after
 * XSETID or XIDMPRECORD. */
static void remember(struct call *call, struct entry *entry, struct bytes producer,
                     struct bytes text, struct stream_id id)
{
    const struct stream_repeats *repeats = stream_repeats(entry->object.stream);
    if (repeats == NULL || repeat_fits(repeats, producer, id))
        txn_repeat_put(call->txn, entry, producer, text, id);
}

static bool parse_one_limit(struct call *call, int i, int64_t most, enum error error,
                            int64_t *limit)
{
    if (!arg_int64(call, i + 1, limit)) return false;
    return (*limit >= 1 && *limit <= most) || fail(call, error);
}

static void cmd_xcfgset(struct call *call)
{
    struct repeat_limits given = { 0 }, limits = { REPEAT_SECONDS, REPEAT_TEXTS };
    struct entry *entry;
    if (fail_if(call, call->argc == 2, ERR_XCFGSET_NONE)) return;
    for (int i = 2; i < call->argc; i += 2) {
        bool ok;
        if (i + 1 < call->argc && arg_is(call, i, "IDMP-DURATION"))
            ok = parse_one_limit(call, i, REPEAT_SECONDS_MAX, ERR_IDMP_DURATION, &given.seconds);
        else if (i + 1 < call->argc && arg_is(call, i, "IDMP-MAXSIZE"))
            ok = parse_one_limit(call, i, REPEAT_TEXTS_MAX, ERR_IDMP_MAXSIZE, &given.texts);
        else
            ok = fail(call, ERR_SYNTAX);
        if (!ok) return;
    }
    if (!find_typed(call, 1, TYPE_STREAM, &entry)) return;
    if (fail_if(call, entry == NULL, ERR_NO_KEY)) return;
    const struct stream_repeats *repeats = stream_repeats(entry->object.stream);
    if (repeats != NULL) limits = repeat_limits(repeats);
    if (given.seconds > 0) limits.seconds = given.seconds;
    if (given.texts > 0) limits.texts = given.texts;
    txn_repeat_set_limits(call->txn, entry, limits);
    reply_ok(call);
}

static void cmd_xidmprecord(struct call *call)
{
    struct stream_id id;
    struct entry *entry;
    if (!arg_stream_id(call, 4, &id)) return;
    if (!find_typed(call, 1, TYPE_STREAM, &entry)) return;
    if (fail_if(call, entry == NULL, ERR_NO_KEY)) return;
    remember(call, entry, call->argv[2], call->argv[3], id);
    reply_ok(call);
}

/* ---- adding ---------------------------------------------------------------------------------- */

#define ENTRY_MAX_BYTES ((size_t)1 << 30) /* of all names and values together, as in Redis */

struct add {
    bool no_stream;      /* NOMKSTREAM */
    bool by_time;        /* "*" */
    bool next_seq;       /* "ms-*" */
    struct stream_id id; /* the ID, or its time with next_seq; unused with by_time */
    struct trim trim;
    struct idmp idmp;
    int fields; /* the argument of the first name */
};

static bool parse_add(struct call *call, struct add *add)
{
    struct idmp *idmp = &add->idmp;
    int i = 2;
    bool known = true, found = false;
    while (i < call->argc && !found) {
        found = arg_is(call, i, "*");
        if (!found && !trim_parse_option(call, &i, &add->trim, &known)) return false;
        if (found || known) continue;
        int left = call->argc - i - 1;
        bool is_auto = left >= 1 && arg_is(call, i, "IDMPAUTO");
        if (is_auto || (left >= 2 && arg_is(call, i, "IDMP"))) {
            if (idmp->producer != 0) return fail(call, ERR_IDMP_TWICE);
            idmp->producer = i + 1;
            idmp->text = is_auto ? 0 : i + 2;
            if (call->argv[idmp->producer].len == 0)
                return fail(call, is_auto ? ERR_IDMPAUTO_PRODUCER : ERR_IDMP_PRODUCER);
            if (!is_auto && call->argv[idmp->text].len == 0) return fail(call, ERR_IDMP_TEXT);
            i += is_auto ? 2 : 3;
        } else if (arg_is(call, i, "NOMKSTREAM")) {
            add->no_stream = true;
            i++;
        } else {
            found = true;
        }
    }
    if (found) { /* the ID: "*", "ms-*" or "ms-seq" */
        struct bytes text = call->argv[i];
        text.len = strnlen(text.data, text.len); /* Redis stops at a NUL */
        add->by_time = bytes_is_word(text, "*");
        add->next_seq =
            text.len > 2 && text.data[text.len - 2] == '-' && text.data[text.len - 1] == '*';
        struct bytes time = bytes_of(text.data, add->next_seq ? text.len - 2 : 0);
        if (add->next_seq) {
            if (memchr(time.data, '-', time.len) != NULL || !stream_id_parse(time, 0, &add->id))
                return fail(call, ERR_STREAM_ID);
        } else if (!add->by_time && !arg_stream_id(call, i, &add->id)) {
            return false;
        }
    }
    if (!trim_check(call, &add->trim, false)) return false;
    add->fields = i + 1;
    int parts = call->argc - add->fields;
    if (parts < 2 || parts % 2 == 1) return fail_named(call, ERR_ARITY);
    bool complete = !add->by_time && !add->next_seq;
    if (complete && stream_id_equal(add->id, STREAM_ID_MIN)) return fail(call, ERR_XADD_ZERO);
    return idmp_check(call, idmp, add->by_time, complete, add->fields);
}

/* Sets *id to the ID of the new entry. Returns false after sending an error. */
static bool choose_id(struct call *call, const struct add *add, const struct entry *entry,
                      struct stream_id *id)
{
    struct stream_id last = STREAM_ID_MIN;
    if (entry != NULL) last = stream_marks(entry->object.stream).last;
    if (stream_id_equal(last, STREAM_ID_MAX)) return fail(call, ERR_XADD_LAST);

    bool is_after = true;
    *id = add->id;
    if (add->by_time) {
        *id = (struct stream_id){ (uint64_t)call->txn->now, 0 };
        if (id->ms <= last.ms) {
            *id = last;
            is_after = stream_id_up(id);
        }
    } else if (add->next_seq && id->ms == last.ms) {
        /* DIFFERS: Redis' error here depends on an old errno. (doc/differs.md) */
        id->seq = last.seq + 1;
        is_after = id->seq != 0;
    } else {
        is_after = stream_id_before(last, *id);
    }
    if (!is_after) return fail(call, ERR_XADD_SMALL);

    size_t bytes = 0;
    for (int i = add->fields; i < call->argc; i++)
        bytes += call->argv[i].len;
    return bytes <= ENTRY_MAX_BYTES || fail(call, ERR_XADD_LARGE);
}

static void cmd_xadd(struct call *call)
{
    struct add add = { 0 };
    struct entry *entry;
    struct stream_id id;
    if (!parse_add(call, &add)) return;
    if (!find_typed(call, 1, TYPE_STREAM, &entry)) return;
    if (entry == NULL && add.no_stream) {
        resp_null(call->out);
        return;
    }

    /* If the stream remembers this entry, count the repetition, and reply with the ID under which
     * the entry was added. A replay does not look. */
    bool looks = add.idmp.producer != 0 && entry != NULL && !txn_replays(call->txn);
    const struct stream_repeats *repeats = looks ? stream_repeats(entry->object.stream) : NULL;
    if (repeats != NULL && repeat_find(repeats, call->argv[add.idmp.producer],
                                       text_of(call, &add.idmp), call->txn->now, &id)) {
        struct repeat_counts counts = repeat_counts(repeats);
        counts.repeated += counts.repeated < INT64_MAX;
        txn_repeat_set_counts(call->txn, entry, counts);
        reply_stream_id(call->out, id);
        return;
    }

    if (!choose_id(call, &add, entry, &id)) return;
    entry = entry_or_new(call, 1, entry, TYPE_STREAM);
    txn_stream_append(call->txn, entry, id, &call->argv[add.fields],
                      (size_t)(call->argc - add.fields));
    if (add.idmp.producer != 0)
        remember(call, entry, call->argv[add.idmp.producer], text_of(call, &add.idmp), id);
    trim_run(call, entry, &add.trim);
    reply_stream_id(call->out, id);
}

/* ---- reading and removing -------------------------------------------------------------------- */

static void cmd_xlen(struct call *call)
{
    struct entry *entry;
    if (!find_typed_counted(call, 1, TYPE_STREAM, &entry)) return;
    resp_integer(call->out, entry != NULL ? (int64_t)stream_count(entry->object.stream) : 0);
}

static void reply_range(struct call *call)
{
    bool back = call_variant(call);
    struct id_range range;
    struct entry *entry;
    int64_t limit = INT64_MAX;
    if (!arg_id_range(call, back ? 3 : 2, back ? 2 : 3, &range)) return;
    for (int i = 4; i < call->argc; i += 2) {
        if (fail_if(call, !arg_is(call, i, "COUNT") || i + 1 >= call->argc, ERR_SYNTAX)) return;
        if (!arg_int64(call, i + 1, &limit)) return;
        if (limit < 0) limit = 0;
    }
    if (!find_typed_counted(call, 1, TYPE_STREAM, &entry)) return;
    if (entry == NULL) {
        resp_array(call->out, 0);
        return;
    }
    if (limit == 0) {
        resp_null_array(call->out);
        return;
    }

    const struct stream *stream = entry->object.stream;
    struct stream_id after = range.to;
    size_t to = stream_id_up(&after) ? stream_rank(stream, after) : stream_count(stream);
    size_t from = stream_rank(stream, range.from);
    size_t left = to > from ? to - from : 0;
    if ((uint64_t)limit < left) left = (size_t)limit;
    resp_array(call->out, left);
    if (left == 0) return;
    struct stream_walk walk;
    struct stream_entry item;
    if (back)
        stream_walk_down(&walk, stream, range.to);
    else
        stream_walk_up(&walk, stream, range.from);
    for (; left > 0 && stream_walk_next(&walk, &item); left--)
        reply_stream_entry(call->out, &item);
}

static void cmd_xtrim(struct call *call)
{
    struct trim trim = { 0 };
    struct entry *entry;
    for (int i = 2; i < call->argc;) {
        bool known;
        if (!trim_parse_option(call, &i, &trim, &known)) return;
        if (known) continue;
        fail(call, ERR_SYNTAX);
        return;
    }
    if (!trim_check(call, &trim, true)) return;
    if (!find_typed(call, 1, TYPE_STREAM, &entry)) return;
    resp_integer(call->out, entry == NULL ? 0 : (int64_t)trim_run(call, entry, &trim));
}

static void cmd_xdel(struct call *call)
{
    struct entry *entry;
    int64_t removed = 0;
    if (!find_typed(call, 1, TYPE_STREAM, &entry)) return;
    if (entry != NULL && !arg_stream_ids(call, 2)) return;
    for (int i = 2; entry != NULL && i < call->argc; i++)
        removed += txn_stream_remove(call->txn, entry, stream_id_of(call, i));
    resp_integer(call->out, removed);
}

static void cmd_xsetid(struct call *call)
{
    struct stream_id last, top, max_deleted = STREAM_ID_MIN; /* 0-0: not given */
    int64_t added = -1;                                      /* -1: not given */
    struct entry *entry;
    if (!arg_stream_id(call, 2, &last)) return;
    for (int i = 3; i < call->argc; i += 2) {
        if (i + 1 < call->argc && arg_is(call, i, "ENTRIESADDED")) {
            if (!arg_int64(call, i + 1, &added)) return;
            if (fail_if(call, added < 0, ERR_XSETID_NEGATIVE)) return;
        } else if (i + 1 < call->argc && arg_is(call, i, "MAXDELETEDID")) {
            if (!arg_stream_id(call, i + 1, &max_deleted)) return;
            if (fail_if(call, stream_id_before(last, max_deleted), ERR_XSETID_DELETED)) return;
        } else {
            fail(call, ERR_SYNTAX);
            return;
        }
    }
    if (!find_typed(call, 1, TYPE_STREAM, &entry)) return;
    if (fail_if(call, entry == NULL, ERR_NO_KEY)) return;
    const struct stream *stream = entry->object.stream;
    if (stream_final(stream, &top)) {
        bool too_few = added != -1 && stream_count(stream) > (uint64_t)added;
        if (fail_if(call, stream_id_before(last, top), ERR_XSETID_SMALL)) return;
        if (fail_if(call, too_few, ERR_XSETID_ADDED)) return;
    }
    struct stream_marks marks = stream_marks(stream);
    marks.last = last;
    if (added != -1) marks.added = (uint64_t)added;
    if (!stream_id_equal(max_deleted, STREAM_ID_MIN)) marks.max_deleted = max_deleted;
    txn_stream_set_marks(call->txn, entry, &marks);
    reply_ok(call);
}

#define TRIM_ERRORS                                                                                \
    ERR_TRIM_BOTH, ERR_TRIM_MAXLEN, ERR_TRIM_LIMIT, ERR_TRIM_LIMIT_ALONE, ERR_TRIM_LIMIT_EXACT,    \
        ERR_STREAM_ID, ERR_NOT_INTEGER, ERR_SYNTAX

static const struct command rows[] = {
    ROW("XADD", cmd_xadd, -5, WRITE | GROWS | FAST, .keys = KEY_FIRST,
        .key_flags = KEY_RW | KEY_UPDATE, .tips = "nondeterministic_output", .since = "5.0.0",
        .replies = REPLIES("bulk: the ID of the new entry, or of the one that IDMP finds",
                           "null: NOMKSTREAM, and there is no such key"),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_ARITY, TRIM_ERRORS, ERR_XADD_ZERO, ERR_XADD_SMALL,
                         ERR_XADD_LAST, ERR_XADD_LARGE, ERR_IDMP_ID, ERR_IDMP_TWICE,
                         ERR_IDMP_PRODUCER, ERR_IDMP_TEXT, ERR_IDMPAUTO_PRODUCER),
        .complexity = "O(1), and O(N) where N is the number of entries that are trimmed.",
        .syntax = "key [NOMKSTREAM] [KEEPREF | DELREF | ACKED] "
                  "[IDMPAUTO producer-id|IDMP producer-id idempotent-id] "
                  "[<MAXLEN | MINID> [= | ~] threshold [LIMIT count]] <* | id> field value "
                  "[field value ...]",
        .summary = "Adds an entry to a stream, and can trim the stream. With IDMP it is not added "
                   "again if the producer has sent this idempotent-id before, with IDMPAUTO if it "
                   "has sent the same fields."),
    ROW("XTRIM", cmd_xtrim, -4, WRITE, .keys = KEY_FIRST, .key_flags = KEY_RW | KEY_DELETE,
        .tips = "nondeterministic_output", .since = "5.0.0",
        .replies = REPLIES("integer: the number of entries removed"),
        .errors = ERRORS(ERR_WRONGTYPE, TRIM_ERRORS, ERR_TRIM_NONE),
        .complexity = "O(log(N)+M) where N is the number of entries and M the number removed.",
        .syntax = "key <MAXLEN | MINID> [= | ~] threshold [LIMIT count] [KEEPREF | DELREF | ACKED]",
        .summary = "Removes the oldest entries of a stream, down to a number or up to an ID."),
    ROW("XDEL", cmd_xdel, -3, WRITE | FAST, .keys = KEY_FIRST, .key_flags = KEY_RW | KEY_DELETE,
        .since = "5.0.0", .replies = REPLIES("integer: the number of entries removed"),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_STREAM_ID),
        .complexity = "O(log(N)) for each ID, where N is the number of entries.",
        .syntax = "key id [id ...]",
        .summary = "Removes entries from a stream. The pending lists of groups keep their IDs."),
    ROW("XSETID", cmd_xsetid, -3, WRITE | GROWS | FAST, .keys = KEY_FIRST,
        .key_flags = KEY_RW | KEY_UPDATE, .since = "5.0.0",
        .replies = REPLIES("OK: the last ID was set"),
        .errors =
            ERRORS(ERR_WRONGTYPE, ERR_SYNTAX, ERR_NO_KEY, ERR_STREAM_ID, ERR_NOT_INTEGER,
                   ERR_XSETID_NEGATIVE, ERR_XSETID_DELETED, ERR_XSETID_SMALL, ERR_XSETID_ADDED),
        .complexity = "O(1)",
        .syntax = "key last-id [ENTRIESADDED entries-added] [MAXDELETEDID max-deleted-id]",
        .summary = "Sets the last ID of a stream, which the IDs of new entries must exceed."),
    ROW("XLEN", cmd_xlen, 2, READONLY | FAST, .keys = KEY_FIRST, .key_flags = KEY_RO,
        .since = "5.0.0", .replies = REPLIES("integer: the number of entries"),
        .errors = ERRORS(ERR_WRONGTYPE), .complexity = "O(1)", .syntax = "key",
        .summary = "Returns the number of entries in a stream."),
    ROW("XRANGE", reply_range, -4, READONLY, .variant = false, .keys = KEY_FIRST,
        .key_flags = KEY_RO | KEY_ACCESS, .since = "5.0.0",
        .replies =
            REPLIES("[[bulk [bulk ...]] ...]: entries: their IDs, and their fields and values",
                    "null-array: the count is 0 or less"),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_SYNTAX, ERR_STREAM_ID, ERR_INTERVAL_START,
                         ERR_INTERVAL_END, ERR_NOT_INTEGER),
        .complexity = "O(log(N)+M) where N is the number of entries and M the number returned.",
        .syntax = "key start end [COUNT count]",
        .summary = "Returns the entries of a stream whose IDs are in an interval."),
    ROW("XREVRANGE", reply_range, -4, READONLY, .variant = true, .keys = KEY_FIRST,
        .key_flags = KEY_RO | KEY_ACCESS, .since = "5.0.0",
        .replies =
            REPLIES("[[bulk [bulk ...]] ...]: entries: their IDs, and their fields and values",
                    "null-array: the count is 0 or less"),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_SYNTAX, ERR_STREAM_ID, ERR_INTERVAL_START,
                         ERR_INTERVAL_END, ERR_NOT_INTEGER),
        .complexity = "O(log(N)+M) where N is the number of entries and M the number returned.",
        .syntax = "key end start [COUNT count]",
        .summary = "Returns the entries of a stream whose IDs are in an interval, last first."),
    ROW("XCFGSET", cmd_xcfgset, -2, WRITE | FAST, .keys = KEY_FIRST,
        .key_flags = KEY_RW | KEY_UPDATE, .since = "8.6.0", .replies = REPLIES("OK: it was set"),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_SYNTAX, ERR_NOT_INTEGER, ERR_NO_KEY, ERR_XCFGSET_NONE,
                         ERR_IDMP_DURATION, ERR_IDMP_MAXSIZE),
        .complexity = "O(1), and O(N) where N is the number of entries that are forgotten.",
        .syntax = "key [IDMP-DURATION seconds] [IDMP-MAXSIZE count]",
        .summary = "Sets how long a stream remembers entries that XADD with IDMP or IDMPAUTO has "
                   "added (default: 100 seconds), and how many for each producer (100). A change "
                   "forgets all of them."),
    ROW("XIDMPRECORD", cmd_xidmprecord, 5, WRITE | GROWS | FAST, .keys = KEY_FIRST,
        .key_flags = KEY_RW | KEY_UPDATE, .since = "8.6.0",
        .replies = REPLIES("OK: it is remembered"),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_NO_KEY, ERR_STREAM_ID), .complexity = "O(1)",
        .syntax = "key producer-id idempotent-id id",
        .summary =
            "Records that XADD with IDMP has added an entry. Used by replication and journals."),
};

const struct command_group stream_commands = COMMAND_GROUP("stream", rows);
