/* calendar: finds schedules by their text and the name of their zone, and keeps those that it has
 * parsed.
 *
 * Folder store/calendar: schedules by the calendar (doc/calendar.md). Start with schedule.h.
 *
 *     cron        parses the text of a schedule, and matches local times
 *     zone        the offsets of a zone, from the bytes of a TZif file
 *     footer      the rule at the end of a TZif file
 *     civil       computes dates
 *     schedule    combines them: the next instant of a schedule in a zone
 *     calendar    the cache; reads files through a function of the caller
 *
 * All but calendar are pure functions of their arguments.
 *
 * May use: store/base store/mem store/struct. */
#pragma once

#include "store/base/bytes.h"
#include "store/base/instant.h"
#include "store/mem/buffer.h"

enum {
    ZONE_NAME_MAX = 64, /* bytes of the longest name */
    CALENDAR_FAULT_MAX = 200,
};

/* Appends the TZif file of a zone to `file`. The calendar has checked that the name leads to a path
 * below the folder of zones. Returns false if there is no such file. */
typedef bool zone_reader(const char *name, struct buffer *file);

#define ZONE_DEFAULT LIT("UTC")

struct calendar;
struct schedule;

struct calendar *calendar_new(void);
void calendar_free(struct calendar *calendar);
/* Sets the function that reads files of zones, and forgets all that was read. With NULL, as at
 * first, only ZONE_DEFAULT can be found, which needs no file. */
void calendar_set_reader(struct calendar *calendar, zone_reader *read);

/* Finds the schedule of this text in this zone; both may come from a client. Returns NULL, with the
 * reason in `fault`, if one of them is invalid. The schedule is borrowed until the next call with
 * this calendar. O(1) if it is in the cache; otherwise the text is parsed, and the file of the zone
 * may be read. */
const struct schedule *calendar_find(struct calendar *calendar, struct bytes text,
                                     struct bytes zone, char fault[CALENDAR_FAULT_MAX]);
/* Returns the name of the schedule's zone, a space, and its text; borrowed like the schedule. */
struct bytes calendar_text(const struct schedule *schedule);
/* Returns the first instant after `after` at which the schedule runs, or NEVER (schedule_next). */
msec calendar_next(const struct schedule *schedule, msec after);

/* Forgets all zones and schedules, so that newer files are read. */
void calendar_forget(struct calendar *calendar);
