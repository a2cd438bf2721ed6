/* bit: commands that use a string as an array of bits. BITFIELD is in bitfield.c. */
#include "server/cmd/string/bit.h"

#include "server/cmd/call/args.h"
#include "server/cmd/string/string.h"
#include "store/base/number.h"
#include "store/type/string.h"

bool arg_bit_offset(struct call *call, int i, unsigned width, uint64_t *offset)
{
    struct bytes text = call->argv[i];
    int64_t value;
    bool counts_fields = width > 0 && text.len > 0 && text.data[0] == '#';
    bool good = number_parse_int64(text.data + counts_fields, text.len - counts_fields, &value);
    /* DIFFERS: in Redis the product wraps around, and may be an offset again. (doc/differs.md) */
    if (counts_fields) good = good && !__builtin_mul_overflow(value, (int64_t)width, &value);
    if (good && value >= 0 && (uint64_t)value / 8 < string_limit(call)) {
        *offset = (uint64_t)value;
        return true;
    }
    return fail(call, ERR_BIT_OFFSET);
}

/* ---- one bit --------------------------------------------------------------------------------- */

static unsigned byte_at(struct bytes text, uint64_t at)
{
    return at < text.len ? (unsigned char)text.data[at] : 0;
}

static bool has_bit(struct bytes text, uint64_t offset)
{
    return byte_at(text, offset / 8) >> (7 - offset % 8) & 1;
}

static void cmd_setbit(struct call *call)
{
    uint64_t offset;
    int64_t on;
    struct entry *entry;
    if (!arg_bit_offset(call, 2, 0, &offset)) return;
    if (!arg_range(call, 3, 0, 1, &on, ERR_BIT_VALUE)) return;
    if (!find_typed(call, 1, TYPE_STRING, &entry)) return;
    if (entry != NULL) txn_string_unshare(call->txn, entry);

    struct bytes text = entry != NULL ? object_text(&entry->object) : LIT("");
    bool was = has_bit(text, offset);
    if (offset / 8 >= text.len || was != (on == 1)) {
        unsigned bit = 0x80u >> offset % 8, old = byte_at(text, offset / 8);
        char byte = (char)(on ? old | bit : old & ~bit);
        if (!string_write(call, 1, entry, offset / 8, bytes_of(&byte, 1), EVENT_SETBIT)) return;
    }
    resp_integer(call->out, was);
}

static void cmd_getbit(struct call *call)
{
    uint64_t offset;
    struct entry *entry;
    if (!arg_bit_offset(call, 2, 0, &offset)) return;
    if (!find_typed_counted(call, 1, TYPE_STRING, &entry)) return;
    resp_integer(call->out, entry != NULL && has_bit(object_text(&entry->object), offset));
}

/* ---- ranges of bits -------------------------------------------------------------------------- */

static uint64_t load_word(const char *from)
{
    uint64_t word;
    memcpy(&word, from, sizeof(word));
    return word;
}

/* Returns the first bit in [from, to) that is on, or off; `to` if there is none. */
static size_t find_bit(struct bytes text, size_t from, size_t to, bool on)
{
    unsigned char skipped = on ? 0 : 0xff;
    uint64_t skipped_word;
    memset(&skipped_word, skipped, sizeof(skipped_word));
    for (size_t at = from; at < to; at++) {
        if (at % 8 == 0) { /* skip words and bytes without such a bit */
            size_t byte = at / 8, end = to / 8;
            while (end - byte >= sizeof(skipped_word) &&
                   load_word(text.data + byte) == skipped_word)
                byte += sizeof(skipped_word);
            while (byte < end && (unsigned char)text.data[byte] == skipped)
                byte++;
            at = 8 * byte;
            if (at >= to) break;
        }
        if (has_bit(text, at) == on) return at;
    }
    return to;
}

/* Parses BYTE or BIT at argument i, by default BYTE. Returns false after sending an error. */
static bool arg_is_bits(struct call *call, int i, bool *in_bits)
{
    *in_bits = arg_is(call, i, "BIT");
    if (i >= call->argc || *in_bits || arg_is(call, i, "BYTE")) return true;
    return fail(call, ERR_SYNTAX);
}

/* Clips a range that is given in bytes or bits; the result is in bits. */
static void clip_to_bits(int64_t start, int64_t end, bool in_bits, size_t len, size_t *from,
                         size_t *to)
{
    string_clip(start, end, in_bits ? len * 8 : len, from, to);
    if (in_bits) return;
    *from *= 8;
    *to *= 8;
}

