/* rdb_file: see rdb_file.h. */
#include "proto/rdb/rdb_file.h"

#include "proto/rdb/crc64.h"
#include "proto/rdb/put.h"
#include "proto/rdb/rdb_write.h"
#include "store/base/little_endian.h"

enum {
    OP_FUNCTION = 245,
    OP_AUX = 250,
    OP_SIZES = 251,
    OP_EXPIRE_MS = 252,
    OP_DATABASE = 254,
    OP_END = 255,
    FOOTER = 10, /* of a payload: version and checksum */
};

static void write_out(struct rdb_file *file, const void *data, size_t len)
{
    if (file->failed) return;
    file->crc = rdb_crc64(file->crc, data, len);
    if (!file->write(file->ctx, data, len)) file->failed = true;
}

static void note(struct rdb_file *file, bool good)
{
    if (!good) file->failed = true;
}

static void flush(struct rdb_file *file)
{
    struct bytes bytes = buffer_bytes(&file->out);
    write_out(file, bytes.data, bytes.len);
    buffer_clear(&file->out);
}

void rdb_file_begin(struct rdb_file *file, int version,
                    bool (*write)(void *ctx, const void *data, size_t len), void *ctx)
{
    const char *head = version == RDB_VALKEY_9_0  ? "VALKEY080"
                       : version == RDB_VERSION_8 ? "REDIS0012"
                                                  : "REDIS0010";
    *file = (struct rdb_file){ .write = write, .ctx = ctx };
    write_out(file, head, strlen(head));
}

void rdb_file_aux(struct rdb_file *file, struct bytes name, struct bytes value)
{
    note(file, rdb_put_byte(&file->out, OP_AUX) && rdb_put_text(&file->out, name) &&
                   rdb_put_text(&file->out, value));
    flush(file);
}

void rdb_file_function(struct rdb_file *file, struct bytes code)
{
    note(file, rdb_put_byte(&file->out, OP_FUNCTION) && rdb_put_raw(&file->out, code));
    flush(file);
}

void rdb_file_database(struct rdb_file *file, uint64_t number, uint64_t keys,
                       uint64_t volatile_keys)
{
    note(file, rdb_put_byte(&file->out, OP_DATABASE) && rdb_put_length(&file->out, number) &&
                   rdb_put_byte(&file->out, OP_SIZES) && rdb_put_length(&file->out, keys) &&
                   rdb_put_length(&file->out, volatile_keys));
    flush(file);
}

/* Writes the key's name between the type, which is the payload's first byte, and the value. */
void rdb_file_key(struct rdb_file *file, struct bytes name, int64_t at, struct bytes payload)
{
    unsigned char number[8];
    little_put(number, sizeof(number), (uint64_t)at);
    if (at != RDB_FILE_NEVER)
        note(file, rdb_put_byte(&file->out, OP_EXPIRE_MS) &&
                       buffer_try_append(&file->out, number, sizeof(number)));
    note(file, payload.len > FOOTER && buffer_try_append(&file->out, payload.data, 1) &&
                   rdb_put_text(&file->out, name));
    flush(file);
    if (payload.len > FOOTER) write_out(file, payload.data + 1, payload.len - 1 - FOOTER);
}

bool rdb_file_end(struct rdb_file *file)
{
    unsigned char sum[8];
    note(file, rdb_put_byte(&file->out, OP_END));
    flush(file);
    little_put(sum, sizeof(sum), file->crc);
    if (!file->failed && !file->write(file->ctx, sum, sizeof(sum))) file->failed = true;
    buffer_drop(&file->out);
    return !file->failed;
}
