/* bitfield: BITFIELD and BITFIELD_RO, which read and write integers of up to 64 bits (63 if
 * unsigned) at any bit offset of a string. */
#include "server/cmd/call/args.h"
#include "server/cmd/string/bit.h"
#include "server/cmd/string/string.h"
#include "store/base/ensure.h"
#include "store/base/number.h"
#include "store/mem/mem.h"

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

/* Reads the field. Bits after the end of the string are 0. */
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

/* Returns how this BITFIELD uses its key: it only reads it if all steps are GET. */
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

const struct command_group bitfield_commands = COMMAND_GROUP("bitmap", rows);
