#include "tools/bench/load/meter.h"

#include <dirent.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

void meter_open(struct meter *meter, pid_t pid)
{
    struct perf_event_attr attr = { .type = PERF_TYPE_HARDWARE,
                                    .size = sizeof(attr),
                                    .config = PERF_COUNT_HW_INSTRUCTIONS,
                                    .exclude_kernel = 1,
                                    .exclude_hv = 1 };
    *meter = (struct meter){ .pid = pid };
    int error = clock_getcpuclockid(pid, &meter->clock);
    if (error != 0) {
        fprintf(stderr, "load: process %d: %s\n", (int)pid, strerror(error));
        exit(EXIT_FAILURE);
    }

    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/task", (int)meter->pid);
    DIR *threads = opendir(path);
    if (threads == NULL) return;
    for (struct dirent *thread; (thread = readdir(threads)) != NULL;) {
        if (thread->d_name[0] == '.' || meter->counter_count == METER_THREADS_MAX) continue;
        int counter = (int)syscall(SYS_perf_event_open, &attr, (pid_t)atoi(thread->d_name), -1, -1,
                                   PERF_FLAG_FD_CLOEXEC);
        if (counter >= 0) meter->counters[meter->counter_count++] = counter;
    }
    closedir(threads);
}

void meter_close(struct meter *meter)
{
    for (unsigned i = 0; i < meter->counter_count; i++)
        close(meter->counters[i]);
    *meter = (struct meter){ 0 };
}

int64_t meter_cpu_nsec(const struct meter *meter)
{
    struct timespec spent = { 0 };
    if (meter->pid != 0) clock_gettime(meter->clock, &spent);
    return (int64_t)spent.tv_sec * 1000000000 + spent.tv_nsec;
}

void meter_read(const struct meter *meter, struct reading *reading)
{
    *reading = (struct reading){ 0 };
    if (meter->pid == 0) return;
    for (unsigned i = 0; i < meter->counter_count; i++) {
        uint64_t count = 0;
        if (read(meter->counters[i], &count, sizeof(count)) == sizeof(count))
            reading->instructions += count;
    }
    reading->cpu_nsec = meter_cpu_nsec(meter);

    char path[64], text[1024];
    snprintf(path, sizeof(path), "/proc/%d/stat", (int)meter->pid);
    FILE *file = fopen(path, "r");
    if (file == NULL) return;
    size_t len = fread(text, 1, sizeof(text) - 1, file);
    fclose(file);
    text[len] = '\0';
    /* The name in field 2 may contain any bytes, so count fields from the last parenthesis. */
    const char *rest = strrchr(text, ')');
    if (rest == NULL) return;
    if (sscanf(rest + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %" SCNu64 " %" SCNu64,
               &reading->user_ticks, &reading->system_ticks) != 2)
        reading->user_ticks = reading->system_ticks = 0;
}
