/* stats: see stats.h. */
#include "server/engine/observe/stats.h"

#include "store/mem/mem.h"

/* Returns the increase per second; 0 if the counter was reset since the last sample. */
static double rate(uint64_t now, uint64_t before, double seconds)
{
    return now >= before && seconds > 0 ? (double)(now - before) / seconds : 0;
}

static void next_second(struct peak *peak)
{
    peak->at = (peak->at + 1) % PEAK_SECONDS;
    peak->seconds[peak->at] = 0;
}

void stats_sample(struct stats *stats, int64_t mono_usec)
{
    const struct loop_turns *turns = &stats->turns, *before = &stats->sampled.turns;
    double seconds = (double)(mono_usec - stats->sampled.mono_usec) / 1e6;
    stats->commands_per_sec = rate(stats->commands, stats->sampled.commands, seconds);
    stats->in_per_sec = rate(stats->bytes_in, stats->sampled.bytes_in, seconds);
    stats->out_per_sec = rate(stats->bytes_out, stats->sampled.bytes_out, seconds);
    stats->repl_in_per_sec = rate(stats->repl_bytes_in, stats->sampled.repl_bytes_in, seconds);
    stats->repl_out_per_sec = rate(stats->repl_bytes_out, stats->sampled.repl_bytes_out, seconds);
    stats->turns_per_sec = rate(turns->count, before->count, seconds);
    stats->usec_per_turn =
        rate(turns->usec, before->usec, (double)(int64_t)(turns->count - before->count));
    stats->sampled.mono_usec = mono_usec;
    stats->sampled.commands = stats->commands;
    stats->sampled.bytes_in = stats->bytes_in;
    stats->sampled.bytes_out = stats->bytes_out;
    stats->sampled.repl_bytes_in = stats->repl_bytes_in;
    stats->sampled.repl_bytes_out = stats->repl_bytes_out;
    stats->sampled.turns = *turns;
    size_t peak = mem_peak();
    if (stats->memory_peak != peak) {
        stats->memory_peak = peak;
        stats->memory_peak_usec = mono_usec;
    }
    next_second(&stats->input);
    next_second(&stats->output);
}

size_t peak_recent(const struct peak *peak)
{
    size_t most = 0;
    for (unsigned i = 0; i < PEAK_SECONDS; i++)
        if (peak->seconds[i] > most) most = peak->seconds[i];
    return most;
}

void stopwatch_begin(struct stopwatch *stopwatch, int64_t mono_usec)
{
    if (stopwatch->since_usec == 0) stopwatch->since_usec = mono_usec;
}

void stopwatch_end(struct stopwatch *stopwatch, int64_t mono_usec)
{
    stopwatch->ended_usec += stopwatch_current(stopwatch, mono_usec);
    stopwatch->since_usec = 0;
}

int64_t stopwatch_current(const struct stopwatch *stopwatch, int64_t mono_usec)
{
    if (stopwatch->since_usec == 0 || mono_usec < stopwatch->since_usec) return 0;
    return mono_usec - stopwatch->since_usec;
}

int64_t stopwatch_total(const struct stopwatch *stopwatch, int64_t mono_usec)
{
    return stopwatch->ended_usec + stopwatch_current(stopwatch, mono_usec);
}
