/* load: loads a RESP server, and prints its throughput, latency and CPU time. The exit status is 1
 * if a reply is an error.
 *
 * A load generator must cost much less than the server. So requests are compiled once and only
 * their digits are replaced, replies are only counted, and a batch is one write and mostly one
 * read. Two figures show what the generator costs: a run against `bare`, which stores no data, and
 * `idle`, the share of time in which no reply could be read. */
#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "tools/bench/load/drive.h"
#include "tools/bench/load/mix.h"
#include "tools/lib/server.h"

enum { FILL_PIPELINE = 64, FIRST_UNSET = -1, CONNECTIONS_MAX = 10000, PIPELINE_MAX = 4096 };

struct plan {
    struct link_target target;
    const struct mix *mix;
    long long connections, pipeline, keys, value_size, requests, first, pid;
    double seconds, warm_up_seconds;
    bool in_turn, sleeps, stalls, json;
};

/* A phase of a mix, chosen on the command line. */
struct phase {
    const char *name;
    const char *text;
    unsigned pipeline, connections;
    uint64_t requests; /* 0 to use plan.requests or plan.seconds */
    bool in_turn;
};

static void usage(FILE *to)
{
    fputs("usage: load " SERVER_USAGE "\n"
          "            [-c connections: 50] [-P pipeline: 1] [-n key space: 1000000]\n"
          "            [-d bytes of a value: 8] [-t seconds: 2] [-w seconds to warm up: 0.2]\n"
          "            [-r requests (instead of seconds)] [-q (keys in turn, not at random)]\n"
          "            [-F number of the first round] [-z (sleeps instead of spinning)]\n"
          "            [-i process id of the server, to see its CPU time]\n"
          "            [-S (one connection: the server's longest stall)] [-j (JSON)]\n"
          "            MIX [fill|run|halve|shrink ...: run]\n"
          "       load ... 'a template of commands, as in load/mix.h'\n\n"
          "mixes:",
          to);
    for (unsigned i = 0; mix_name(i) != NULL; i++)
        fprintf(to, "%s %s", i > 0 && i % 10 == 0 ? "\n      " : "", mix_name(i));
    fputc('\n', to);
}

static double seconds_option(const char *text)
{
    char *end;
    double seconds = strtod(text, &end);
    if (*end == '\0' && seconds >= 0 && seconds < 1e6) return seconds;
    fprintf(stderr, "load: not a number of seconds: %s\n", text);
    exit(2);
}

static struct plan parse_arguments(int argc, char **argv)
{
    struct plan plan = { .connections = 50,
                         .pipeline = 1,
                         .keys = 1000000,
                         .value_size = 8,
                         .first = FIRST_UNSET,
                         .seconds = 2,
                         .warm_up_seconds = 0.2 };
    server_default(&plan.target);
    for (int option;
         (option = getopt(argc, argv, SERVER_OPTIONS "c:P:n:d:t:w:r:F:i:qzSj")) != -1;) {
        if (server_option(&plan.target, option, optarg)) continue;
        switch (option) {
        case 'c': plan.connections = server_count_option("load", optarg, 1); break;
        case 'P': plan.pipeline = server_count_option("load", optarg, 1); break;
        case 'n': plan.keys = server_count_option("load", optarg, 1); break;
        case 'd': plan.value_size = server_count_option("load", optarg, 1); break;
        case 't': plan.seconds = seconds_option(optarg); break;
        case 'w': plan.warm_up_seconds = seconds_option(optarg); break;
        case 'r': plan.requests = server_count_option("load", optarg, 1); break;
        case 'F': plan.first = server_count_option("load", optarg, 0); break;
        case 'i': plan.pid = server_count_option("load", optarg, 1); break;
        case 'q': plan.in_turn = true; break;
        case 'z': plan.sleeps = true; break;
        case 'S': plan.stalls = true; break;
        case 'j': plan.json = true; break;
        default: usage(stderr); exit(2);
        }
    }
    if (plan.stalls) plan.connections = 1;
    const char *mix = optind < argc ? argv[optind] : "";
    plan.mix = mix_find(mix);
    if (strchr(mix, ' ') != NULL) {
        static struct mix template = { .name = "template" };
        template.recipe = template.fill = mix;
        plan.mix = &template;
    }
    if (plan.mix != NULL && plan.connections <= CONNECTIONS_MAX && plan.pipeline <= PIPELINE_MAX)
        return plan;
    usage(stderr);
    exit(2);
}

