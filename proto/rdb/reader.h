/* reader: the state and the helper functions that the files of the reader share. Private to this
 * folder. A function that returns false has set the error, with its status and text. */
#pragma once

#include "proto/rdb/packing.h"
#include "proto/rdb/rdb_visitor.h"
#include "proto/rdb/seen.h"
#include "proto/rdb/source.h"

/* Names of fields: their bytes one after the other, and the end of each (a size_t). */
struct rdb_names {
    struct buffer text, ends;
};

struct rdb_template {
    uint64_t id;
    struct rdb_names *names; /* NULL if the slot is free */
};

/* An open-addressing table; zeroed it is empty. */
struct rdb_templates {
    struct rdb_template *slots;
    size_t count, size; /* size: 0 or a power of two, at least twice the count */
};

struct rdb_reader {
    struct rdb_source *source;
    const struct rdb_visitor *visitor;
    struct rdb_error *error;
    uint64_t part_at;   /* offset of the current part, for errors */
    int file_version;   /* of the file's header or the payload's footer */
    struct rdb_key key; /* the current key */
    uint64_t unpacked;  /* bytes of compressed strings so far */
    bool is_payload;
    bool key_begun; /* key_begin returned true */
    struct rdb_seen seen;
    /* Scratch buffers for strings that must be valid at the same time. */
    struct buffer name, first, second, packed;
    struct rdb_templates templates; /* templates of the file, for hashes */
    struct rdb_names names;         /* names that only the current hash has */
};

/* RDB versions from this one on are Valkey's own. */
enum { RDB_VALKEY = 80 };

/* The latest deadline of a hash field that the format can hold (48 bits). The commands of Redis
 * accept only 46 bits, up to the year 4199. */
#define RDB_LATEST_FIELD ((UINT64_C(1) << 48) - 1)

/* ---- wire ---- */

/* Set the error, whose offset is part_at, and return false. rdb_damaged fails with RDB_DAMAGED. */
bool rdb_fail(struct rdb_reader *reader, enum rdb_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
bool rdb_damaged(struct rdb_reader *reader, const char *what);
bool rdb_no_bytes(struct rdb_reader *reader); /* fails with the state of the source */
/* Makes text printable for an error, and cuts it to fit. */
void rdb_show(char *to, size_t size, struct bytes text);

/* Reads `size` bytes as an unsigned little-endian number. */
bool rdb_get_number(struct rdb_reader *reader, size_t size, uint64_t *value);
bool rdb_get_length(struct rdb_reader *reader, uint64_t *length);
/* Reads a string. *text is valid until `scratch` is used again. */
bool rdb_get_string(struct rdb_reader *reader, struct buffer *scratch, struct bytes *text);
bool rdb_get_score(struct rdb_reader *reader, double *score); /* reads a double of 8 bytes */
bool rdb_get_text_score(struct rdb_reader *reader,
                        double *score); /* reads the text that versions before 8 wrote */
bool rdb_skip(struct rdb_reader *reader, uint64_t bytes);
bool rdb_skip_lengths(struct rdb_reader *reader, unsigned count);
bool rdb_skip_string(struct rdb_reader *reader);

/* ---- calling the visitor ---- */

bool rdb_begin_key(struct rdb_reader *reader, enum rdb_type type);
/* Fails with RDB_STOPPED if the visitor's `answer` is false. */
bool rdb_visited(struct rdb_reader *reader, bool answer);
/* Fails if the value already has this member. */
bool rdb_unique(struct rdb_reader *reader, struct bytes member);
/* Checks a member that RDB_VISIT_MEMBER will pass to the visitor, as rdb_unique does. Checks
 * nothing if the visitor finds duplicates itself. */
static inline bool rdb_unique_visit(struct rdb_reader *reader, struct bytes member)
{
    return reader->visitor->finds_duplicates || rdb_unique(reader, member);
}
/* Fails if the visitor's `answer` is false: with RDB_DAMAGED, because of a duplicate, if the
 * visitor finds duplicates, otherwise with RDB_STOPPED. */
bool rdb_visited_member(struct rdb_reader *reader, bool answer);

#define RDB_VISIT(reader, callback, ...)                                                           \
    rdb_visited(reader, (reader)->visitor->callback == NULL ||                                     \
                            (reader)->visitor->callback((reader)->visitor->ctx, __VA_ARGS__))
#define RDB_VISIT_MEMBER(reader, callback, ...)                                                    \
    rdb_visited_member(reader,                                                                     \
                       (reader)->visitor->callback == NULL ||                                      \
                           (reader)->visitor->callback((reader)->visitor->ctx, __VA_ARGS__))

/* ---- values ---- */

/* How the items of a packing form the parts of a value. */
enum rdb_shape {
    RDB_ITEMS_LIST,
    RDB_ITEMS_SET,
    RDB_ITEMS_HASH,
    RDB_ITEMS_ZSET,
    RDB_ITEMS_WITH_EXPIRY
};

/* Checks a packing to its end, then visits its items. An empty packing is damage. */
bool rdb_visit_packed(struct rdb_reader *reader, struct bytes packed, enum rdb_packing packing,
                      enum rdb_shape shape);
bool rdb_packing_is_empty(struct bytes packed, enum rdb_packing packing);

bool rdb_read_value(struct rdb_reader *reader, unsigned type);
bool rdb_read_module(struct rdb_reader *reader, bool annotated);
bool rdb_skip_module_aux(struct rdb_reader *reader);
bool rdb_skip_key_metadata(struct rdb_reader *reader);
bool rdb_skip_array(struct rdb_reader *reader);
bool rdb_read_template(struct rdb_reader *reader); /* reads the record of a template */
bool rdb_read_templated(struct rdb_reader *reader, unsigned type);
void rdb_templates_drop(struct rdb_reader *reader);
bool rdb_read_stream(struct rdb_reader *reader, unsigned type);
bool rdb_read_dehydrator(struct rdb_reader *reader, bool annotated);

/* ---- values of modules ---- */

/* Read a part of a module's value. In an annotated value (since Redis 4.0) an opcode precedes each
 * part; the functions check this opcode. */
bool rdb_get_module_number(struct rdb_reader *reader, bool annotated, uint64_t *value);
bool rdb_get_module_string(struct rdb_reader *reader, bool annotated, struct buffer *scratch,
                           struct bytes *text);
bool rdb_get_module_end(struct rdb_reader *reader, bool annotated);
