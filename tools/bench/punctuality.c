/* punctuality: measures how late a server sends the "expired" events of keys.
 *
 * Fills a RESP server with keys that live for an hour, gives some more keys one common deadline,
 * and measures when the event of each of these arrives. Works on any server with PXAT and keyspace
 * notifications, even on another machine, because it compares the two clocks first. At the end it
 * deletes the keys that live for an hour. Names of keys begin with "punctuality:". */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/lib/link.h"
#include "tools/lib/samples.h"
#include "tools/lib/server.h"

#define PREFIX "punctuality:"

enum { BATCH = 1000, LEAD_MSEC = 2000 };

struct plan {
    struct link_target target;
    long long background, keys, wait_seconds;
    bool markdown, json;
    const char *label;
};

static void usage(FILE *to)
{
    fputs("usage: punctuality " SERVER_USAGE "\n"
          "                   [-b background keys: 1000000] [-n keys with one deadline: 1000]\n"
          "                   [-w seconds to wait for events: 180] [-l label] [-m (Markdown row)]\n"
          "                   [-j (JSON)]\n",
          to);
}

static struct plan parse_arguments(int argc, char **argv)
{
    struct plan plan = {
        .background = 1000000, .keys = 1000, .wait_seconds = 180, .label = "server"
    };
    server_default(&plan.target);
    for (int option; (option = getopt(argc, argv, SERVER_OPTIONS "b:n:w:l:mj")) != -1;) {
        if (server_option(&plan.target, option, optarg)) continue;
        switch (option) {
        case 'b': plan.background = server_count_option("punctuality", optarg, 0); break;
        case 'n': plan.keys = server_count_option("punctuality", optarg, 1); break;
        case 'w': plan.wait_seconds = server_count_option("punctuality", optarg, 0); break;
        case 'l': plan.label = optarg; break;
        case 'm': plan.markdown = true; break;
        case 'j': plan.json = true; break;
        default: usage(stderr); exit(2);
        }
    }
    if (optind < argc) {
        usage(stderr);
        exit(2);
    }
    return plan;
}

typedef void write_command(struct link *link, long long i, long long argument);

static void write_background(struct link *link, long long i, long long argument)
{
    (void)argument;
    link_command(link, "SET " PREFIX "background:%lld x PX 3600000", i);
}

static void write_key(struct link *link, long long i, long long deadline_msec)
{
    link_command(link, "SET " PREFIX "key:%lld x PXAT %lld", i, deadline_msec);
}

static void write_delete(struct link *link, long long i, long long argument)
{
    (void)argument;
    link_command(link, "DEL " PREFIX "background:%lld", i);
}

static void send_batches(struct link *link, long long count, write_command *write,
                         long long argument)
{
    for (long long from = 0; from < count; from += BATCH) {
        long long to = from + BATCH < count ? from + BATCH : count;
        for (long long i = from; i < to; i++)
            write(link, i, argument);
        for (long long i = from; i < to; i++)
            link_expect(link, "SET or DEL");
    }
}

/* Prints a percentile in milliseconds. Events that are missing count as later than all others. */
static const char *percentile(const struct samples *late, const struct plan *plan, double share,
                              char *to, size_t size)
{
    int64_t usec = samples_at(late, share, (size_t)plan->keys);
    if (usec == INT64_MAX)
        snprintf(to, size, "> %lld s", plan->wait_seconds);
    else
        snprintf(to, size, "%.1f ms", (double)usec / 1000);
    return to;
}

/* Prints null if so many events are missing that the percentile is unknown. */
static void print_json_msec(const struct plan *plan, const struct samples *late, const char *name,
                            double share)
{
    int64_t usec = samples_at(late, share, (size_t)plan->keys);
    if (usec == INT64_MAX)
        printf(", \"%s\": null", name);
    else
        printf(", \"%s\": %.1f", name, (double)usec / 1000);
}

static void print_lateness(const struct plan *plan, struct samples *late)
{
    samples_sort(late);
    if (plan->json) {
        printf("{\"keys\": %lld, \"events\": %zu, \"in_1s\": %zu", plan->keys, late->count,
               samples_within(late, 1000000));
        print_json_msec(plan, late, "p50_ms", 0.50);
        print_json_msec(plan, late, "p99_ms", 0.99);
        printf("}\n");
        return;
    }
    char p50[32], p99[32], max[32];
    percentile(late, plan, 0.50, p50, sizeof(p50));
    percentile(late, plan, 0.99, p99, sizeof(p99));
    percentile(late, plan, 1.00, max, sizeof(max));
    size_t early = samples_within(late, -1);
    size_t in_5ms = samples_within(late, 5000), in_1s = samples_within(late, 1000000);
    if (plan->markdown) {
        printf("| %s | %lld | %zu of %lld | %zu | %zu | %zu | %s | %s | %s |\n", plan->label,
               plan->background, late->count, plan->keys, early, in_5ms, in_1s, p50, p99, max);
        return;
    }
    printf("%s: %lld keys with one deadline beside %lld others\n", plan->label, plan->keys,
           plan->background);
    printf("  events       %zu of %lld (waited at most %lld s)\n", late->count, plan->keys,
           plan->wait_seconds);
    printf("  early        %zu\n", early);
    printf("  within 5 ms  %zu\n", in_5ms);
    printf("  within 1 s   %zu\n", in_1s);
    printf("  late by      p50 %s, p99 %s, max %s\n", p50, p99, max);
}

int main(int argc, char **argv)
{
    struct plan plan = parse_arguments(argc, argv);
    struct link commands, events;
    link_open(&commands, &plan.target);
    link_open(&events, &plan.target);
    char *old_flags = server_add_events(&commands, "Ex");

    send_batches(&commands, plan.background, write_background, 0);
    link_command(&events, "SUBSCRIBE __keyevent@0__:expired");
    link_expect(&events, "SUBSCRIBE");

    int64_t offset = link_clock_offset_usec(&commands);
    long long deadline_msec = (wall_usec() + offset) / 1000 + LEAD_MSEC;
    send_batches(&commands, plan.keys, write_key, deadline_msec);

    struct samples late = { 0 };
    static const char prefix[] = PREFIX "key:";
    int64_t deadline_usec = deadline_msec * 1000 - offset; /* by our clock */
    int64_t until = deadline_usec + plan.wait_seconds * 1000000;
    while (late.count < (size_t)plan.keys) {
        int64_t left = (until - wall_usec()) / 1000;
        if (left <= 0 || link_reply(&events, (int)left) == NULL) break;
        int64_t now = wall_usec();
        const struct resp_node *key = &events.reply.nodes[3];
        if (events.reply.count == 4 && key->len >= strlen(prefix) &&
            memcmp(key->text, prefix, strlen(prefix)) == 0)
            samples_add(&late, now - deadline_usec);
    }
    print_lateness(&plan, &late);

    send_batches(&commands, plan.background, write_delete, 0);
    server_restore_events(&commands, old_flags);
    link_close(&events);
    link_close(&commands);
    samples_drop(&late);
    return EXIT_SUCCESS;
}
