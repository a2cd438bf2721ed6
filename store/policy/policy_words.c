/* policy_words: see policy_words.h. */
#include "store/policy/policy_words.h"

#include <stdio.h>

#include "store/base/ensure.h"
#include "store/base/number.h"
#include "store/policy/policy_rows.h"

_Static_assert(NUMBER_INT64_MAX_CHARS <= 24, "a number has no room");

static void put_word(struct policy_words *to, struct bytes word)
{
    ensure(to->count < POLICY_WORDS_MAX, "more than %d words", POLICY_WORDS_MAX);
    to->words[to->count++] = word;
}

static void put_text(struct policy_words *to, const char *text)
{
    put_word(to, bytes_of(text, strlen(text)));
}

static void put_number(struct policy_words *to, int64_t number)
{
    ensure(to->number_count < POLICY_NUMBERS_MAX, "more than %d numbers", POLICY_NUMBERS_MAX);
    char *text = to->numbers[to->number_count++];
    put_word(to, bytes_of(text, number_print_int64(text, number)));
}

void policy_words_write(struct policy_words *to, const struct policy *policy)
{
    to->count = to->number_count = 0;
    for (unsigned option = 0; option < POLICY_OPTIONS; option++) {
        const struct policy_row *row = &policy_rows[option];
        if (!policy_has(policy, option)) continue;
        put_text(to, row->name);
        for (unsigned i = 0; i < row->part_count; i++) {
            const struct policy_part *part = &row->parts[i];
            if (!policy_has_part(policy, row, i)) continue;
            if (part->word != NULL) put_text(to, part->word);
            switch (part->kind) {
            case POLICY_FLAG: break;
            case POLICY_KEY: put_word(to, policy_key(policy, part)); break;
            case POLICY_CHOICE: put_text(to, part->choices[policy_number(policy, part)]); break;
            case POLICY_NUMBER:
            case POLICY_SPAN:
            case POLICY_SIZE: put_number(to, policy_number(policy, part)); break;
            }
        }
    }
    if (!policy->pending) return;
    put_text(to, "PENDING");
    put_number(to, 1);
}

struct reading {
    const struct bytes *next, *end; /* the words left */
    struct policy *policy;
    unsigned has;   /* bits of the options that the policy has, or that are set to their default */
    unsigned named; /* bits of the options that the words contain */
    struct policy_fault *fault;
};

static bool refuse(const struct reading *reading, enum policy_error error, const char *name,
                   struct bytes word)
{
    reading->fault->error = error;
    reading->fault->name = name;
    reading->fault->word = word;
    return false;
}

static bool refuse_for(const struct reading *reading, enum policy_error error, const char *name,
                       struct bytes word, const char *text)
{
    snprintf(reading->fault->text, sizeof(reading->fault->text), "%s", text);
    return refuse(reading, error, name, word);
}

/* Adds a word to an enumeration such as "A, B or C", where `left` words follow. */
static void enumerate(char *text, size_t size, const char *word, size_t left, const char *last)
{
    const char *between = text[0] == '\0' ? "" : left > 0 ? ", " : last;
    size_t len = strlen(text);
    snprintf(text + len, size - len, "%s%s", between, word);
}

static void enumerate_options(char *text, size_t size, unsigned options, const char *last)
{
    text[0] = '\0';
    for (unsigned option = 0; option < POLICY_OPTIONS; option++) {
        if (!(options & POLICY_BIT(option))) continue;
        options &= ~POLICY_BIT(option);
        enumerate(text, size, policy_rows[option].name, options != 0, last);
    }
}

struct unit {
    const char *name;
    int64_t size;
};

