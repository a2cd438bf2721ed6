/* hyperloglog: the commands PFADD, PFCOUNT, PFMERGE, PFDEBUG and PFSELFTEST. A HyperLogLog is
 * stored as a string, so clients can also GET and SET its bytes. store/type/hyperloglog interprets
 * them. */
#include "store/type/hyperloglog.h"

#include <stdio.h>

#include "server/cmd/call/args.h"
#include "server/cmd/string/string.h"
#include "store/mem/mem.h"

/* Checks that the string is a HyperLogLog; a missing key is one too. Returns false after sending an
 * error. */
static bool is_hll(struct call *call, const struct entry *entry)
{
    if (entry == NULL || hll_is_valid(object_text(&entry->object))) return true;
    return fail(call, ERR_HLL_INVALID);
}

static bool find_hll(struct call *call, int i, struct entry **entry)
{
    return find_typed(call, i, TYPE_STRING, entry) && is_hll(call, *entry);
}

static bool read_hll(struct call *call, int i, struct entry **entry)
{
    return find_typed_counted(call, i, TYPE_STRING, entry) && is_hll(call, *entry);
}

/* Writes the HyperLogLog into the string at argument i, and keeps its deadline. Unless it has
 * become shorter, only the part that differs is written, so that the journal receives a few bytes
 * and not up to 12 KB. Returns false after sending an error if memory runs out. */
static bool put_hll(struct call *call, int i, struct entry *entry, const struct hll *hll,
                    enum event event)
{
    struct bytes now = hll_view(hll), key = call->argv[i];
    struct bytes old = entry != NULL ? object_text(&entry->object) : LIT("");
    if (now.len < old.len) {
        const struct string_set how = { .keep_ttl = true, .soft = SOFT_KEPT, .event = event };
        txn_string_set(call->txn, key, now, &how);
        txn_string_unshare(call->txn, entry);
        return true;
    }
    size_t from;

    /* The part to write: at least one byte, from the first to the last that differ, or to the end
     * if the string grows. */
    size_t to = now.len;
    for (from = 0; from + 1 < old.len && old.data[from] == now.data[from];)
        ++from;
    while (now.len == old.len && to > from + 1 && old.data[to - 1] == now.data[to - 1])
        to--;
    struct bytes part = bytes_of(now.data + from, to - from);

    if (txn_string_write(call->txn, key, entry, from, part, event) >= 0) return true;
    return fail(call, ERR_OOM);
}

static void cmd_pfadd(struct call *call)
{
    struct entry *entry;
    if (!find_hll(call, 1, &entry)) return;
    if (entry != NULL) txn_string_unshare(call->txn, entry);
    if (entry != NULL && !hll_is_sparse(object_text(&entry->object))) {
        /* Add the elements in place: each register that rises changes one or two bytes. */
        bool changed = false;
        for (int i = 2; i < call->argc; i++) {
            size_t offset;
            char patch[2];
            size_t len = hll_dense_patch(object_text(&entry->object),
                                         hll_register_of(call->argv[i]), &offset, patch);
            if (len == 0) continue;
            txn_string_write(call->txn, call->argv[1], entry, offset, bytes_of(patch, len),
                             EVENT_PFADD);
            changed = true;
        }
        uint64_t count;
        if (changed && hll_cached(object_text(&entry->object), &count)) {
            char printed[HLL_COUNT_BYTES];
            hll_print_outdated(printed, object_text(&entry->object));
            txn_string_write(call->txn, call->argv[1], entry, HLL_COUNT_AT,
                             bytes_of(printed, sizeof(printed)), EVENT_PFADD);
        }
        resp_integer(call->out, changed);
        return;
    }

    /* Add the elements in a copy, because a sparse encoding may become longer, shorter or dense. */
    struct hll hll;
    bool changed = entry == NULL, corrupt = false;
    hll_init(&hll, entry != NULL ? object_text(&entry->object) : LIT(""));
    for (int i = 2; i < call->argc && !corrupt; i++) {
        enum hll_change change = hll_raise(&hll, hll_register_of(call->argv[i]));
        corrupt = change == HLL_CORRUPT;
        changed |= change == HLL_RAISED;
    }
    if (changed) hll_outdate(&hll);
    if (!fail_if(call, corrupt, ERR_HLL_CORRUPT) &&
        (!changed || put_hll(call, 1, entry, &hll, EVENT_PFADD)))
        resp_integer(call->out, changed);
    hll_drop(&hll);
}

