/* stream_entries: commands that add entries to a stream or remove them: XADD, XTRIM, XDEL, XDELEX;
 * and XSETID, which sets the stream's last ID. */
#include <string.h>

#include "server/cmd/stream/stream.h"
#include "server/cmd/stream/stream_idmp.h"
#include "server/cmd/stream/stream_trim.h"
#include "store/txn/txn_stream.h"

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

static bool is_star(struct bytes text)
{
    return text.len == 1 && text.data[0] == '*';
}

/* Parses "*", "ms-*" or an ID. */
static bool parse_new_id(struct call *call, int i, struct add *add)
{
    struct bytes text = call->argv[i];
    text.len = strnlen(text.data, text.len); /* Redis stops at a NUL */
    add->by_time = is_star(text);
    if (add->by_time) return true;
    add->next_seq =
        text.len > 2 && text.data[text.len - 2] == '-' && text.data[text.len - 1] == '*';
    if (!add->next_seq) return arg_stream_id(call, i, 0, &add->id);
    struct bytes time = bytes_of(text.data, text.len - 2);
    bool ok = memchr(time.data, '-', time.len) == NULL && stream_id_parse(time, 0, &add->id);
    if (!ok) fail(call, ERR_STREAM_ID);
    return ok;
}

/* Parses the options up to the ID, and checks the number of names and values. */
static bool parse_add(struct call *call, struct add *add)
{
    int i = 2;
    bool known = true, found = false;
    while (i < call->argc && !found) {
        found = is_star(call->argv[i]);
        if (!found && !trim_parse_option(call, &i, &add->trim, &known)) return false;
        if (found || known) continue;
        if (!idmp_parse_option(call, &i, &add->idmp, &known)) return false;
        if (known) continue;
        if (arg_is(call, i, "NOMKSTREAM")) {
            add->no_stream = true;
            i++;
        } else {
            found = true;
        }
    }
    if (found && !parse_new_id(call, i, add)) return false;
    if (!trim_check(call, &add->trim, false)) return false;
    add->fields = i + 1;
    int parts = call->argc - add->fields;
    if (parts < 2 || parts % 2 == 1) return fail_named(call, ERR_ARITY);
    bool zero = !add->by_time && !add->next_seq && stream_id_equal(add->id, STREAM_ID_MIN);
    if (zero) fail(call, ERR_XADD_ZERO);
    bool complete = !add->by_time && !add->next_seq;
    return !zero && idmp_check(call, &add->idmp, add->by_time, complete, add->fields);
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
    if (idmp_is_repeat(call, entry, &add.idmp)) return;
    if (!choose_id(call, &add, entry, &id)) return;
    entry = entry_or_new(call, 1, entry, TYPE_STREAM);
    txn_stream_append(call->txn, entry, id, &call->argv[add.fields],
                      (size_t)(call->argc - add.fields));
    idmp_remember(call, entry, &add.idmp, id);
    trim_run(call, entry, &add.trim);
    reply_stream_id(call->out, id);
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

enum { ABSENT = -1, REMOVED = 1, STILL_REFERENCED = 2 }; /* replies of XDELEX */

static void cmd_xdelex(struct call *call)
{
    struct entry *entry;
    enum refs refs = REFS_KEEP;
    int first;
    int ids = arg_refs(call, 2, &refs) ? 3 : 2;
    if (!arg_counted_ids(call, ids, &first)) return;
    if (!find_typed(call, 1, TYPE_STREAM, &entry)) return;
    resp_array(call->out, (size_t)(call->argc - first));
    for (int i = first; i < call->argc; i++) {
        struct stream_id id = stream_id_of(call, i);
        int reply = ABSENT;
        if (entry != NULL && stream_has(entry->object.stream, id)) {
            bool keeps = refs == REFS_ACKED && stream_is_referenced(entry->object.stream, id);
            reply = keeps ? STILL_REFERENCED : REMOVED;
            if (!keeps) stream_drop_entry(call, entry, id, refs);
        }
        resp_integer(call->out, reply);
    }
}

struct set_id {
    struct stream_id last, max_deleted; /* max_deleted 0-0: not given */
    int64_t added;                      /* -1: not given */
};

/* Parses last-id [ENTRIESADDED n] [MAXDELETEDID id] from argument 2 on. */
static bool parse_set_id(struct call *call, struct set_id *set)
{
    *set = (struct set_id){ .added = -1 };
    if (!arg_stream_id(call, 2, 0, &set->last)) return false;
    for (int i = 3; i < call->argc; i += 2) {
        enum error error = ERROR_COUNT;
        if (i + 1 < call->argc && arg_is(call, i, "ENTRIESADDED")) {
            if (!arg_int64(call, i + 1, &set->added)) return false;
            if (set->added < 0) error = ERR_XSETID_NEGATIVE;
        } else if (i + 1 < call->argc && arg_is(call, i, "MAXDELETEDID")) {
            if (!arg_stream_id(call, i + 1, 0, &set->max_deleted)) return false;
            if (stream_id_before(set->last, set->max_deleted)) error = ERR_XSETID_DELETED;
        } else {
            error = ERR_SYNTAX;
        }
        if (error == ERROR_COUNT) continue;
        return fail(call, error);
    }
    return true;
}

static void cmd_xsetid(struct call *call)
{
    struct set_id set;
    struct entry *entry;
    if (!parse_set_id(call, &set)) return;
    if (!find_typed(call, 1, TYPE_STREAM, &entry)) return;
    enum error error = entry == NULL ? ERR_NO_KEY : ERROR_COUNT;
    struct stream_id top;
    if (entry != NULL && stream_final(entry->object.stream, &top)) {
        uint64_t count = stream_count(entry->object.stream);
        if (stream_id_before(set.last, top))
            error = ERR_XSETID_SMALL;
        else if (set.added != -1 && count > (uint64_t)set.added)
            error = ERR_XSETID_ADDED;
    }
    if (error != ERROR_COUNT) {
        fail(call, error);
        return;
    }
    struct stream_marks marks = stream_marks(entry->object.stream);
    marks.last = set.last;
    if (set.added != -1) marks.added = (uint64_t)set.added;
    if (!stream_id_equal(set.max_deleted, STREAM_ID_MIN)) marks.max_deleted = set.max_deleted;
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
    ROW("XDELEX", cmd_xdelex, -5, WRITE | FAST, .keys = KEY_FIRST, .key_flags = KEY_RW | KEY_DELETE,
        .since = "8.2.0",
        .replies = REPLIES("[integer ...]: for each ID 1 if the entry was removed, -1 if there is "
                           "none, 2 if a group still needs it (ACKED)"),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_SYNTAX, ERR_STREAM_ID, ERR_IDS_NUMBER, ERR_IDS_COUNT),
        .complexity = "O(log(N)) for each ID and group, where N is the number of entries.",
        .syntax = "key [KEEPREF | DELREF | ACKED] IDS numids id [id ...]",
        .summary = "Removes entries from a stream, and on request from the pending lists of all "
                   "groups, or only entries that no group needs any more."),
    ROW("XSETID", cmd_xsetid, -3, WRITE | GROWS | FAST, .keys = KEY_FIRST,
        .key_flags = KEY_RW | KEY_UPDATE, .since = "5.0.0",
        .replies = REPLIES("OK: the last ID was set"),
        .errors =
            ERRORS(ERR_WRONGTYPE, ERR_SYNTAX, ERR_NO_KEY, ERR_STREAM_ID, ERR_NOT_INTEGER,
                   ERR_XSETID_NEGATIVE, ERR_XSETID_DELETED, ERR_XSETID_SMALL, ERR_XSETID_ADDED),
        .complexity = "O(1)",
        .syntax = "key last-id [ENTRIESADDED entries-added] [MAXDELETEDID max-deleted-id]",
        .summary = "Sets the last ID of a stream, which the IDs of new entries must exceed."),
};

const struct command_group stream_commands = COMMAND_GROUP("stream", rows);
