/* bit: commands that use a string as an array of bits, or, as BITFIELD and BITFIELD_RO do, of
 * integers of up to 64 bits (63 if unsigned) at any bit offset. Bit 0 is the most significant bit
 * of the first byte. */
#include "server/cmd/call/args.h"
#include "server/cmd/string/string.h"
#include "store/base/ensure.h"
#include "store/base/number.h"
#include "store/mem/mem.h"
#include "store/type/string.h"

/* Parses argument i as the offset of a bit, which must be within the maximum length of a string. If
 * width > 0, "#n" is allowed and means n * width. Returns false after sending an error. */
static bool arg_bit_offset(struct call *call, int i, unsigned width, uint64_t *offset)
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

    unsigned char skipped = bit == 1 ? 0 : 0xff;
    uint64_t skipped_word;
    memset(&skipped_word, skipped, sizeof(skipped_word));
    size_t at = from;
    for (; at < to; at++) {
        if (at % 8 == 0) { /* skip words and bytes without such a bit */
            size_t byte = at / 8, last = to / 8;
            while (last - byte >= sizeof(skipped_word) &&
                   load_word(text.data + byte) == skipped_word)
                byte += sizeof(skipped_word);
            while (byte < last && (unsigned char)text.data[byte] == skipped)
                byte++;
            at = 8 * byte;
        }
        if (at == to || has_bit(text, at) == bit) break;
    }
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

/* ---- BITFIELD -------------------------------------------------------------------------------- */

enum { SIGNED_BITS_MAX = 64, UNSIGNED_BITS_MAX = 63 };
enum { WINDOW = 9 }; /* bytes that 64 bits at any offset may touch */

enum overflow { OVERFLOW_WRAP, OVERFLOW_SAT, OVERFLOW_FAIL };
static const char *const overflows[] = { "WRAP", "SAT", "FAIL" };

struct field {
    uint64_t offset; /* offset of its first bit */
    unsigned bits;
    bool is_signed;
};

enum action { ACTION_GET, ACTION_SET, ACTION_INCRBY };

struct step {
    enum action action;
    enum overflow overflow;
    struct field field;
    int64_t value;
};

/* Sign-extends or zero-extends the field's bits to 64 bits. */
static uint64_t extend(uint64_t value, const struct field *field)
{
    ensure(field->bits > 0 && field->bits <= 64, "a field of %u bits", field->bits);
    unsigned unused = 64 - field->bits;
    if (field->is_signed) return (uint64_t)((int64_t)(value << unused) >> unused);
    return value << unused >> unused;
}

/* Adds `by` to the value and applies the step's rule for overflows. Returns false, leaving the
 * value unchanged, if the sum does not fit into the field and the rule is FAIL. For SET, `by` is 0
 * and *value any 64 bits; an unsigned field takes them as unsigned. */
static bool add_with_overflow(uint64_t *value, int64_t by, const struct step *step)
{
    const struct field *field = &step->field;
    uint64_t max = UINT64_MAX >> (64 - field->bits) >> field->is_signed;
    uint64_t min = field->is_signed ? ~max : 0;
    int side; /* -1 if the sum is below the minimum, 1 if above the maximum */
    if (field->is_signed) {
        int64_t old = (int64_t)*value, sum, distance;
        if (__builtin_add_overflow(old, by, &sum)) side = by > 0 ? 1 : -1;
        /* As in Redis, a value so far below the maximum that their distance overflows counts as
         * above the maximum. */
        else if (field->bits < SIGNED_BITS_MAX &&
                 __builtin_sub_overflow((int64_t)max, old, &distance))
            side = 1;
        else
            side = (sum > (int64_t)max) - (sum < (int64_t)min);
    } else if (by < 0 && 0 - (uint64_t)by > *value) {
        side = -1;
    } else {
        side = *value + (uint64_t)by > max;
    }

    if (side != 0 && step->overflow == OVERFLOW_FAIL) return false;
    if (side != 0 && step->overflow == OVERFLOW_SAT)
        *value = side > 0 ? max : min;
    else
        *value = extend(*value + (uint64_t)by, field);
    return true;
}

