/* footer: see footer.h. */
#include "store/calendar/footer.h"

#include "store/calendar/civil.h"

enum {
    OFFSET_HOURS = 24,  /* the most of an offset, as in POSIX */
    CHANGE_HOURS = 167, /* the most of the time of a change */
    NAME_MIN = 3,
};

static bool take(struct bytes *text, char c)
{
    if (text->len == 0 || text->data[0] != c) return false;
    *text = bytes_of(text->data + 1, text->len - 1);
    return true;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool take_number(struct bytes *text, int min, int max, int *value)
{
    enum { DIGITS = 3 };
    size_t digits = 0;
    *value = 0;
    for (; digits < text->len && digits < DIGITS && is_digit(text->data[digits]); digits++)
        *value = *value * 10 + (text->data[digits] - '0');
    *text = bytes_of(text->data + digits, text->len - digits);
    return digits > 0 && *value >= min && *value <= max;
}

/* Parses [+-]hh[:mm[:ss]] into seconds. */
static bool take_time(struct bytes *text, int most_hours, int64_t *seconds)
{
    int hours, minutes = 0, rest = 0;
    bool negative = take(text, '-');
    if (!negative) take(text, '+');
    if (!take_number(text, 0, most_hours, &hours)) return false;
    if (take(text, ':')) {
        if (!take_number(text, 0, 59, &minutes)) return false;
        if (take(text, ':') && !take_number(text, 0, 59, &rest)) return false;
    }
    *seconds = (int64_t)hours * SECONDS_PER_HOUR + minutes * SECONDS_PER_MINUTE + rest;
    if (negative) *seconds = -*seconds;
    return true;
}

static bool take_name(struct bytes *text)
{
    size_t len = 0;
    bool quoted = take(text, '<');
    for (; len < text->len; len++) {
        char c = text->data[len];
        bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        if (!is_letter && (!quoted || (!is_digit(c) && c != '+' && c != '-'))) break;
    }
    *text = bytes_of(text->data + len, text->len - len);
    return len >= NAME_MIN && (!quoted || take(text, '>'));
}

static bool take_change(struct bytes *text, struct change *change)
{
    bool good;
    *change = (struct change){ .time = 2 * SECONDS_PER_HOUR };
    if (!take(text, ',')) return false;
    if (take(text, 'M')) {
        change->kind = MONTH_WEEK_DAY;
        good = take_number(text, 1, 12, &change->month) && take(text, '.') &&
               take_number(text, 1, 5, &change->week) && take(text, '.') &&
               take_number(text, 0, 6, &change->day);
    } else if (take(text, 'J')) {
        change->kind = DAY_WITHOUT_LEAP;
        good = take_number(text, 1, 365, &change->day);
    } else {
        change->kind = DAY_OF_YEAR;
        good = take_number(text, 0, 365, &change->day);
    }
    if (good && take(text, '/')) good = take_time(text, CHANGE_HOURS, &change->time);
    return good;
}

bool footer_parse(struct bytes text, struct footer *footer)
{
    *footer = (struct footer){ .has_dst = false };
    if (!take_name(&text) || !take_time(&text, OFFSET_HOURS, &footer->standard)) return false;
    footer->standard = -footer->standard; /* POSIX counts west of Greenwich */
    if (text.len == 0) return true;
    footer->has_dst = true;
    if (!take_name(&text)) return false;
    footer->dst = footer->standard + SECONDS_PER_HOUR;
    if (text.len > 0 && text.data[0] != ',') {
        if (!take_time(&text, OFFSET_HOURS, &footer->dst)) return false;
        footer->dst = -footer->dst;
    }
    return take_change(&text, &footer->begin) && take_change(&text, &footer->end) && text.len == 0;
}

/* Returns the local time of the change, on the clock before it. */
static int64_t change_at(const struct change *change, int64_t year)
{
    int64_t day = civil_to_days((struct civil){ year, 1, 1 });
    if (change->kind == DAY_OF_YEAR) {
        day += change->day;
    } else if (change->kind == DAY_WITHOUT_LEAP) {
        enum { FEBRUARY_28 = 59 };
        day += change->day - 1 + (is_leap_year(year) && change->day > FEBRUARY_28);
    } else {
        day = civil_to_days((struct civil){ year, change->month, 1 });
        int64_t after = (change->day - weekday_of_days(day) + 7) % 7 + 7 * (change->week - 1);
        if (after >= days_in_month(year, change->month)) after -= 7; /* week 5 is the last one */
        day += after;
    }
    return day * SECONDS_PER_DAY + change->time;
}

int64_t footer_dst_begin(const struct footer *footer, int64_t year)
{
    return change_at(&footer->begin, year) - footer->standard;
}

int64_t footer_dst_end(const struct footer *footer, int64_t year)
{
    return change_at(&footer->end, year) - footer->dst;
}
