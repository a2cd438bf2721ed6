/* stream_idmp: IDMP and IDMPAUTO of XADD, with which an entry that a producer sends again is not
 * added again. */
#ifndef SERVER_CMD_STREAM_STREAM_IDMP_H
#define SERVER_CMD_STREAM_STREAM_IDMP_H

#include "server/cmd/stream/stream_args.h"

enum { IDMP_DIGEST_BYTES = 16 };

struct idmp {
    int producer; /* the argument; 0 if not given */
    int text;     /* the argument of the idempotent ID; if 0, `digest` replaces it */
    char digest[IDMP_DIGEST_BYTES]; /* digest of the fields; set by idmp_check */
};

/* Parses the option at argument *i and moves *i past it. Sets *known if it is IDMP or IDMPAUTO. */
bool idmp_parse_option(struct call *call, int *i, struct idmp *idmp, bool *known);
/* Call when all options are parsed. `by_time` says that the ID is "*". `complete` says that it is
 * "ms-seq", which only a replay may use: in its files and to its replicas, Redis writes the ID
 * under which it added the entry. `fields` is the argument of the first name. */
bool idmp_check(struct call *call, struct idmp *idmp, bool by_time, bool complete, int fields);
/* Has the producer sent this entry before? If so, replies with the entry's ID and counts the
 * repetition. */
bool idmp_is_repeat(struct call *call, struct entry *entry, const struct idmp *idmp);
/* Remembers the entry, and the ID under which it was added. */
void idmp_remember(struct call *call, struct entry *entry, const struct idmp *idmp,
                   struct stream_id id);

#endif
