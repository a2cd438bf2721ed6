/* rdb_write: writes payloads for RESTORE, in the encodings that redis-server 7.0 chooses at its
 * default limits. Strings are not compressed, because RESTORE does not require it. Payloads of
 * RDB_VERSION_5 use only encodings that Redis 5 and 6 can read.
 *
 *     rdb_writer_begin(&writer, RDB_HASH, 2);
 *     rdb_writer_field(&writer, one, value);
 *     rdb_writer_field(&writer, two, value);
 *     if (!rdb_writer_end(&writer, &payload)) ... */
#pragma once

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
    struct buffer parts;  /* the offset of each staged part in `staged`; of a stream: the field
                           * names of the current node */
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

/* Makes a writer of payloads for a version, one of the constants above. The writer owns no memory
 * before its first payload, and then keeps its buffers for the next ones until rdb_writer_drop. */
void rdb_writer_init(struct rdb_writer *writer, int version);
void rdb_writer_drop(struct rdb_writer *writer);

/* Begins a value of `count` distinct parts; a string is one part. Redis has no payload for a
 * dehydrator, nor for a collection of 0 parts other than a stream: for these rdb_writer_end returns
 * false. */
void rdb_writer_begin(struct rdb_writer *writer, enum rdb_type type, uint64_t count);
void rdb_writer_string(struct rdb_writer *writer, struct bytes value);
void rdb_writer_element(struct rdb_writer *writer, struct bytes element); /* of a list */
void rdb_writer_member(struct rdb_writer *writer, struct bytes member);   /* of a set */
void rdb_writer_field(struct rdb_writer *writer, struct bytes field, struct bytes value);
/* Adds a member of a sorted set, in any order. Redis loads a big sorted set fastest if the highest
 * score comes first. */
void rdb_writer_scored(struct rdb_writer *writer, struct bytes member, double score);

/* Write a stream. Call these functions in this order:
 *
 *     rdb_writer_entry        each entry, by ID (none if `count` is 0)
 *     rdb_writer_marks        once
 *     rdb_writer_group        for each of the `groups`, followed by
 *       rdb_writer_pending      each of its pending entries, by ID
 *       rdb_writer_consumers    once
 *       rdb_writer_consumer     each consumer, followed by
 *         rdb_writer_owned        the ID of each of its pending entries
 *
 * Redis itself writes groups and consumers in byte order of their names. RDB_VERSION_5 has no room
 * for the numbers of entries added and read, nor for the greatest deleted ID. No version here has
 * room for active_at of a consumer. */
void rdb_writer_entry(struct rdb_writer *writer, const struct rdb_stream_entry *entry);
void rdb_writer_marks(struct rdb_writer *writer, const struct rdb_stream_marks *marks,
                      uint64_t groups);
void rdb_writer_group(struct rdb_writer *writer, const struct rdb_group *group, uint64_t pending);
void rdb_writer_pending(struct rdb_writer *writer, const struct rdb_pending *pending);
void rdb_writer_consumers(struct rdb_writer *writer, uint64_t count);
void rdb_writer_consumer(struct rdb_writer *writer, const struct rdb_consumer *consumer,
                         uint64_t pending);
void rdb_writer_owned(struct rdb_writer *writer, struct rdb_stream_id id);

/* Write a hash with deadlines on some fields, for RDB_VERSION_8 and RDB_VALKEY_9_0. `earliest` is
 * the earliest of all deadlines, and `at` a field's deadline or RDB_NEVER. For RDB_VERSION_8 a
 * deadline after the year 4199 is replaced by the latest one that Redis allows. */
void rdb_writer_begin_expiring(struct rdb_writer *writer, uint64_t count, int64_t earliest);
void rdb_writer_expiring_field(struct rdb_writer *writer, struct bytes field, struct bytes value,
                               int64_t at);

/* Ends a value. The payload is borrowed until the writer begins another. Returns false if memory
 * ran out; if the parts were not `count` parts of this type, or those of a stream were out of
 * order; or if the value has no payload (see rdb_writer_begin), or its deadlines have no place in
 * this version. */
bool rdb_writer_end(struct rdb_writer *writer, struct bytes *payload);

/* Write a payload of FUNCTION DUMP: call rdb_writer_begin_functions, rdb_writer_function for each
 * library, and rdb_writer_end. A payload without libraries is valid. */
void rdb_writer_begin_functions(struct rdb_writer *writer);
void rdb_writer_function(struct rdb_writer *writer, struct bytes code);

/* Write a payload whose body has a format of our own: append the body to the buffer that
 * rdb_writer_body returns empty, then seal it. Sealing adds the footer that rdb_payload_open
 * checks. RESTORE in Redis replies "Bad data format" to such a payload, because its first byte is
 * none of Redis' types. Sealing returns false if memory runs out. */
struct buffer *rdb_writer_body(struct rdb_writer *writer);
bool rdb_writer_seal(struct rdb_writer *writer, struct bytes *payload);

/* First bytes of such bodies (server/disk/payload.h). They are in the middle of the range, because
 * Redis and Valkey number their types from 0 up and other records from 255 down. */
enum {
    RDB_OWN_TEXT = 0x80,
    RDB_OWN_PACKED = 0x81,
};
