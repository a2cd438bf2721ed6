/* expiry: measures how a RESP server behaves while many keys expire.
 *
 * Fills the server with keys whose names contain their deadlines. There are two modes:
 *   - Deadlines spread over a few seconds: measures how late each "expired" event arrives, and
 *     compares every 10 ms how many keys the server has counted as expired with how many should be.
 *   - With -d 0, one deadline for all: measures when all keys are counted as expired, and when
 *     used_memory is back to its old value. Subscribes to no events.
 *
 * Meanwhile another connection sends PINGs at a steady pace, without waiting for replies; with -1
 * it sends each PING only after the reply to the last one. Works on any server with PXAT, keyspace
 * notifications and INFO's expired_keys. */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "store/base/number.h"
#include "tools/lib/link.h"
#include "tools/lib/samples.h"
#include "tools/lib/server.h"

#define PREFIX "expiry:"

enum {
    BATCH = 1000,
    LOOK_USEC = 10000,
    SPREAD_PING_USEC = 1000,
    INSTANT_PING_USEC = 100,
    QUIET_USEC = 1000000, /* PINGs before the first deadline, for comparison */
    PATIENCE_USEC = 20000000,
    MESSAGES_AT_ONCE = 32,
    MEMORY_BACK_PERCENT = 5, /* of the keys' memory may stay in tables and buffers */
};

/* A prime, so that the order of deadlines is not the order of SETs. */
#define STRIDE 2654435761LL

struct plan {
    struct link_target target;
    long long keys, spread_msec, lead_msec;
    bool one_by_one, json;
};

/* A connection that sends PINGs. They are sent at fixed times, even while earlier ones are
 * unanswered, so that a stall of the server counts for every PING that was sent during the
 * stall. */
struct pinger {
    struct link link;
    struct samples sent; /* send times in order */
    size_t answered;
    int64_t next, pace_usec; /* with a pace of 0, each PING waits for the last reply */
};

struct figures {
    struct samples late, quiet_pings, pings;
    long long early, overdue_max;
    int64_t gone_usec, memory_usec; /* since the last deadline; -1 if it never came */
    double memory_base, memory_full, expired_before;
};

struct run {
    struct plan plan;
    struct link commands, looks, events;
    struct pinger pinger;
    bool looking;         /* an INFO is under way */
    int64_t asked_usec;   /* when the last INFO was sent */
    int64_t offset_usec;  /* the server's clock minus ours */
    long long first_msec; /* first deadline, by the server's clock */
    struct figures figures;
};

/* Returns, by our clock, the end of the last millisecond in which the first key is alive. */
static int64_t first_deadline_usec(const struct run *run)
{
    return (run->first_msec + 1) * 1000 - run->offset_usec;
}

static void fill_keys(struct run *run)
{
    struct link *to = &run->commands;
    run->first_msec = (wall_usec() + run->offset_usec) / 1000 + run->plan.lead_msec;
    for (long long from = 0; from < run->plan.keys; from += BATCH) {
        long long end = from + BATCH < run->plan.keys ? from + BATCH : run->plan.keys;
        for (long long i = from; i < end; i++) {
            long long slot = i * STRIDE % run->plan.keys;
            long long at = run->first_msec + slot * run->plan.spread_msec / run->plan.keys;
            link_command(to, "SET " PREFIX "%lld:%lld x PXAT %lld", at, i, at);
        }
        for (long long i = from; i < end; i++)
            link_expect(to, "SET");
    }
    if (wall_usec() + QUIET_USEC < first_deadline_usec(run)) return;
    fputs("expiry: the first deadline came before the server was full: a larger -w is wanted\n",
          stderr);
    exit(EXIT_FAILURE);
}

static void read_pongs(struct pinger *pinger, struct samples *pings, int timeout_msec)
{
    while (pinger->answered < pinger->sent.count && link_reply(&pinger->link, timeout_msec) != NULL)
        samples_add(pings, wall_usec() - pinger->sent.usec[pinger->answered++]);
}

static void ping_when_due(struct pinger *pinger, struct samples *pings)
{
    read_pongs(pinger, pings, 0);
    int64_t now = wall_usec();
    if (pinger->pace_usec == 0 && pinger->answered < pinger->sent.count) return;
    if (now < pinger->next) return;
    link_command(&pinger->link, "PING");
    samples_add(&pinger->sent, now);
    link_flush(&pinger->link);
    pinger->next += pinger->pace_usec;
}

