/* metrics: see metrics.h. */
#include "server/http/metrics.h"

#include <ctype.h>

#include "server/base/version.h"
#include "store/mem/mem.h"

struct report {
    struct prom prom;
    const struct admin_parts *context;
    const struct survey *survey;
    msec now;
};

static struct prom_labels label_of(const char *name, struct bytes value)
{
    struct prom_labels labels;
    labels.len = 0; /* prom_label fills in the text */
    prom_label(&labels, name, value);
    return labels;
}

static struct bytes text_bytes(const char *text)
{
    return bytes_of(text, strlen(text));
}

/* ---- commands and errors --------------------------------------------------------------------- */

struct command_metric {
    struct report *report;
    size_t offset; /* of a uint64_t in struct command_stats */
};

static struct prom_labels command_label(struct command_ref ref)
{
    char name[128];
    size_t len = command_full_name(ref, name, sizeof(name));
    return label_of("command", bytes_of(name, len));
}

static void write_command_count(void *ctx, struct command_ref ref)
{
    const struct command_metric *metric = ctx;
    uint64_t value;
    if (ref.stats->calls == 0 && ref.stats->rejected == 0) return;
    memcpy(&value, (const char *)ref.stats + metric->offset, sizeof(value));
    struct prom_labels labels = command_label(ref);
    prom_integer(&metric->report->prom, &labels, value);
}

static void write_command_counts(struct report *report)
{
    static const struct {
        const char *name, *help;
        size_t offset;
    } metrics[] = {
        { "expired_command_calls_total", "Calls of each command.",
          offsetof(struct command_stats, calls) },
        { "expired_command_failures_total", "Calls that ended with an error.",
          offsetof(struct command_stats, failed) },
        { "expired_command_rejections_total", "Calls that were refused before they ran.",
          offsetof(struct command_stats, rejected) },
    };
    for (size_t i = 0; i < sizeof(metrics) / sizeof(metrics[0]); i++) {
        struct command_metric metric = { report, metrics[i].offset };
        prom_family(&report->prom, metrics[i].name, PROM_COUNTER, metrics[i].help);
        commands_each_stats(report->context->commands, write_command_count, &metric);
    }
}

/* The bounds of the histogram of durations, as text in seconds and as numbers in microseconds. A
 * call counted as n microseconds took less than n + 1. So histogram_below(limit) counts the calls
 * that took less than the bound, exactly, because the bounds are powers of two, at which buckets of
 * struct histogram begin. */
static const char *const duration_bounds[] = {
    "0.000001", "0.000002", "0.000004", "0.000008", "0.000016", "0.000032",  "0.000064",
    "0.000128", "0.000256", "0.000512", "0.001024", "0.002048", "0.004096",  "0.008192",
    "0.016384", "0.065536", "0.262144", "1.048576", "4.194304", "16.777216",
};
static const uint32_t duration_limits[] = { 1,     2,     4,      8,       16,      32,      64,
                                            128,   256,   512,    1024,    2048,    4096,    8192,
                                            16384, 65536, 262144, 1048576, 4194304, 16777216 };
enum { DURATIONS = sizeof(duration_limits) / sizeof(duration_limits[0]) };
_Static_assert(sizeof(duration_bounds) / sizeof(duration_bounds[0]) == DURATIONS, "as many bounds");

static void write_duration(void *ctx, struct command_ref ref)
{
    struct report *report = ctx;
    const struct histogram *spans = ref.stats->spans;
    uint64_t cumulative[DURATIONS];
    if (spans == NULL) return;
    for (size_t i = 0; i < DURATIONS; i++)
        cumulative[i] = histogram_below(spans, duration_limits[i]);
    struct prom_labels labels = command_label(ref);
    prom_histogram(&report->prom, &labels,
                   &(struct prom_histogram){ .count = DURATIONS,
                                             .bounds = duration_bounds,
                                             .cumulative = cumulative,
                                             .total = spans->total,
                                             .sum = (double)spans->sum / 1e6 });
}

