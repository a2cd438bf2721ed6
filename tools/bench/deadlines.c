/* deadlines: compares the costs of the two structures for deadlines, the agenda and the timeline.
 * Links store/; needs no server.
 *
 * Both do the same work: arm n things with TTLs from a set of chosen size, cancel some, move some,
 * read the next deadline, pop and arm again, and pop all. Prints a Markdown table with nanoseconds
 * per operation, the best of several rounds. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "store/struct/agenda.h"
#include "store/struct/timeline.h"

enum {
    SIZES_MAX = 8,
    WORK = 3000000, /* things in all rounds of a row; at least one round */
    ROUNDS_MAX = 20,
    START = 1000000, /* the clock at the start */
};

/* About as large as a small key or element. `armed` is first, so that pop can cast. */
struct thing {
    union {
        struct deadline deadline;
        struct timeline_node node;
    } armed;
    uint32_t number;
    char rest[40];
};

union any {
    struct agenda agenda;
    struct timeline timeline;
};

/* The operations of one structure. The loops that use this table are inlined for each structure, so
 * no operation costs an indirect call. */
struct kind {
    const char *name;
    void (*prepare)(struct thing *thing); /* makes it unarmed */
    void (*init)(union any *any);
    void (*drop)(union any *any);
    void (*arm)(union any *any, struct thing *thing, msec at); /* moves it if it is armed */
    void (*cancel)(union any *any, struct thing *thing);
    msec (*next)(const union any *any);
    struct thing *(*pop)(union any *any); /* NULL when empty */
    size_t (*bytes)(const union any *any);
};

static inline void heap_prepare(struct thing *thing)
{
    deadline_init(&thing->armed.deadline);
}
static inline void heap_init(union any *any)
{
    agenda_init(&any->agenda);
}
static inline void heap_drop(union any *any)
{
    agenda_drop(&any->agenda);
}
static inline void heap_arm(union any *any, struct thing *thing, msec at)
{
    agenda_move(&any->agenda, &thing->armed.deadline, at);
}
static inline void heap_cancel(union any *any, struct thing *thing)
{
    agenda_cancel(&any->agenda, &thing->armed.deadline);
}
static inline msec heap_next(const union any *any)
{
    return agenda_next(&any->agenda);
}
static inline struct thing *heap_pop(union any *any)
{
    return (struct thing *)(void *)agenda_pop_due(&any->agenda, INT64_MAX);
}
static inline size_t heap_bytes(const union any *any)
{
    return agenda_bytes(&any->agenda);
}

static inline void tree_prepare(struct thing *thing)
{
    timeline_node_init(&thing->armed.node);
}
static inline void tree_init(union any *any)
{
    timeline_init(&any->timeline);
}
static inline void tree_drop(union any *any)
{
    timeline_drop(&any->timeline);
}
static inline void tree_arm(union any *any, struct thing *thing, msec at)
{
    timeline_move(&any->timeline, &thing->armed.node, at);
}
static inline void tree_cancel(union any *any, struct thing *thing)
{
    timeline_cancel(&any->timeline, &thing->armed.node);
}
static inline msec tree_next(const union any *any)
{
    return timeline_next(&any->timeline);
}
static inline struct thing *tree_pop(union any *any)
{
    return (struct thing *)(void *)timeline_pop_due(&any->timeline, INT64_MAX);
}
static inline size_t tree_bytes(const union any *any)
{
    return timeline_bytes(&any->timeline);
}

static const struct kind heap = {
    .name = "agenda",
    .prepare = heap_prepare,
    .init = heap_init,
    .drop = heap_drop,
    .arm = heap_arm,
    .cancel = heap_cancel,
    .next = heap_next,
    .pop = heap_pop,
    .bytes = heap_bytes,
};

static const struct kind tree = {
    .name = "timeline",
    .prepare = tree_prepare,
    .init = tree_init,
    .drop = tree_drop,
    .arm = tree_arm,
    .cancel = tree_cancel,
    .next = tree_next,
    .pop = tree_pop,
    .bytes = tree_bytes,
};

/* The deadlines and their order, the same for both structures. */
struct load {
    struct thing *things;   /* memory order differs from the order of deadlines */
    uint32_t *arm, *change; /* the orders of arming, and of cancelling and moving */
    msec *ttls;
    uint32_t count, different;
    uint64_t seed;
};

/* xorshift64 (Marsaglia 2003) */
static uint64_t draw(struct load *load)
{
    load->seed ^= load->seed << 13;
    load->seed ^= load->seed >> 7;
    return load->seed ^= load->seed << 17;
}

static void *allocate(size_t count, size_t size)
{
    void *p = calloc(count, size);
    if (p != NULL) return p;
    fprintf(stderr, "deadlines: no memory for %zu things\n", count);
    exit(1);
}

static uint32_t *shuffled(struct load *load)
{
    uint32_t *order = allocate(load->count, sizeof(*order));
    for (uint32_t i = 0; i < load->count; i++) {
        uint32_t j = (uint32_t)(draw(load) % (i + 1));
        order[i] = order[j];
        order[j] = i;
    }
    return order;
}

enum column { ARM, CANCEL, MOVE, POLL, TURN, POP, COLUMNS };

struct figures {
    double ns[COLUMNS];
    double bytes;
};

static double now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* Ends the time of one column and begins that of the next. */
static void end_column(struct figures *figures, enum column column, uint32_t operations,
                       double *since)
{
    figures->ns[column] = (now_ns() - *since) / operations;
    *since = now_ns();
}

#define FOR_EACH_KIND static inline __attribute__((always_inline))

