/* status: see status.h. */
#include "server/daemon/status.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>

#include "server/base/log.h"
#include "server/daemon/parts.h"
#include "server/disk/persist.h"
#include "server/net/client.h"
#include "store/mem/mem.h"
#include "store/store.h"

struct line {
    char *text;
    size_t size, len;
};

__attribute__((format(printf, 2, 3))) static void add(struct line *line, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int len = vsnprintf(line->text + line->len, line->size - line->len, format, args);
    va_end(args);
    if (len < 0) return;
    line->len += (size_t)len;
    if (line->len >= line->size) line->len = line->size - 1;
}

static void add_bytes(struct line *line, uint64_t bytes)
{
    static const char units[] = "BKMGT";
    double shown = (double)bytes;
    size_t unit = 0;
    for (; shown >= 1024 && unit + 2 < sizeof(units); unit++)
        shown /= 1024;
    add(line, unit == 0 ? "%.0f%c" : "%.1f%c", shown, units[unit]);
}

static void add_progress(struct line *line, const struct progress_report *at)
{
    add(line, "%s: %.0f%%", at->what, at->percent);
    if (at->left_sec >= 0) add(line, ", about %" PRId64 " s left", at->left_sec);
}

void status_write(const struct parts *parts, char *text, size_t size)
{
    struct line line = { text, size, 0 };
    struct persist_report report = persist_report(parts->persist);
    if (report.saves_inline || report.loading) {
        add_progress(&line, report.saves_inline ? &report.save : &report.load);
        return;
    }
    const char *state = report.write_error != NULL ? "Refusing writes, see the log" : "Ready";
    uint64_t keys = store_count(parts->store), clients = clients_count(parts->clients);
    add(&line, "%s: %" PRIu64 " key%s, %" PRIu64 " client%s, ", state, keys, log_plural(keys),
        clients, log_plural(clients));
    add_bytes(&line, mem_used());
    add(&line, " of memory");

    if (report.journal) {
        add(&line, "; journal ");
        add_bytes(&line, report.journal_bytes);
    }
    if (report.last_save_sec > report.start_sec) {
        time_t seconds = (time_t)report.last_save_sec;
        struct tm local;
        char stamp[32] = "";
        if (localtime_r(&seconds, &local) != NULL)
            strftime(stamp, sizeof(stamp), "%Y-%m-%d %H:%M:%S", &local);
        add(&line, "; last snapshot %s", stamp);
    }
    if (report.task.what != NULL) {
        add(&line, "; ");
        add_progress(&line, &report.task);
    }
    if (report.saves.has_failed) add(&line, "; the last snapshot failed, see the log");
    if (report.rewrites.has_failed) add(&line, "; the last rewrite failed, see the log");

    if (parts->reload.failed) add(&line, "; the last reload failed, see the log");
}
