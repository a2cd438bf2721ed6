/* policy_words: see policy_words.h. */
#include "server/disk/effect/policy_words.h"

#include <string.h>

#include "store/base/ensure.h"
#include "store/base/number.h"

_Static_assert(NUMBER_INT64_MAX_CHARS <= 24, "a number has no room");

/* ---- writing --------------------------------------------------------------------------------- */

static void put_word(struct policy_words *to, struct bytes word)
{
    ensure(to->count < POLICY_WORDS_MAX, "more than %d words", POLICY_WORDS_MAX);
    to->words[to->count++] = word;
}

static void put_number(struct policy_words *to, uint64_t number)
{
    ensure(to->number_count < POLICY_NUMBERS_MAX, "more than %d numbers", POLICY_NUMBERS_MAX);
    char *text = to->numbers[to->number_count++];
    put_word(to, bytes_of(text, number_print_int64(text, (int64_t)number)));
}

/* Writes nothing if the number is 0. */
static void put_option(struct policy_words *to, struct bytes name, uint64_t number)
{
    if (number == 0) return;
    put_word(to, name);
    put_number(to, number);
}

static void put_choice(struct policy_words *to, struct bytes name, struct bytes word)
{
    if (word.len == 0) return;
    put_word(to, name);
    put_word(to, word);
}

void policy_words_write(struct policy_words *to, const struct policy *policy)
{
    static const struct bytes refresh[] = {
        [REFRESH_NEVER] = { NULL, 0 },
        [REFRESH_WRITE] = { "WRITE", 5 },
        [REFRESH_ACCESS] = { "ACCESS", 6 },
    };
    to->count = to->number_count = 0;
    put_option(to, LIT("TTL"), (uint64_t)policy->ttl);
    put_option(to, LIT("MAXTTL"), (uint64_t)policy->max_ttl);
    put_option(to, LIT("JITTER"), policy->jitter);
    put_choice(to, LIT("REFRESH"), refresh[policy->refresh]);
    put_option(to, LIT("MEMBERTTL"), (uint64_t)policy->member_ttl);
    put_option(to, LIT("MAXLEN"), policy->max_len);
    if (policy->keep_low) put_choice(to, LIT("KEEP"), LIT("LOW"));
    put_option(to, LIT("RETAIN"), (uint64_t)policy->retain);
    put_option(to, LIT("MAXDELIVERIES"), policy->max_deliveries);
    if (policy->max_deliveries > 0) put_choice(to, LIT("TO"), policy->dead_to);
    if (policy->backoff > 0) {
        put_option(to, LIT("BACKOFF"), (uint64_t)policy->backoff);
        put_number(to, (uint64_t)policy->backoff_max);
        put_option(to, LIT("JITTER"), policy->backoff_jitter);
    }
    if (policy->rate > 0) {
        put_option(to, LIT("RATE"), policy->rate);
        put_option(to, LIT("PER"), (uint64_t)policy->rate_span);
    }
    if (policy->expired_to.len > 0) {
        put_word(to, LIT("EXPIRED"));
        put_choice(to, LIT("TO"), policy->expired_to);
        if (policy->log_value) put_word(to, LIT("VALUE"));
        if (policy->log_value) put_option(to, LIT("MAX"), policy->value_max);
    }
    put_option(to, LIT("PENDING"), policy->pending);
}

/* ---- reading --------------------------------------------------------------------------------- */

struct reading {
    const struct bytes *next, *end;
    struct policy *policy;
};

static bool take_name(struct reading *from, struct bytes *word)
{
    if (from->next == from->end) return false;
    *word = *from->next++;
    return true;
}

/* Takes the next word if it equals the literal. */
static bool take_keyword(struct reading *from, struct bytes literal)
{
    if (from->next == from->end || !bytes_equal(*from->next, literal)) return false;
    from->next++;
    return true;
}