/* Bits after the end of the string are 0. */
static uint64_t load_field(const struct entry *entry, const struct field *field)
{
    struct bytes text = entry != NULL ? object_text(&entry->object) : LIT("");
    uint64_t value = 0, offset = field->offset;
    for (unsigned bits = field->bits; bits > 0;) {
        unsigned there = 8 - offset % 8, take = bits < there ? bits : there;
        unsigned byte = offset / 8 < text.len ? (unsigned char)text.data[offset / 8] : 0;
        value = value << take | (byte >> (there - take) & ((1u << take) - 1));
        offset += take;
        bits -= take;
    }
    return extend(value, field);
}

static size_t last_byte(const struct field *field)
{
    return (size_t)((field->offset + field->bits - 1) / 8);
}

/* Parses the step that begins at argument *i, and moves *i to its last argument. Returns false
 * after sending an error. */
static bool read_step(struct call *call, int *i, struct step *step)
{
    int left = call->argc - *i - 1;
    if (left >= 2 && arg_is(call, *i, "GET"))
        step->action = ACTION_GET;
    else if (left >= 3 && arg_is(call, *i, "SET"))
        step->action = ACTION_SET;
    else if (left >= 3 && arg_is(call, *i, "INCRBY"))
        step->action = ACTION_INCRBY;
    else
        return fail(call, ERR_SYNTAX);

    /* The type: i or u and the number of bits. */
    struct bytes type = call->argv[++*i];
    struct field *field = &step->field;
    int64_t bits = 0;
    field->is_signed = type.len > 0 && type.data[0] == 'i';
    bool named = type.len > 0 && (type.data[0] == 'i' || type.data[0] == 'u');
    int64_t max = field->is_signed ? SIGNED_BITS_MAX : UNSIGNED_BITS_MAX;
    if (!named || !number_parse_int64(type.data + 1, type.len - 1, &bits) || bits < 1 || bits > max)
        return fail(call, ERR_BITFIELD_TYPE);
    field->bits = (unsigned)bits;

    if (!arg_bit_offset(call, ++*i, field->bits, &field->offset)) return false;
    return step->action == ACTION_GET || arg_int64(call, ++*i, &step->value);
}

/* A step that writes stores base_value + increment. */
static uint64_t base_value(const struct step *step, uint64_t old)
{
    return step->action == ACTION_INCRBY ? old : (uint64_t)step->value;
}

static int64_t increment(const struct step *step)
{
    return step->action == ACTION_INCRBY ? step->value : 0;
}

/* Runs one step and replies. If this call made the string longer (`grown`), every write counts as a
 * change, even one of equal bits. */
static void run_field_step(struct call *call, struct entry *entry, bool grown,
                           const struct step *step)
{
    uint64_t old = load_field(entry, &step->field), value = base_value(step, old);
    if (step->action == ACTION_GET) {
        resp_integer(call->out, (int64_t)old);
        return;
    }
    if (!add_with_overflow(&value, increment(step), step)) {
        resp_null(call->out);
        return;
    }
    resp_integer(call->out, (int64_t)(step->action == ACTION_INCRBY ? value : old));
    if (!grown && value == old) return;

    /* Copies the bytes that the field touches, all of which exist by now, changes the copy, and
     * writes it back. */
    char window[WINDOW];
    size_t first = (size_t)(step->field.offset / 8), len = last_byte(&step->field) - first + 1;
    memcpy(window, object_text(&entry->object).data + first, len);
    unsigned at = step->field.offset % 8;
    for (unsigned bits = step->field.bits; bits > 0;) {
        unsigned there = 8 - at % 8, take = bits < there ? bits : there;
        unsigned mask = ((1u << take) - 1) << (there - take);
        unsigned shifted = (unsigned)(value >> (bits - take) & 0xff) << (there - take);
        unsigned byte = (unsigned char)window[at / 8];
        window[at / 8] = (char)((byte & ~mask) | (shifted & mask));
        at += take;
        bits -= take;
    }
    txn_string_write(call->txn, call->argv[1], entry, first, bytes_of(window, len), EVENT_SETBIT);
}

