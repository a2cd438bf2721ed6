#include "tools/bench/load/drive.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    READ_SIZE = 1 << 18,
    CARRY_MAX = 1024, /* the incomplete last line of a reply */
    EVENTS_MAX = 64,
    STALL_NSEC = 1000000,
};

struct conn {
    struct link link;
    char *bytes; /* a copy of the script's */
    struct draw *draws;
    struct replies replies;
    uint64_t awaited; /* replies.whole when the batch is answered */
    uint32_t batch, sent;
    int64_t sent_at;
    bool waits_to_write;
    size_t carry_len;
    char carry[CARRY_MAX];
};

enum phase { WARM_UP, MEASURE, DRAIN };

struct drive {
    const struct drive_plan *plan;
    struct drive_result *result;
    struct conn *conns;
    int epoll;
    enum phase phase;
    int64_t begin, until; /* of the measurement */
    int64_t idle_nsec;
    uint64_t to_send; /* requests */
    unsigned open;    /* connections with a batch under way */
    int64_t last_cpu_nsec;
    long preempted; /* how often the kernel preempted us: ru_nivcsw */
    struct reading before;
    char read_buffer[CARRY_MAX + READ_SIZE];
};

__attribute__((noreturn)) static void die(const char *what)
{
    fprintf(stderr, "load: %s: %s\n", what, errno == 0 ? "closed by the server" : strerror(errno));
    exit(EXIT_FAILURE);
}