/* Reads the reply to the last INFO if it has arrived, and sends the next one when it is due. */
static void poll_info(struct run *run)
{
    const struct plan *plan = &run->plan;
    struct figures *figures = &run->figures;
    int64_t now = wall_usec();
    if (run->looking) {
        if (link_reply(&run->looks, 0) == NULL) return;
        run->looking = false;
        now = wall_usec();
        int64_t first = first_deadline_usec(run), spread = plan->spread_msec * 1000;
        long long expired =
            (long long)(server_info_field(&run->looks, "expired_keys") - figures->expired_before);

        /* How many keys are overdue? The server counted them when it was asked. */
        int64_t asked = run->asked_usec - first;
        long long due = asked >= spread ? plan->keys : asked > 0 ? plan->keys * asked / spread : 0;
        if (due - expired > figures->overdue_max) figures->overdue_max = due - expired;

        /* When all keys are counted as expired, and when memory has its old size. */
        int64_t since = now - first - spread;
        double left = server_info_field(&run->looks, "used_memory") - figures->memory_base;
        double full = figures->memory_full - figures->memory_base;
        if (figures->gone_usec < 0 && expired >= plan->keys) figures->gone_usec = since;
        if (figures->memory_usec < 0 && since >= 0 && left <= full * MEMORY_BACK_PERCENT / 100)
            figures->memory_usec = since;
    }
    if (now < run->asked_usec + LOOK_USEC) return;
    link_command(&run->looks, "INFO stats memory");
    link_flush(&run->looks);
    run->looking = true;
    run->asked_usec = now;
}

static double info_field(struct run *run, const char *section, const char *field)
{
    server_ask_info(&run->commands, section);
    return server_info_field(&run->commands, field);
}

/* The event's key is "<prefix><deadline>:<number>". */
static void take_events(struct run *run)
{
    for (int i = 0; i < MESSAGES_AT_ONCE && link_reply(&run->events, 0) != NULL; i++) {
        const struct resp_reply *reply = &run->events.reply;
        int64_t now = wall_usec(), deadline_msec;
        if (reply->count != 4) continue;
        const char *name = reply->nodes[3].text, *end = name + reply->nodes[3].len;
        if (reply->nodes[3].len < strlen(PREFIX) || memcmp(name, PREFIX, strlen(PREFIX)) != 0)
            continue;
        name += strlen(PREFIX);
        const char *colon = memchr(name, ':', (size_t)(end - name));
        if (colon == NULL || !number_parse_int64(name, (size_t)(colon - name), &deadline_msec))
            continue;
        int64_t late = now + run->offset_usec - deadline_msec * 1000;
        run->figures.early += late < 0;
        samples_add(&run->figures.late, late);
    }
}

static void measure(struct run *run)
{
    struct figures *figures = &run->figures;
    bool listening = run->plan.spread_msec > 0;
    int64_t begin = first_deadline_usec(run);
    struct pinger *pinger = &run->pinger;
    char *old_flags = NULL;
    if (listening) {
        old_flags = server_add_events(&run->commands, "Ex");
        link_command(&run->events, "SUBSCRIBE __keyevent@0__:expired");
        link_expect(&run->events, "SUBSCRIBE");
    }
    while (wall_usec() < begin - QUIET_USEC)
        link_wait(&run->events, begin - QUIET_USEC);
    pinger->pace_usec = listening ? SPREAD_PING_USEC : INSTANT_PING_USEC;
    if (run->plan.one_by_one) pinger->pace_usec = 0;
    pinger->next = wall_usec();
    while (wall_usec() < begin)
        ping_when_due(pinger, &figures->quiet_pings);
    while (wall_usec() <= begin + run->plan.spread_msec * 1000 + PATIENCE_USEC) {
        bool events_came = figures->late.count >= (size_t)run->plan.keys;
        bool done = listening ? events_came : figures->memory_usec >= 0;
        if (done && figures->gone_usec >= 0) break;
        if (figures->gone_usec < 0) ping_when_due(pinger, &figures->pings);
        if (listening) take_events(run);
        poll_info(run);
    }
    read_pongs(pinger, &figures->pings, (int)(PATIENCE_USEC / 1000));
    if (old_flags != NULL) server_restore_events(&run->commands, old_flags);
    samples_sort(&figures->late);
    samples_sort(&figures->pings);
    samples_sort(&figures->quiet_pings);
}

