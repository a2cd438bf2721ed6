/* info_commands: INFO's sections about calls: Commandstats, Errorstats, Latencystats. Depends on
 * server/engine/observe/observe.h, which counts and times calls. */
#include "server/admin/info/report.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_MAX_CHARS = 128 };

static void write_command_stats(void *ctx, struct command_ref ref)
{
    char name[NAME_MAX_CHARS];
    const struct command_stats *stats = ref.stats;
    if (stats->calls == 0 && stats->rejected == 0) return;
    command_full_name(ref, name, sizeof(name));
    report_line(ctx,
                "cmdstat_%s:calls=%" PRIu64 ",usec=%" PRIu64
                ",usec_per_call=%.2f,rejected_calls=%" PRIu64 ",failed_calls=%" PRIu64,
                name, stats->calls, stats->usec,
                stats->calls > 0 ? (double)stats->usec / (double)stats->calls : 0.0,
                stats->rejected, stats->failed);
}

void info_commandstats(struct report *report)
{
    commands_each_stats(report->context->commands, write_command_stats, report);
}

void info_errorstats(struct report *report)
{
    struct dict_iter iter;
    const struct error_count *error;
    dict_iter_begin(&iter, &report->context->observer->errors);
    while ((error = dict_iter_next(&iter)) != NULL)
        report_line(report, "errorstat_%.*s:count=%" PRIu64, (int)error->code->len,
                    error->code->data, error->count);
}

/* The percentiles are those of latency-tracking-info-percentiles, which conf has checked. */
static void write_latency_stats(void *ctx, struct command_ref ref)
{
    enum { ROOM = 64 }; /* for one percentile */
    const struct report *report = ctx;
    char name[NAME_MAX_CHARS], text[768];
    const struct histogram *spans = ref.stats->spans;
    if (spans == NULL) return;
    command_full_name(ref, name, sizeof(name));
    size_t used = 0;
    text[0] = '\0';
    const char *at = report->context->conf->latency_percentiles;
    while (*at != '\0' && used + ROOM < sizeof(text)) {
        char *end;
        double percent = strtod(at, &end);
        used +=
            (size_t)snprintf(text + used, sizeof(text) - used, "%sp%.10g=%" PRId64 ".000",
                             used > 0 ? "," : "", percent, histogram_percentile(spans, percent));
        at = end + strspn(end, " ");
    }
    report_line(ctx, "latency_percentiles_usec_%s:%s", name, text);
}

void info_latencystats(struct report *report)
{
    commands_each_stats(report->context->commands, write_latency_stats, report);
}
