/* stream_read_args: parses the arguments of XREAD and XREADGROUP. */
#pragma once

#include "server/cmd/stream/stream_args.h"

struct read_args {
    int group, consumer; /* indexes of their arguments; 0 for XREAD */
    int64_t count;       /* for each stream, or 0 for no limit */
    int64_t max_count;   /* for all streams, or 0 for no limit */
    int64_t max_size;    /* bytes for all streams, or 0 for no limit */
    bool blocks, no_ack;
    msec until;         /* the timeout, or NEVER */
    msec claim;         /* claim entries that were idle for this span, or -1 */
    int first, streams; /* the argument of the first key, and the number of keys */
};

/* Parses the options and finds the keys. Returns false after sending an error. */
bool parse_read(struct call *call, struct read_args *args);
/* Parses the ID for stream i of the command. "$", which only XREAD accepts, becomes the last ID of
 * the stream `entry`, or 0-0 if that is NULL; ">", which only XREADGROUP accepts, becomes
 * STREAM_ID_MAX. Returns false after sending an error. */
bool parse_read_id(struct call *call, const struct read_args *args, int i,
                   const struct entry *entry, struct stream_id *id);
/* For find_keys: the keys follow the word STREAMS. */
int find_xread_keys(int argc, const struct bytes *argv, int *positions);
int find_xreadgroup_keys(int argc, const struct bytes *argv, int *positions);
