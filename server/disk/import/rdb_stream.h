/* rdb_stream: builds a stream of the store from the parts that proto/rdb/ reads, and writes one in
 * Redis' format. Part of rdb_object: use that instead. */
#ifndef SERVER_DISK_IMPORT_RDB_STREAM_H
#define SERVER_DISK_IMPORT_RDB_STREAM_H

#include "server/disk/import/rdb_object.h"

/* Sets the callbacks for streams. Their ctx must begin with a struct rdb_object. */
void rdb_stream_listen(struct rdb_visitor *visitor);

/* Can Redis' format hold the whole stream? The format has no place for pending entries that belong
 * to no consumer, nor for what producers sent once the stream has remembered any of it.
 * O(groups) */
bool rdb_stream_is_plain(const struct stream *stream);
/* Writes the stream; rdb_writer_begin was called for it. */
void rdb_stream_write(const struct stream *stream, struct rdb_writer *writer);

#endif
