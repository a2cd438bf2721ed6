/* policy_args: see policy_args.h. Parses the options by a table of their types, then checks for
 * contradictions. */
#include "server/cmd/key/policy_args.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "server/cmd/call/error.h"
#include "store/base/number.h"
#include "store/mem/mem.h"
#include "store/txn/txn.h"

enum { SHOWN_MAX = 128 }; /* an error quotes this many bytes of a wrong word */

enum option {
    OPTION_TTL,
    OPTION_MAXTTL,
    OPTION_JITTER,
    OPTION_REFRESH,
    OPTION_MEMBERTTL,
    OPTION_MAXLEN,
    OPTION_KEEP,
    OPTION_RETAIN,
    OPTION_MAXDELIVERIES,
    OPTION_BACKOFF,
    OPTION_RATE,
    OPTION_EXPIRED,
    OPTION_COUNT,
};

enum value { VALUE_NUMBER, VALUE_SPAN, VALUE_WORD, VALUE_NONE };

static const struct {
    const char *name;
    enum value value;
    int64_t most;               /* maximum of a number or span; the minimum is 1 */
    const char *const *choices; /* valid words; the value is the index */
} options[OPTION_COUNT] = {
    [OPTION_TTL] = { "TTL", VALUE_SPAN, POLICY_SPAN_MAX, NULL },
    [OPTION_MAXTTL] = { "MAXTTL", VALUE_SPAN, POLICY_SPAN_MAX, NULL },
    [OPTION_JITTER] = { "JITTER", VALUE_NUMBER, 100, NULL },
    [OPTION_REFRESH] = { "REFRESH", VALUE_WORD, 0,
                         (const char *[]){ "NEVER", "WRITE", "ACCESS", NULL } },
    [OPTION_MEMBERTTL] = { "MEMBERTTL", VALUE_SPAN, POLICY_SPAN_MAX, NULL },
    [OPTION_MAXLEN] = { "MAXLEN", VALUE_NUMBER, INT64_MAX, NULL },
    [OPTION_KEEP] = { "KEEP", VALUE_WORD, 0, (const char *[]){ "HIGH", "LOW", NULL } },
    [OPTION_RETAIN] = { "RETAIN", VALUE_SPAN, POLICY_SPAN_MAX, NULL },
    [OPTION_MAXDELIVERIES] = { "MAXDELIVERIES", VALUE_NUMBER, INT32_MAX, NULL },
    [OPTION_BACKOFF] = { "BACKOFF", VALUE_SPAN, POLICY_SPAN_MAX, NULL },
    [OPTION_RATE] = { "RATE", VALUE_NUMBER, POLICY_RATE_MAX, NULL },
    [OPTION_EXPIRED] = { "EXPIRED", VALUE_NONE, 0, NULL },
};

/* The units of MAX, as in the configuration file. */
static const struct unit {
    const char *name;
    int64_t size;
} sizes[] = {
    { "b", 1 },        { "k", 1000 },       { "kb", 1 << 10 }, { "m", 1000000 },
    { "mb", 1 << 20 }, { "g", 1000000000 }, { "gb", 1 << 30 }, { NULL, 0 },
};

static const struct unit spans[] = {
    { "ms", 1 },
    { "s", 1000 },
    { "m", 60 * 1000 },
    { "h", 60 * 60 * 1000 },
    { "d", 24 * 60 * 60 * 1000 },
    { NULL, 0 },
};

/* The options that the policy has, and those that the words change. */
struct reading {
    const struct bytes *next, *end; /* the words left */
    int64_t values[OPTION_COUNT];
    bool has[OPTION_COUNT], named[OPTION_COUNT];
    struct bytes dead_to, expired_to;
    int64_t backoff_max, backoff_jitter, rate_span;
    bool log_value;
    int64_t value_max;
    struct policy_fault *fault;
};

/* Writes the error. Returns false, which the caller returns as well. */
static bool set_fault(struct policy_fault *fault, enum error error, ...)
{
    va_list values;
    va_start(values, error);
    vsnprintf(fault->text, sizeof(fault->text), error_text(error), values);
    va_end(values);
    return false;
}

static int shown(struct bytes word)
{
    return (int)(word.len < SHOWN_MAX ? word.len : SHOWN_MAX);
}

/* Parses a number that may be followed by one of these units. */
static bool read_amount(struct bytes word, const struct unit *units, int64_t *amount)
{
    size_t digits = 0;
    while (digits < word.len && word.data[digits] >= '0' && word.data[digits] <= '9')
        digits++;
    struct bytes name = bytes_of(word.data + digits, word.len - digits);
    if (name.len == 0) return number_parse_int64(word.data, word.len, amount);
    while (units->name != NULL && !bytes_is_word(name, units->name))
        units++;
    return units->name != NULL && number_parse_int64(word.data, digits, amount) &&
           !__builtin_mul_overflow(*amount, units->size, amount);
}