static struct phase phase_of(const struct plan *plan, const char *name)
{
    const struct mix *mix = plan->mix;
    uint64_t keys = mix_keys(mix, (uint64_t)plan->keys);
    uint64_t first = plan->first > 0 ? (uint64_t)plan->first : 0;
    uint64_t fills = keys * (mix->fill_per_key > 0 ? mix->fill_per_key : 1);
    uint64_t fill_left = fills > first ? fills - first : 1;
    unsigned connections = (unsigned)plan->connections;
    const struct phase phases[] = {
        { "fill", mix->fill, FILL_PIPELINE, mix->fill_in_order ? 1 : connections, fill_left, true },
        { "run", mix->recipe, (unsigned)plan->pipeline, connections, 0, plan->in_turn },
        /* After this many random draws about half of the keys are left. */
        { "halve", mix->shrink, FILL_PIPELINE, connections, (uint64_t)((double)keys * M_LN2),
          false },
        { "shrink", mix->shrink, FILL_PIPELINE, connections, keys, true },
    };
    for (size_t i = 0; i < sizeof(phases) / sizeof(phases[0]); i++) {
        if (strcmp(phases[i].name, name) != 0 || phases[i].text == NULL) continue;
        struct phase phase = phases[i];
        if (plan->stalls) phase.pipeline = (unsigned)plan->pipeline;
        return phase;
    }
    fprintf(stderr, "load: %s has no phase %s\n", mix->name, name);
    exit(2);
}

static void print_json(const struct plan *plan, const struct phase *phase, unsigned commands,
                       const struct drive_result *r, bool counted, uint64_t next)
{
    double each = r->requests > 0 ? 1.0 / (double)r->requests : 0;
    const struct histogram *latency = &r->latency;
    printf("{\"mix\": \"%s\", \"phase\": \"%s\", \"connections\": %u, \"pipeline\": %u, "
           "\"commands\": %u, \"requests\": %" PRIu64 ", \"seconds\": %.6f, \"rps\": %.1f, ",
           plan->mix->name, phase->name, phase->connections, phase->pipeline, commands, r->requests,
           r->seconds, (double)r->requests / r->seconds);
    printf("\"p50_us\": %.3f, \"p99_us\": %.3f, \"p999_us\": %.3f, \"max_us\": %.3f, ",
           (double)histogram_percentile(latency, 50) / 1e3,
           (double)histogram_percentile(latency, 99) / 1e3,
           (double)histogram_percentile(latency, 99.9) / 1e3, (double)latency->max / 1e3);
    if (plan->pid > 0) {
        printf("\"cpu_ns\": %.2f, \"cpu_share\": %.4f, \"user_ticks\": %" PRIu64
               ", \"system_ticks\": %" PRIu64 ", ",
               (double)r->spent.cpu_nsec * each, (double)r->spent.cpu_nsec / 1e9 / r->seconds,
               r->spent.user_ticks, r->spent.system_ticks);
        if (counted) printf("\"instructions\": %.1f, ", (double)r->spent.instructions * each);
        if (plan->stalls)
            printf("\"stall_us\": %.3f, \"stall_at\": %" PRIu64 ", \"stalls_over_ms\": %" PRIu64
                   ", ",
                   (double)r->stall_nsec / 1e3, r->stall_at, r->stalls_over_msec);
    }
    printf("\"idle\": %.4f, \"errors\": %" PRIu64 ", \"next\": %" PRIu64 "}\n", r->idle, r->errors,
           next);
}

