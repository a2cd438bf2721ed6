/* stream_idmp: IDMP and IDMPAUTO of XADD, which add an entry only once if a producer sends it
 * again. */
#ifndef SERVER_CMD_STREAM_STREAM_IDMP_H
#define SERVER_CMD_STREAM_STREAM_IDMP_H

#include "server/cmd/stream/stream_args.h"

enum { IDMP_DIGEST_BYTES = 16 };

struct idmp {
    int producer; /* the argument; 0 if not given */
    int text;     /* the argument of the idempotent ID; if 0, `digest` replaces it */
    char digest[IDMP_DIGEST_BYTES]; /* of the fields; set by idmp_check */
};

/* Parses the option at argument *i and moves *i past it; *known: it is IDMP or IDMPAUTO. */
bool idmp_parse_option(struct call *call, int *i, struct idmp *idmp, bool *known);
/* Call when all is parsed. `by_time`: the ID is "*". `complete`: it is "ms-seq", as Redis sends to
 * replicas and writes into files for an entry that it has added; only a replay may use it.
 * `fields`: the argument of the first name. */
bool idmp_check(struct call *call, struct idmp *idmp, bool by_time, bool complete, int fields);
/* Has the producer sent this entry before? Then replies with the entry's ID, and counts it. */
bool idmp_is_repeat(struct call *call, struct entry *entry, const struct idmp *idmp);
/* Remembers the entry, and the ID that it got. */
void idmp_remember(struct call *call, struct entry *entry, const struct idmp *idmp,
                   struct stream_id id);

#endif
