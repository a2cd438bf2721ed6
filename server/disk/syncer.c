/* syncer: see syncer.h. One thread, one mutex, at most one waiting order of each kind, and one
 * report. Fields after `lock` are accessed with the mutex held; the disk operations themselves run
 * without it. */
#include "server/disk/syncer.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "server/base/thread.h"
#include "server/disk/format/disk.h"
#include "store/base/ensure.h"
#include "store/mem/mem.h"

struct order {
    bool waits;
    int fd;
    uint64_t position, line_end;
};

struct range {
    bool waits;
    int fd;
    uint64_t from, len;
};

struct syncer {
    pthread_t thread;
    int event;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    struct order sync, retire;
    struct range blocks, write_back;
    enum syncer_last last; /* what `retire` does before it closes the file */
    bool retiring;         /* `retire` waits, is running, or its report was not taken yet */
    bool ignored;          /* ignore the result of the running sync */
    bool stop;
    struct syncer_report report;
};

static void notify(struct syncer *syncer)
{
    uint64_t one = 1;
    ssize_t put = write(syncer->event, &one, sizeof(one));
    ensure(put == sizeof(one) || errno == EAGAIN, "eventfd: %s", strerror(errno));
}

static void report_sync(struct syncer *syncer, int error, uint64_t position)
{
    if (error != 0)
        syncer->report.error = error;
    else if (syncer->report.error == 0)
        syncer->report.synced = position;
}

/* A file that was cut and has grown again contains zeros where the line ended. */
static int check_line_end(int fd, uint64_t at)
{
    char last;
    size_t got;
    int error = disk_read(fd, &last, 1, at - 1, &got);
    return error == 0 && (got == 0 || last != '\n') ? ESTALE : error;
}

static int sync_unlocked(struct syncer *syncer, const struct order *order)
{
    pthread_mutex_unlock(&syncer->lock);
    int error = disk_sync(order->fd);
    if (error == 0) error = check_line_end(order->fd, order->line_end);
    pthread_mutex_lock(&syncer->lock);
    return error;
}

static void *syncer_main(void *ctx)
{
    struct syncer *syncer = ctx;
    pthread_mutex_lock(&syncer->lock);
    for (;;) {
        if (syncer->retire.waits) { /* before a sync of the new file */
            struct order order = syncer->retire;
            syncer->retire.waits = false;
            if (syncer->last == SYNCER_SYNC_AND_CLOSE && syncer->report.error == 0)
                report_sync(syncer, sync_unlocked(syncer, &order), order.position);
            syncer->report.retired = true;
            notify(syncer); /* writes need not wait for the rest */
            pthread_mutex_unlock(&syncer->lock);
            disk_free_allocated(order.fd);
            disk_close(order.fd);
            pthread_mutex_lock(&syncer->lock);
        } else if (syncer->stop) {
            break;
        } else if (syncer->blocks.waits) {
            struct range blocks = syncer->blocks;
            syncer->blocks.waits = false;
            pthread_mutex_unlock(&syncer->lock);
            disk_allocate(blocks.fd, blocks.from, blocks.len);
            pthread_mutex_lock(&syncer->lock);
        } else if (syncer->sync.waits) {
            struct order order = syncer->sync;
            syncer->write_back.waits = false; /* the sync writes these bytes, too */
            syncer->sync.waits = false;
            /* After an error a second sync might succeed although bytes were lost. */
            if (syncer->report.error != 0) continue;
            syncer->ignored = false;
            int error = sync_unlocked(syncer, &order);
            if (!syncer->ignored) report_sync(syncer, error, order.position);
            notify(syncer);
        } else if (syncer->write_back.waits) {
            struct range range = syncer->write_back;
            syncer->write_back.waits = false;
            pthread_mutex_unlock(&syncer->lock);
            disk_write_back(range.fd, range.from, range.len);
            pthread_mutex_lock(&syncer->lock);
        } else {
            pthread_cond_wait(&syncer->wake, &syncer->lock);
        }
    }
    pthread_mutex_unlock(&syncer->lock);
    return NULL;
}

