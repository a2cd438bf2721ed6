/* cron: see cron.h. */
#include "store/calendar/cron.h"

#include <stdio.h>

#include "store/calendar/civil.h"

/* Any date that exists at all exists within 40 years. The rarest one is 29 February on a given day
 * of the week: it recurs after 28 years, or after 40 if a year without a leap day, such as 2100,
 * lies between. */
enum { SEARCH_YEARS = 41 };

/* ---- parsing --------------------------------------------------------------------------------- */

struct field {
    const char *name;
    int low, high;
    const char *words; /* names of three letters, of the values from `low` on */
};

enum { SECOND, MINUTE, HOUR, DAY, MONTH, WEEKDAY, FIELDS };

static const struct field fields[FIELDS] = {
    [SECOND] = { "second", 0, 59, "" },
    [MINUTE] = { "minute", 0, 59, "" },
    [HOUR] = { "hour", 0, 23, "" },
    [DAY] = { "day of month", 1, 31, "" },
    [MONTH] = { "month", 1, 12, "janfebmaraprmayjunjulaugsepoctnovdec" },
    [WEEKDAY] = { "day of week", 0, 7, "sunmontuewedthufrisat" },
};

struct values {
    uint64_t bits;
    bool has_star;   /* it begins with '*' */
    bool is_stepped; /* an item is '*' or has a step */
    bool has_last;
};

/* Writes "field: 'text' reason" to `fault` and returns false. The text comes from a client, so
 * unprintable bytes are replaced. */
static bool refuse(char *fault, const struct field *field, struct bytes text, const char *reason)
{
    enum { SHOWN = 24 };
    char shown[SHOWN + 1];
    size_t len = text.len < SHOWN ? text.len : SHOWN;
    for (size_t i = 0; i < len; i++)
        shown[i] = text.data[i] > ' ' && text.data[i] <= '~' ? text.data[i] : '?';
    shown[len] = '\0';
    snprintf(fault, CRON_FAULT_MAX, "%s: '%s%s' %s", field->name, shown,
             text.len > SHOWN ? "..." : "", reason);
    return false;
}

/* Cuts what precedes the separator off the text; all of it if there is none. */
static struct bytes take_until(struct bytes *text, char separator, bool *found)
{
    const char *end = text->len == 0 ? NULL : memchr(text->data, separator, text->len);
    struct bytes head = bytes_of(text->data, end == NULL ? text->len : (size_t)(end - text->data));
    *found = end != NULL;
    size_t taken = head.len + *found;
    *text = bytes_of(text->data + taken, text->len - taken);
    return head;
}

static bool parse_digits(struct bytes text, int *value)
{
    enum { DIGITS = 4 }; /* so that it can't overflow */
    *value = 0;
    if (text.len == 0 || text.len > DIGITS) return false;
    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] < '0' || text.data[i] > '9') return false;
        *value = *value * 10 + (text.data[i] - '0');
    }
    return true;
}

static bool parse_value(const struct field *field, struct bytes text, int *value, char *fault)
{
    enum { NAME = 3 };
    for (size_t i = 0; text.len == NAME && field->words[i] != '\0'; i += NAME)
        if (strncasecmp(field->words + i, text.data, NAME) == 0) {
            *value = field->low + (int)(i / NAME);
            return true;
        }
    char range[48];
    snprintf(range, sizeof(range), "is not within %d-%d%s", field->low, field->high,
             field->words[0] == '\0' ? "" : ", and no name");
    if (!parse_digits(text, value) || *value < field->low || *value > field->high)
        return refuse(fault, field, text, range);
    return true;
}

