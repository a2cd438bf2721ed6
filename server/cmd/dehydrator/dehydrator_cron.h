/* dehydrator_cron: schedules by the calendar in the arguments of a call. */
#ifndef SERVER_CMD_DEHYDRATOR_DEHYDRATOR_CRON_H
#define SERVER_CMD_DEHYDRATOR_DEHYDRATOR_CRON_H

#include "server/cmd/call/args.h"
#include "store/calendar/calendar.h"

#define ZONE_DEFAULT LIT("UTC")

/* Finds the schedule of a text in a zone, and its first instant after `after`. Returns NULL after
 * sending an error. */
const struct schedule *find_schedule(struct call *call, struct bytes text, struct bytes zone,
                                     msec after, msec *at);

#endif