static void write_errors(struct report *report)
{
    struct dict_iter iter;
    const struct error_count *error;
    uint64_t others = 0;
    prom_family(&report->prom, "expired_errors_total", PROM_COUNTER,
                "Errors of commands, by the first word of the reply.");
    dict_iter_begin(&iter, &report->context->observer->errors);
    while ((error = dict_iter_next(&iter)) != NULL) {
        /* Scripts can invent codes, so codes of an unusual form are counted together as "other":
         * otherwise scripts could add any number of labels. */
        struct bytes code = blob_view(error->code);
        size_t usual = 0;
        while (usual < code.len &&
               (isupper((unsigned char)code.data[usual]) ||
                isdigit((unsigned char)code.data[usual]) || code.data[usual] == '_'))
            usual++;
        if (usual == 0 || usual < code.len || usual > 64) {
            others += error->count;
            continue;
        }
        struct prom_labels labels = label_of("code", code);
        prom_integer(&report->prom, &labels, error->count);
    }
    if (others == 0) return;
    struct prom_labels labels = label_of("code", LIT("other"));
    prom_integer(&report->prom, &labels, others);
}

/* ---- expiry ---------------------------------------------------------------------------------- */

/* Up to 32 ms a bucket includes its bound. Above, it does not, because buckets of struct histogram
 * begin at the bounds. */
static const char *const lag_bounds[] = { "0.001", "0.002", "0.004", "0.008",  "0.016",
                                          "0.032", "0.064", "0.128", "0.256",  "0.512",
                                          "1.024", "2.048", "4.096", "16.384", "65.536" };
static const msec lag_limits[] = { 2,   3,   5,    9,    17,   33,    64,   128,
                                   256, 512, 1024, 2048, 4096, 16384, 65536 };
enum { LAGS = sizeof(lag_limits) / sizeof(lag_limits[0]) };
_Static_assert(sizeof(lag_bounds) / sizeof(lag_bounds[0]) == LAGS, "as many bounds");

static struct prom_labels database_label(unsigned db)
{
    char text[16];
    return label_of("db", bytes_of(text, (size_t)snprintf(text, sizeof(text), "%u", db)));
}

static void write_forecast(struct report *report)
{
    static const struct {
        const char *name, *help;
    } metrics[OUTLOOK_KINDS] = {
        [OUTLOOK_KEYS] = { "expired_forecast_keys",
                           "Keys by the time left to their deadline, each in the shortest span "
                           "that fits." },
        [OUTLOOK_MEMBERS] = { "expired_forecast_members",
                              "Members and fields by the time left to their deadline." },
        [OUTLOOK_ELEMENTS] = { "expired_forecast_elements",
                               "Elements of dehydrators by the time left until they are due." },
    };
    for (unsigned kind = 0; kind < OUTLOOK_KINDS; kind++) {
        prom_family(&report->prom, metrics[kind].name, PROM_GAUGE, metrics[kind].help);
        for (unsigned db = 0; db < report->context->engine->store->database_count; db++) {
            struct outlook_count counts[OUTLOOK_BANDS];
            if (!survey_forecast(report->survey, db, report->now, counts)) continue;
            for (enum outlook_band band = 0; band < OUTLOOK_BANDS; band++) {
                struct prom_labels labels = database_label(db);
                prom_label(&labels, "within", text_bytes(outlook_band_name(band)));
                prom_integer(&report->prom, &labels, counts[band].of[kind]);
            }
        }
    }
    msec age = report->now - survey_began(report->survey);
    prom_family(&report->prom, "expired_forecast_age_seconds", PROM_GAUGE,
                "Time since the server began the current counts of keys, members and dehydrators.");
    if (survey_ready(report->survey)) prom_real(&report->prom, NULL, (double)age / 1e3);
}

/* ---- dehydrators ----------------------------------------------------------------------------- */

static struct prom_labels dehydrator_labels(const struct surveyed *dehydrator)
{
    struct prom_labels labels = database_label(dehydrator->db);
    prom_label(&labels, "key", dehydrator->key);
    return labels;
}

