/* dehydrator_cron: CRON.NEXT, which shows what a schedule means before an element uses it. */
#include "server/cmd/dehydrator/dehydrator.h"
#include "server/cmd/dehydrator/dehydrator_args.h"

enum { INSTANTS_MAX = 1000 }; /* so that a call takes a few milliseconds at most */

static void cmd_cron_next(struct call *call)
{
    enum option { ZONE, FROM, COUNT, OPTIONS };
    static const char *const options[OPTIONS] = { "ZONE", "FROM", "COUNT" };
    struct bytes zone = ZONE_DEFAULT;
    msec from = call->txn->now, at;
    int64_t count = 1;
    unsigned given = 0;
    for (int i = 2; i < call->argc; i += 2) {
        int option = arg_word(call, i, options, OPTIONS);
        if (option < 0) {
            arg_refuse_option(call, i, ERR_OPTION_UNKNOWN);
            return;
        }
        if (given & 1U << option) {
            arg_refuse_option(call, i, ERR_OPTION_CONFLICT);
            return;
        }
        given |= 1U << option;
        if (!arg_has_value(call, i)) return;
        if (option == ZONE) zone = call->argv[i + 1];
        if (option == FROM && !arg_instant(call, i + 1, &from)) return;
        if (option == COUNT && !arg_range(call, i + 1, 1, INSTANTS_MAX, &count, ERR_CRON_COUNT))
            return;
    }
    const struct schedule *schedule = find_schedule(call, call->argv[1], zone, from, &at);
    if (schedule == NULL) return;

    msec instants[INSTANTS_MAX];
    size_t found = 0;
    for (; at != NEVER && found < (size_t)count; at = calendar_next(schedule, at))
        instants[found++] = at;
    resp_array(call->out, found);
    for (size_t i = 0; i < found; i++)
        resp_integer(call->out, instants[i]);
}

static const struct command rows[] = {
    ROW("CRON.NEXT", cmd_cron_next, -2, READONLY | FAST | LOADING | STALE, .since = "0.2.0",
        .tips = "nondeterministic_output",
        .replies = REPLIES("[integer ...]: the next instants, as Unix times in milliseconds"),
        .errors = ERRORS(ERR_OPTION_UNKNOWN, ERR_OPTION_NO_VALUE, ERR_OPTION_CONFLICT, ERR_BAD_MSEC,
                         ERR_CRON, ERR_CRON_NEVER, ERR_CRON_COUNT),
        .complexity = "O(K) where K is the number of instants, each within 20 microseconds.",
        .syntax = "spec [ZONE zone] [FROM unix-time-milliseconds] [COUNT count]",
        .summary =
            "Lists the next instants of a schedule by the calendar in a time zone, after now "
            "or after FROM."),
};

const struct command_group dehydrator_cron_commands = COMMAND_GROUP("dehydrator", rows);
