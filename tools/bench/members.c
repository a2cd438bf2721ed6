/* members: measures what expiring members cost, and how late their events are.
 *
 * Fills sets, hashes or sorted sets with members that have deadlines of their own. There are two
 * modes:
 *   - Deadlines spread over a few seconds: measures how late each member's event arrives (the
 *     member's name contains its deadline), reads every 10 ms how many expired members the server
 *     still holds, and divides the server's CPU time by the number of members. With -q it neither
 *     subscribes nor polls.
 *   - With -i, one deadline for all: sends PINGs at a steady pace, without waiting for replies,
 *     until used_memory is back to what it was.
 *
 * Works on a server with SADDEX, HSETEX, ZADDEX and INFO expiry. At the end it deletes its keys,
 * which begin with "members:". */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include "store/base/number.h"
#include "tools/lib/link.h"
#include "tools/lib/samples.h"
#include "tools/lib/server.h"

#define PREFIX "members:"

enum {
    BATCH = 1000,
    LOOK_USEC = 10000,
    PING_USEC = 100,
    QUIET_USEC = 1000000, /* PINGs before the deadline, for comparison */
    PATIENCE_MSEC = 20000,
    MEMORY_SLACK = 64 << 10, /* for buffers of the connections */
};

/* A prime above the number of members, so that deadlines do not follow the order of insertion. */
#define STRIDE 2654435761LL

enum family { SET, HASH, ZSET };

struct plan {
    struct link_target target;
    enum family family;
    long long members, others, keys, spread_msec, lead_msec;
    bool instant, quiet, markdown;
    const char *label;
};

struct figures {
    struct samples late, quiet_pings, pings;
    double cpu_seconds;
    long long looks, overdue_sum, overdue_max;
    int64_t memory_after_usec; /* from the deadline until memory was back; -1 if it never was */
    double memory_full, memory_left; /* above the base */
};

struct run {
    const struct plan *plan;
    struct link commands, looks, events;
    int64_t offset_usec;  /* the server's clock minus ours */
    long long first_msec; /* first deadline, by the server's clock */
    double base_memory;
    struct figures figures;
};

static void usage(FILE *to)
{
    fputs(
        "usage: members " SERVER_USAGE "\n"
        "               [-t set|hash|zset] [-n members: 1000000] [-k keys: 1]\n"
        "               [-x members without a deadline beside them: 0]\n"
        "               [-d milliseconds that deadlines are spread over: 10000] [-i (no spread)]\n"
        "               [-w milliseconds to fill the server: 10000] [-q (no subscriber)]\n"
        "               [-l label] [-m (Markdown row)]\n",
        to);
}

static struct plan parse_arguments(int argc, char **argv)
{
    static const char *const families[] = { [SET] = "set", [HASH] = "hash", [ZSET] = "zset" };
    struct plan plan = {
        .members = 1000000, .keys = 1, .spread_msec = 10000, .lead_msec = 10000, .label = "server"
    };
    server_default(&plan.target);
    for (int option; (option = getopt(argc, argv, SERVER_OPTIONS "t:n:k:x:d:w:iql:m")) != -1;) {
        if (server_option(&plan.target, option, optarg)) continue;
        switch (option) {
        case 't':
            plan.family = SET;
            while (plan.family < ZSET && strcmp(optarg, families[plan.family]) != 0)
                plan.family++;
            if (strcmp(optarg, families[plan.family]) == 0) break;
            fprintf(stderr, "members: not set, hash or zset: %s\n", optarg);
            exit(2);
        case 'n': plan.members = server_count_option("members", optarg, 1); break;
        case 'k': plan.keys = server_count_option("members", optarg, 1); break;
        case 'x': plan.others = server_count_option("members", optarg, 0); break;
        case 'd': plan.spread_msec = server_count_option("members", optarg, 1); break;
        case 'w': plan.lead_msec = server_count_option("members", optarg, 1); break;
        case 'i': plan.instant = true; break;
        case 'q': plan.quiet = true; break;
        case 'l': plan.label = optarg; break;
        case 'm': plan.markdown = true; break;
        default: usage(stderr); exit(2);
        }
    }
    if (optind < argc) {
        usage(stderr);
        exit(2);
    }
    if (plan.instant) plan.spread_msec = 0;
    return plan;
}

typedef void write_command(struct run *run, long long i);

static long long member_deadline(const struct run *run, long long i)
{
    long long slot = i * STRIDE % run->plan->members;
    return run->first_msec + slot * run->plan->spread_msec / run->plan->members;
}

