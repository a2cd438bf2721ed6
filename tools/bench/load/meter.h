/* meter: CPU time and instructions of another process on this machine, from the kernel. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

enum { METER_THREADS_MAX = 64 };

/* All zero if there is no process; all readings are then 0. */
struct meter {
    pid_t pid;
    clockid_t clock;
    int counters[METER_THREADS_MAX]; /* instructions outside the kernel, per thread */
    unsigned counter_count;          /* 0 if the kernel offers no such counter */
};

struct reading {
    int64_t cpu_nsec; /* exact, also within a time slice */
    uint64_t user_ticks, system_ticks;
    uint64_t instructions;
};

/* Ends the program with a message when there is no such process. */
void meter_open(struct meter *meter, pid_t pid);
void meter_close(struct meter *meter);

int64_t meter_cpu_nsec(const struct meter *meter);
void meter_read(const struct meter *meter, struct reading *reading);
