/* stream_idmp: the options IDMP and IDMPAUTO of XADD. A producer that repeats a request, because it
 * does not know whether the first one arrived, marks the entry with its own name and an idempotent
 * ID, or with IDMPAUTO lets a digest of the fields serve as this ID. An entry that the stream
 * remembers is not added again. */
#pragma once

#include "server/cmd/stream/stream_args.h"

enum { IDMP_DIGEST_BYTES = 16 };

struct idmp {
    int producer; /* the argument; 0 if not given */
    int text;     /* the argument of the idempotent ID; if 0, `digest` replaces it */
    char digest[IDMP_DIGEST_BYTES]; /* digest of the fields; set by idmp_check */
};

/* Parses the option at argument *i and moves *i past it. Sets *known if it is IDMP or IDMPAUTO. */
bool idmp_parse_option(struct call *call, int *i, struct idmp *idmp, bool *known);
/* Checks the option when all are parsed, and computes the digest for IDMPAUTO from the names and
 * values from argument `fields` on. Returns false after sending an error.
 *
 * Clients must let the server choose the entry's ID (`by_time`: it is "*"). A replay must have the
 * ID (`complete`: it is "ms-seq"), because Redis writes the ID of the added entry to its files and
 * its replicas. */
bool idmp_check(struct call *call, struct idmp *idmp, bool by_time, bool complete, int fields);
/* Does the stream remember this entry? If so, counts the repetition, and replies with the ID under
 * which the entry was added. Always false in a replay. */
bool idmp_is_repeat(struct call *call, struct entry *entry, const struct idmp *idmp);
/* Remembers the entry, and the ID under which it was added. */
void idmp_remember(struct call *call, struct entry *entry, const struct idmp *idmp,
                   struct stream_id id);