/* Parses a number, or a span if the option has one, from 1 to `most`. */
static bool read_number(struct reading *reading, enum option option, struct bytes word,
                        int64_t *value)
{
    int64_t most = options[option].most;
    bool is_span = options[option].value == VALUE_SPAN;
    bool good =
        is_span ? read_amount(word, spans, value) : number_parse_int64(word.data, word.len, value);
    if (good && *value >= 1 && *value <= most) return true;
    return set_fault(reading->fault, is_span ? ERR_POLICY_SPAN : ERR_POLICY_NUMBER,
                     options[option].name, shown(word), word.data, (long long)most);
}

static bool read_value(struct reading *reading, enum option option, struct bytes word)
{
    int64_t *value = &reading->values[option];
    if (options[option].value == VALUE_WORD) {
        for (*value = 0; options[option].choices[*value] != NULL; ++*value)
            if (bytes_is_word(word, options[option].choices[*value])) return true;
        return set_fault(reading->fault,
                         option == OPTION_KEEP ? ERR_POLICY_KEEP : ERR_POLICY_REFRESH, shown(word),
                         word.data);
    }
    return read_number(reading, option, word, value);
}

/* Takes the next word if it is this one. */
static bool take_word(struct reading *reading, const char *word)
{
    if (reading->next == reading->end || !bytes_is_word(*reading->next, word)) return false;
    reading->next++;
    return true;
}

/* Takes TO and the name of a key, which the option needs. */
static bool take_target(struct reading *reading, enum option option, struct bytes *target)
{
    const char *name = options[option].name;
    if (!take_word(reading, "TO") || reading->next == reading->end)
        return set_fault(reading->fault, ERR_POLICY_NO_TARGET, name);
    *target = *reading->next++;
    if (target->len > 0 && target->len <= POLICY_NAME_MAX) return true;
    return set_fault(reading->fault, ERR_POLICY_TARGET_NAME, name, POLICY_NAME_MAX);
}

static bool take_log_options(struct reading *reading)
{
    reading->value_max = POLICY_VALUE_MAX;
    if (!take_target(reading, OPTION_EXPIRED, &reading->expired_to)) return false;
    reading->log_value = take_word(reading, "VALUE");
    if (!reading->log_value || !take_word(reading, "MAX")) return true;
    if (reading->next == reading->end) return set_fault(reading->fault, ERR_POLICY_NO_VALUE, "MAX");
    struct bytes word = *reading->next++;
    if (read_amount(word, sizes, &reading->value_max) && reading->value_max >= 1) return true;
    return set_fault(reading->fault, ERR_POLICY_SIZE, shown(word), word.data);
}

/* Takes the words behind the first delay. */
static bool take_backoff_options(struct reading *reading)
{
    reading->backoff_jitter = 0;
    if (reading->next == reading->end) return set_fault(reading->fault, ERR_POLICY_BACKOFF_MAX);
    if (!read_number(reading, OPTION_BACKOFF, *reading->next++, &reading->backoff_max))
        return false;
    if (reading->values[OPTION_BACKOFF] > reading->backoff_max)
        return set_fault(reading->fault, ERR_POLICY_BACKOFF_MAX);
    if (!take_word(reading, "JITTER")) return true;
    if (reading->next == reading->end)
        return set_fault(reading->fault, ERR_POLICY_NO_VALUE, "JITTER");
    return read_number(reading, OPTION_JITTER, *reading->next++, &reading->backoff_jitter);
}

/* Takes PER and the span. Each delivery needs a microsecond at least. */
static bool take_rate_span(struct reading *reading)
{
    if (!take_word(reading, "PER") || reading->next == reading->end)
        return set_fault(reading->fault, ERR_POLICY_NO_SPAN);
    struct bytes word = *reading->next++;
    if (read_amount(word, spans, &reading->rate_span) && reading->rate_span >= 1 &&
        reading->rate_span <= POLICY_RATE_SPAN_MAX &&
        reading->values[OPTION_RATE] <= USEC_PER_MSEC * reading->rate_span)
        return true;
    return set_fault(reading->fault, ERR_POLICY_RATE, shown(word), word.data);
}

static bool take_option(struct reading *reading, enum option option)
{
    bool none = take_word(reading, "NONE");
    reading->has[option] = !none;
    reading->values[option] = 0;
    if (option == OPTION_MAXDELIVERIES) reading->dead_to = bytes_of(NULL, 0);
    if (option == OPTION_EXPIRED) {
        reading->expired_to = bytes_of(NULL, 0);
        reading->log_value = false;
        reading->value_max = 0;
    }
    if (none) return true;
    if (option == OPTION_EXPIRED) return take_log_options(reading);
    if (reading->next == reading->end)
        return set_fault(reading->fault, ERR_POLICY_NO_VALUE, options[option].name);
    if (!read_value(reading, option, *reading->next++)) return false;
    if (option == OPTION_BACKOFF) return take_backoff_options(reading);
    if (option == OPTION_RATE) return take_rate_span(reading);
    return option != OPTION_MAXDELIVERIES || take_target(reading, option, &reading->dead_to);
}