struct dehydrator_metric {
    struct report *report;
    size_t offset; /* of a uint64_t in struct surveyed */
};

static void write_dehydrator(void *ctx, const struct surveyed *dehydrator)
{
    const struct dehydrator_metric *metric = ctx;
    uint64_t value;
    memcpy(&value, (const char *)dehydrator + metric->offset, sizeof(value));
    struct prom_labels labels = dehydrator_labels(dehydrator);
    prom_integer(&metric->report->prom, &labels, value);
}

static void write_oldest_due(void *ctx, const struct surveyed *dehydrator)
{
    struct report *report = ctx;
    struct prom_labels labels = dehydrator_labels(dehydrator);
    prom_real(&report->prom, &labels, (double)dehydrator->oldest_due / 1e3);
}

/* Like lag_bounds, but few, because each dehydrator has them, and up to 17 minutes. */
static const char *const late_bounds[] = { "0.001",  "0.004",   "0.016",   "0.064",
                                           "0.256",  "1.024",   "4.096",   "16.384",
                                           "65.536", "262.144", "1048.576" };
static const msec late_limits[] = { 2, 5, 17, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576 };
enum { LATES = sizeof(late_limits) / sizeof(late_limits[0]) };
_Static_assert(sizeof(late_bounds) / sizeof(late_bounds[0]) == LATES, "as many bounds");

/* A sum of the smallest values of the buckets is at most 1/32 too small. */
static void write_lateness(void *ctx, const struct surveyed *dehydrator)
{
    struct report *report = ctx;
    const struct delivery_counts *counts = &dehydrator->counts;
    if (counts->delivered == 0) return;
    uint64_t cumulative[LATES], total = 0;
    double sum = 0;
    size_t bound = 0;
    for (size_t i = 0; i < counts->late_count; i++) {
        for (; bound < LATES && late_limits[bound] <= counts->late[i].floor; bound++)
            cumulative[bound] = total;
        total += counts->late[i].count;
        sum += (double)counts->late[i].floor * (double)counts->late[i].count;
    }
    for (; bound < LATES; bound++)
        cumulative[bound] = total;
    struct prom_labels labels = dehydrator_labels(dehydrator);
    prom_histogram(&report->prom, &labels,
                   &(struct prom_histogram){ .count = LATES,
                                             .bounds = late_bounds,
                                             .cumulative = cumulative,
                                             .total = total,
                                             .sum = sum / 1e3 });
}

static void write_dehydrators(struct report *report)
{
    static const struct {
        const char *name, *help;
        enum prom_type type;
        size_t offset;
    } metrics[] = {
        { "expired_dehydrator_elements", "Elements of a dehydrator.", PROM_GAUGE,
          offsetof(struct surveyed, length) },
        { "expired_dehydrator_due_elements", "Elements that are due and wait for a consumer.",
          PROM_GAUGE, offsetof(struct surveyed, due) },
        { "expired_dehydrator_claimed_elements", "Elements that consumers have claimed.",
          PROM_GAUGE, offsetof(struct surveyed, claimed) },
        { "expired_dehydrator_redelivered_elements",
          "Elements that have been claimed more than once.", PROM_GAUGE,
          offsetof(struct surveyed, redelivered) },
        { "expired_dehydrator_pushed_total", "Elements that were pushed.", PROM_COUNTER,
          offsetof(struct surveyed, pushed) },
        { "expired_dehydrator_delivered_total", "Deliveries to consumers.", PROM_COUNTER,
          offsetof(struct surveyed, counts.delivered) },
        { "expired_dehydrator_acked_total", "Elements that consumers acknowledged.", PROM_COUNTER,
          offsetof(struct surveyed, counts.acked) },
        { "expired_dehydrator_retried_total", "Claims that consumers gave back.", PROM_COUNTER,
          offsetof(struct surveyed, counts.retried) },
        { "expired_dehydrator_dead_total", "Elements that were delivered too often, and moved.",
          PROM_COUNTER, offsetof(struct surveyed, counts.dead) },
    };
    for (size_t i = 0; i < sizeof(metrics) / sizeof(metrics[0]); i++) {
        struct dehydrator_metric metric = { report, metrics[i].offset };
        prom_family(&report->prom, metrics[i].name, metrics[i].type, metrics[i].help);
        survey_dehydrators(report->survey, report->now, write_dehydrator, &metric);
    }
    prom_family(&report->prom, "expired_dehydrator_oldest_due_seconds", PROM_GAUGE,
                "How long the first due element has waited; 0 if none is due.");
    survey_dehydrators(report->survey, report->now, write_oldest_due, report);
    prom_family(&report->prom, "expired_dehydrator_longest_wait_seconds", PROM_GAUGE,
                "The same for the ten dehydrators where it has waited longest, of all that match "
                "metrics-dehydrators.");
    survey_longest(report->survey, report->now, false, write_oldest_due, report);
    prom_family(&report->prom, "expired_dehydrator_lateness_seconds", PROM_HISTOGRAM,
                "Time from the deadline of an element, or the end of its lease, to its delivery.");
    survey_dehydrators(report->survey, report->now, write_lateness, report);
    prom_family(&report->prom, "expired_dehydrators_omitted", PROM_GAUGE,
                "Dehydrators that match metrics-dehydrators but are not reported.");
    prom_integer(&report->prom, NULL, survey_omitted(report->survey));
}

