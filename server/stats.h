/* stats: what INFO counts besides the store. Plain numbers; CONFIG RESETSTAT zeroes them. */
#ifndef SERVER_STATS_H
#define SERVER_STATS_H

#include <stdint.h>

struct stats {
    uint64_t connections, rejected_connections;
    uint64_t commands, errors;
    uint64_t bytes_in, bytes_out;
    uint64_t closed_query_buffer, closed_output_buffer, closed_idle;
};

#endif