static void cmd_bitcount(struct call *call)
{
    struct entry *entry;
    int64_t start, end;
    bool in_bits = false;
    if (!find_typed_counted(call, 1, TYPE_STRING, &entry)) return;
    if (entry == NULL) {
        resp_integer(call->out, 0); /* even if the range is invalid */
        return;
    }
    struct bytes text = object_text(&entry->object);
    size_t from = 0, to = text.len * 8;
    if (call->argc == 4 || call->argc == 5) {
        if (!arg_int64(call, 2, &start) || !arg_int64(call, 3, &end)) return;
        if (start < 0 && end < 0 && start > end) {
            resp_integer(call->out, 0); /* even if the unit is invalid */
            return;
        }
        if (!arg_is_bits(call, 4, &in_bits)) return;
        clip_to_bits(start, end, in_bits, text.len, &from, &to);
    } else if (call->argc != 2) {
        fail(call, ERR_SYNTAX);
        return;
    }

    /* Single bits up to a whole byte at both ends, between them words and bytes. */
    int64_t count = 0;
    for (; from < to && from % 8 != 0; from++)
        count += has_bit(text, from);
    for (; from < to && to % 8 != 0; to--)
        count += has_bit(text, to - 1);
    for (; from + 64 <= to; from += 64)
        count += __builtin_popcountll(load_word(text.data + from / 8));
    for (; from < to; from += 8)
        count += __builtin_popcount((unsigned char)text.data[from / 8]);
    resp_integer(call->out, count);
}

static void cmd_bitpos(struct call *call)
{
    int64_t bit;
    struct entry *entry;
    if (!arg_int64(call, 2, &bit)) return;
    if (fail_if(call, bit != 0 && bit != 1, ERR_BIT_SOUGHT)) return;
    if (!find_typed_counted(call, 1, TYPE_STRING, &entry)) return;
    if (entry == NULL) {
        resp_integer(call->out, bit == 1 ? -1 : 0); /* even if the range is invalid */
        return;
    }
    struct bytes text = object_text(&entry->object);
    size_t from, to;
    int64_t start = 0, end = INT64_MAX;
    bool in_bits;
    if (fail_if(call, call->argc > 6, ERR_SYNTAX)) return;
    if (call->argc > 3 && !arg_int64(call, 3, &start)) return;
    if (!arg_is_bits(call, 5, &in_bits)) return;
    if (call->argc > 4 && !arg_int64(call, 4, &end)) return;
    clip_to_bits(start, end, in_bits, text.len, &from, &to);
    size_t at = find_bit(text, from, to, bit == 1);
    /* Without an end of the range, the string counts as followed by zeros. */
    bool found = at < to || (from < to && bit == 0 && call->argc < 5);
    resp_integer(call->out, found ? (int64_t)at : -1);
}

/* ---- BITOP ----------------------------------------------------------------------------------- */

enum bitop { BITOP_AND, BITOP_OR, BITOP_XOR, BITOP_NOT };
static const char *const bitops[] = { "AND", "OR", "XOR", "NOT" };

static inline uint64_t combine_word(enum bitop op, uint64_t a, uint64_t b)
{
    switch (op) {
    case BITOP_AND: return a & b;
    case BITOP_OR: return a | b;
    case BITOP_XOR: return a ^ b;
    case BITOP_NOT: break;
    }
    return ~b;
}

/* Inlined for each operation, so that the loops do not switch on it. */
__attribute__((always_inline)) static inline void combine_with(enum bitop op, char *to,
                                                               struct bytes text)
{
    size_t at = 0;
    for (; text.len - at >= sizeof(uint64_t); at += sizeof(uint64_t)) {
        uint64_t word = combine_word(op, load_word(to + at), load_word(text.data + at));
        memcpy(to + at, &word, sizeof(word));
    }
    for (; at < text.len; at++)
        to[at] = (char)combine_word(op, (unsigned char)to[at], (unsigned char)text.data[at]);
}

/* Combines the len bytes at `to` with the text, which counts as padded with zeros to len. */
static void combine_padded(enum bitop op, char *to, size_t len, struct bytes text)
{
    switch (op) {
    case BITOP_AND:
        combine_with(BITOP_AND, to, text);
        memset(to + text.len, 0, len - text.len);
        break;
    case BITOP_OR: combine_with(BITOP_OR, to, text); break;
    case BITOP_XOR: combine_with(BITOP_XOR, to, text); break;
    case BITOP_NOT: combine_with(BITOP_NOT, to, text); break;
    }
}