static void write_member(struct run *run, long long i)
{
    const struct plan *plan = run->plan;
    struct link *to = &run->commands;
    long long key = i % plan->keys, at = member_deadline(run, i);
    switch (plan->family) {
    case SET:
        link_command(to, "SADDEX " PREFIX "%lld PXAT %lld MEMBERS 1 %lld:%lld", key, at, at, i);
        break;
    case HASH:
        link_command(to, "HSETEX " PREFIX "%lld PXAT %lld FIELDS 1 %lld:%lld x", key, at, at, i);
        break;
    case ZSET:
        link_command(to, "ZADDEX " PREFIX "%lld PXAT %lld %lld %lld:%lld", key, at, i, at, i);
        break;
    }
}

static void write_other(struct run *run, long long i)
{
    struct link *to = &run->commands;
    long long key = i % run->plan->keys;
    switch (run->plan->family) {
    case SET: link_command(to, "SADD " PREFIX "%lld other:%lld", key, i); break;
    case HASH: link_command(to, "HSET " PREFIX "%lld other:%lld x", key, i); break;
    case ZSET: link_command(to, "ZADD " PREFIX "%lld %lld other:%lld", key, i, i); break;
    }
}

static void write_removal(struct run *run, long long i)
{
    static const char *const words[] = { [SET] = "SREM", [HASH] = "HDEL", [ZSET] = "ZREM" };
    long long key = i % run->plan->keys;
    link_command(&run->commands, "%s " PREFIX "%lld %lld:%lld", words[run->plan->family], key,
                 member_deadline(run, i), i);
}

static void write_unlink(struct run *run, long long i)
{
    link_command(&run->commands, "UNLINK " PREFIX "%lld", i);
}

static void send_commands(struct run *run, long long count, write_command *write, const char *what)
{
    for (long long from = 0; from < count; from += BATCH) {
        long long to = from + BATCH < count ? from + BATCH : count;
        for (long long i = from; i < to; i++)
            write(run, i);
        for (long long i = from; i < to; i++)
            link_expect(&run->commands, what);
    }
}

static int64_t server_usec(const struct run *run)
{
    return wall_usec() + run->offset_usec;
}

static int64_t first_usec(const struct run *run)
{
    return run->first_msec * 1000 - run->offset_usec; /* by our clock */
}

static double memory_used(struct run *run)
{
    server_ask_info(&run->looks, "memory");
    return server_info_field(&run->looks, "used_memory");
}

static void fill_members(struct run *run)
{
    /* The members are added and removed once, so that the base includes tables of their size. */
    if (run->plan->others > 0) {
        send_commands(run, run->plan->others, write_other, "a member without a deadline");
        run->first_msec = server_usec(run) / 1000 + 24 * 3600 * 1000;
        send_commands(run, run->plan->members, write_member, "a member with a deadline");
        send_commands(run, run->plan->members, write_removal, "its removal");
    }

    run->base_memory = memory_used(run);
    run->first_msec = server_usec(run) / 1000 + run->plan->lead_msec;
    send_commands(run, run->plan->members, write_member, "a member with a deadline");
    run->figures.memory_full = memory_used(run) - run->base_memory;
    if (server_usec(run) / 1000 + QUIET_USEC / 1000 < run->first_msec) return;
    send_commands(run, run->plan->keys, write_unlink, "UNLINK");
    fputs("members: the first deadline came before the server was full: a larger -w is wanted\n",
          stderr);
    exit(EXIT_FAILURE);
}

static void sleep_until(int64_t usec)
{
    struct timespec until = { .tv_sec = usec / 1000000, .tv_nsec = usec % 1000000 * 1000 };
    while (clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &until, NULL) != 0)
        continue;
}

static double cpu_seconds(struct run *run)
{
    server_ask_info(&run->looks, "cpu");
    return server_info_field(&run->looks, "used_cpu_user") +
           server_info_field(&run->looks, "used_cpu_sys");
}

static double overdue_now(struct run *run)
{
    server_ask_info(&run->looks, "expiry");
    return server_info_field(&run->looks, "overdue_keys") +
           server_info_field(&run->looks, "overdue_members");
}

static bool take_number(const char **at, const char *end, int64_t *number)
{
    const char *colon = memchr(*at, ':', (size_t)(end - *at));
    if (colon == NULL || !number_parse_int64(*at, (size_t)(colon - *at), number)) return false;
    *at = colon + 1;
    return true;
}

