/* civil: converts days since 1970 to dates of the Gregorian calendar and back, for years before
 * 1970 too. The algorithms are those of Howard Hinnant, "chrono-Compatible Low-Level Date
 * Algorithms". */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum {
    SECONDS_PER_MINUTE = 60,
    SECONDS_PER_HOUR = 3600,
    SECONDS_PER_DAY = 86400,
    DAYS_PER_CYCLE = 146097, /* of 400 years, after which dates and weekdays repeat */
};

#define SECONDS_PER_CYCLE ((int64_t)DAYS_PER_CYCLE * SECONDS_PER_DAY)

struct civil {
    int64_t year;
    int month, day; /* both from 1 */
};

static inline int64_t floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

static inline bool is_leap_year(int64_t year)
{
    return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

static inline int days_in_month(int64_t year, int month)
{
    static const int8_t days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
    return days[month - 1] + (month == 2 && is_leap_year(year));
}

/* Counts years from March, so that the day added in a leap year is the last one. */
static inline int64_t civil_to_days(struct civil date)
{
    int64_t year = date.year - (date.month <= 2);
    int64_t cycle = floor_div(year, 400), year_of_cycle = year - cycle * 400;
    int64_t day_of_year = (153 * (date.month + (date.month > 2 ? -3 : 9)) + 2) / 5 + date.day - 1;
    int64_t day_of_cycle =
        year_of_cycle * 365 + year_of_cycle / 4 - year_of_cycle / 100 + day_of_year;
    return cycle * DAYS_PER_CYCLE + day_of_cycle - 719468;
}

static inline struct civil civil_of_days(int64_t days)
{
    days += 719468;
    int64_t cycle = floor_div(days, DAYS_PER_CYCLE), day = days - cycle * DAYS_PER_CYCLE;
    int64_t year = (day - day / 1460 + day / 36524 - day / 146096) / 365;
    int64_t day_of_year = day - (365 * year + year / 4 - year / 100);
    int64_t month = (5 * day_of_year + 2) / 153;
    struct civil date = { .day = (int)(day_of_year - (153 * month + 2) / 5 + 1),
                          .month = (int)(month < 10 ? month + 3 : month - 9) };
    date.year = year + cycle * 400 + (date.month <= 2);
    return date;
}

/* Returns the day of the week; 0 is Sunday. */
static inline int weekday_of_days(int64_t days)
{
    return (int)(days + 4 - 7 * floor_div(days + 4, 7));
}
