/* rdb_file: writes a whole RDB file for Redis 7.0, Redis 8 or Valkey 9, through a write function of
 * the caller. Each value is a payload that rdb_write.h has made for the same version.
 *
 *     rdb_file_begin(&file, version, write, ctx);
 *     rdb_file_aux(&file, name, value);                 // any number
 *     rdb_file_function(&file, code);                   // any number
 *     rdb_file_database(&file, number, keys, volatile); // then its keys
 *     rdb_file_key(&file, &key, payload);
 *     if (!rdb_file_end(&file)) ...                     // a write failed, or memory ran out */
#pragma once

#include "store/mem/buffer.h"

struct rdb_file {
    bool (*write)(void *ctx, const void *data, size_t len); /* false to stop writing */
    void *ctx;
    uint64_t crc;
    struct buffer out; /* the current record */
    bool failed;
};

#define RDB_FILE_NEVER INT64_MAX

/* Begins a file. `version` is RDB_VERSION_7, RDB_VERSION_8 or RDB_VALKEY_9_0. */
void rdb_file_begin(struct rdb_file *file, int version,
                    bool (*write)(void *ctx, const void *data, size_t len), void *ctx);
void rdb_file_aux(struct rdb_file *file, struct bytes name, struct bytes value);
void rdb_file_function(struct rdb_file *file, struct bytes code);
void rdb_file_database(struct rdb_file *file, uint64_t number, uint64_t keys,
                       uint64_t volatile_keys);
/* Writes a key. `payload` is a payload of DUMP with its footer. `at` is the deadline in unix
 * milliseconds, or RDB_FILE_NEVER. */
void rdb_file_key(struct rdb_file *file, struct bytes name, int64_t at, struct bytes payload);
/* Ends the file with the checksum, and frees the buffer. Returns false if any call since
 * rdb_file_begin has failed: the file is then incomplete. */
bool rdb_file_end(struct rdb_file *file);