static void print_text(const struct plan *plan, const struct phase *phase,
                       const struct drive_result *r, bool counted)
{
    double each = r->requests > 0 ? 1.0 / (double)r->requests : 0;
    const struct histogram *latency = &r->latency;
    printf("%s %s, %u connections, pipeline %u: %.0f requests/s in %.2f s\n", plan->mix->name,
           phase->name, phase->connections, phase->pipeline, (double)r->requests / r->seconds,
           r->seconds);
    printf("  batch   p50 %.1f us, p99 %.1f us, p99.9 %.1f us, max %.1f us\n",
           (double)histogram_percentile(latency, 50) / 1e3,
           (double)histogram_percentile(latency, 99) / 1e3,
           (double)histogram_percentile(latency, 99.9) / 1e3, (double)latency->max / 1e3);
    printf("  load    %.0f%% idle\n", 100 * r->idle);
    if (plan->pid == 0) return;
    uint64_t ticks = r->spent.user_ticks + r->spent.system_ticks;
    printf("  server  %.0f ns of CPU per request, %.0f%% of a core, %.0f%% in the kernel\n",
           (double)r->spent.cpu_nsec * each, (double)r->spent.cpu_nsec / 1e7 / r->seconds,
           ticks > 0 ? 100 * (double)r->spent.system_ticks / (double)ticks : 0);
    if (counted)
        printf("          %.0f instructions of the server itself per request\n",
               (double)r->spent.instructions * each);
    if (plan->stalls)
        printf("  stalls  longest %.1f us of CPU, after %" PRIu64 " requests; %" PRIu64
               " above 1 ms\n",
               (double)r->stall_nsec / 1e3, r->stall_at, r->stalls_over_msec);
}

static bool run_phase(const struct plan *plan, const char *name, struct numbers *numbers)
{
    static struct drive_result result;
    struct phase phase = phase_of(plan, name);
    struct script script;
    struct meter meter = { 0 };
    script_compile(&script, phase.text, phase.pipeline, (size_t)plan->value_size);
    if (plan->pid > 0) meter_open(&meter, (pid_t)plan->pid);
    bool counted = meter.counter_count > 0;
    numbers->in_turn = phase.in_turn;
    struct drive_plan drive = { .target = &plan->target,
                                .script = &script,
                                .numbers = numbers,
                                .meter = &meter,
                                .connections = phase.connections,
                                .seconds = plan->seconds,
                                .warm_up_seconds = plan->warm_up_seconds,
                                .requests = phase.requests > 0 ? phase.requests * script.commands
                                                               : (uint64_t)plan->requests,
                                .sleeps = plan->sleeps,
                                .stalls = plan->stalls };
    drive_run(&drive, &result);
    if (plan->json)
        print_json(plan, &phase, script.commands, &result, counted, numbers->next);
    else
        print_text(plan, &phase, &result, counted);
    fflush(stdout);
    meter_close(&meter);
    script_drop(&script);
    if (result.errors == 0) return true;
    fprintf(stderr, "load: %" PRIu64 " errors, the first: %s\n", result.errors, result.error);
    return false;
}

static void prepare(const struct plan *plan)
{
    static struct drive_result result;
    struct script script;
    struct meter meter = { 0 };
    struct numbers numbers = { .keys = 1 };
    if (plan->mix->setup == NULL) return;
    script_compile(&script, plan->mix->setup, 1, (size_t)plan->value_size);
    struct drive_plan drive = { .target = &plan->target,
                                .script = &script,
                                .numbers = &numbers,
                                .meter = &meter,
                                .connections = 1,
                                .requests = script.commands };
    drive_run(&drive, &result);
    script_drop(&script);
    if (result.errors == 0) return;
    fprintf(stderr, "load: can't prepare %s: %s\n", plan->mix->name, result.error);
    exit(EXIT_FAILURE);
}

int main(int argc, char **argv)
{
    static const char *const only_run[] = { "run", NULL };
    struct plan plan = parse_arguments(argc, argv);
    prctl(PR_SET_TIMERSLACK, 1);
    const char *const *phase =
        optind + 1 < argc ? (const char *const *)argv + optind + 1 : only_run;
    const struct mix *mix = plan.mix;
    uint64_t keys = mix_keys(mix, (uint64_t)plan.keys);
    uint64_t filled = keys * (mix->fill_per_key > 0 ? mix->fill_per_key : 1);
    bool begins_empty = strcmp(*phase, "run") != 0;
    struct numbers numbers = { .keys = keys,
                               .behind = keys * mix->behind_per_key,
                               .random = (uint64_t)wall_usec() | 1,
                               .next = plan.first >= 0 ? (uint64_t)plan.first
                                       : begins_empty  ? 0
                                                       : filled };
    prepare(&plan);
    for (; *phase != NULL; phase++)
        if (!run_phase(&plan, *phase, &numbers)) return EXIT_FAILURE;
    return EXIT_SUCCESS;
}