static struct bytes source_text(struct call *call, int i)
{
    const struct entry *entry = txn_find(call->txn, call->argv[i]);
    return entry != NULL ? object_text(&entry->object) : LIT("");
}

static void cmd_bitop(struct call *call)
{
    int word = arg_word(call, 1, bitops, sizeof(bitops) / sizeof(bitops[0]));
    enum bitop op = (enum bitop)word;
    if (fail_if(call, word < 0, ERR_SYNTAX)) return;
    if (fail_if(call, op == BITOP_NOT && call->argc != 4, ERR_BITOP_NOT)) return;
    size_t len = 0; /* length of the longest source */
    for (int i = 3; i < call->argc; i++) {
        struct entry *entry;
        if (!find_typed_counted(call, i, TYPE_STRING, &entry)) return;
        size_t own = entry != NULL ? object_text(&entry->object).len : 0;
        if (own > len) len = own;
    }
    if (len == 0) {
        struct entry *entry = txn_find(call->txn, call->argv[2]);
        if (entry != NULL) txn_key_drop(call->txn, entry, EVENT_DEL);
        resp_integer(call->out, 0);
        return;
    }
    struct blob *result = blob_try_new(len);
    if (fail_if(call, result == NULL, ERR_OOM)) return;
    struct bytes first = source_text(call, 3);
    if (first.len > 0) memcpy(result->data, first.data, first.len);
    memset(result->data + first.len, 0, len - first.len);
    if (op == BITOP_NOT) combine_padded(op, result->data, len, first);
    for (int i = 4; i < call->argc; i++)
        combine_padded(op, result->data, len, source_text(call, i));
    struct object object = string_of_blob(result);
    object.raw = true;
    txn_key_store(call->txn, call->argv[2], object, EVENT_SET);
    resp_integer(call->out, (int64_t)len);
}

static const struct command rows[] = {
    ROW("SETBIT", cmd_setbit, 4, WRITE | GROWS, .keys = KEY_FIRST,
        .key_flags = KEY_RW | KEY_ACCESS | KEY_UPDATE, .since = "2.2.0",
        .replies = REPLIES("integer: the old bit"),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_BIT_OFFSET, ERR_BIT_VALUE),
        .complexity = "O(1), or O(N) where N is the number of bytes by which the string grows.",
        .syntax = "key offset value",
        .summary =
            "Sets or clears the bit at an offset of a string value and returns the old bit."),
    ROW("GETBIT", cmd_getbit, 3, READONLY | FAST, .keys = KEY_FIRST, .since = "2.2.0",
        .replies = REPLIES("integer: the bit, 0 past the end of the string"),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_BIT_OFFSET), .complexity = "O(1)",
        .syntax = "key offset", .summary = "Returns the bit at an offset of a string value."),
    ROW("BITCOUNT", cmd_bitcount, -2, READONLY, .keys = KEY_FIRST, .since = "2.6.0",
        .replies = REPLIES("integer: the number of bits that are 1"),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_SYNTAX, ERR_NOT_INTEGER),
        .complexity = "O(N) where N is the number of bytes in the range.",
        .syntax = "key [start end [BYTE | BIT]]",
        .summary = "Counts the set bits in a string value, or in a range of it."),
    ROW("BITPOS", cmd_bitpos, -3, READONLY, .keys = KEY_FIRST, .since = "2.8.7",
        .replies = REPLIES("integer: the position of the first such bit, -1 if there is none"),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_SYNTAX, ERR_NOT_INTEGER, ERR_BIT_SOUGHT),
        .complexity = "O(N) where N is the number of bytes searched.",
        .syntax = "key bit [start [end [BYTE | BIT]]]",
        .summary = "Returns the position of the first set or clear bit in a string value."),
    ROW("BITOP", cmd_bitop, -4, WRITE | GROWS, .keys = { .first = 2, .last = -1, .step = 1 },
        .specs = { KEY_AT(2, KEY_OW | KEY_UPDATE), KEYS_FROM(3, KEY_RO | KEY_ACCESS) },
        .since = "2.6.0", .replies = REPLIES("integer: the length of the result in bytes"),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_SYNTAX, ERR_BITOP_NOT),
        .complexity = "O(N) where N is the total length of the strings in bytes.",
        .syntax = "<AND | OR | XOR | NOT> destination key [key ...]",
        .summary = "Performs a bitwise operation on string values and stores the result."),
};

const struct command_group bit_commands = COMMAND_GROUP("bitmap", rows);
