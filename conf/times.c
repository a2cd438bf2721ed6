/* times: see times.h. */
#include "conf/times.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "store/base/number.h"

#define SPAN_MOST (INT64_C(36525) * 24 * 60 * 60 * 1000)

bool conf_read_span(const char *text, msec *span)
{
    static const struct {
        const char *name;
        msec size;
    } units[] = { { "", 1 },          { "ms", 1 },          { "s", 1000 },
                  { "m", 60 * 1000 }, { "h", 3600 * 1000 }, { "d", 24 * 3600 * 1000 } };
    size_t digits = strspn(text, "0123456789");
    if (!number_parse_int64(text, digits, span)) return false;
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
        if (strcmp(text + digits, units[i].name) == 0)
            return !__builtin_mul_overflow(*span, units[i].size, span) && *span <= SPAN_MOST;
    return false;
}

bool conf_read_instant(const char *text, msec *at)
{
    struct tm utc = { 0 };
    char printed[32];
    int used = 0, fraction = 0, weight = 100;
    if (number_parse_int64(text, strlen(text), at)) return instant_ok(*at);
    if (sscanf(text, "%4d-%2d-%2dT%2d:%2d:%2d%n", &utc.tm_year, &utc.tm_mon, &utc.tm_mday,
               &utc.tm_hour, &utc.tm_min, &utc.tm_sec, &used) != 6 ||
        utc.tm_year < 1970)
        return false;
    const char *end = text + used;
    if (*end == '.') { /* ".25" is 250 ms */
        for (end++; *end >= '0' && *end <= '9'; end++, weight /= 10)
            fraction += (*end - '0') * weight;
        if (end[-1] == '.') return false;
    }
    if (strcmp(end, "Z") != 0) return false;
    utc.tm_year -= 1900;
    utc.tm_mon -= 1;
    *at = (msec)timegm(&utc) * 1000 + fraction;
    /* timegm accepts the 30th of February but makes another date of it: print and compare. */
    strftime(printed, sizeof(printed), "%Y-%m-%dT%H:%M:%S", &utc);
    return strlen(printed) == (size_t)used && strncmp(printed, text, (size_t)used) == 0;
}

const char *conf_print_instant(msec at, char text[CONF_INSTANT_MAX])
{
    time_t seconds = (time_t)(at / 1000);
    struct tm utc;
    if (gmtime_r(&seconds, &utc) == NULL || utc.tm_year + 1900 > 9999) {
        snprintf(text, CONF_INSTANT_MAX, "%lld", (long long)at);
        return text;
    }
    size_t len = strftime(text, CONF_INSTANT_MAX, "%Y-%m-%dT%H:%M:%S", &utc);
    snprintf(text + len, CONF_INSTANT_MAX - len, ".%03dZ", (int)(at % 1000));
    return text;
}
