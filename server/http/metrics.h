/* metrics: the text of /metrics, from the figures, the histograms and the survey. */
#pragma once

#include "server/http/figures.h"
#include "server/http/survey.h"

/* Appends the text. Costs as much as figures_read, plus O(commands + dehydrators reported). */
void metrics_write(struct outbuf *out, const struct admin_parts *context,
                   const struct figures_http *http, const struct survey *survey);
