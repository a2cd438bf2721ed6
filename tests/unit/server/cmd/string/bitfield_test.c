/* BITFIELD, compared with a model that uses single bits and 128-bit arithmetic. */
#include <stdio.h>

#include "tests/support/server_world.h"
#include "tests/support/suite.h"

enum { LEN = 40, ROUNDS = 20000 };

__extension__ typedef __int128 wide;

enum beyond { WRAP, SAT, FAIL };

static const char *const names[] = { [WRAP] = "WRAP", [SAT] = "SAT", [FAIL] = "FAIL" };

static struct server_world world;
static struct rng rng;

struct field {
    unsigned bits, offset;
    bool is_signed;
};

static void begin(void)
{
    server_world_init(&world, SERVER_WORLD_PLAIN);
    rng_init(&rng, test_seed());
}

static void end(void)
{
    server_world_drop(&world);
}

static void ck_reply(const char *line, const char *wanted)
{
    struct bytes reply = server_world_send(&world, 0, line);
    ck_assert_msg(bytes_equal(reply, text(wanted)), "%s: %.*s instead of %s", line, (int)reply.len,
                  reply.data, wanted);
}

static struct field some_field(void)
{
    struct field field = { .is_signed = rng_chance(&rng, 50) };
    field.bits = (unsigned)rng_between(&rng, 1, field.is_signed ? 64 : 63);
    field.offset = (unsigned)rng_below(&rng, LEN * 8 - field.bits + 1);
    return field;
}

/* Returns a value near a power of two, or any value. */
static int64_t some_value(void)
{
    if (rng_chance(&rng, 30)) return (int64_t)rng_next(&rng);
    int64_t value = (int64_t)(UINT64_C(1) << rng_below(&rng, 63)) + rng_between(&rng, -2, 2);
    return rng_chance(&rng, 50) ? value : -value;
}

static wide max_of(const struct field *field)
{
    return ((wide)1 << (field->bits - field->is_signed)) - 1;
}

static wide min_of(const struct field *field)
{
    return field->is_signed ? -max_of(field) - 1 : 0;
}

static wide load(const bool *bits, const struct field *field)
{
    wide value = 0;
    for (unsigned i = 0; i < field->bits; i++)
        value = value * 2 + bits[field->offset + i];
    return value > max_of(field) ? value - ((wide)1 << field->bits) : value;
}

static void store(bool *bits, const struct field *field, wide value)
{
    for (unsigned i = field->bits; i-- > 0; value >>= 1)
        bits[field->offset + i] = value & 1;
}

/* Applies the rule for overflows. False: the operation fails. */
static bool fit(wide *value, const struct field *field, enum beyond beyond)
{
    wide max = max_of(field), min = min_of(field), size = (wide)1 << field->bits;
    if (*value >= min && *value <= max) return true;
    if (beyond == FAIL) return false;
    if (beyond == SAT) {
        *value = *value > max ? max : min;
        return true;
    }
    *value %= size;
    if (*value < min) *value += size;
    if (*value > max) *value -= size;
    return true;
}

START_TEST(incremented_fields_equal_128_bit_arithmetic)
{
    bool bits[LEN * 8] = { false };
    char line[160], wanted[64];
    begin();
    server_world_send(&world, 0, "SETBIT k 319 0");
    for (int i = 0; i < ROUNDS; i++) {
        struct field field = some_field();
        enum beyond beyond = (enum beyond)rng_below(&rng, 3);
        int64_t by = some_value();
        snprintf(line, sizeof(line), "BITFIELD k OVERFLOW %s INCRBY %c%u %u %lld", names[beyond],
                 field.is_signed ? 'i' : 'u', field.bits, field.offset, (long long)by);
        wide value = load(bits, &field) + by;
        if (fit(&value, &field, beyond)) {
            store(bits, &field, value);
            snprintf(wanted, sizeof(wanted), "*1\r\n:%lld\r\n", (long long)value);
            ck_reply(line, wanted);
        } else {
            ck_reply(line, "*1\r\n$-1\r\n");
        }
    }
    end();
}
END_TEST

START_TEST(a_set_field_reads_back_and_leaves_its_neighbours)
{
    bool bits[LEN * 8] = { false };
    char line[160], wanted[128];
    begin();
    server_world_send(&world, 0, "SETBIT k 319 0");
    for (int i = 0; i < ROUNDS; i++) {
        struct field field = some_field(), other = some_field();
        char sign = field.is_signed ? 'i' : 'u';
        wide old = load(bits, &field), value = some_value();
        snprintf(line, sizeof(line), "BITFIELD k SET %c%u %u %lld GET %c%u %u", sign, field.bits,
                 field.offset, (long long)value, other.is_signed ? 'i' : 'u', other.bits,
                 other.offset);
        fit(&value, &field, WRAP);
        store(bits, &field, value);
        snprintf(wanted, sizeof(wanted), "*2\r\n:%lld\r\n:%lld\r\n", (long long)old,
                 (long long)load(bits, &other));
        ck_reply(line, wanted);
    }
    end();
}
END_TEST

START_TEST(a_value_that_does_not_fit_wraps_saturates_or_fails)
{
    begin();
    ck_reply("BITFIELD k SET u8 0 300 GET u8 0", "*2\r\n:0\r\n:44\r\n");
    ck_reply("BITFIELD k OVERFLOW SAT SET u8 0 300 GET u8 0", "*2\r\n:44\r\n:255\r\n");
    ck_reply("BITFIELD k OVERFLOW SAT SET u8 0 -1 GET u8 0", "*2\r\n:255\r\n:255\r\n");
    ck_reply("BITFIELD k OVERFLOW SAT SET i8 0 -300 GET i8 0", "*2\r\n:-1\r\n:-128\r\n");
    ck_reply("BITFIELD k OVERFLOW SAT SET i8 0 300 GET i8 0", "*2\r\n:-128\r\n:127\r\n");
    ck_reply("BITFIELD k OVERFLOW FAIL SET i8 0 128 GET i8 0", "*2\r\n$-1\r\n:127\r\n");
    end();
}
END_TEST

START_TEST(a_numbered_offset_counts_fields)
{
    begin();
    ck_reply("BITFIELD k SET u7 #3 100 GET u7 21 GET u7 #3", "*3\r\n:0\r\n:100\r\n:100\r\n");
    ck_reply("BITFIELD k GET u8 #2305843009213693952",
             "-ERR bit offset is not an integer or out of range\r\n");
    end();
}
END_TEST

START_TEST(several_steps_are_one_event)
{
    begin();
    server_world_drop(&world);
    server_world_init(&world, SERVER_WORLD_KEEPS);
    world_forget(&world.world);
    ck_reply("BITFIELD k SET u8 0 1 INCRBY u8 8 2 SET u8 0 3", "*3\r\n:0\r\n:2\r\n:1\r\n");
    ck_assert_str_eq(world_events(&world.world), "new:k setbit:k ");
    world_forget(&world.world);
    ck_reply("BITFIELD k SET u8 0 3 INCRBY u8 8 0", "*2\r\n:3\r\n:2\r\n");
    ck_assert_str_eq(world_events(&world.world), "");
    ck_assert_uint_eq(world.world.effect_count, 0);
    end();
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        incremented_fields_equal_128_bit_arithmetic,
        a_set_field_reads_back_and_leaves_its_neighbours,
        a_value_that_does_not_fit_wraps_saturates_or_fails,
        a_numbered_offset_counts_fields,
        several_steps_are_one_event,
        NULL,
    };
    return suite_of("bitfield", tests);
}
