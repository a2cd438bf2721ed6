/* state_lists: the lists of /state.json. For state.c. */
#ifndef SERVER_HTTP_STATE_LISTS_H
#define SERVER_HTTP_STATE_LISTS_H

#include "server/admin/admin.h"
#include "server/http/history.h"
#include "server/http/json.h"
#include "server/http/survey.h"

struct state {
    struct json json;
    const struct server_context *context;
    const struct survey *survey;
    const struct history *history;
    msec now;
};

/* Each list has the entries that matter most, at most 50. */
void state_write_dehydrators(struct state *state); /* the most due elements first */
void state_write_groups(struct state *state);      /* the most pending and undelivered ones first */
void state_write_commands(struct state *state);    /* the most time first */
void state_write_errors(struct state *state);      /* the most frequent first */
/* Those of the slow log, a group for each command, the slowest first. */
void state_write_slow_calls(struct state *state);

#endif
