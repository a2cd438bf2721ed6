/* rdb_write: writes payloads as redis-server 7.0 DUMPs them, for RESTORE: with the encodings that
 * it chooses at its default limits, but without compression, which RESTORE does not need. Version 9
 * uses only encodings that Redis 5 and 6 know.
 *
 *     rdb_writer_begin(&writer, RDB_HASH, 2);
 *     rdb_writer_field(&writer, one, value);
 *     rdb_writer_field(&writer, two, value);
 *     if (!rdb_writer_end(&writer, &payload)) ...
 */
#ifndef PROTO_RDB_RDB_WRITE_H
#define PROTO_RDB_RDB_WRITE_H

#include "proto/rdb/rdb_read.h"
#include "store/mem/buffer.h"

enum { RDB_VERSION_5 = 9 /* Redis 5 and 6 */, RDB_VERSION_7 = 10 /* Redis 7.0 */ };

/* Private: of a stream. */
struct rdb_stream_writer {
    struct rdb_stream_id first, last; /* entry of the stream so far */
    struct rdb_stream_id master;      /* first entry of the current node */
    uint64_t names, items;            /* of the current node */
    /* Now come entries and marks; pending entries of a group; consumers, or the next group. */
    enum { RDB_ENTRIES, RDB_PENDING, RDB_CONSUMERS } now;
    uint64_t groups, pending, consumers, owned; /* still to be given */
};

struct rdb_writer {
    struct buffer out;    /* the payload so far; of a list or stream: its nodes */
    struct buffer staged; /* bytes of staged parts; of a list or stream: the current node */
    struct buffer parts;  /* the place of each staged part in `staged`; of a stream: the names
                                 of its current node */
    enum rdb_type type;
    int version;
    uint64_t count, given;   /* parts announced, and given so far */
    uint64_t nodes, in_node; /* of a list or stream */
    struct rdb_stream_writer stream;
    bool staging; /* few enough parts for a packing */
    bool packs;   /* and none of them is too long so far */
    bool failed;
};

/* `version`: RDB_VERSION_5 or RDB_VERSION_7. A new writer owns no memory; a used one keeps some
 * for the next payload. */
void rdb_writer_init(struct rdb_writer *writer, int version);
void rdb_writer_drop(struct rdb_writer *writer);

/* Begins a value of `count` parts (a string has one), all different. There are no payloads for
 * dehydrators and empty values but streams: then rdb_writer_end returns false. */
void rdb_writer_begin(struct rdb_writer *writer, enum rdb_type type, uint64_t count);
void rdb_writer_string(struct rdb_writer *writer, struct bytes value);
void rdb_writer_element(struct rdb_writer *writer, struct bytes element); /* of a list */
void rdb_writer_member(struct rdb_writer *writer, struct bytes member);   /* of a set */
void rdb_writer_field(struct rdb_writer *writer, struct bytes field, struct bytes value);
/* In any order; Redis loads big sorted sets fastest from the highest score down. */
void rdb_writer_scored(struct rdb_writer *writer, struct bytes member, double score);

/* A stream, which may have no entries (count 0): entries in the order of their IDs, then its marks,
 * then `groups` times a group. A group is followed by its pending entries in the order of their
 * IDs, rdb_writer_consumers, and each consumer by the IDs of its pending entries. Redis writes
 * groups and consumers in the order of their names' bytes. Version 9 has no numbers of entries
 * added or read and no greatest deleted ID. */
void rdb_writer_entry(struct rdb_writer *writer, const struct rdb_stream_entry *entry);
void rdb_writer_marks(struct rdb_writer *writer, const struct rdb_stream_marks *marks,
                      uint64_t groups);
void rdb_writer_group(struct rdb_writer *writer, const struct rdb_group *group, uint64_t pending);
void rdb_writer_pending(struct rdb_writer *writer, const struct rdb_pending *pending);
void rdb_writer_consumers(struct rdb_writer *writer, uint64_t count);
void rdb_writer_consumer(struct rdb_writer *writer, const struct rdb_consumer *consumer,
                         uint64_t pending);
void rdb_writer_owned(struct rdb_writer *writer, struct rdb_stream_id id);

/* The payload is borrowed until the next begin. False: no memory, or the number of parts is not
 * `count`. */
bool rdb_writer_end(struct rdb_writer *writer, struct bytes *payload);

/* The payload of FUNCTION DUMP: begin, each library's code, end as above, which adds the footer. A
 * payload without libraries is valid. */
void rdb_writer_begin_functions(struct rdb_writer *writer);
void rdb_writer_function(struct rdb_writer *writer, struct bytes code);

/* Adds the footer to a body of another format; rdb_payload_open checks and removes it. If the first
 * byte is not a type of Redis', Redis' RESTORE replies "Bad data format". False: no memory. */
bool rdb_writer_seal(struct rdb_writer *writer, struct bytes body, struct bytes *payload);

/* A first byte for such bodies: Redis and Valkey number types from 0 upwards and other records from
 * 255 downwards. */
enum { RDB_OWN_TYPE = 0x80 };

#endif
