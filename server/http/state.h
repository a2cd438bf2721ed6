/* state: the text of /state.json, which the page draws. Its fields may change with the page. */
#pragma once

#include "server/http/figures.h"
#include "server/http/history.h"
#include "server/http/survey.h"

/* Appends the text. Costs as much as figures_read, plus O(commands + reported dehydrators +
 * policies), plus up to 1000 steps each for consumer groups and slow calls. */
void state_write(struct outbuf *out, const struct admin_parts *context,
                 const struct figures_http *http, const struct survey *survey,
                 const struct history *history);
