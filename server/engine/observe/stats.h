/* stats: the counters of INFO about connections, turns and all commands together. Other counters
 * are in observe.h and in the store. Callers add to the fields directly; CONFIG RESETSTAT zeroes
 * them. */
#pragma once

#include <stddef.h>

#include "server/base/loop.h"

/* The largest value of the last PEAK_SECONDS seconds. */
enum { PEAK_SECONDS = 8 };
struct peak {
    size_t seconds[PEAK_SECONDS]; /* a ring */
    unsigned at;                  /* index of the current second */
};

/* Measures for how long a condition has held, in total and at present. Monotonic microseconds. */
struct stopwatch {
    int64_t ended_usec; /* the sum of all periods that have ended */
    int64_t since_usec; /* 0 while the condition does not hold */
};

struct stats {
    uint64_t connections, rejected_connections;
    uint64_t commands, errors;
    uint64_t bytes_in, bytes_out;           /* read from, and sent to, clients */
    uint64_t repl_bytes_in, repl_bytes_out; /* read from a master; sent to replicas */
    uint64_t full_syncs, partial_syncs,
        refused_partial_syncs; /* requests of replicas, by their result */
    uint64_t reads, writes;    /* system calls on sockets */
    uint64_t denied_auth, denied_command, denied_key, denied_channel; /* refusals by the ACL */
    uint64_t denied_tls_cert; /* client certificates whose name matches no user */
    uint64_t closed_query_buffer, closed_output_buffer;
    uint64_t evicted_clients;
    struct loop_turns turns;
    struct peak input, output; /* bytes of one client's buffers */

    uint64_t expiry_usec;         /* time in slices that remove expired data */
    uint64_t expiry_cut;          /* turns whose budget was spent while data was still overdue */
    struct stopwatch pacing;      /* expiry waits for subscribers that read too slowly */
    struct stopwatch over_memory; /* maxmemory exceeded, and eviction did not end that at once */
    struct stopwatch defragging;

    size_t memory_peak;       /* in bytes, as seen by the last sample */
    int64_t memory_peak_usec; /* monotonic: the first sample with this peak, or 0 */

    double commands_per_sec, in_per_sec, out_per_sec; /* between the last two samples */
    double repl_in_per_sec, repl_out_per_sec;
    double turns_per_sec, usec_per_turn;
    struct {
        int64_t mono_usec;
        uint64_t commands, bytes_in, bytes_out, repl_bytes_in, repl_bytes_out;
        struct loop_turns turns;
    } sampled;
};

/* Computes the rates since the last sample, and begins the next second of the peaks. Call about
 * once a second. */
void stats_sample(struct stats *stats, int64_t mono_usec);

static inline void peak_note(struct peak *peak, size_t value)
{
    if (value > peak->seconds[peak->at]) peak->seconds[peak->at] = value;
}
/* Returns the largest value noted in the last PEAK_SECONDS seconds, or 0. */
size_t peak_recent(const struct peak *peak);

/* Begin or end a period. No effect if it has already begun, or ended. */
void stopwatch_begin(struct stopwatch *stopwatch, int64_t mono_usec);
void stopwatch_end(struct stopwatch *stopwatch, int64_t mono_usec);
/* Returns the period that has not ended, or 0. */
int64_t stopwatch_current(const struct stopwatch *stopwatch, int64_t mono_usec);
/* Returns the sum of all periods, including the current one. */
int64_t stopwatch_total(const struct stopwatch *stopwatch, int64_t mono_usec);
