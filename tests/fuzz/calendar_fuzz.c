/* Fuzz target: schedules and files of zones. The input is the text of a schedule, a line feed, and
 * a TZif file; without a file the zone is UTC. Whatever they say, the next instants ascend, and
 * each is where the search from just before it ends too. */
#include <stdint.h>
#include <string.h>

#include "store/base/ensure.h"
#include "store/calendar/cron.h"
#include "store/calendar/schedule.h"
#include "store/calendar/zone.h"

enum { STEPS = 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void follow(const struct cron *cron, const struct zone *zone, msec at)
{
    for (unsigned i = 0; i < STEPS; i++) {
        msec next = schedule_next(cron, zone, at);
        if (next == NEVER) return;
        ensure(next > at && next % 1000 == 0, "%lld after %lld", (long long)next, (long long)at);
        ensure(schedule_next(cron, zone, next - 1) == next, "not %lld", (long long)next);
        at = next;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char fault[CRON_FAULT_MAX];
    struct cron cron;
    const char *text = (const char *)data, *why;
    const char *end = size > 0 ? memchr(text, '\n', size) : NULL;
    size_t len = end != NULL ? (size_t)(end - text) : size;
    bool good = cron_parse(bytes_of(text, len), &cron, fault);
    struct zone *zone =
        end != NULL ? zone_parse(bytes_of(end + 1, size - len - 1), &why) : zone_utc();
    if (good && zone != NULL) {
        follow(&cron, zone, 0);
        follow(&cron, zone, INT64_C(1774659600000));
        follow(&cron, zone, INT64_C(1) << 50);
        follow(&cron, zone, INSTANT_MAX - INT64_C(100000000));
    }
    if (zone != NULL) zone_free(zone);
    return 0;
}
