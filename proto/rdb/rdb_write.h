/* rdb_write: writes payloads for RESTORE as DUMP of redis-server 7.0 returns them: with the
 * encodings that Redis chooses at its default limits, but uncompressed, since RESTORE needs no
 * compression. Version 9 uses only encodings that Redis 5 and 6 support.
 *
 *     rdb_writer_begin(&writer, RDB_HASH, 2);
 *     rdb_writer_field(&writer, one, value);
 *     rdb_writer_field(&writer, two, value);
 *     if (!rdb_writer_end(&writer, &payload)) ... */
#ifndef PROTO_RDB_RDB_WRITE_H
#define PROTO_RDB_RDB_WRITE_H

#include "proto/rdb/rdb_visitor.h"
#include "store/mem/buffer.h"

enum {
    RDB_VERSION_5 = 9,   /* Redis 5 and 6 */
    RDB_VERSION_7 = 10,  /* Redis 7.0 */
    RDB_VERSION_8 = 12,  /* Redis 7.4 and 8: Redis 7.0's encodings, and deadlines of hash fields */
    RDB_VALKEY_9_0 = 80, /* Valkey 9: the same, with deadlines in another form */
};

/* Private: the state of writing a stream. */
struct rdb_stream_writer {
    struct rdb_stream_id first, last; /* first and last entry so far */
    struct rdb_stream_id master;      /* first entry of the current node */
    uint64_t names, items;            /* field names, and listpack items, of the current node */
    /* The next call: entries or marks; a group's pending entries; consumers or the next group. */
    enum { RDB_ENTRIES, RDB_PENDING, RDB_CONSUMERS } now;
    uint64_t groups, pending, consumers, owned; /* still expected */
};

struct rdb_writer {
    struct buffer out;    /* the payload so far; of a list or stream: its nodes */
    struct buffer staged; /* bytes of staged parts; of a list or stream: the current node */
    struct buffer parts;  /* the offset of each staged part in `staged`; of a stream: the names
                                 of its current node */
    enum rdb_type type;
    int version;
    uint64_t count, given;   /* parts announced, and passed so far */
    uint64_t nodes, in_node; /* of a list or stream: nodes so far, and parts in the current one */
    int64_t earliest;        /* the earliest deadline of a hash's fields */
    struct rdb_stream_writer stream;
    bool staging; /* few enough parts for a listpack or intset */
    bool packs;   /* no part so far is too long for a listpack */
    bool failed;
};

/* Makes a writer for a version, one of the constants above. A new writer owns no memory; a used one
 * keeps some for the next payload. */
void rdb_writer_init(struct rdb_writer *writer, int version);
void rdb_writer_drop(struct rdb_writer *writer);

/* Begins a value of `count` distinct parts; a string is one part. No payload exists for a
 * dehydrator, nor for an empty value other than a stream: rdb_writer_end returns false for
 * these. */
void rdb_writer_begin(struct rdb_writer *writer, enum rdb_type type, uint64_t count);
void rdb_writer_string(struct rdb_writer *writer, struct bytes value);
void rdb_writer_element(struct rdb_writer *writer, struct bytes element); /* of a list */
void rdb_writer_member(struct rdb_writer *writer, struct bytes member);   /* of a set */
void rdb_writer_field(struct rdb_writer *writer, struct bytes field, struct bytes value);
/* Adds a member. They may come in any order; Redis loads big sorted sets fastest from the highest
 * score down. */
void rdb_writer_scored(struct rdb_writer *writer, struct bytes member, double score);

/* Call these for a stream in this order: the entries by ID (none with count 0), the marks, then
 * each of the `groups`. After a group, its pending entries by ID, then rdb_writer_consumers, then
 * each consumer followed by the IDs of its pending entries. Redis writes groups and consumers in
 * byte order of their names. Version 9 stores neither the numbers of entries added and read nor the
 * greatest deleted ID. */
void rdb_writer_entry(struct rdb_writer *writer, const struct rdb_stream_entry *entry);
void rdb_writer_marks(struct rdb_writer *writer, const struct rdb_stream_marks *marks,
                      uint64_t groups);
void rdb_writer_group(struct rdb_writer *writer, const struct rdb_group *group, uint64_t pending);
void rdb_writer_pending(struct rdb_writer *writer, const struct rdb_pending *pending);
void rdb_writer_consumers(struct rdb_writer *writer, uint64_t count);
void rdb_writer_consumer(struct rdb_writer *writer, const struct rdb_consumer *consumer,
                         uint64_t pending);
void rdb_writer_owned(struct rdb_writer *writer, struct rdb_stream_id id);

/* A hash with deadlines on some fields, for RDB_VERSION_8 and RDB_VALKEY_9_0. `earliest` is the
 * earliest of all deadlines; `at` is a field's deadline or RDB_NEVER. Redis allows no deadline
 * after the year 4199, so later ones are cut to the latest that it allows. */
void rdb_writer_begin_expiring(struct rdb_writer *writer, uint64_t count, int64_t earliest);
void rdb_writer_expiring_field(struct rdb_writer *writer, struct bytes field, struct bytes value,
                               int64_t at);

/* The payload is borrowed until the next begin. Returns false if memory runs out, the number of
 * parts was not `count`, or the value has no payload (see rdb_writer_begin). */
bool rdb_writer_end(struct rdb_writer *writer, struct bytes *payload);

/* Writes the payload of FUNCTION DUMP: call this, rdb_writer_function for each library, and
 * rdb_writer_end. A payload without libraries is valid. */
void rdb_writer_begin_functions(struct rdb_writer *writer);
void rdb_writer_function(struct rdb_writer *writer, struct bytes code);

/* Write a body in another format: append it to the buffer, which is empty, then seal it. Sealing
 * adds the footer that rdb_payload_open checks and removes. If the first byte is not one of Redis'
 * types, RESTORE in Redis replies "Bad data format". Sealing returns false if memory runs out. */
struct buffer *rdb_writer_body(struct rdb_writer *writer);
bool rdb_writer_seal(struct rdb_writer *writer, struct bytes *payload);

/* First bytes for such bodies (server/disk/payload.h). Redis and Valkey number types from 0 up and
 * other records from 255 down, so a new version of theirs is unlikely to use the middle. */
enum {
    RDB_OWN_TEXT = 0x80,
    RDB_OWN_PACKED = 0x81,
};

#endif
