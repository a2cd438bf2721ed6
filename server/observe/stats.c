/* stats: see stats.h. Computes rates; others count. */
#include "server/observe/stats.h"

/* 0 if the counter was reset since the last sample. */
static double rate(uint64_t now, uint64_t before, double seconds)
{
    return now >= before && seconds > 0 ? (double)(now - before) / seconds : 0;
}

void stats_sample(struct stats *stats, int64_t mono_usec)
{
    double seconds = (double)(mono_usec - stats->sampled.mono_usec) / 1e6;
    stats->commands_per_sec = rate(stats->commands, stats->sampled.commands, seconds);
    stats->in_per_sec = rate(stats->bytes_in, stats->sampled.bytes_in, seconds);
    stats->out_per_sec = rate(stats->bytes_out, stats->sampled.bytes_out, seconds);
    stats->sampled.mono_usec = mono_usec;
    stats->sampled.commands = stats->commands;
    stats->sampled.bytes_in = stats->bytes_in;
    stats->sampled.bytes_out = stats->bytes_out;
}
