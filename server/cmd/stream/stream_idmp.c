/* stream_idmp: see stream_idmp.h. Also XCFGSET and XIDMPRECORD. */
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "server/cmd/stream/stream.h"
#include "server/cmd/stream/stream_idmp.h"
#include "store/base/little_endian.h"
#include "store/txn/txn_stream.h"

bool idmp_parse_option(struct call *call, int *i, struct idmp *idmp, bool *known)
{
    int left = call->argc - *i - 1;
    bool is_auto = left >= 1 && arg_is(call, *i, "IDMPAUTO");
    *known = is_auto || (left >= 2 && arg_is(call, *i, "IDMP"));
    if (!*known) return true;
    if (idmp->producer != 0) return fail(call, ERR_IDMP_TWICE);
    idmp->producer = *i + 1;
    idmp->text = is_auto ? 0 : *i + 2;
    *i += is_auto ? 2 : 3;
    if (call->argv[idmp->producer].len == 0)
        return fail(call, is_auto ? ERR_IDMPAUTO_PRODUCER : ERR_IDMP_PRODUCER);
    return is_auto || call->argv[idmp->text].len > 0 || fail(call, ERR_IDMP_TEXT);
}

bool idmp_check(struct call *call, struct idmp *idmp, bool by_time, bool complete, int fields)
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

bool idmp_is_repeat(struct call *call, struct entry *entry, const struct idmp *idmp)
{
    struct stream_id id;
    if (idmp->producer == 0 || entry == NULL || txn_replays(call->txn)) return false;
    const struct stream_repeats *repeats = stream_repeats(entry->object.stream);
    if (repeats == NULL ||
        !repeat_find(repeats, call->argv[idmp->producer], text_of(call, idmp), call->txn->now, &id))
        return false;
    struct repeat_counts counts = repeat_counts(repeats);
    counts.repeated += counts.repeated < INT64_MAX;
    txn_repeat_set_counts(call->txn, entry, counts);
    reply_stream_id(call->out, id);
    return true;
}

/* Remembers the text, unless the ID is not above the producer's last one. That happens only after
 * XSETID or XIDMPRECORD. */
static void remember(struct call *call, struct entry *entry, struct bytes producer,
                     struct bytes text, struct stream_id id)
{
    const struct stream_repeats *repeats = stream_repeats(entry->object.stream);
    if (repeats == NULL || repeat_fits(repeats, producer, id))
        txn_repeat_put(call->txn, entry, producer, text, id);
}

void idmp_remember(struct call *call, struct entry *entry, const struct idmp *idmp,
                   struct stream_id id)
{
    if (idmp->producer == 0) return;
    remember(call, entry, call->argv[idmp->producer], text_of(call, idmp), id);
}

/* Parses the value of the option at argument i. */
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
    if (!arg_stream_id(call, 4, 0, &id)) return;
    if (!find_typed(call, 1, TYPE_STREAM, &entry)) return;
    if (fail_if(call, entry == NULL, ERR_NO_KEY)) return;
    remember(call, entry, call->argv[2], call->argv[3], id);
    reply_ok(call);
}

static const struct command rows[] = {
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

const struct command_group stream_idmp_commands = COMMAND_GROUP("stream", rows);
