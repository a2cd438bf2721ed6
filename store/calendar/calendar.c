/* calendar: the cache of schedules and zones. Clients choose texts and zones, so its memory must be
 * bounded. When there are SCHEDULES_MAX schedules, all of them are dropped; when the zones take
 * more than ZONE_BYTES_MAX, zones and schedules are dropped. Both are parsed again when needed. */
#include "store/calendar/calendar.h"

#include <stdio.h>

#include "store/calendar/schedule.h"
#include "store/mem/mem.h"
#include "store/struct/dict.h"

enum {
    SCHEDULES_MAX = 1024,
    ZONE_BYTES_MAX = 16 << 20, /* more than all zones of tzdata take, including aliases */
};

struct known_zone {
    struct zone *zone;
    size_t name_len;
    char name[];
};

/* The key is the name of the zone, a space and the text. */
struct schedule {
    struct cron cron;
    const struct zone *zone;
    size_t key_len;
    char key[];
};

struct calendar {
    struct dict zones, schedules;
    size_t zone_bytes;
    zone_reader *read;
};

static struct bytes zone_key(const void *element)
{
    const struct known_zone *known = element;
    return bytes_of(known->name, known->name_len);
}

static struct bytes schedule_key(const void *element)
{
    const struct schedule *schedule = element;
    return bytes_of(schedule->key, schedule->key_len);
}

static const struct dict_type zones_type = { .key = zone_key };
static const struct dict_type schedules_type = { .key = schedule_key };

struct calendar *calendar_new(void)
{
    struct calendar *calendar = mem_alloc(sizeof(*calendar));
    *calendar = (struct calendar){ .read = NULL };
    dict_init(&calendar->zones, &zones_type);
    dict_init(&calendar->schedules, &schedules_type);
    return calendar;
}

static void forget_schedules(struct calendar *calendar)
{
    while (dict_count(&calendar->schedules) > 0)
        mem_free(dict_take(&calendar->schedules));
    dict_drop(&calendar->schedules);
    dict_init(&calendar->schedules, &schedules_type);
}

void calendar_forget(struct calendar *calendar)
{
    forget_schedules(calendar);
    while (dict_count(&calendar->zones) > 0) {
        struct known_zone *known = dict_take(&calendar->zones);
        zone_free(known->zone);
        mem_free(known);
    }
    calendar->zone_bytes = 0;
    dict_drop(&calendar->zones);
    dict_init(&calendar->zones, &zones_type);
}

void calendar_free(struct calendar *calendar)
{
    calendar_forget(calendar);
    mem_free(calendar);
}

void calendar_set_reader(struct calendar *calendar, zone_reader *read)
{
    calendar->read = read;
    calendar_forget(calendar);
}

/* ---- zones ----------------------------------------------------------------------------------- */

/* Checks the name of a zone, which becomes a path below the folder of zones. A name consists of
 * parts between slashes. No part contains a dot, so that no path leaves the folder, and no part is
 * empty, so that no file has two names. */
static bool is_zone_name(struct bytes name)
{
    bool part_begins = true;
    if (name.len == 0 || name.len > ZONE_NAME_MAX) return false;
    for (size_t i = 0; i < name.len; i++) {
        char c = name.data[i];
        bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                         (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '+';
        if (!is_letter && (c != '/' || part_begins)) return false;
        part_begins = c == '/';
    }
    return !part_begins;
}

static const struct zone *find_zone(struct calendar *calendar, struct bytes name, char *fault)
{
    if (!is_zone_name(name)) {
        snprintf(fault, CALENDAR_FAULT_MAX,
                 "a zone has a name such as Europe/Berlin: at most %d letters, digits and _ + -, "
                 "in parts between slashes",
                 ZONE_NAME_MAX);
        return NULL;
    }
    struct known_zone *known = dict_find(&calendar->zones, name);
    if (known != NULL) return known->zone;

    char text[ZONE_NAME_MAX + 1];
    struct buffer file = { 0 };
    const char *reason = "the system has no such zone. Is the package tzdata installed?";
    struct zone *zone = NULL;
    memcpy(text, name.data, name.len);
    text[name.len] = '\0';
    if (bytes_equal(name, ZONE_DEFAULT))
        zone = zone_utc();
    else if (calendar->read != NULL && calendar->read(text, &file))
        zone = zone_parse(buffer_bytes(&file), &reason);
    buffer_drop(&file);
    if (zone == NULL) {
        snprintf(fault, CALENDAR_FAULT_MAX, "zone %s: %s", text, reason);
        return NULL;
    }
    if (calendar->zone_bytes > ZONE_BYTES_MAX) calendar_forget(calendar);
    calendar->zone_bytes += zone_bytes(zone);
    known = mem_alloc(sizeof(*known) + name.len);
    *known = (struct known_zone){ .zone = zone, .name_len = name.len };
    memcpy(known->name, name.data, name.len);
    dict_add(&calendar->zones, known);
    return zone;
}

/* ---- schedules ------------------------------------------------------------------------------- */

const struct schedule *calendar_find(struct calendar *calendar, struct bytes text,
                                     struct bytes zone, char fault[CALENDAR_FAULT_MAX])
{
    char key[ZONE_NAME_MAX + 1 + CRON_TEXT_MAX];
    size_t key_len = zone.len + 1 + text.len;
    struct schedule parsed;
    /* No zone's name contains a space, so no two pairs have the same key. */
    if (is_zone_name(zone) && text.len <= CRON_TEXT_MAX) {
        memcpy(key, zone.data, zone.len);
        key[zone.len] = ' ';
        if (text.len > 0) memcpy(key + zone.len + 1, text.data, text.len);
        struct schedule *known = dict_find(&calendar->schedules, bytes_of(key, key_len));
        if (known != NULL) return known;
    }
    if (!cron_parse(text, &parsed.cron, fault)) return NULL;
    parsed.zone = find_zone(calendar, zone, fault);
    if (parsed.zone == NULL) return NULL;

    if (dict_count(&calendar->schedules) >= SCHEDULES_MAX) forget_schedules(calendar);
    struct schedule *schedule = mem_alloc(sizeof(*schedule) + key_len);
    *schedule = (struct schedule){ parsed.cron, parsed.zone, key_len };
    memcpy(schedule->key, key, key_len);
    dict_add(&calendar->schedules, schedule);
    return schedule;
}

struct bytes calendar_text(const struct schedule *schedule)
{
    return schedule_key(schedule);
}

msec calendar_next(const struct schedule *schedule, msec after)
{
    return schedule_next(&schedule->cron, schedule->zone, after);
}
