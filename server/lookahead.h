/* lookahead: what the next requests of a pipeline will touch is brought into the cache while the
 * first ones run. Knows where a request's first key stands; refuses to know commands. All of it is
 * a hint: a wrong guess costs a little time and nothing else. */
#ifndef SERVER_LOOKAHEAD_H
#define SERVER_LOOKAHEAD_H

#include <stddef.h>

#include "store/keyspace.h"

/* Skims the requests that data[0..len) begins with. Returns how many it has looked at, 1 or more:
 * that many may run before it is worth looking again. */
unsigned lookahead(const struct keyspace *ks, const char *data, size_t len);

#endif