static void collect_events(struct run *run)
{
    int64_t next_look = first_usec(run);
    int64_t until = next_look + run->plan->spread_msec * 1000 + PATIENCE_MSEC * 1000LL;
    for (;;) {
        int64_t now = wall_usec();
        if (run->figures.late.count >= (size_t)run->plan->members || now > until) return;
        if (now >= next_look) {
            long long overdue = (long long)overdue_now(run);
            struct figures *figures = &run->figures;
            figures->looks++;
            figures->overdue_sum += overdue;
            if (overdue > figures->overdue_max) figures->overdue_max = overdue;
            next_look = now + LOOK_USEC;
        }
        link_wait(&run->events, next_look);
        if (link_reply(&run->events, 0) == NULL) continue;
        if (run->events.reply.count != 4) continue;

        /* "<key length>:<key>|<length>:<member>[,...]", a member being "<deadline>:<number>". */
        now = wall_usec();
        const struct resp_node *message = &run->events.reply.nodes[3];
        const char *at = message->text, *end = message->text + message->len;
        int64_t len, deadline_msec;
        if (!take_number(&at, end, &len) || strncmp(at, PREFIX, strlen(PREFIX)) != 0) continue;
        for (at += len; at < end; at += len) {
            at++; /* the separator */
            if (!take_number(&at, end, &len)) break;
            const char *member = at;
            if (!take_number(&member, at + len, &deadline_msec)) break;
            samples_add(&run->figures.late, now + run->offset_usec - deadline_msec * 1000);
        }
    }
}

struct shown {
    char text[32];
};

static struct shown msec_shown(int64_t usec)
{
    struct shown shown = { "never" };
    if (usec >= 0 && usec != INT64_MAX)
        snprintf(shown.text, sizeof(shown.text), "%.2f ms", (double)usec / 1000);
    return shown;
}

/* Prints "p50 ..., p99 ..., p99.9 ..., max ...", or the same as cells of a table's row. The samples
 * must be sorted; for `of` see samples_at. */
static void print_percentiles(const struct samples *samples, size_t of, bool cells)
{
    struct shown p50 = msec_shown(samples_at(samples, 0.5, of));
    struct shown p99 = msec_shown(samples_at(samples, 0.99, of));
    struct shown p999 = msec_shown(samples_at(samples, 0.999, of));
    struct shown max = msec_shown(samples_at(samples, 1, of));
    printf(cells ? "%s | %s | %s | %s" : "p50 %s, p99 %s, p99.9 %s, max %s", p50.text, p99.text,
           p999.text, max.text);
}

static void measure_spread(struct run *run)
{
    static const char *const channels[] = {
        [SET] = "sexpired", [HASH] = "hexpired", [ZSET] = "zexpired"
    };
    const struct figures *figures = &run->figures;
    char *old_flags = NULL;
    if (!run->plan->quiet) {
        old_flags = server_add_events(&run->commands, "Tshz");
        link_command(&run->events, "SUBSCRIBE __subkeyevent@0__:%s", channels[run->plan->family]);
        link_expect(&run->events, "SUBSCRIBE");
    }
    sleep_until(first_usec(run) - LOOK_USEC);
    double before = cpu_seconds(run);
    if (run->plan->quiet) {
        /* Poll only after the last deadline, so that nothing disturbs the expiry. */
        int64_t last = first_usec(run) + run->plan->spread_msec * 1000;
        double overdue;
        sleep_until(last + 1000);
        do {
            sleep_until(wall_usec() + LOOK_USEC);
            overdue = overdue_now(run);
        } while (overdue > 0 && wall_usec() < last + PATIENCE_MSEC * 1000LL);
    } else
        collect_events(run);
    run->figures.cpu_seconds = cpu_seconds(run) - before;
    if (old_flags != NULL) server_restore_events(&run->commands, old_flags);
    samples_sort(&run->figures.late);

    const struct plan *plan = run->plan;
    const struct samples *late = &figures->late;
    size_t members = (size_t)plan->members, early = samples_within(late, -1);
    double looks = figures->looks > 0 ? (double)figures->looks : 1;
    double mean = (double)figures->overdue_sum / looks;
    double usec_each = figures->cpu_seconds * 1e6 / (double)members;
    if (plan->markdown) {
        printf("| %s | %zu of %zu | %zu | ", plan->label, late->count, members, early);
        print_percentiles(late, members, true);
        printf(" | %.0f | %lld | %.2f us |\n", mean, figures->overdue_max, usec_each);
        return;
    }
    printf("%s: %zu members in %lld keys, deadlines over %lld ms\n", plan->label, members,
           plan->keys, plan->spread_msec);
    printf("  CPU         %.2f us for each member\n", usec_each);
    if (plan->quiet) return;
    printf("  events      %zu of %zu\n", late->count, members);
    printf("  early       %zu\n", early);
    printf("  late by     ");
    print_percentiles(late, members, false);
    printf("\n  overdue     mean %.1f, max %lld (%lld looks)\n", mean, figures->overdue_max,
           figures->looks);
}