static void run_field_steps(struct call *call, const struct step *steps, int count)
{
    struct entry *entry;
    size_t needed = 0; /* the length that the string must have for the steps that write */
    for (int s = 0; s < count; s++)
        if (steps[s].action != ACTION_GET && last_byte(&steps[s].field) >= needed)
            needed = last_byte(&steps[s].field) + 1;

    if (needed == 0) {
        if (!find_typed_counted(call, 1, TYPE_STRING, &entry)) return;
    } else if (call->command.row->flags & READONLY) {
        fail(call, ERR_BITFIELD_RO);
        return;
    } else {
        if (!find_typed(call, 1, TYPE_STRING, &entry)) return;
        if (entry != NULL) txn_string_unshare(call->txn, entry);
    }

    /* Make the string as long as the steps need, even if they all fail, as in Redis. */
    bool grown = needed > (entry != NULL ? object_text(&entry->object).len : 0);
    if (grown) {
        /* If any step will write, growing the string is part of that write; otherwise it is a
         * change of its own. Whether a step writes depends on whether its value fits. Testing all
         * with the old values is right: nothing is written before the first step that fits. */
        bool is_part = false;
        for (int s = 0; s < count && !is_part; s++) {
            uint64_t value = base_value(&steps[s], load_field(entry, &steps[s].field));
            is_part = steps[s].action != ACTION_GET &&
                      add_with_overflow(&value, increment(&steps[s]), &steps[s]);
        }
        if (fail_if(call, !txn_string_grow(call->txn, call->argv[1], entry, needed, is_part),
                    ERR_OOM))
            return;
        entry = txn_find(call->txn, call->argv[1]);
    }

    resp_array(call->out, (size_t)count);
    for (int s = 0; s < count; s++)
        run_field_step(call, entry, grown, &steps[s]);
}

static void cmd_bitfield(struct call *call)
{
    struct step *steps = mem_alloc((size_t)call->argc * sizeof(*steps));
    int overflow = OVERFLOW_WRAP, count = 0;
    bool good = true;
    for (int i = 2; good && i < call->argc; i++) {
        if (arg_is(call, i, "OVERFLOW") && i + 1 < call->argc) {
            overflow = arg_word(call, ++i, overflows, 3);
            good = overflow >= 0 || fail(call, ERR_BITFIELD_OVERFLOW);
        } else {
            steps[count] = (struct step){ .overflow = (enum overflow)overflow };
            good = read_step(call, &i, &steps[count++]);
        }
    }
    if (good) run_field_steps(call, steps, count);
    mem_free(steps);
}

/* A BITFIELD whose steps are all GET only reads its key. */
static unsigned vary_bitfield_key(int argc, const struct bytes *argv)
{
    const struct call call = { .argc = argc, .argv = argv };
    for (int i = 2; i < argc; i++) {
        int left = argc - i - 1;
        if (arg_is(&call, i, "GET") && left >= 2)
            i += 2;
        else if (arg_is(&call, i, "OVERFLOW") && left >= 1)
            i += 1;
        else
            return KEY_RW | KEY_ACCESS | KEY_UPDATE;
    }
    return KEY_RO | KEY_ACCESS;
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
    ROW("BITFIELD", cmd_bitfield, -2, WRITE | GROWS, .keys = KEY_FIRST,
        .key_flags = KEY_RW | KEY_ACCESS | KEY_UPDATE | KEY_VARIABLE,
        .vary_keys = vary_bitfield_key, .since = "3.2.0",
        .replies = REPLIES(
            "[integer|null ...]: for each GET the value, for each SET the old one, for each "
            "INCRBY the new one; null where OVERFLOW FAIL kept the value from changing"),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_SYNTAX, ERR_NOT_INTEGER, ERR_BIT_OFFSET,
                         ERR_BITFIELD_TYPE, ERR_BITFIELD_OVERFLOW),
        .complexity = "O(1) for each operation.",
        .syntax = "key [GET encoding offset | OVERFLOW <WRAP | SAT | FAIL> | SET encoding offset "
                  "value | INCRBY encoding offset increment] [operation ...]",
        .summary = "Reads and writes integers of any width in a string value."),
    ROW("BITFIELD_RO", cmd_bitfield, -2, READONLY | FAST, .keys = KEY_FIRST, .since = "6.0.0",
        .replies = REPLIES("[integer ...]: the values"),
        .errors =
            ERRORS(ERR_WRONGTYPE, ERR_SYNTAX, ERR_BIT_OFFSET, ERR_BITFIELD_TYPE, ERR_BITFIELD_RO),
        .complexity = "O(1) for each operation.",
        .syntax = "key [GET encoding offset [GET encoding offset ...]]",
        .summary = "Reads integers of any width in a string value."),
};

const struct command_group bit_commands = COMMAND_GROUP("bitmap", rows);