void metrics_write(struct outbuf *out, const struct admin_parts *context,
                   const struct figures_http *http, const struct survey *survey)
{
    struct report report = { .prom = { .out = out },
                             .context = context,
                             .survey = survey,
                             .now = clock_now(context->clock) };
    struct prom *prom = &report.prom;
    struct figures figures;
    figures_read(&figures, context, http);

    struct prom_labels labels = label_of("version", LIT(EXPIRED_VERSION));
    prom_label(&labels, "redis_version", LIT(REDIS_VERSION));
    prom_label(&labels, "allocator", text_bytes(mem_allocator_name()));
    prom_family(prom, "expired_build_info", PROM_GAUGE,
                "Always 1; the labels hold the versions and the allocator.");
    prom_integer(prom, &labels, 1);
    for (size_t i = 0; i < figure_count(); i++) {
        const struct figure *figure = figure_at(i);
        double value;
        if (figures.loading != 0 && !figure->while_loading) continue;
        memcpy(&value, (const char *)&figures + figure->offset, sizeof(value));
        prom_family(prom, figure->name, figure->type, figure->help);
        prom_real(prom, NULL, value);
    }
    if (figures.loading != 0) return;

    write_command_counts(&report);
    prom_family(prom, "expired_command_duration_seconds", PROM_HISTOGRAM,
                "How long calls ran, not counting the time for which they were blocked.");
    commands_each_stats(context->commands, write_duration, &report);
    write_errors(&report);

    const struct histogram *lag = &context->engine->store->stats.lag;
    uint64_t cumulative[LAGS];
    for (size_t i = 0; i < LAGS; i++)
        cumulative[i] = histogram_below(lag, lag_limits[i]);
    prom_family(
        prom, "expired_expiry_lag_seconds", PROM_HISTOGRAM,
        "Time between the deadlines of keys and members and their removal; 0.001 means on time, "
        "because data expires one millisecond after its deadline.");
    prom_histogram(prom, NULL,
                   &(struct prom_histogram){ .count = LAGS,
                                             .bounds = lag_bounds,
                                             .cumulative = cumulative,
                                             .total = lag->total,
                                             .sum = (double)lag->sum / 1e3 });

    prom_family(prom, "expired_keys", PROM_GAUGE, "Keys of each database.");
    for (unsigned db = 0; db < context->engine->store->database_count; db++) {
        size_t keys = keyspace_count(store_database(context->engine->store, db));
        labels = database_label(db);
        if (keys > 0) prom_integer(prom, &labels, keys);
    }
    write_forecast(&report);
    write_dehydrators(&report);
}