struct syncer *syncer_new(void)
{
    int event = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (event < 0) return NULL;
    struct syncer *syncer = mem_zalloc(sizeof(*syncer));
    syncer->event = event;
    pthread_mutex_init(&syncer->lock, NULL);
    pthread_cond_init(&syncer->wake, NULL);
    int error = thread_start(&syncer->thread, syncer_main, syncer);
    if (error == 0) return syncer;
    close(event);
    mem_free(syncer);
    errno = error;
    return NULL;
}

void syncer_stop(struct syncer *syncer)
{
    if (syncer->stop) return; /* only this function sets it */
    pthread_mutex_lock(&syncer->lock);
    syncer->stop = true;
    pthread_cond_signal(&syncer->wake);
    pthread_mutex_unlock(&syncer->lock);
    pthread_join(syncer->thread, NULL);
}

void syncer_free(struct syncer *syncer)
{
    if (syncer == NULL) return;
    syncer_stop(syncer);
    pthread_cond_destroy(&syncer->wake);
    pthread_mutex_destroy(&syncer->lock);
    close(syncer->event);
    mem_free(syncer);
}

int syncer_fd(const struct syncer *syncer)
{
    return syncer->event;
}

void syncer_ask(struct syncer *syncer, int fd, uint64_t position, uint64_t line_end)
{
    pthread_mutex_lock(&syncer->lock);
    syncer->sync =
        (struct order){ .waits = true, .fd = fd, .position = position, .line_end = line_end };
    pthread_cond_signal(&syncer->wake);
    pthread_mutex_unlock(&syncer->lock);
}

void syncer_allocate(struct syncer *syncer, int fd, uint64_t from, uint64_t len)
{
    pthread_mutex_lock(&syncer->lock);
    syncer->blocks = (struct range){ .waits = true, .fd = fd, .from = from, .len = len };
    pthread_cond_signal(&syncer->wake);
    pthread_mutex_unlock(&syncer->lock);
}

void syncer_write_back(struct syncer *syncer, int fd, uint64_t from, uint64_t len)
{
    pthread_mutex_lock(&syncer->lock);
    struct range *range = &syncer->write_back;
    if (range->waits)
        range->len = from + len - range->from;
    else
        *range = (struct range){ .waits = true, .fd = fd, .from = from, .len = len };
    pthread_cond_signal(&syncer->wake);
    pthread_mutex_unlock(&syncer->lock);
}

bool syncer_retire(struct syncer *syncer, int fd, uint64_t position, uint64_t line_end,
                   enum syncer_last last)
{
    pthread_mutex_lock(&syncer->lock);
    bool is_free = !syncer->retiring;
    if (is_free) {
        syncer->retiring = true;
        syncer->retire =
            (struct order){ .waits = true, .fd = fd, .position = position, .line_end = line_end };
        syncer->last = last;
        /* Drop the waiting orders, which were for the retired file. */
        syncer->sync.waits = syncer->blocks.waits = syncer->write_back.waits = false;
        if (last == SYNCER_JUST_CLOSE) {
            syncer->ignored = true;
            syncer->report = (struct syncer_report){ 0 };
        }
        pthread_cond_signal(&syncer->wake);
    }
    pthread_mutex_unlock(&syncer->lock);
    return is_free;
}

struct syncer_report syncer_take(struct syncer *syncer)
{
    uint64_t times;
    ssize_t got = read(syncer->event, &times, sizeof(times));
    ensure(got == sizeof(times) || errno == EAGAIN, "eventfd: %s", strerror(errno));
    pthread_mutex_lock(&syncer->lock);
    struct syncer_report report = syncer->report;
    syncer->report = (struct syncer_report){ 0 };
    if (report.retired) syncer->retiring = false;
    /* After an error no further sync runs; the caller decides what to do. */
    if (report.error != 0) syncer->sync.waits = false;
    pthread_mutex_unlock(&syncer->lock);
    return report;
}