/* Returns the clock afterwards. */
FOR_EACH_KIND msec fill(const struct kind *kind, union any *any, const struct load *load,
                        struct figures *figures)
{
    msec clock = START;
    uint32_t tenth = load->count / 10;
    double since = now_ns();
    for (uint32_t i = 0; i < load->count; i++) {
        clock += i % 4 == 0;
        kind->arm(any, &load->things[load->arm[i]], clock + load->ttls[i]);
    }
    end_column(figures, ARM, load->count, &since);
    figures->bytes = (double)kind->bytes(any) / load->count;
    for (uint32_t i = 0; i < tenth; i++)
        kind->cancel(any, &load->things[load->change[i]]);
    end_column(figures, CANCEL, tenth, &since);
    for (uint32_t i = 0; i < tenth; i++) {
        clock += i % 4 == 0;
        kind->arm(any, &load->things[load->change[tenth + i]], clock + load->ttls[i]);
    }
    end_column(figures, MOVE, tenth, &since);
    return clock;
}

/* Reads the next deadline, pops and arms again, then pops all. `sum` uses the results, so that the
 * compiler can't leave the work out. */
FOR_EACH_KIND void empty(const struct kind *kind, union any *any, const struct load *load,
                         msec clock, struct figures *figures)
{
    uint64_t sum = 0;
    double since = now_ns();
    for (uint32_t i = 0; i < load->count; i++) {
        sum += (uint64_t)kind->next(any);
        __asm__ volatile("" : : : "memory"); /* keeps the loop from being optimized away */
    }
    end_column(figures, POLL, load->count, &since);
    for (uint32_t i = 0; i < load->count / 2; i++) {
        struct thing *thing = kind->pop(any);
        sum += thing->number;
        clock += i % 4 == 0;
        kind->arm(any, thing, clock + load->ttls[i]);
    }
    end_column(figures, TURN, load->count / 2, &since);
    uint32_t popped = 0;
    for (struct thing *thing; (thing = kind->pop(any)) != NULL; popped++)
        sum += thing->number;
    end_column(figures, POP, popped, &since);
    __asm__ volatile("" : : "r"(sum));
}

FOR_EACH_KIND void run_round(const struct kind *kind, const struct load *load, struct figures *best)
{
    union any any;
    struct figures figures;
    for (uint32_t i = 0; i < load->count; i++)
        kind->prepare(&load->things[i]);
    kind->init(&any);
    msec clock = fill(kind, &any, load, &figures);
    empty(kind, &any, load, clock, &figures);
    kind->drop(&any);
    for (int column = 0; column < COLUMNS; column++)
        if (best->bytes == 0 || figures.ns[column] < best->ns[column])
            best->ns[column] = figures.ns[column];
    best->bytes = figures.bytes;
}

static void print_row(const struct load *load, const char *name, const struct figures *best)
{
    printf("| %u | %u | %s |", load->count, load->different, name);
    for (int column = 0; column < COLUMNS; column++)
        printf(column == POLL ? " %.1f |" : " %.0f |", best->ns[column]);
    printf(" %.1f |\n", best->bytes);
    fflush(stdout);
}

/* Runs the two structures in turns, so that other load on the machine affects both alike. */
static void compare_structures(uint32_t count, uint32_t different)
{
    struct load load = { .count = count, .different = different, .seed = 88172645463325252 };
    struct figures heaps = { .bytes = 0 }, trees = { .bytes = 0 };
    uint32_t rounds = WORK / count < 1 ? 1 : WORK / count;

    load.things = allocate(count, sizeof(*load.things));
    for (uint32_t i = 0; i < count; i++)
        load.things[i].number = i;
    load.arm = shuffled(&load);
    load.change = shuffled(&load);
    /* TTLs range over as many milliseconds as there are things; four are armed per millisecond. */
    load.ttls = allocate(count, sizeof(*load.ttls));
    for (uint32_t i = 0; i < count; i++)
        load.ttls[i] = 1000 + (msec)(draw(&load) % different * count / different);

    for (uint32_t i = 0; i < rounds && i < ROUNDS_MAX; i++) {
        run_round(&heap, &load, &heaps);
        run_round(&tree, &load, &trees);
    }
    print_row(&load, heap.name, &heaps);
    print_row(&load, tree.name, &trees);

    free(load.things);
    free(load.arm);
    free(load.change);
    free(load.ttls);
}

static void usage(FILE *to)
{
    fputs("usage: deadlines [-n how many things: 10000, 100000 and 1000000; may be repeated]\n"
          "Prints a Markdown table: nanoseconds for each operation, bytes for each thing.\n",
          to);
}

int main(int argc, char **argv)
{
    uint32_t counts[SIZES_MAX] = { 10000, 100000, 1000000 };
    unsigned sizes = 0;
    for (int option; (option = getopt(argc, argv, "n:")) != -1;) {
        if (option != 'n' || sizes == SIZES_MAX) {
            usage(stderr);
            return 2;
        }
        char *end;
        unsigned long value = strtoul(optarg, &end, 10);
        if (*optarg < '0' || *optarg > '9' || *end != '\0' || value < 1000 || value > 100000000) {
            fprintf(stderr, "deadlines: not a count from 1000 to 100000000: %s\n", optarg);
            return 2;
        }
        counts[sizes++] = (uint32_t)value;
    }
    if (optind < argc) {
        usage(stderr);
        return 2;
    }
    if (sizes == 0) sizes = 3;
    puts("| items | TTLs | structure | add | cancel | move | next | pop and add | pop | bytes |\n"
         "|--:|--:|---|--:|--:|--:|--:|--:|--:|--:|");
    for (unsigned i = 0; i < sizes; i++) {
        const uint32_t different[] = { 1, 10, 1000, counts[i] };
        for (int j = 0; j < 4; j++)
            if (j == 3 || different[j] < counts[i]) compare_structures(counts[i], different[j]);
    }
    return 0;
}
