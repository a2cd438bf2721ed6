/* stats: the counters of INFO that concern connections and all commands together. The store and
 * observe.h have further ones. CONFIG RESETSTAT zeroes them. */
#ifndef SERVER_OBSERVE_STATS_H
#define SERVER_OBSERVE_STATS_H

#include <stdint.h>

struct stats {
    uint64_t connections, rejected_connections;
    uint64_t commands, errors;
    uint64_t bytes_in, bytes_out;
    uint64_t denied_auth, denied_command, denied_key, denied_channel; /* by the ACL */
    uint64_t closed_query_buffer, closed_output_buffer, closed_idle;
    uint64_t denied_tls_cert; /* clients' certificates whose name is no user's */
    uint64_t evicted_clients;

    double commands_per_sec, in_per_sec, out_per_sec; /* between the last two samples */
    struct {
        int64_t mono_usec;
        uint64_t commands, bytes_in, bytes_out;
    } sampled;
};

/* Computes the rates since the last sample; call about once a second. */
void stats_sample(struct stats *stats, int64_t mono_usec);

#endif
