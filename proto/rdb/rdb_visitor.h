/* rdb_visitor: the interface between the reader of RDB and its caller: one callback for each part
 * of a value, and the ways in which a reading can end. rdb_write.h takes the parts of values in the
 * same structs. */
#pragma once

#include "store/base/bytes.h"

#define RDB_NEVER  INT64_MAX
#define RDB_LATEST (INT64_MAX - 2) /* the latest deadline of an element; the earliest is 0 */

enum rdb_type { RDB_STRING, RDB_LIST, RDB_SET, RDB_ZSET, RDB_HASH, RDB_DEHYDRATOR, RDB_STREAM };

/* Instants are unix milliseconds as in the file, and may be in the past. */
struct rdb_key {
    struct bytes name; /* empty for a payload */
    uint64_t database;
    enum rdb_type type;
    int64_t expire_at; /* the deadline, or RDB_NEVER */
    int64_t idle;      /* seconds without access, or -1 */
    int freq;          /* 0..255, or -1 */
};

struct rdb_element {
    struct bytes id, payload;
    int64_t ttl; /* the TTL of its queue */
    int64_t at;  /* when it is due */
};

/* ---- streams ---- */

struct rdb_stream_id {
    uint64_t ms, seq;
};

/* Returns a negative number if a comes before b, 0 if they are equal, and a positive number if a
 * comes after b. */
static inline int rdb_stream_id_compare(struct rdb_stream_id a, struct rdb_stream_id b)
{
    if (a.ms != b.ms) return a.ms < b.ms ? -1 : 1;
    return a.seq < b.seq ? -1 : a.seq > b.seq;
}

struct rdb_stream_entry {
    struct rdb_stream_id id; /* greater than those before it */
    const struct bytes *texts;
    size_t count; /* number of texts: names and values in turn; 2 or more */
};

/* What a stream records about its entries, including deleted ones. */
struct rdb_stream_marks {
    struct rdb_stream_id last;        /* the greatest ID ever; not below that of the last entry */
    struct rdb_stream_id max_deleted; /* 0-0 if none was */
    uint64_t added;                   /* number of entries ever added */
};

#define RDB_READ_UNKNOWN (-1)

struct rdb_group {
    struct bytes name;
    struct rdb_stream_id last; /* the last ID delivered */
    int64_t read;              /* number of entries up to it, or RDB_READ_UNKNOWN */
};

struct rdb_consumer {
    struct bytes name;
    int64_t seen_at, active_at; /* -1 if never active; equal before Redis 7.2 */
};

struct rdb_pending {
    struct rdb_stream_id id; /* the ID of an entry that may be gone */
    int64_t at;              /* when it was delivered last */
    uint64_t deliveries;
};

/* An entry that a producer has sent under an id, `text`. If the producer sends the same id again,
 * the stream ignores the second entry. */
struct rdb_repeat {
    struct bytes producer, text;
    struct rdb_stream_id id;
};

/* A key that was skipped. */
struct rdb_unsupported {
    struct bytes key;
    uint64_t database;
    const char *type;   /* "module", "array", "pre-release function" (`key` is its name), or "key
                         * metadata" (`key` is empty, because the key follows later) */
    const char *module; /* name (9 characters) and version of a module's type; else "" */
    int encoding_version;
};

/* The callbacks. Each may be NULL. A callback that returns false stops the reading with
 * RDB_STOPPED, unless `finds_duplicates` gives its answer another meaning. Bytes are borrowed for
 * the duration of the call; a key's name stays valid until its key_end or key_failed.
 *
 *     key_begin    (returned true)
 *       its parts, in the order of the file, without duplicates
 *     key_end      the value is complete
 *     or
 *     key_failed   the value was not read to its end: discard the parts received so far
 *
 * A part is passed only after its own string or packing has been checked completely; later parts
 * and the file's checksum are checked later. To accept a file wholly or not at all, wait for
 * RDB_OK. A key that occurs twice in a database is not detected. */
struct rdb_visitor {
    void *ctx;
    uint64_t max_string; /* longer strings and packings are RDB_TOO_LARGE; 0 for no limit */
    /* True if set_member, hash_field and zset_member return false for a part that the value already
     * has, and for no other reason. The reader then saves the time to remember the parts of
     * unpacked values itself (seen.h). */
    bool finds_duplicates;

    bool (*database)(void *ctx,
                     uint64_t number); /* the database of the keys that follow; 0 until called */
    bool (*sizes)(void *ctx, uint64_t keys, uint64_t with_deadline); /* a hint; may be wrong */
    bool (*aux)(void *ctx, struct bytes name, struct bytes value);
    bool (*function)(void *ctx, struct bytes code); /* the source of a library */
    bool (*module_aux)(void *ctx, const char *module,
                       int encoding_version); /* data of a module, which is skipped */
    bool (*unsupported)(void *ctx, const struct rdb_unsupported *what);

    bool (*key_begin)(void *ctx, const struct rdb_key *key);
    bool (*string)(void *ctx, struct bytes value);
    bool (*list_element)(void *ctx, struct bytes element); /* called from the head on */
    bool (*set_member)(void *ctx, struct bytes member);
    bool (*hash_field)(void *ctx, struct bytes field, struct bytes value, int64_t at);
    bool (*zset_member)(void *ctx, struct bytes member, double score); /* in any order */
    bool (*dehydrator_element)(void *ctx,
                               const struct rdb_element *element); /* there may be none */
    /* A stream arrives in this order:
     *
     *     entries        none or more
     *     marks          once
     *     groups         for each group:
     *       consumers      each followed by its pending entries
     *       released       pending entries without a consumer (XNACK of Redis 8.8)
     *     from Redis 8.6 on, what is remembered to detect repeated entries:
     *       limits         for how many seconds, and how many, ids of each producer are kept
     *       repeats        each remembered id, with its producer and entry
     *       counts         how many ids were added, and how many repeats were found */
    bool (*stream_entry)(void *ctx, const struct rdb_stream_entry *entry);
    bool (*stream_marks)(void *ctx, const struct rdb_stream_marks *marks);
    bool (*stream_group)(void *ctx, const struct rdb_group *group);
    bool (*stream_consumer)(void *ctx, const struct rdb_consumer *consumer);
    bool (*stream_pending)(void *ctx, const struct rdb_pending *pending);
    bool (*stream_released)(void *ctx, const struct rdb_pending *pending);
    bool (*stream_limits)(void *ctx, uint64_t seconds, uint64_t texts);
    bool (*stream_repeat)(void *ctx, const struct rdb_repeat *repeat);
    bool (*stream_counts)(void *ctx, uint64_t added, uint64_t repeated);
    bool (*key_end)(void *ctx);
    void (*key_failed)(void *ctx);
};

enum rdb_status {
    RDB_OK,
    RDB_STOPPED,    /* a callback returned false */
    RDB_DAMAGED,    /* truncated or inconsistent */
    RDB_FOREIGN,    /* not RDB, or of an unknown version or kind */
    RDB_UNREADABLE, /* the source's read function failed */
    RDB_TOO_LARGE,  /* a string exceeds max_string, a node of a stream stands for far more bytes
                     * than it has, or memory ran out */
};

struct rdb_error {
    enum rdb_status status;
    uint64_t offset; /* where the damaged part begins */
    char text[160];  /* one printable line; empty if there is no error */
};