static bool read_policy_options(struct reading *reading)
{
    while (reading->next < reading->end) {
        struct bytes word = *reading->next++;
        enum option option = 0;
        while (option < OPTION_COUNT && !bytes_is_word(word, options[option].name))
            option++;
        if (option == OPTION_COUNT)
            return set_fault(reading->fault, ERR_POLICY_OPTION, shown(word), word.data);
        if (reading->named[option])
            return set_fault(reading->fault, ERR_POLICY_TWICE, options[option].name);
        if (!take_option(reading, option)) return false;
        reading->named[option] = true;
    }
    return true;
}

static bool is_consistent(const struct reading *reading)
{
    const bool *has = reading->has;
    const int64_t *values = reading->values;
    if (has[OPTION_REFRESH] && !has[OPTION_TTL])
        return set_fault(reading->fault, ERR_POLICY_ALONE, "REFRESH", "TTL");
    if (has[OPTION_JITTER] && !has[OPTION_TTL] && !has[OPTION_MEMBERTTL])
        return set_fault(reading->fault, ERR_POLICY_ALONE, "JITTER", "TTL or MEMBERTTL");
    if (has[OPTION_KEEP] && !has[OPTION_MAXLEN])
        return set_fault(reading->fault, ERR_POLICY_ALONE, "KEEP", "MAXLEN");
    if (has[OPTION_MAXTTL] && values[OPTION_TTL] > values[OPTION_MAXTTL])
        return set_fault(reading->fault, ERR_POLICY_TTL_MAXTTL);
    for (enum option option = 0; option < OPTION_COUNT; option++)
        if (has[option]) return true;
    return set_fault(reading->fault, ERR_POLICY_EMPTY);
}

static void begin_with(struct reading *reading, const struct policy *policy)
{
    int64_t values[OPTION_COUNT] = {
        [OPTION_TTL] = policy->ttl,
        [OPTION_MAXTTL] = policy->max_ttl,
        [OPTION_JITTER] = policy->jitter,
        [OPTION_REFRESH] = policy->refresh,
        [OPTION_MEMBERTTL] = policy->member_ttl,
        [OPTION_MAXLEN] = (int64_t)policy->max_len,
        [OPTION_KEEP] = policy->keep_low,
        [OPTION_RETAIN] = policy->retain,
        [OPTION_MAXDELIVERIES] = (int64_t)policy->max_deliveries,
        [OPTION_BACKOFF] = policy->backoff,
        [OPTION_RATE] = (int64_t)policy->rate,
    };
    memcpy(reading->values, values, sizeof(values));
    for (enum option option = 0; option < OPTION_COUNT; option++)
        reading->has[option] = values[option] != 0;
    reading->has[OPTION_EXPIRED] = policy->expired_to.len > 0;
    reading->dead_to = policy->dead_to;
    reading->backoff_max = policy->backoff_max;
    reading->backoff_jitter = policy->backoff_jitter;
    reading->rate_span = policy->rate_span;
    reading->expired_to = policy->expired_to;
    reading->log_value = policy->log_value;
    reading->value_max = (int64_t)policy->value_max;
}

bool policy_args_read(const struct bytes *words, size_t count, const struct policies *policies,
                      struct policy *policy, struct policy_fault *fault)
{
    struct bytes name = words[0];
    if (!policy_name_ok(name))
        return set_fault(fault, ERR_POLICY_NAME, shown(name), name.data, POLICY_NAME_MAX);
    if (count == 1) return set_fault(fault, ERR_POLICY_EMPTY);
    struct reading reading = { .next = words + 1, .end = words + count, .fault = fault };
    const struct policy *old = policies_get(policies, name);
    if (old != NULL) begin_with(&reading, old);
    if (!read_policy_options(&reading) || !is_consistent(&reading)) return false;
    if (bytes_equal(reading.dead_to, name) || bytes_equal(reading.expired_to, name))
        return set_fault(fault, ERR_POLICY_OWN_TARGET);
    *policy = (struct policy){
        .ttl = reading.values[OPTION_TTL],
        .max_ttl = reading.values[OPTION_MAXTTL],
        .member_ttl = reading.values[OPTION_MEMBERTTL],
        .retain = reading.values[OPTION_RETAIN],
        .max_len = (uint64_t)reading.values[OPTION_MAXLEN],
        .max_deliveries = (uint64_t)reading.values[OPTION_MAXDELIVERIES],
        .dead_to = reading.dead_to,
        .backoff = reading.values[OPTION_BACKOFF],
        .rate = (uint64_t)reading.values[OPTION_RATE],
        .expired_to = reading.expired_to,
        .log_value = reading.log_value,
        .value_max = (uint64_t)reading.value_max,
        .refresh = (enum policy_refresh)reading.values[OPTION_REFRESH],
        .jitter = (unsigned)reading.values[OPTION_JITTER],
        .keep_low = reading.values[OPTION_KEEP] != 0,
    };
    if (policy->backoff > 0) {
        policy->backoff_max = reading.backoff_max;
        policy->backoff_jitter = (unsigned)reading.backoff_jitter;
    }
    if (policy->rate > 0) policy->rate_span = reading.rate_span;
    return true;
}