static bool take_bounded(struct reading *from, int64_t most, int64_t *number)
{
    struct bytes word;
    return take_name(from, &word) && number_parse_int64(word.data, word.len, number) &&
           *number >= 1 && *number <= most;
}

static bool take_span(struct reading *from, msec *span)
{
    return take_bounded(from, POLICY_SPAN_MAX, span);
}

static bool take_count(struct reading *from, uint64_t *count)
{
    int64_t number;
    if (!take_bounded(from, INT64_MAX, &number)) return false;
    *count = (uint64_t)number;
    return true;
}

static bool take_target(struct reading *from, struct bytes *target)
{
    return take_keyword(from, LIT("TO")) && take_name(from, target) && target->len > 0 &&
           target->len <= POLICY_NAME_MAX;
}

static bool take_log(struct reading *from)
{
    struct policy *policy = from->policy;
    if (!take_target(from, &policy->expired_to)) return false;
    policy->value_max = POLICY_VALUE_MAX;
    policy->log_value = take_keyword(from, LIT("VALUE"));
    return !policy->log_value || !take_keyword(from, LIT("MAX")) ||
           take_count(from, &policy->value_max);
}

static bool take_refresh(struct reading *from)
{
    if (take_keyword(from, LIT("WRITE"))) {
        from->policy->refresh = REFRESH_WRITE;
        return true;
    }
    from->policy->refresh = REFRESH_ACCESS;
    return take_keyword(from, LIT("ACCESS"));
}

static bool take_percent(struct reading *from, unsigned *percent)
{
    int64_t number;
    if (!take_bounded(from, 100, &number)) return false;
    *percent = (unsigned)number;
    return true;
}

static bool take_backoff(struct reading *from)
{
    struct policy *policy = from->policy;
    return take_span(from, &policy->backoff) && take_span(from, &policy->backoff_max) &&
           policy->backoff <= policy->backoff_max &&
           (!take_keyword(from, LIT("JITTER")) || take_percent(from, &policy->backoff_jitter));
}

static bool take_rate(struct reading *from)
{
    struct policy *policy = from->policy;
    return take_count(from, &policy->rate) && policy->rate <= POLICY_RATE_MAX &&
           take_keyword(from, LIT("PER")) && take_span(from, &policy->rate_span) &&
           policy->rate_span <= POLICY_RATE_SPAN_MAX;
}

static bool take_option(struct reading *from)
{
    struct policy *policy = from->policy;
    if (take_keyword(from, LIT("TTL"))) return take_span(from, &policy->ttl);
    if (take_keyword(from, LIT("MAXTTL"))) return take_span(from, &policy->max_ttl);
    if (take_keyword(from, LIT("MEMBERTTL"))) return take_span(from, &policy->member_ttl);
    if (take_keyword(from, LIT("RETAIN"))) return take_span(from, &policy->retain);
    if (take_keyword(from, LIT("REFRESH"))) return take_refresh(from);
    if (take_keyword(from, LIT("JITTER"))) return take_percent(from, &policy->jitter);
    if (take_keyword(from, LIT("BACKOFF"))) return take_backoff(from);
    if (take_keyword(from, LIT("RATE"))) return take_rate(from);
    if (take_keyword(from, LIT("MAXLEN"))) return take_count(from, &policy->max_len);
    if (take_keyword(from, LIT("EXPIRED"))) return take_log(from);
    if (take_keyword(from, LIT("KEEP"))) return policy->keep_low = take_keyword(from, LIT("LOW"));
    if (take_keyword(from, LIT("PENDING"))) return policy->pending = take_keyword(from, LIT("1"));
    return take_keyword(from, LIT("MAXDELIVERIES")) && take_count(from, &policy->max_deliveries) &&
           take_target(from, &policy->dead_to);
}

bool policy_words_parse(const struct bytes *words, size_t count, struct policy *policy)
{
    *policy = (struct policy){ 0 };
    struct reading from = { words, words + count, policy };
    while (from.next < from.end)
        if (!take_option(&from)) return false;
    return true;
}
