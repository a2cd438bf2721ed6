/* writer: the functions that the files of the writer share. Only for this library. */
#ifndef PROTO_RDB_WRITER_H
#define PROTO_RDB_WRITER_H

#include "proto/rdb/rdb_write.h"

/* Records an error, which rdb_writer_end reports. */
static inline void rdb_note(struct rdb_writer *writer, bool ok)
{
    if (!ok) writer->failed = true;
}

/* Counts a part. Returns false after an error. */
bool rdb_accept_part(struct rdb_writer *writer, enum rdb_type type);

/* Writes type and number of nodes in front of the nodes in `out`. */
void rdb_put_nodes_head(struct rdb_writer *writer, unsigned type);

/* Are the stream's marks and all its groups complete? */
bool rdb_stream_is_whole(const struct rdb_writer *writer);

#endif