/* Parses one item of a list: * or a value or a range, perhaps with a step; or L. */
static bool parse_item(const struct field *field, struct bytes item, struct values *values,
                       char *fault)
{
    int low = field->low, high = field->high, step = 1;
    bool has_step, is_range;
    struct bytes stepped = item, text = take_until(&stepped, '/', &has_step);
    bool is_star = bytes_equal(text, LIT("*"));
    values->is_stepped |= is_star || has_step;

    if (field == &fields[DAY] && bytes_is_word(item, "L")) {
        values->has_last = true;
        return true;
    }
    if (!is_star) {
        struct bytes end = text, begin = take_until(&end, '-', &is_range);
        if (has_step && !is_range)
            return refuse(fault, field, item, "has a step without a range, or * before it");
        if (is_range && (begin.len == 0 || end.len == 0))
            return refuse(fault, field, item, "is a range without a begin or an end");
        if (!parse_value(field, begin, &low, fault)) return false;
        high = low;
        if (is_range && !parse_value(field, end, &high, fault)) return false;
        if (is_range && low > 0 && bytes_is_word(end, "SUN")) high = 7; /* FRI-SUN */
        if (low > high) return refuse(fault, field, item, "is a range that goes backward");
    }
    if (has_step) {
        if (!parse_digits(stepped, &step) || step < 1)
            return refuse(fault, field, item, "needs a step of 1 or more");
        if (step > high - low) return refuse(fault, field, item, "has a step beyond its range");
    }
    for (int value = low; value <= high; value += step)
        values->bits |= (uint64_t)1 << value;
    return true;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static struct bytes take_word(struct bytes *text)
{
    size_t from = 0, to;
    while (from < text->len && is_blank(text->data[from]))
        from++;
    for (to = from; to < text->len && !is_blank(text->data[to]);)
        to++;
    struct bytes word = bytes_of(text->data + from, to - from);
    *text = bytes_of(text->data + to, text->len - to);
    return word;
}

static bool expand_name(struct bytes *text, char *fault)
{
    static const struct {
        const char *name;
        struct bytes text;
    } names[] = {
        { "@yearly", LIT("0 0 1 1 *") },  { "@annually", LIT("0 0 1 1 *") },
        { "@monthly", LIT("0 0 1 * *") }, { "@weekly", LIT("0 0 * * 0") },
        { "@daily", LIT("0 0 * * *") },   { "@midnight", LIT("0 0 * * *") },
        { "@hourly", LIT("0 * * * *") },
    };
    struct bytes rest = *text, word = take_word(&rest);
    if (word.len == 0 || word.data[0] != '@') return true;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (bytes_is_word(word, names[i].name) && take_word(&rest).len == 0) {
            *text = names[i].text;
            return true;
        }
    snprintf(fault, CRON_FAULT_MAX,
             "of the names only @yearly @annually @monthly @weekly @daily @midnight @hourly exist");
    return false;
}

static bool next_day(const struct cron *cron, int64_t *day);

bool cron_parse(struct bytes text, struct cron *cron, char fault[CRON_FAULT_MAX])
{
    struct values values[FIELDS];
    struct bytes words[FIELDS + 1];
    int count = 0;
    if (text.len > CRON_TEXT_MAX) {
        snprintf(fault, CRON_FAULT_MAX, "the text is longer than %d bytes", CRON_TEXT_MAX);
        return false;
    }
    if (!expand_name(&text, fault)) return false;
    while (count <= FIELDS && (words[count] = take_word(&text)).len > 0)
        count++;
    if (count != FIELDS && count != FIELDS - 1) {
        snprintf(fault, CRON_FAULT_MAX,
                 "a schedule has 5 fields, or 6 if the first one is the second, and not %s%d",
                 count > FIELDS ? "more than " : "", count > FIELDS ? FIELDS : count);
        return false;
    }
    int skipped = FIELDS - count; /* without seconds: at second 0 */
    values[SECOND] = (struct values){ .bits = 1 };
    for (int i = skipped; i < FIELDS; i++) {
        struct bytes rest = words[i - skipped];
        bool more = true;
        values[i] = (struct values){ .has_star = rest.data[0] == '*' };
        while (more) {
            struct bytes item = take_until(&rest, ',', &more);
            if (item.len == 0) return refuse(fault, &fields[i], item, "is an empty item of a list");
            if (!parse_item(&fields[i], item, &values[i], fault)) return false;
        }
    }

    uint64_t weekdays = values[WEEKDAY].bits;
    *cron = (struct cron){
        .seconds = values[SECOND].bits,
        .minutes = values[MINUTE].bits,
        .hours = (uint32_t)values[HOUR].bits,
        .days = (uint32_t)values[DAY].bits,
        .months = (uint32_t)values[MONTH].bits,
        .weekdays = (uint32_t)((weekdays | weekdays >> 7) & 0x7f),
        .last_day = values[DAY].has_last,
        .either_day = !values[DAY].has_star && !values[WEEKDAY].has_star,
        .follows_elapsed = values[HOUR].is_stepped,
    };
    int64_t day = civil_to_days((struct civil){ 2000, 1, 1 });
    if (next_day(cron, &day)) return true;
    snprintf(fault, CRON_FAULT_MAX, "no date ever matches it");
    return false;
}

/* ---- matching -------------------------------------------------------------------------------- */

/* Moves *day to the first day from *day on that matches. Returns false if there is none. */
static bool next_day(const struct cron *cron, int64_t *day)
{
    struct civil date = civil_of_days(*day);
    int64_t last_year = date.year + SEARCH_YEARS;
    while (date.year <= last_year) {
        uint32_t months = cron->months >> date.month << date.month;
        if (months == 0) {
            date = (struct civil){ date.year + 1, 1, 1 };
            continue;
        }
        int month = __builtin_ctz(months);
        if (month != date.month) date = (struct civil){ date.year, month, 1 };
        /* Bit n of `weeks` is the n-th day after a Sunday, in six weeks, which cover the month. Bit
         * n of by_week, by_month and days is day n of the month. */
        int length = days_in_month(date.year, month);
        int64_t first = civil_to_days((struct civil){ date.year, month, 1 });
        uint64_t weeks = cron->weekdays * UINT64_C(0x810204081);
        uint32_t by_week = (uint32_t)(weeks >> weekday_of_days(first) << 1);
        uint32_t by_month = cron->days | (cron->last_day ? UINT32_C(1) << length : 0);
        uint32_t days = cron->either_day ? by_month | by_week : by_month & by_week;
        days &= (uint32_t)((UINT64_C(2) << length) - 2);
        days = days >> date.day << date.day;
        if (days != 0) {
            date.day = __builtin_ctz(days);
            *day = civil_to_days(date);
            return true;
        }
        date = month == 12 ? (struct civil){ date.year + 1, 1, 1 }
                           : (struct civil){ date.year, month + 1, 1 };
    }
    return false;
}

/* Moves *value to the first bit that is set at or after *value. If there is none, wraps around to
 * the lowest bit and returns false. */
static bool next_bit(uint64_t bits, int *value)
{
    uint64_t from = *value > 63 ? 0 : bits >> *value << *value;
    *value = __builtin_ctzll(from != 0 ? from : bits);
    return from != 0;
}

int64_t cron_next_local(const struct cron *cron, int64_t local)
{
    int64_t next = local + 1, day = floor_div(next, SECONDS_PER_DAY), today = day;
    int64_t from = next - day * SECONDS_PER_DAY;
    if (!next_day(cron, &day)) return LOCAL_NEVER;
    if (day != today) from = 0;

    /* Find the first matching second of the day from `from` on. If there is none, the first one of
     * any day is the result, on the next day that matches. */
    int hour = (int)(from / SECONDS_PER_HOUR), second = (int)(from % 60);
    int minute = (int)(from / SECONDS_PER_MINUTE % 60);
    int wanted_hour = hour, wanted_minute = minute;
    if (!next_bit(cron->seconds, &second)) wanted_minute++;
    bool minute_moved = wanted_minute != minute;
    minute = wanted_minute;
    if (!next_bit(cron->minutes, &minute)) wanted_hour++;
    minute_moved |= minute != wanted_minute;
    bool hour_moved = wanted_hour != hour;
    hour = wanted_hour;
    bool found = next_bit(cron->hours, &hour);
    hour_moved |= hour != wanted_hour || !found;
    /* A larger field moved, so the smaller ones begin at their first value. */
    if (hour_moved) minute = __builtin_ctzll(cron->minutes);
    if (hour_moved || minute_moved) second = __builtin_ctzll(cron->seconds);
    if (!found) {
        day++;
        if (!next_day(cron, &day)) return LOCAL_NEVER;
    }
    return day * SECONDS_PER_DAY + (int64_t)hour * SECONDS_PER_HOUR + minute * SECONDS_PER_MINUTE +
           second;
}
