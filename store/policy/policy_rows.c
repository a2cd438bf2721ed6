/* policy_rows: see policy_rows.h. */
#include "store/policy/policy_rows.h"

#include "store/base/ensure.h"

static bool backoff_fits(const struct policy *policy)
{
    return policy->backoff <= policy->backoff_max;
}

/* Is the rate at most one delivery per microsecond? Deliveries are scheduled in microseconds. */
static bool rate_fits(const struct policy *policy)
{
    return policy->rate_span <= POLICY_RATE_SPAN_MAX &&
           (int64_t)policy->rate <= USEC_PER_MSEC * policy->rate_span;
}

#define FIELD(field)                                                                               \
    .size = sizeof(((struct policy *)NULL)->field), .offset = offsetof(struct policy, field)
#define NUMBER(field, max) .kind = POLICY_NUMBER, FIELD(field), .most = (max)
#define SPAN(field)        .kind = POLICY_SPAN, FIELD(field), .most = POLICY_SPAN_MAX
#define SIZE(field)        .kind = POLICY_SIZE, FIELD(field), .most = INT64_MAX
#define FLAG(field)        .kind = POLICY_FLAG, FIELD(field)
#define TO(field)          .word = "TO", .kind = POLICY_KEY, FIELD(field), .missing = "TO and a key"
#define CHOICE(field, ...) .kind = POLICY_CHOICE, FIELD(field), .choices = LIST(__VA_ARGS__, NULL)
#define LIST(...)          ((const char *const[]){ __VA_ARGS__ })

#define ROW(option, ...) [POLICY_##option] = { .name = #option, __VA_ARGS__ }
#define EITHER(a, b)     (POLICY_BIT(POLICY_##a) | POLICY_BIT(POLICY_##b))

const struct policy_row policy_rows[POLICY_OPTIONS] = {
    ROW(TTL, .part_count = 1, .parts = { { .shown = "TTL", SPAN(ttl) } }, .changes_keys = true,
        .types = "any", .help = "The TTL of keys that are created without a deadline."),

    ROW(MAXTTL, .part_count = 1, .parts = { { .shown = "MAXTTL", SPAN(max_ttl) } },
        .changes_keys = true, .types = "any",
        .help = "The maximum TTL. A longer TTL is cut to it, and a key without a TTL receives it."),

    ROW(JITTER, .part_count = 1, .parts = { { .shown = "JITTER", NUMBER(jitter, 100) } },
        .needs = EITHER(TTL, MEMBERTTL), .inside = true, .types = "any",
        .help = "Varies the deadlines that TTL and MEMBERTTL give by up to this percentage."),

    ROW(REFRESH, .part_count = 1,
        .parts = { { .shown = "REFRESH", CHOICE(refresh, "NEVER", "WRITE", "ACCESS") } },
        .needs = POLICY_BIT(POLICY_TTL), .types = "any",
        .help =
            "When the deadline moves to now + TTL: never, at each write, or at each read or\n"
            "write. It never moves to an earlier time, and a key without a deadline gets none."),

    ROW(MEMBERTTL, .part_count = 1, .parts = { { .shown = "MEMBERTTL", SPAN(member_ttl) } },
        .changes_keys = true, .inside = true, .types = "set, sorted set, hash",
        .help = "The TTL of each member or field that is added to a set, sorted set or hash, even\n"
                "if it already exists."),

    ROW(MAXLEN, .part_count = 1, .parts = { { .shown = "MAXLEN", NUMBER(max_len, INT64_MAX) } },
        .changes_keys = true, .inside = true, .types = "sorted set, list, stream, dehydrator",
        .help = "The length that a sorted set, list or stream is cut to when it grows. A\n"
                "dehydrator of this length refuses pushes."),

    ROW(KEEP, .part_count = 1, .parts = { { .shown = "KEEP", CHOICE(keep_low, "HIGH", "LOW") } },
        .needs = POLICY_BIT(POLICY_MAXLEN), .inside = true, .types = "sorted set",
        .help = "Whether a sorted set that is cut keeps its highest or its lowest scores."),

    ROW(RETAIN, .part_count = 1, .parts = { { .shown = "RETAIN", SPAN(retain) } },
        .changes_keys = true, .types = "stream",
        .help = "How long an entry stays in a stream, counted from the time in its ID."),

    ROW(MAXDELIVERIES, .part_count = 2,
        .parts = { { .shown = "MAXDELIVERIES", NUMBER(max_deliveries, INT32_MAX) },
                   { .shown = "MAXDELIVERIES TO", TO(dead_to) } },
        .types = "stream, dehydrator",
        .help = "An entry that a group was delivered this often without XACK moves to the stream\n"
                "dead-key instead of being delivered again. An element of a dehydrator that was\n"
                "claimed this often moves to the dehydrator or stream dead-key."),

    ROW(BACKOFF, .part_count = 3,
        .parts = { { .shown = "BACKOFF", SPAN(backoff) },
                   { .shown = "BACKOFF MAX",
                     SPAN(backoff_max),
                     .fits = backoff_fits,
                     .missing = "two durations; the second must not be shorter than the first" },
                   { .shown = "BACKOFF JITTER",
                     .word = "JITTER",
                     .optional = true,
                     NUMBER(backoff_jitter, 100) } },
        .inside = true, .types = "dehydrator",
        .help = "The delay after the first failed delivery of an element of a dehydrator, doubled\n"
                "with each further one, and its maximum."),

    ROW(RATE, .part_count = 2,
        .parts = { { .shown = "RATE", NUMBER(rate, POLICY_RATE_MAX) },
                   { .shown = "RATE PER",
                     .word = "PER",
                     SPAN(rate_span),
                     .fits = rate_fits,
                     .missing = "a count, PER and a duration",
                     .valid = "a duration from 1 ms to 366 d that leaves at least 1 us for each "
                              "delivery" } },
        .inside = true, .types = "dehydrator",
        .help = "How many elements of a dehydrator are delivered, evenly, in any span of this\n"
                "length."),

    ROW(CLAIMED, .part_count = 1,
        .parts = { { .shown = "CLAIMED", NUMBER(max_claimed, INT64_MAX) } }, .inside = true,
        .types = "dehydrator", .help = "How many elements of a dehydrator may be claimed at once."),

    ROW(FAIR, .part_count = 1, .parts = { { .shown = "FAIR", FLAG(fair) } }, .types = "dehydrator",
        .help =
            "Keeps in memory which dehydrators of the prefix are due, even if no client waits in\n"
            "REDE.FAIRCLAIM."),

    ROW(EXPIRED, .part_count = 3,
        .parts = { { .shown = "EXPIRED TO", TO(expired_to) },
                   { .word = "VALUE", .optional = true, FLAG(log_value) },
                   { .shown = "EXPIRED VALUE MAX",
                     .word = "MAX",
                     .optional = true,
                     .nested = true,
                     SIZE(value_max),
                     .preset = POLICY_VALUE_MAX } },
        .types = "any",
        .help = "Adds what expires, key or member, to the stream or dehydrator log-key, with its\n"
                "value if that has at most this many bytes (default: 64kb)."),
};