/* Merges the registers of all keys from argument 1 on. Returns false after sending an error. */
static bool merge_all(struct call *call, uint8_t *registers, bool *any_dense)
{
    *any_dense = false;
    for (int i = 1; i < call->argc; i++) {
        struct entry *entry;
        if (!read_hll(call, i, &entry)) return false;
        if (entry == NULL) continue;
        struct bytes text = object_text(&entry->object);
        *any_dense |= !hll_is_sparse(text);
        if (hll_merge(registers, text)) continue;
        return fail(call, ERR_HLL_CORRUPT);
    }
    return true;
}

static void cmd_pfcount(struct call *call)
{
    struct entry *entry;
    uint64_t count = 0;
    if (call->argc > 2) {
        uint8_t registers[HLL_REGISTERS] = { 0 };
        bool any_dense;
        if (merge_all(call, registers, &any_dense))
            resp_integer(call->out, (int64_t)hll_count_registers(registers));
        return;
    }
    if (!read_hll(call, 1, &entry)) return;
    if (entry == NULL) {
        resp_integer(call->out, 0);
        return;
    }
    struct bytes text = object_text(&entry->object);
    txn_string_unshare(call->txn, entry);
    bool cached = hll_cached(text, &count);
    if (fail_if(call, !cached && !hll_count(text, &count), ERR_HLL_CORRUPT)) return;
    /* Store the count in the string, without a keyspace event, so that the next PFCOUNT is fast. A
     * replica must not change its data for a client, so it only replies. */
    if (!cached && !call->txn->no_purge) {
        char printed[HLL_COUNT_BYTES];
        hll_print_count(printed, count);
        txn_string_write(call->txn, call->argv[1], entry, HLL_COUNT_AT,
                         bytes_of(printed, sizeof(printed)), EVENT_NONE);
    }
    resp_integer(call->out, (int64_t)count);
}

static void cmd_pfmerge(struct call *call)
{
    uint8_t registers[HLL_REGISTERS] = { 0 };
    bool any_dense;
    if (!merge_all(call, registers, &any_dense)) return;

    struct entry *entry = txn_find(call->txn, call->argv[1]);
    struct hll hll;
    hll_init(&hll, entry != NULL ? object_text(&entry->object) : LIT(""));
    if (any_dense) hll_make_dense(&hll); /* succeeds: merge_all has found no corruption */
    for (unsigned i = 0; i < HLL_REGISTERS; i++)
        if (registers[i] > 0) hll_raise(&hll, (struct hll_register){ i, registers[i] });
    hll_outdate(&hll);
    if (put_hll(call, 1, entry, &hll, EVENT_PFADD)) reply_ok(call);
    hll_drop(&hll);
}

static bool make_dense(struct call *call, struct entry *entry)
{
    struct hll hll;
    hll_init(&hll, object_text(&entry->object));
    bool good = hll_make_dense(&hll);
    if (!good)
        fail(call, ERR_HLL_CORRUPT);
    else
        good = put_hll(call, 2, entry, &hll, EVENT_NONE);
    hll_drop(&hll);
    return good;
}

static void cmd_pfdebug(struct call *call)
{
    struct entry *entry;
    if (!find_hll(call, 2, &entry)) return;
    if (fail_if(call, entry == NULL, ERR_PFDEBUG_NO_KEY)) return;
    txn_string_unshare(call->txn, entry);
    struct bytes text = object_text(&entry->object);
    bool is_sparse = hll_is_sparse(text);
    if (arg_is(call, 1, "GETREG")) {
        /* Convert the encoding to dense first, as Redis does. */
        uint8_t registers[HLL_REGISTERS] = { 0 };
        if (is_sparse && !make_dense(call, entry)) return;
        hll_merge(registers, object_text(&entry->object));
        resp_array(call->out, HLL_REGISTERS);
        for (unsigned i = 0; i < HLL_REGISTERS; i++)
            resp_integer(call->out, registers[i]);
    } else if (arg_is(call, 1, "DECODE")) {
        if (fail_if(call, !is_sparse, ERR_HLL_NOT_SPARSE)) return;
        static const char longest[] = "v:32,4 ";
        size_t size = text.len * sizeof(longest), len = 0;
        char *decoded = mem_alloc(size);
        struct hll_run run;
        for (size_t at = HLL_HEADER; at < text.len; at += run.bytes) {
            char *to = decoded + len;
            const char *gap = len > 0 ? " " : "";
            run = hll_run_at(text, at);
            int more = run.rank > 0 ? snprintf(to, size - len, "%sv:%u,%u", gap, run.rank, run.len)
                                    : snprintf(to, size - len, "%s%c:%u", gap,
                                               run.bytes > 1 ? 'Z' : 'z', run.len);
            len += (size_t)more;
        }
        resp_bulk(call->out, decoded, len);
        mem_free(decoded);
    } else if (arg_is(call, 1, "ENCODING")) {
        resp_status(call->out, is_sparse ? "sparse" : "dense");
    } else if (!arg_is(call, 1, "TODENSE")) {
        failf(call, ERR_PFDEBUG_SUBCOMMAND, arg_width(call, 1), call->argv[1].data);
    } else if (!is_sparse || make_dense(call, entry)) {
        resp_integer(call->out, is_sparse);
    }
}