/* A connection that sends PINGs. They are sent at fixed times, even while earlier ones are
 * unanswered, so that a stall of the server counts for every PING that was sent during the
 * stall. */
struct pinger {
    struct link *link;
    struct samples sent; /* send times in order */
    size_t answered;
    int64_t next;
};

static void take_pongs(struct pinger *pinger, struct samples *pings, int timeout_msec)
{
    while (pinger->answered < pinger->sent.count && link_reply(pinger->link, timeout_msec) != NULL)
        samples_add(pings, wall_usec() - pinger->sent.usec[pinger->answered++]);
}

static void ping_until_next(struct pinger *pinger, struct samples *pings)
{
    link_command(pinger->link, "PING");
    samples_add(&pinger->sent, wall_usec());
    link_flush(pinger->link);
    pinger->next += PING_USEC;
    do {
        link_wait(pinger->link, pinger->next);
        take_pongs(pinger, pings, 0);
    } while (wall_usec() < pinger->next);
}

static void measure_instant(struct run *run)
{
    struct figures *figures = &run->figures;
    int64_t due = first_usec(run) + 1000; /* members are alive at their deadline */
    sleep_until(due - QUIET_USEC);
    struct pinger pinger = { .link = &run->commands, .next = wall_usec() };
    while (pinger.next < due)
        ping_until_next(&pinger, &figures->quiet_pings);
    take_pongs(&pinger, &figures->quiet_pings, PATIENCE_MSEC);
    int64_t next_look = due;
    link_command(&run->looks, "INFO memory");
    link_flush(&run->looks);
    bool back = false;
    while (pinger.next < due + PATIENCE_MSEC * 1000LL) {
        ping_until_next(&pinger, &figures->pings);

        if (wall_usec() < next_look || link_reply(&run->looks, 0) == NULL) continue;
        figures->memory_left = server_info_field(&run->looks, "used_memory") - run->base_memory;
        back = figures->memory_left <= MEMORY_SLACK;
        if (back) break;
        link_command(&run->looks, "INFO memory");
        link_flush(&run->looks);
        next_look = wall_usec() + LOOK_USEC;
    }
    figures->memory_after_usec = back ? wall_usec() - due : -1;
    take_pongs(&pinger, &figures->pings, PATIENCE_MSEC);
    samples_drop(&pinger.sent);
    samples_sort(&figures->quiet_pings);
    samples_sort(&figures->pings);

    const struct plan *plan = run->plan;
    struct shown memory = msec_shown(figures->memory_after_usec);
    if (plan->markdown) {
        printf("| %s | %s | ", plan->label,
               msec_shown(samples_at(&figures->quiet_pings, 0.999, SIZE_MAX)).text);
        print_percentiles(&figures->pings, SIZE_MAX, true);
        printf(" | %s |\n", memory.text);
        return;
    }
    printf("%s: %lld members in %lld keys, beside %lld others, at one instant\n", plan->label,
           plan->members, plan->keys, plan->others);
    printf("  PING before  ");
    print_percentiles(&figures->quiet_pings, SIZE_MAX, false);
    printf("\n  PING after   ");
    print_percentiles(&figures->pings, SIZE_MAX, false);
    printf("\n  memory       back after %s (from %.1f MiB to %.3f MiB above its base)\n",
           memory.text, figures->memory_full / (1 << 20), figures->memory_left / (1 << 20));
}

int main(int argc, char **argv)
{
    struct plan plan = parse_arguments(argc, argv);
    struct run run = { .plan = &plan };
    prctl(PR_SET_TIMERSLACK, 1); /* wake up on time, not 50 us later */
    link_open(&run.commands, &plan.target);
    link_open(&run.looks, &plan.target);
    link_open(&run.events, &plan.target);
    run.offset_usec = link_clock_offset_usec(&run.commands);
    fill_members(&run);
    if (plan.instant)
        measure_instant(&run);
    else
        measure_spread(&run);
    link_close(&run.looks); /* a reply may still be under way */
    send_commands(&run, plan.keys, write_unlink, "UNLINK");
    link_close(&run.events);
    link_close(&run.commands);
    samples_drop(&run.figures.late);
    samples_drop(&run.figures.quiet_pings);
    samples_drop(&run.figures.pings);
    return EXIT_SUCCESS;
}
