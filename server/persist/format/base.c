/* base: see base.h. A base is one stream of commands, compressed in blocks by snapshot_file. */
#include "server/persist/format/base.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "proto/base/outbuf.h"
#include "store/mem/mem.h"
#include "store/walk_store.h"

enum { DRAIN = 128 * 1024, DRAIN_CHUNKS = 64, PROGRESS = 1 << 20 };

/* ---- writing --------------------------------------------------------------------------------- */

struct writing {
    struct snapshot_writer *file;
    const struct snapshot_options *options;
    struct outbuf text;
    struct effect_writer effects;
    uint64_t keys;
    int error;
};

static void write_out(struct writing *writing)
{
    struct iovec chunks[DRAIN_CHUNKS];
    while (writing->text.len > 0) {
        size_t len = 0;
        int count = outbuf_peek(&writing->text, chunks, DRAIN_CHUNKS);
        for (int i = 0; i < count; i++) {
            if (writing->error == 0)
                writing->error =
                    snapshot_append(writing->file, chunks[i].iov_base, chunks[i].iov_len);
            len += chunks[i].iov_len;
        }
        outbuf_consume(&writing->text, len);
    }
}

static void write_effect(void *ctx, const struct effect *effect)
{
    struct writing *writing = ctx;
    effect_writer_put(&writing->effects, effect);
    if (writing->text.len < DRAIN) return;
    write_out(writing);
    const struct snapshot_options *options = writing->options;
    if (options->report != NULL) options->report(options->ctx, writing->keys);
}

static bool count_key(void *ctx)
{
    struct writing *writing = ctx;
    writing->keys++;
    return writing->error == 0;
}

static uint64_t length_of(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 ? (uint64_t)status.st_size : 0;
}

static int write_store(const struct store *store, struct writing *writing)
{
    walk_store(store, &(struct store_visitor){ write_effect, count_key, writing });
    effect_writer_end(&writing->effects);
    write_out(writing);
    if (writing->error != 0) {
        snapshot_abort(writing->file);
        return writing->error;
    }
    struct snapshot_counts counts = { .keys = writing->keys, .records = 1 };
    return snapshot_finish(writing->file, &counts);
}

int base_write(const struct store *store, const char *path, const struct snapshot_options *options,
               struct base_size *size)
{
    struct writing *writing = mem_zalloc(sizeof(*writing));
    writing->options = options;
    int error = snapshot_create(path, options, &writing->file);
    if (error == 0) {
        outbuf_init(&writing->text);
        effect_writer_init(&writing->effects, &writing->text);
        error = write_store(store, writing);
        *size = (struct base_size){ writing->keys, length_of(path) };
        outbuf_drop(&writing->text);
    }
    mem_free(writing);
    return error;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Bytes that were read but not applied yet: the beginning of a command. */
struct carry {
    char *data;
    size_t len, cap;
};

static void carry_add(struct carry *carry, const char *data, size_t len)
{
    if (len == 0) return;
    if (carry->len + len > carry->cap) {
        carry->cap = 2 * (carry->len + len);
        carry->data = mem_realloc(carry->data, carry->cap);
    }
    memcpy(carry->data + carry->len, data, len);
    carry->len += len;
}

static bool fail_load_at(struct base_load *load, uint64_t offset, const char *reason)
{
    load->bad = offset;
    snprintf(load->why, sizeof(load->why), "at byte %" PRIu64 ": %s", offset, reason);
    return false;
}

static bool fail_load_reading(struct base_load *load, const struct snapshot_fault *fault)
{
    load->unreadable = fault->error != 0;
    return fail_load_at(load, fault->offset, fault->reason);
}

static bool apply_carried(struct replay *replay, struct carry *carry, uint64_t offset,
                          struct base_load *load)
{
    size_t consumed;
    if (carry->data == NULL) return true; /* no bytes yet */
    if (!replay_feed(replay, carry->data, carry->len, &consumed))
        return fail_load_at(load, offset, replay->error);
    carry->len -= consumed;
    memmove(carry->data, carry->data + consumed, carry->len);
    return true;
}

static void report_base_progress(const struct base_load *load, uint64_t done, uint64_t *reported)
{
    if (load->progress.report == NULL || done < *reported + PROGRESS) return;
    *reported = done;
    load->progress.report(load->progress.ctx, done);
}

static bool load_blocks(struct snapshot_reader *file, struct replay *replay, struct carry *carry,
                        struct base_load *load)
{
    struct snapshot_fault fault;
    const char *data;
    size_t len;
    uint64_t reported = 0;
    for (;;) {
        uint64_t offset = snapshot_offset(file);
        enum snapshot_got got = snapshot_read(file, &data, &len, &fault);
        if (got == SNAPSHOT_FAULT) return fail_load_reading(load, &fault);
        if (got == SNAPSHOT_END) break;
        carry_add(carry, data, len);
        if (!apply_carried(replay, carry, offset, load)) return false;
        report_base_progress(load, snapshot_offset(file), &reported);
    }
    return carry->len == 0 ||
           fail_load_at(load, snapshot_offset(file), "the last command is incomplete");
}

bool base_load(struct store *store, const char *path, msec now, struct base_load *load)
{
    struct snapshot_fault fault;
    struct snapshot_reader *file = snapshot_open(path, &fault);
    if (file == NULL) return fail_load_reading(load, &fault);
    load->size = (struct base_size){ snapshot_info(file)->keys, snapshot_info(file)->length };
    struct replay *replay = mem_alloc(sizeof(*replay));
    struct carry carry = { 0 };
    replay_init(replay, store, now);
    bool good = load_blocks(file, replay, &carry, load);
    load->commands = replay->commands;
    load->effects = replay->effects;
    replay_drop(replay);
    mem_free(replay);
    mem_free(carry.data);
    snapshot_close(file);
    return good;
}