static int64_t now_nsec(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void send_rest(struct drive *drive, struct conn *conn)
{
    const struct batch *batch = &drive->plan->script->batches[conn->batch];
    const char *from = conn->bytes + batch->begin + conn->sent;
    size_t left = batch->end - batch->begin - conn->sent;
    ssize_t sent = send(conn->link.fd, from, left, MSG_NOSIGNAL);
    if (sent < 0 && errno != EAGAIN && errno != EINTR) die("send");
    if (sent > 0) conn->sent += (uint32_t)sent;

    bool is_short = sent < (ssize_t)left;
    if (conn->waits_to_write == is_short) return;
    struct epoll_event event = { .events = EPOLLIN | (is_short ? (uint32_t)EPOLLOUT : 0),
                                 .data.ptr = conn };
    if (epoll_ctl(drive->epoll, EPOLL_CTL_MOD, conn->link.fd, &event) != 0) die("epoll");
    conn->waits_to_write = is_short;
}

static void send_batch(struct drive *drive, struct conn *conn, int64_t now)
{
    const struct script *script = drive->plan->script;
    if (drive->to_send == 0) {
        drive->open--;
        return;
    }
    drive->to_send -= drive->to_send < script->pipeline ? drive->to_send : script->pipeline;

    /* The next batch needs the numbers of the replies to the last one. */
    for (uint64_t i = 0; i < conn->replies.numbers_count; i++)
        conn->draws[i].reply = conn->replies.numbers[i];

    script_patch(script, conn->batch, conn->bytes, drive->plan->numbers, conn->draws);
    conn->sent = 0;
    conn->awaited += script->pipeline;
    conn->sent_at = now;
    send_rest(drive, conn);
}

static long preemptions(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_nivcsw;
}

/* Notes how long the server worked while this batch waited. The CPU time spent since the last batch
 * leaves out other processes on the server's core; the time waited leaves out the server's work
 * between batches. So the smaller of the two is the work that held up this batch. If the kernel
 * preempted us, the reply may have arrived earlier, and the batch does not count. */
static void look_for_stall(struct drive *drive, int64_t waited)
{
    struct drive_result *result = drive->result;
    int64_t cpu = meter_cpu_nsec(drive->plan->meter), spent = cpu - drive->last_cpu_nsec;
    long preempted = preemptions(), before = drive->preempted;
    drive->last_cpu_nsec = cpu;
    drive->preempted = preempted;
    if (preempted != before) return;
    if (spent > waited) spent = waited;
    if (spent > STALL_NSEC) result->stalls_over_msec++;
    if (spent <= result->stall_nsec) return;
    result->stall_nsec = spent;
    result->stall_at = result->requests;
}

static void receive(struct drive *drive, struct conn *conn)
{
    char *data = drive->read_buffer + CARRY_MAX - conn->carry_len;
    ssize_t got = recv(conn->link.fd, drive->read_buffer + CARRY_MAX, READ_SIZE, 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got == 0) errno = 0;
    if (got <= 0) die("receive");
    memcpy(data, conn->carry, conn->carry_len);
    size_t len = conn->carry_len + (size_t)got;
    size_t taken = replies_scan(&conn->replies, data, len);
    conn->carry_len = len - taken;
    if (conn->carry_len > CARRY_MAX) {
        errno = EMSGSIZE;
        die("receive");
    }
    memcpy(conn->carry, data + taken, conn->carry_len);
    if (conn->replies.whole != conn->awaited) return;

    const struct script *script = drive->plan->script;
    int64_t now = now_nsec();
    if (drive->phase == MEASURE) {
        histogram_add(&drive->result->latency, now - conn->sent_at, script->pipeline);
        drive->result->requests += script->pipeline;
        if (drive->plan->stalls) look_for_stall(drive, now - conn->sent_at);
    }
    if (++conn->batch == script->batch_count) conn->batch = 0;
    send_batch(drive, conn, now);
}

static void begin_measuring(struct drive *drive, int64_t now)
{
    drive->phase = MEASURE;
    drive->begin = now;
    drive->until =
        drive->plan->requests > 0 ? INT64_MAX : now + (int64_t)(drive->plan->seconds * 1e9);
    drive->idle_nsec = 0;
    meter_read(drive->plan->meter, &drive->before);
    drive->last_cpu_nsec = drive->before.cpu_nsec;
    drive->preempted = preemptions();
}

static void end_measuring(struct drive *drive, int64_t now)
{
    struct drive_result *result = drive->result;
    const struct reading *before = &drive->before;
    struct reading *spent = &result->spent;
    meter_read(drive->plan->meter, spent);
    spent->cpu_nsec -= before->cpu_nsec;
    spent->instructions -= before->instructions;
    spent->user_ticks -= before->user_ticks;
    spent->system_ticks -= before->system_ticks;
    drive->phase = DRAIN;
    drive->to_send = 0;
    result->seconds = (double)(now - drive->begin) / 1e9;
    result->idle = (double)drive->idle_nsec / (double)(now - drive->begin);
}

static void run_load(struct drive *drive)
{
    struct epoll_event events[EVENTS_MAX];
    int timeout = drive->plan->sleeps ? 100 : 0;
    int64_t now = now_nsec();
    drive->until = now + (int64_t)(drive->plan->warm_up_seconds * 1e9);
    if (drive->plan->requests > 0) begin_measuring(drive, now);
    drive->open = drive->plan->connections;
    for (unsigned i = 0; i < drive->plan->connections; i++)
        send_batch(drive, &drive->conns[i], now_nsec());
    while (drive->open > 0) {
        int count = epoll_wait(drive->epoll, events, EVENTS_MAX, timeout);
        if (count < 0 && errno != EINTR) die("epoll");
        if (count <= 0 || drive->plan->sleeps) drive->idle_nsec += now_nsec() - now;
        for (int i = 0; i < count; i++) {
            struct conn *conn = events[i].data.ptr;
            if (events[i].events & EPOLLOUT) send_rest(drive, conn);
            if (events[i].events & ~(uint32_t)EPOLLOUT) receive(drive, conn);
        }
        now = now_nsec();
        if (drive->phase == WARM_UP && now >= drive->until)
            begin_measuring(drive, now);
        else if (drive->phase == MEASURE && now >= drive->until)
            end_measuring(drive, now);
    }
    if (drive->phase == MEASURE) end_measuring(drive, now);
}

void drive_run(const struct drive_plan *plan, struct drive_result *result)
{
    struct drive *drive = calloc(1, sizeof(*drive));
    struct conn *conns = calloc(plan->connections, sizeof(*conns));
    if (drive == NULL || conns == NULL) die("memory");
    *result = (struct drive_result){ 0 };
    drive->plan = plan;
    drive->result = result;
    drive->conns = conns;
    drive->to_send = plan->requests > 0 ? plan->requests : UINT64_MAX;
    drive->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (drive->epoll < 0) die("epoll");
    const struct script *script = plan->script;
    for (struct conn *conn = conns; conn < conns + plan->connections; conn++) {
        link_open(&conn->link, plan->target);
        conn->bytes = malloc(script->len);
        conn->draws = calloc(script_draws(script), sizeof(*conn->draws));
        if (conn->bytes == NULL || conn->draws == NULL) die("memory");
        memcpy(conn->bytes, script->bytes, script->len);
        if (script->by_command) {
            struct replies *replies = &conn->replies;
            replies->numbers = calloc(script->pipeline, sizeof(*replies->numbers));
            replies->numbers_count = script->pipeline;
            if (replies->numbers == NULL) die("memory");
        }
        int flags = fcntl(conn->link.fd, F_GETFL);
        if (flags < 0 || fcntl(conn->link.fd, F_SETFL, flags | O_NONBLOCK) != 0) die("socket");
        struct epoll_event event = { .events = EPOLLIN, .data.ptr = conn };
        if (epoll_ctl(drive->epoll, EPOLL_CTL_ADD, conn->link.fd, &event) != 0) die("epoll");
    }
    run_load(drive);
    for (struct conn *conn = conns; conn < conns + plan->connections; conn++) {
        const struct replies *replies = &conn->replies;
        if (result->errors == 0) memcpy(result->error, replies->error, sizeof(result->error));
        result->errors += replies->errors;
        link_close(&conn->link);
        free(conn->bytes);
        free(conn->draws);
        free(replies->numbers);
    }
    close(drive->epoll);
    free(conns);
    free(drive);
}
