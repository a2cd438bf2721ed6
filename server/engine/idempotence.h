/* idempotence: what Redis 8.6 and later write about producers of streams into an AOF and to
 * replicas. A producer names itself and each entry, so that Redis can recognize an entry that is
 * sent twice. This server does not: it reads the entries and ignores the rest. Depends on nothing.
 */
#ifndef SERVER_ENGINE_IDEMPOTENCE_H
#define SERVER_ENGINE_IDEMPOTENCE_H

#include <stdbool.h>

#include "store/base/bytes.h"

/* The place and number of the words that name the producer in an XADD: IDMP pid iid, or IDMPAUTO
 * pid. 0: there are none, or the ID is not complete, as in an entry that the master may have
 * refused. */
int idempotence_find(int argc, const struct bytes *argv, int *at);

/* Is it a command that only changes what Redis knows about producers (XCFGSET, XIDMPRECORD)? */
bool idempotence_only(const struct bytes *argv);

#endif