#define SYNTAX(name, syntax) [POLICY_##name] = (syntax),
const char *const policy_syntax[POLICY_OPTIONS] = { POLICY_OPTION_LIST(SYNTAX) };

int64_t policy_number(const struct policy *policy, const struct policy_part *part)
{
    const char *field = (const char *)policy + part->offset;
    int64_t wide;
    int32_t narrow;
    ensure(part->kind != POLICY_KEY, "a key is no number");
    switch (part->size) {
    case sizeof(bool): return *(const bool *)field;
    case sizeof(narrow): memcpy(&narrow, field, sizeof(narrow)); return narrow;
    default: memcpy(&wide, field, sizeof(wide)); return wide;
    }
}

void policy_set_number(struct policy *policy, const struct policy_part *part, int64_t value)
{
    char *field = (char *)policy + part->offset;
    int32_t narrow = (int32_t)value;
    ensure(part->kind != POLICY_KEY, "a key is no number");
    switch (part->size) {
    case sizeof(bool): *(bool *)field = value != 0; break;
    case sizeof(narrow): memcpy(field, &narrow, sizeof(narrow)); break;
    default: memcpy(field, &value, sizeof(value)); break;
    }
}

struct bytes policy_key(const struct policy *policy, const struct policy_part *part)
{
    struct bytes key;
    ensure(part->kind == POLICY_KEY, "a number is no key");
    memcpy(&key, (const char *)policy + part->offset, sizeof(key));
    return key;
}

void policy_set_key(struct policy *policy, const struct policy_part *part, struct bytes key)
{
    ensure(part->kind == POLICY_KEY, "a number is no key");
    memcpy((char *)policy + part->offset, &key, sizeof(key));
}

static bool has_value(const struct policy *policy, const struct policy_part *part)
{
    if (part->kind == POLICY_KEY) return policy_key(policy, part).len > 0;
    return policy_number(policy, part) != 0;
}

bool policy_has(const struct policy *policy, enum policy_option option)
{
    return has_value(policy, &policy_rows[option].parts[0]);
}

bool policy_has_part(const struct policy *policy, const struct policy_row *row, unsigned part)
{
    if (row->parts[part].nested) return has_value(policy, &row->parts[part - 1]);
    return !row->parts[part].optional || has_value(policy, &row->parts[part]);
}

void policy_clear(struct policy *policy, enum policy_option option)
{
    const struct policy_row *row = &policy_rows[option];
    for (unsigned i = 0; i < row->part_count; i++)
        if (row->parts[i].kind == POLICY_KEY)
            policy_set_key(policy, &row->parts[i], bytes_of(NULL, 0));
        else
            policy_set_number(policy, &row->parts[i], 0);
}

bool policy_equal(const struct policy *a, const struct policy *b)
{
    for (unsigned option = 0; option < POLICY_OPTIONS; option++)
        for (unsigned i = 0; i < policy_rows[option].part_count; i++) {
            const struct policy_part *part = &policy_rows[option].parts[i];
            bool same = part->kind == POLICY_KEY
                            ? bytes_equal(policy_key(a, part), policy_key(b, part))
                            : policy_number(a, part) == policy_number(b, part);
            if (!same) return false;
        }
    return true;
}

size_t policy_move_names(struct policy *policy, char *to)
{
    size_t len = 0;
    for (unsigned option = 0; option < POLICY_OPTIONS; option++)
        for (unsigned i = 0; i < policy_rows[option].part_count; i++) {
            const struct policy_part *part = &policy_rows[option].parts[i];
            if (part->kind != POLICY_KEY) continue;
            struct bytes key = policy_key(policy, part);
            if (to != NULL && key.len > 0) memcpy(to + len, key.data, key.len);
            if (to != NULL) policy_set_key(policy, part, bytes_of(to + len, key.len));
            len += key.len;
        }
    return len;
}