/* Redis tests its own code here; our unit tests do that. */
static void cmd_pfselftest(struct call *call)
{
    reply_ok(call);
}

static const struct command rows[] = {
    ROW("PFADD", cmd_pfadd, -2, WRITE | GROWS | FAST, .keys = KEY_FIRST,
        .key_flags = KEY_RW | KEY_INSERT, .since = "2.8.9",
        .replies = REPLIES("integer: 1 if the key was created or a register changed, else 0"),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_HLL_INVALID, ERR_HLL_CORRUPT),
        .complexity = "O(1) for each element.", .syntax = "key [element [element ...]]",
        .summary = "Adds elements to a HyperLogLog. Creates the key if it does not exist."),
    ROW("PFCOUNT", cmd_pfcount, -2, READONLY | MAY_REPLICATE,
        .keys = { .first = 1, .last = -1, .step = 1 }, .key_flags = KEY_RW | KEY_ACCESS,
        .since = "2.8.9", .replies = REPLIES("integer: the estimated number of distinct elements"),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_HLL_INVALID, ERR_HLL_CORRUPT),
        .complexity = "O(1) for one key that has not changed since the last count. Otherwise O(N) "
                      "where N is the number of keys, with up to 12 KiB to read for each.",
        .syntax = "key [key ...]",
        .summary =
            "Returns the approximate number of distinct elements in the union of HyperLogLogs."),
    ROW("PFMERGE", cmd_pfmerge, -2, WRITE | GROWS, .keys = { .first = 1, .last = -1, .step = 1 },
        .specs = { KEY_AT(1, KEY_RW | KEY_ACCESS | KEY_INSERT), KEYS_FROM(2, KEY_RO | KEY_ACCESS) },
        .since = "2.8.9", .replies = REPLIES("OK: the keys were merged"),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_HLL_INVALID, ERR_HLL_CORRUPT),
        .complexity = "O(N) where N is the number of keys, with up to 12 KiB to read for each.",
        .syntax = "destination [key [key ...]]",
        .summary = "Merges one or more HyperLogLogs into a destination key."),
    ROW("PFDEBUG", cmd_pfdebug, 3, WRITE | GROWS | ADMIN, .keys = KEY_SECOND,
        .key_flags = KEY_RW | KEY_ACCESS, .since = "2.8.9",
        .replies = REPLIES("[integer ...]: GETREG: the registers",
                           "bulk: DECODE: the sparse encoding's operations",
                           "simple: ENCODING: sparse or dense",
                           "integer: TODENSE: 1 if the encoding changed, else 0"),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_HLL_INVALID, ERR_HLL_CORRUPT, ERR_HLL_NOT_SPARSE,
                         ERR_PFDEBUG_NO_KEY, ERR_PFDEBUG_SUBCOMMAND),
        .complexity = "O(1), with up to 12 KiB to read.",
        .syntax = "<GETREG | DECODE | ENCODING | TODENSE> key",
        .summary =
            "Shows the internal representation of a HyperLogLog, or converts it to the dense "
            "encoding."),
    ROW("PFSELFTEST", cmd_pfselftest, 1, ADMIN, .since = "2.8.9", .replies = REPLIES("OK: always"),
        .complexity = "O(1)", .syntax = "",
        .summary = "Does nothing and replies OK, for compatibility."),
};

const struct command_group hyperloglog_commands = COMMAND_GROUP("hyperloglog", rows);
