/* stream_idmp: IDMP and IDMPAUTO of XADD, which add what a producer sends twice only once. */
#ifndef SERVER_CMD_STREAM_STREAM_IDMP_H
#define SERVER_CMD_STREAM_STREAM_IDMP_H

#include "server/cmd/stream/stream_args.h"

enum { IDMP_DIGEST_BYTES = 16 };

struct idmp {
    int producer;                   /* the argument; 0: not given */
    int text;                       /* the same; 0: the digest of the fields stands for it */
    char digest[IDMP_DIGEST_BYTES]; /* set by idmp_check */
};

/* Parses an option at argument *i and moves *i past it; *known: was it one? */
bool idmp_parse_option(struct call *call, int *i, struct idmp *idmp, bool *known);
/* Call when all is parsed. The ID is "*", complete, or "ms-*". `fields`: the argument of the first
 * name. A Redis sends its replicas, and writes into its files, the options with the complete ID of
 * an entry that it has added. */
bool idmp_check(struct call *call, struct idmp *idmp, bool by_time, bool complete, int fields);
/* Did the producer send this before? Then replies with the ID that it got, and counts it. */
bool idmp_is_repeat(struct call *call, struct entry *entry, const struct idmp *idmp);
/* Remembers it with its ID. */
void idmp_remember(struct call *call, struct entry *entry, const struct idmp *idmp,
                   struct stream_id id);

#endif
