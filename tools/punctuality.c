/* punctuality: how late is the event of a key's death?
 *
 * Fills a RESP server with keys that live for an hour, gives some others one common deadline, and
 * times the arrival of each one's "expired" event. Works on any server with PXAT and keyspace
 * notifications; the server's clock is compared with ours first, so it may be another machine's.
 * Leaves the server as it was: its keys carry a prefix of their own and are deleted. */
#include <getopt.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/lib/link.h"

#define PREFIX "punctuality:"

enum { BATCH = 1000, LEAD_MSEC = 2000 };

struct plan {
    struct link_target target;
    long long background, keys, wait_seconds;
    bool markdown;
    const char *label;
};

struct result {
    int64_t *late_usec; /* in order of arrival; sorted for the report */
    long long count, early;
};

static void usage(FILE *to)
{
    fputs(
        "usage: punctuality [-h host] [-p port] [-s socket] [-a password]\n"
        "                   [-b background keys: 1000000] [-n keys with one deadline: 1000]\n"
        "                   [-w seconds to wait for events: 180] [-l label] [-m (Markdown row)]\n",
        to);
}

static long long number_option(const char *text)
{
    char *end;
    long long value = strtoll(text, &end, 10);
    if (*text == '\0' || *end != '\0' || value < 0) {
        fprintf(stderr, "punctuality: not a count: %s\n", text);
        exit(2);
    }
    return value;
}

static struct plan parse(int argc, char **argv)
{
    struct plan plan = {
        .target = { .host = "127.0.0.1", .port = "6379" },
        .background = 1000000,
        .keys = 1000,
        .wait_seconds = 180,
        .label = "server",
    };
    for (int option; (option = getopt(argc, argv, "h:p:s:a:b:n:w:l:m")) != -1;) {
        switch (option) {
        case 'h': plan.target.host = optarg; break;
        case 'p': plan.target.port = optarg; break;
        case 's': plan.target.unix_path = optarg; break;
        case 'a': plan.target.password = optarg; break;
        case 'b': plan.background = number_option(optarg); break;
        case 'n': plan.keys = number_option(optarg); break;
        case 'w': plan.wait_seconds = number_option(optarg); break;
        case 'l': plan.label = optarg; break;
        case 'm': plan.markdown = true; break;
        default: usage(stderr); exit(2);
        }
    }
    if (optind < argc || plan.keys == 0) {
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

/* `count` commands, a batch at a time. */
static void send_all(struct link *link, long long count, write_command *write, long long argument)
{
    for (long long from = 0; from < count; from += BATCH) {
        long long to = from + BATCH < count ? from + BATCH : count;
        for (long long i = from; i < to; i++)
            write(link, i, argument);
        for (long long i = from; i < to; i++)
            link_expect(link, "SET or DEL");
    }
}

/* The server's flags, with those for "expired" events in front; the old ones are kept. */
static char *switch_events_on(struct link *link)
{
    link_command(link, "CONFIG GET notify-keyspace-events");
    link_expect(link, "CONFIG GET");
    const struct resp_node *value = &link->reply.nodes[2];
    char *old = strndup(value->text, value->len);
    link_command(link, "CONFIG SET notify-keyspace-events Ex%s", old);
    link_expect(link, "CONFIG SET");
    return old;
}

static void restore_events(struct link *link, char *old)
{
    link_command(link, "CONFIG SET notify-keyspace-events %s", old);
    link_expect(link, "CONFIG SET");
    free(old);
}

static bool is_ours(const struct resp_reply *reply)
{
    static const char prefix[] = PREFIX "key:";
    if (reply->count != 4) return false;
    const struct resp_node *key = &reply->nodes[3];
    return key->len >= strlen(prefix) && memcmp(key->text, prefix, strlen(prefix)) == 0;
}

/* deadline_usec is in our clock. */
static void collect(struct link *events, const struct plan *plan, int64_t deadline_usec,
                    struct result *result)
{
    int64_t until = deadline_usec + plan->wait_seconds * 1000000;
    while (result->count < plan->keys) {
        int64_t left = (until - wall_usec()) / 1000;
        if (left <= 0 || link_reply(events, (int)left) == NULL) return;
        int64_t late = wall_usec() - deadline_usec;
        if (!is_ours(&events->reply)) continue;
        result->late_usec[result->count++] = late;
        result->early += late < 0;
    }
}

static int compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* In milliseconds; the events that never came count as later than all. */
static const char *percentile(const struct result *result, const struct plan *plan, double share,
                              char *to, size_t size)
{
    long long rank = (long long)(share * (double)plan->keys + 0.999999) - 1;
    if (rank >= result->count)
        snprintf(to, size, "> %lld s", plan->wait_seconds);
    else
        snprintf(to, size, "%.1f ms", (double)result->late_usec[rank < 0 ? 0 : rank] / 1000);
    return to;
}

static long long count_within(const struct result *result, int64_t usec)
{
    long long count = 0;
    while (count < result->count && result->late_usec[count] <= usec)
        count++;
    return count;
}

static void report(const struct plan *plan, struct result *result)
{
    qsort(result->late_usec, (size_t)result->count, sizeof(*result->late_usec), compare);
    char p50[32], p99[32], max[32];
    percentile(result, plan, 0.50, p50, sizeof(p50));
    percentile(result, plan, 0.99, p99, sizeof(p99));
    percentile(result, plan, 1.00, max, sizeof(max));
    long long in_5ms = count_within(result, 5000), in_1s = count_within(result, 1000000);
    if (plan->markdown) {
        printf("| %s | %lld | %lld of %lld | %lld | %lld | %lld | %s | %s | %s |\n", plan->label,
               plan->background, result->count, plan->keys, result->early, in_5ms, in_1s, p50, p99,
               max);
        return;
    }
    printf("%s: %lld keys with one deadline beside %lld others\n", plan->label, plan->keys,
           plan->background);
    printf("  events       %lld of %lld (waited at most %lld s)\n", result->count, plan->keys,
           plan->wait_seconds);
    printf("  early        %lld\n", result->early);
    printf("  within 5 ms  %lld\n", in_5ms);
    printf("  within 1 s   %lld\n", in_1s);
    printf("  late by      p50 %s, p99 %s, max %s\n", p50, p99, max);
}

int main(int argc, char **argv)
{
    struct plan plan = parse(argc, argv);
    struct link commands, events;
    link_open(&commands, &plan.target);
    link_open(&events, &plan.target);
    char *old_flags = switch_events_on(&commands);

    send_all(&commands, plan.background, write_background, 0);
    link_command(&events, "SUBSCRIBE __keyevent@0__:expired");
    link_expect(&events, "SUBSCRIBE");

    int64_t offset = link_clock_offset_usec(&commands);
    long long deadline_msec = (wall_usec() + offset) / 1000 + LEAD_MSEC;
    send_all(&commands, plan.keys, write_key, deadline_msec);

    struct result result = { .late_usec = calloc((size_t)plan.keys, sizeof(int64_t)) };
    if (result.late_usec == NULL) return EXIT_FAILURE;
    collect(&events, &plan, deadline_msec * 1000 - offset, &result);
    report(&plan, &result);

    send_all(&commands, plan.background, write_delete, 0);
    restore_events(&commands, old_flags);
    link_close(&events);
    link_close(&commands);
    free(result.late_usec);
    return EXIT_SUCCESS;
}