/* Prints milliseconds; null or "never" if `usec` is negative or INT64_MAX. */
static void print_msec(const struct run *run, const char *name, int64_t usec)
{
    bool came = usec >= 0 && usec != INT64_MAX;
    if (run->plan.json && came)
        printf(", \"%s_ms\": %.3f", name, (double)usec / 1000);
    else if (run->plan.json)
        printf(", \"%s_ms\": null", name);
    else if (came)
        printf("  %-18s %.3f ms\n", name, (double)usec / 1000);
    else
        printf("  %-18s never\n", name);
}

static void print_figures(const struct run *run)
{
    const struct figures *figures = &run->figures;
    const struct plan *plan = &run->plan;
    size_t keys = (size_t)plan->keys;
    double overdue = (double)figures->overdue_max / (double)plan->keys;
    printf(plan->json
               ? "{\"keys\": %lld, \"spread_ms\": %lld, \"events\": %zu, \"early\": %lld, "
                 "\"overdue_share\": %.6f"
               : "%lld keys over %lld ms: %zu events, %lld of them early; overdue at most %.4f\n",
           plan->keys, plan->spread_msec, figures->late.count, figures->early, overdue);
    if (plan->spread_msec > 0) {
        print_msec(run, "late_p50", samples_at(&figures->late, 0.5, keys));
        print_msec(run, "late_p99", samples_at(&figures->late, 0.99, keys));
        print_msec(run, "late_max", samples_at(&figures->late, 1, keys));
    }
    print_msec(run, "quiet_ping_p999", samples_at(&figures->quiet_pings, 0.999, SIZE_MAX));
    print_msec(run, "ping_p50", samples_at(&figures->pings, 0.5, SIZE_MAX));
    print_msec(run, "ping_p999", samples_at(&figures->pings, 0.999, SIZE_MAX));
    print_msec(run, "ping_max", samples_at(&figures->pings, 1, SIZE_MAX));
    print_msec(run, "gone", figures->gone_usec);
    print_msec(run, "memory_back", figures->memory_usec);
    if (plan->json) puts("}");
}

static void usage(FILE *to)
{
    fputs(
        "usage: expiry " SERVER_USAGE "\n"
        "              [-n keys: 1000000] [-d milliseconds that deadlines are spread over: 10000]\n"
        "              [-w milliseconds to fill the server: 6000] [-1 (PINGs one by one)] [-j "
        "(JSON)]\n",
        to);
}

int main(int argc, char **argv)
{
    static struct run run;
    struct plan *plan = &run.plan;
    *plan = (struct plan){ .keys = 1000000, .spread_msec = 10000, .lead_msec = 6000 };
    server_default(&plan->target);
    for (int option; (option = getopt(argc, argv, SERVER_OPTIONS "n:d:w:1j")) != -1;) {
        if (server_option(&plan->target, option, optarg)) continue;
        switch (option) {
        case 'n': plan->keys = server_count_option("expiry", optarg, 1); break;
        case 'd': plan->spread_msec = server_count_option("expiry", optarg, 0); break;
        case 'w': plan->lead_msec = server_count_option("expiry", optarg, 1); break;
        case '1': plan->one_by_one = true; break;
        case 'j': plan->json = true; break;
        default: usage(stderr); return 2;
        }
    }
    if (optind != argc) {
        usage(stderr);
        return 2;
    }

    prctl(PR_SET_TIMERSLACK, 1);
    link_open(&run.commands, &plan->target);
    link_open(&run.looks, &plan->target);
    link_open(&run.events, &plan->target);
    link_open(&run.pinger.link, &plan->target);
    run.offset_usec = link_clock_offset_usec(&run.commands);
    run.figures.gone_usec = run.figures.memory_usec = -1;
    run.figures.expired_before = info_field(&run, "stats", "expired_keys");
    run.figures.memory_base = info_field(&run, "memory", "used_memory");
    fill_keys(&run);
    run.figures.memory_full = info_field(&run, "memory", "used_memory");
    measure(&run);
    print_figures(&run);
    link_close(&run.commands);
    link_close(&run.looks);
    link_close(&run.events);
    link_close(&run.pinger.link);
    return EXIT_SUCCESS;
}
