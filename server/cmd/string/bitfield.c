/* bitfield: BITFIELD and BITFIELD_RO: read and write integers of 1 to 64 bits at any bit offset of
 * a string. */
#include "server/cmd/call/args.h"
#include "server/cmd/string/bit.h"
#include "server/cmd/string/string.h"
#include "server/cmd/string/string_range.h"
#include "store/base/ensure.h"
#include "store/base/number.h"
#include "store/mem/mem.h"

enum { SIGNED_BITS_MAX = 64, UNSIGNED_BITS_MAX = 63 };
enum { WINDOW = 9 }; /* bytes that 64 bits at any offset may touch */

enum overflow { OVERFLOW_WRAP, OVERFLOW_SAT, OVERFLOW_FAIL };
static const char *const overflows[] = { "WRAP", "SAT", "FAIL" };

struct field {
    uint64_t offset; /* of its first bit */
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

/* ---- arithmetic ------------------------------------------------------------------------------ */

/* Sign-extends or zero-extends the field's bits to 64 bits. */
static uint64_t extend(uint64_t value, const struct field *field)
{
    ensure(field->bits > 0 && field->bits <= 64, "a field of %u bits", field->bits);
    unsigned unused = 64 - field->bits;
    if (field->is_signed) return (uint64_t)((int64_t)(value << unused) >> unused);
    return value << unused >> unused;
}

static uint64_t max_of(const struct field *field)
{
    return UINT64_MAX >> (64 - field->bits) >> field->is_signed;
}

static uint64_t min_of(const struct field *field)
{
    return field->is_signed ? ~max_of(field) : 0;
}

static int side_of_signed_sum(int64_t value, int64_t by, const struct field *field)
{
    int64_t sum, room, max = (int64_t)max_of(field), min = (int64_t)min_of(field);
    if (__builtin_add_overflow(value, by, &sum)) return by > 0 ? 1 : -1;
    /* As in Redis, a value so far below the maximum that the distance overflows counts as above. */
    if (field->bits < SIGNED_BITS_MAX && __builtin_sub_overflow(max, value, &room)) return 1;
    return (sum > max) - (sum < min);
}

/* Returns -1 if the sum is below the field's minimum, 1 if it is above the maximum, else 0. SET
 * passes any value with `by` 0; an unsigned field reads it as unsigned. */
static int side_of_sum(uint64_t value, int64_t by, const struct field *field)
{
    if (field->is_signed) return side_of_signed_sum((int64_t)value, by, field);
    if (by < 0 && 0 - (uint64_t)by > value) return -1;
    return value + (uint64_t)by > max_of(field);
}

/* Adds to the value and applies the step's rule for overflows. False: the sum does not fit and the
 * rule is FAIL; the value is unchanged. */
static bool add_with_overflow(uint64_t *value, int64_t by, const struct step *step)
{
    int side = side_of_sum(*value, by, &step->field);
    if (side != 0 && step->overflow == OVERFLOW_FAIL) return false;
    if (side != 0 && step->overflow == OVERFLOW_SAT)
        *value = side > 0 ? max_of(&step->field) : min_of(&step->field);
    else
        *value = extend(*value + (uint64_t)by, &step->field);
    return true;
}

/* ---- bits in bytes --------------------------------------------------------------------------- */

/* Reads `bits` bits from the offset on. Bits after the end of the text are 0. */
static uint64_t load_bits(struct bytes text, uint64_t offset, unsigned bits)
{
    uint64_t value = 0;
    while (bits > 0) {
        unsigned there = 8 - offset % 8, take = bits < there ? bits : there;
        unsigned byte = offset / 8 < text.len ? (unsigned char)text.data[offset / 8] : 0;
        value = value << take | (byte >> (there - take) & ((1u << take) - 1));
        offset += take;
        bits -= take;
    }
    return value;
}

static void store_bits(char *data, uint64_t offset, unsigned bits, uint64_t value)
{
    while (bits > 0) {
        unsigned there = 8 - offset % 8, take = bits < there ? bits : there;
        unsigned mask = ((1u << take) - 1) << (there - take);
        unsigned part = (unsigned)(value >> (bits - take) & 0xff) << (there - take);
        unsigned byte = (unsigned char)data[offset / 8];
        data[offset / 8] = (char)((byte & ~mask) | (part & mask));
        offset += take;
        bits -= take;
    }
}

static uint64_t load_field(const struct entry *entry, const struct field *field)
{
    struct bytes text = entry != NULL ? object_text(&entry->object) : LIT("");
    return extend(load_bits(text, field->offset, field->bits), field);
}

static size_t last_byte(const struct field *field)
{
    return (size_t)((field->offset + field->bits - 1) / 8);
}

/* ---- arguments ------------------------------------------------------------------------------- */

static bool arg_field_type(struct call *call, int i, struct field *field)
{
    struct bytes text = call->argv[i];
    int64_t bits = 0;
    field->is_signed = text.len > 0 && text.data[0] == 'i';
    bool named = text.len > 0 && (text.data[0] == 'i' || text.data[0] == 'u');
    int64_t max = field->is_signed ? SIGNED_BITS_MAX : UNSIGNED_BITS_MAX;
    if (!named || !number_parse_int64(text.data + 1, text.len - 1, &bits) || bits < 1 || bits > max)
        return fail(call, ERR_BITFIELD_TYPE);
    field->bits = (unsigned)bits;
    return true;
}

/* Parses the step that begins at *i and moves *i to its last argument. False: an error was sent.
 */
static bool read_step(struct call *call, int *i, struct step *step)
{
    int left = call->argc - *i - 1;
    if (left >= 2 && arg_is(call, *i, "GET"))
        step->action = ACTION_GET;
    else if (left >= 3 && arg_is(call, *i, "SET"))
        step->action = ACTION_SET;
    else if (left >= 3 && arg_is(call, *i, "INCRBY"))
        step->action = ACTION_INCRBY;
    else {
        return fail(call, ERR_SYNTAX);
    }
    if (!arg_field_type(call, ++*i, &step->field)) return false;
    if (!arg_bit_offset(call, ++*i, step->field.bits, &step->field.offset)) return false;
    return step->action == ACTION_GET || arg_int64(call, ++*i, &step->value);
}

/* Returns the number of steps, or -1 if an error was sent. */
static int read_steps(struct call *call, struct step *steps)
{
    int overflow = OVERFLOW_WRAP, count = 0;
    for (int i = 2; i < call->argc; i++) {
        if (arg_is(call, i, "OVERFLOW") && i + 1 < call->argc) {
            overflow = arg_word(call, ++i, overflows, 3);
            if (overflow >= 0) continue;
            fail(call, ERR_BITFIELD_OVERFLOW);
            return -1;
        }
        steps[count] = (struct step){ .overflow = (enum overflow)overflow };
        if (!read_step(call, &i, &steps[count++])) return -1;
    }
    return count;
}

/* ---- the commands ---------------------------------------------------------------------------- */

/* The string that the steps work on. */
struct target {
    struct entry *entry;
    bool grown; /* this call made the string longer: every write then counts as a change */
};

/* Returns the length that the string must have for the steps that write; 0: no step writes. */
static size_t bytes_needed(const struct step *steps, int count)
{
    size_t needed = 0;
    for (int s = 0; s < count; s++)
        if (steps[s].action != ACTION_GET && last_byte(&steps[s].field) >= needed)
            needed = last_byte(&steps[s].field) + 1;
    return needed;
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

/* Returns whether the value of any step fits into its field. The check uses the old values, because
 * nothing is written before the first step that fits. */
static bool any_fits(const struct entry *entry, const struct step *steps, int count)
{
    for (int s = 0; s < count; s++) {
        uint64_t value = base_value(&steps[s], load_field(entry, &steps[s].field));
        if (steps[s].action != ACTION_GET &&
            add_with_overflow(&value, increment(&steps[s]), &steps[s]))
            return true;
    }
    return false;
}

/* Makes the string as long as the steps need, even if they all fail, as in Redis. False: an error
 * was replied. */
static bool grow_target(struct call *call, struct target *target, const struct step *steps,
                        int count)
{
    size_t needed = bytes_needed(steps, count);
    if (target->entry != NULL) txn_string_unshare(call->txn, target->entry);
    size_t len = target->entry != NULL ? object_text(&target->entry->object).len : 0;
    target->grown = needed > len;
    if (!target->grown) return true;
    bool is_part = any_fits(target->entry, steps, count);
    if (!txn_string_grow(call->txn, call->argv[1], target->entry, needed, is_part))
        return fail(call, ERR_OOM);
    target->entry = txn_find(call->txn, call->argv[1]);
    return true;
}

static void run_field_step(struct call *call, const struct target *target, const struct step *step)
{
    uint64_t old = load_field(target->entry, &step->field), value = base_value(step, old);
    if (step->action == ACTION_GET) {
        resp_integer(call->out, (int64_t)old);
        return;
    }
    if (!add_with_overflow(&value, increment(step), step)) {
        resp_null(call->out);
        return;
    }
    resp_integer(call->out, (int64_t)(step->action == ACTION_INCRBY ? value : old));

    /* The field must lie within the string. */
    if (target->grown || value != old) {
        char window[WINDOW];
        size_t first = (size_t)(step->field.offset / 8), len = last_byte(&step->field) - first + 1;
        memcpy(window, object_text(&target->entry->object).data + first, len);
        store_bits(window, step->field.offset % 8, step->field.bits, value);
        txn_string_write(call->txn, call->argv[1], target->entry, first, bytes_of(window, len),
                         EVENT_SETBIT);
    }
}

static void run_field_steps(struct call *call, const struct step *steps, int count)
{
    struct target target = { .grown = false };
    if (bytes_needed(steps, count) == 0) {
        if (!find_typed_counted(call, 1, TYPE_STRING, &target.entry)) return;
    } else if (call->command.row->flags & READONLY) {
        fail(call, ERR_BITFIELD_RO);
        return;
    } else {
        if (!find_typed(call, 1, TYPE_STRING, &target.entry)) return;
        if (!grow_target(call, &target, steps, count)) return;
    }
    resp_array(call->out, (size_t)count);
    for (int s = 0; s < count; s++)
        run_field_step(call, &target, &steps[s]);
}

static void cmd_bitfield(struct call *call)
{
    struct step *steps = mem_alloc((size_t)call->argc * sizeof(*steps));
    int count = read_steps(call, steps);
    if (count >= 0) run_field_steps(call, steps, count);
    mem_free(steps);
}

/* The key is only read if all steps are GET. */
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
    { .name = "BITFIELD",
      .run = cmd_bitfield,
      .arity = -2,
      .flags = WRITE | GROWS,
      .keys = KEY_FIRST,
      .key_flags = KEY_RW | KEY_ACCESS | KEY_UPDATE | KEY_VARIABLE,
      .vary_keys = vary_bitfield_key,
      .since = "3.2.0",
      .replies =
          REPLIES("[integer|null ...]: for each GET the value, for each SET the old one, for each "
                  "INCRBY the new one; null where OVERFLOW FAIL kept the value from changing"),
      .errors = ERRORS(ERR_WRONGTYPE, ERR_SYNTAX, ERR_NOT_INTEGER, ERR_BIT_OFFSET,
                       ERR_BITFIELD_TYPE, ERR_BITFIELD_OVERFLOW),
      .complexity = "O(1) for each operation.",
      .syntax = "key [GET encoding offset | OVERFLOW <WRAP | SAT | FAIL> | SET encoding offset "
                "value | INCRBY encoding offset increment] [operation ...]",
      .summary = "Reads and writes integers of any width in a string value." },
    { .name = "BITFIELD_RO",
      .run = cmd_bitfield,
      .arity = -2,
      .flags = READONLY | FAST,
      .keys = KEY_FIRST,
      .since = "6.0.0",
      .replies = REPLIES("[integer ...]: the values"),
      .errors =
          ERRORS(ERR_WRONGTYPE, ERR_SYNTAX, ERR_BIT_OFFSET, ERR_BITFIELD_TYPE, ERR_BITFIELD_RO),
      .complexity = "O(1) for each operation.",
      .syntax = "key [GET encoding offset [GET encoding offset ...]]",
      .summary = "Reads integers of any width in a string value." },
};

const struct command_group bitfield_commands = COMMAND_GROUP("bitmap", rows);