/* Units of sizes, as in the configuration file. */
static const struct unit sizes[] = {
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

static bool read_value(const struct policy_part *part, struct bytes word, int64_t *value)
{
    switch (part->kind) {
    case POLICY_CHOICE:
        for (*value = 0; part->choices[*value] != NULL; ++*value)
            if (bytes_is_word(word, part->choices[*value])) return true;
        return false;
    case POLICY_SPAN: return read_amount(word, spans, value) && *value >= 1 && *value <= part->most;
    case POLICY_SIZE: return read_amount(word, sizes, value) && *value >= 1 && *value <= part->most;
    default:
        return number_parse_int64(word.data, word.len, value) && *value >= 1 &&
               *value <= part->most;
    }
}

static void describe_value(const struct policy_part *part, char *text, size_t size)
{
    text[0] = '\0';
    if (part->valid != NULL) {
        snprintf(text, size, "%s", part->valid);
    } else if (part->kind == POLICY_CHOICE) {
        for (const char *const *choice = part->choices; *choice != NULL; choice++)
            enumerate(text, size, *choice, choice[1] != NULL, " or ");
    } else if (part->kind == POLICY_SPAN) {
        snprintf(text, size,
                 "a duration: must be a number of milliseconds, or a number followed by ms, s, m, "
                 "h or d, from 1 to %lld ms",
                 (long long)part->most);
    } else if (part->kind == POLICY_SIZE) {
        snprintf(text, size,
                 "a positive number of bytes, with or without a unit (k, kb, m, mb, g, gb)");
    } else {
        snprintf(text, size, "an integer from 1 to %lld", (long long)part->most);
    }
}

static bool take_word(struct reading *reading, const char *word)
{
    if (reading->next == reading->end || !bytes_is_word(*reading->next, word)) return false;
    reading->next++;
    return true;
}

static bool take_part(struct reading *reading, const struct policy_row *row,
                      const struct policy_part *part)
{
    struct policy *policy = reading->policy;
    const char *name = part->optional ? part->word : row->name;
    const char *missing = part->missing != NULL ? part->missing : "a value";
    bool has_word = part->word == NULL || take_word(reading, part->word);
    if (!has_word && part->optional) {
        policy_set_number(policy, part, part->preset);
        return true;
    }
    if (part->kind == POLICY_FLAG) {
        policy_set_number(policy, part, 1);
        return true;
    }
    if (!has_word || reading->next == reading->end)
        return refuse_for(reading, POLICY_NEEDS, name, bytes_of(NULL, 0), missing);

    struct bytes word = *reading->next++;
    if (part->kind == POLICY_KEY) {
        policy_set_key(policy, part, word);
        return (word.len > 0 && word.len <= POLICY_NAME_MAX) ||
               refuse(reading, POLICY_BAD_KEY, name, word);
    }
    int64_t value;
    bool is_good = read_value(part, word, &value);
    if (is_good) policy_set_number(policy, part, value);
    bool fits = !is_good || part->fits == NULL || part->fits(policy);
    if (is_good && fits) return true;
    if (!fits && part->valid == NULL) return refuse_for(reading, POLICY_NEEDS, name, word, missing);
    describe_value(part, reading->fault->text, sizeof(reading->fault->text));
    return refuse(reading, POLICY_BAD, name, word);
}

static bool take_options(struct reading *reading)
{
    while (reading->next < reading->end) {
        struct bytes word = *reading->next++;
        enum policy_option option = 0;
        while (option < POLICY_OPTIONS && !bytes_is_word(word, policy_rows[option].name))
            option++;
        if (option == POLICY_OPTIONS) return refuse(reading, POLICY_UNKNOWN, NULL, word);
        const struct policy_row *row = &policy_rows[option];
        if (reading->named & POLICY_BIT(option))
            return refuse(reading, POLICY_TWICE, row->name, word);
        reading->named |= POLICY_BIT(option);

        bool is_none = take_word(reading, "NONE");
        policy_clear(reading->policy, option);
        reading->has &= ~POLICY_BIT(option);
        if (is_none) continue;
        reading->has |= POLICY_BIT(option);
        for (unsigned i = 0; i < row->part_count; i++) {
            const struct policy_part *part = &row->parts[i];
            if (part->nested && policy_number(reading->policy, part - 1) == 0)
                policy_set_number(reading->policy, part, part->preset);
            else if (!take_part(reading, row, part))
                return false;
        }
    }
    return true;
}

bool policy_read(const struct bytes *words, size_t count, const struct policies *policies,
                 struct policy *policy, struct policy_fault *fault)
{
    const struct bytes name = words[0], none = { NULL, 0 };
    struct reading reading = { words + 1, words + count, policy, 0, 0, fault };
    if (!policy_name_ok(name)) return refuse(&reading, POLICY_BAD_NAME, NULL, name);
    const struct policy *old = policies_get(policies, name);
    *policy = old != NULL ? *old : (struct policy){ 0 };
    policy->pending = false;
    for (unsigned option = 0; option < POLICY_OPTIONS; option++)
        if (policy_has(policy, option)) reading.has |= POLICY_BIT(option);
    if (count == 1) reading.has = 0; /* a call without options is refused in any case */
    if (!take_options(&reading)) return false;

    /* Do the options agree with one another? */
    unsigned alone = 0; /* options that need no other */
    for (unsigned option = 0; option < POLICY_OPTIONS; option++) {
        unsigned needs = policy_rows[option].needs;
        if (needs == 0) alone |= POLICY_BIT(option);
        if (needs == 0 || !(reading.has & POLICY_BIT(option)) || (reading.has & needs)) continue;
        enumerate_options(fault->text, sizeof(fault->text), needs, " or ");
        return refuse(&reading, POLICY_ALONE, policy_rows[option].name, none);
    }
    if (policy->max_ttl > 0 && policy->ttl > policy->max_ttl)
        return refuse(&reading, POLICY_TTL_LONG, NULL, none);
    if (!(reading.has & alone)) {
        enumerate_options(fault->text, sizeof(fault->text), alone, " and ");
        return refuse(&reading, POLICY_EMPTY, NULL, none);
    }
    for (unsigned option = 0; option < POLICY_OPTIONS; option++)
        for (unsigned i = 0; i < policy_rows[option].part_count; i++) {
            const struct policy_part *part = &policy_rows[option].parts[i];
            if (part->kind == POLICY_KEY && bytes_equal(policy_key(policy, part), name))
                return refuse(&reading, POLICY_OWN_KEY, NULL, name);
        }
    return true;
}

/* Parses the words as those of a client, then writes the policy and compares. The comparison
 * refuses what the parser accepts from clients but policy_words_write does not write, such as "1h"
 * for 3600000. */
bool policy_words_parse(const struct bytes *words, size_t count, struct policy *policy)
{
    struct policy_fault fault;
    struct policy_words written;
    *policy = (struct policy){ 0 };
    policy->pending = count >= 2 && bytes_equal(words[count - 2], LIT("PENDING")) &&
                      bytes_equal(words[count - 1], LIT("1"));
    struct reading reading = { words, words + count, policy, 0, 0, &fault };
    if (policy->pending) reading.end -= 2;
    if (!take_options(&reading)) return false;
    policy_words_write(&written, policy);
    if (written.count != count) return false;
    for (size_t i = 0; i < count; i++)
        if (!bytes_equal(written.words[i], words[i])) return false;
    return true;
}
