/* stream_trim: the options with which XADD and XTRIM trim a stream (MAXLEN, MINID, LIMIT), and the
 * trimming. */
#pragma once

#include "server/cmd/stream/stream_args.h"

enum trim_by { TRIM_NOT, TRIM_MAXLEN, TRIM_MINID };

struct trim {
    enum trim_by by;
    bool approximate; /* only whole blocks, and at most `limit` entries */
    bool has_limit, has_refs;
    enum refs refs;
    int64_t maxlen;
    int64_t limit; /* 0 if there is none */
    struct stream_id minid;
};

/* Parses the option at *i and moves *i past it. Sets *known to false, and moves nothing, if it is
 * not an option of trimming. Returns false after sending an error. */
bool trim_parse_option(struct call *call, int *i, struct trim *trim, bool *known);
/* Checks the options against each other, after all were parsed. With `required` (XTRIM), MAXLEN or
 * MINID must be given. Gives an approximate trim without LIMIT a default limit. Returns false after
 * sending an error. */
bool trim_check(struct call *call, struct trim *trim, bool required);
/* Trims the stream. Returns the number of entries removed. */
size_t trim_run(struct call *call, struct entry *entry, const struct trim *trim);

/* Does a group still need the entry, because it is pending or not yet delivered? */
bool stream_is_referenced(const struct stream *stream, struct stream_id id);
