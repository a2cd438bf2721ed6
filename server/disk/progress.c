/* progress: see progress.h. */
#include "server/disk/progress.h"

#include <inttypes.h>

#include "server/base/log.h"

enum { USEC_PER_SEC = 1000 * 1000, LOG_USEC = 5 * USEC_PER_SEC };

void progress_begin(struct progress *progress, const char *what, uint64_t total, int64_t now_usec)
{
    *progress = (struct progress){
        .what = what, .total = total, .began_usec = now_usec, .logged_usec = now_usec
    };
}

/* `done` can exceed the total, because files and stores may grow while they are read. */
struct progress_report progress_report(const struct progress *progress, int64_t now_usec)
{
    struct progress_report report = {
        .what = progress->what, .done = progress->done, .total = progress->total, .left_sec = -1
    };
    if (progress->total == 0) return report;
    uint64_t done = progress->done < progress->total ? progress->done : progress->total;
    double share = (double)done / (double)progress->total;
    report.percent = 100 * share;
    if (done == 0) return report;
    double spent = (double)(now_usec - progress->began_usec) / USEC_PER_SEC;
    report.left_sec = (int64_t)(spent / share * (1 - share) + 0.5);
    return report;
}

void progress_log(struct progress *progress, int64_t now_usec)
{
    if (now_usec - progress->logged_usec < LOG_USEC) return;
    progress->logged_usec = now_usec;
    struct progress_report report = progress_report(progress, now_usec);
    if (report.left_sec < 0) return;
    log_line(LOG_NOTICE, "%s: %.0f%% done, about %" PRId64 " s left", progress->what,
             report.percent, report.left_sec);
}
