/* base: see base.h. A base is one stream of commands, compressed in blocks by snapshot_file. */
#include "server/disk/format/base.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>

#include "server/disk/format/store_text.h"
#include "store/mem/mem.h"

enum {
    PROGRESS = 1 << 20,
    PACKED_MOST = 255, /* LZ4 makes a text at most this many times shorter */
    ELEMENT_LEAST = 7, /* bytes of the shortest key or member in a command: "$1\r\na\r\n" */
};

struct writing {
    struct snapshot_writer *file;
    const struct snapshot_options *options;
    int error;
};

static bool append_piece(void *ctx, const char *data, size_t len)
{
    struct writing *writing = ctx;
    writing->error = snapshot_append(writing->file, data, len);
    return writing->error == 0;
}

static void report_keys(void *ctx, uint64_t keys)
{
    const struct snapshot_options *options = ((struct writing *)ctx)->options;
    if (options->report != NULL) options->report(options->ctx, keys);
}

int base_write(const struct store *store, const char *path, const struct snapshot_options *options,
               struct base_size *size)
{
    struct writing writing = { .options = options };
    struct stat status;
    uint64_t keys;
    int error = snapshot_create(path, options, &writing.file);
    if (error != 0) return error;
    struct store_text_sink sink = { append_piece, report_keys, &writing };
    char mark[STREAM_MARK_MAX];
    struct position_marks none = { .known = false };
    size_t len = position_marks_print(&none, options->position, mark);
    (void)snapshot_append(writing.file, mark, len); /* the file's error is returned below */
    if (store_text_write(store, &sink, &keys)) {
        error = snapshot_finish(writing.file, keys);
    } else {
        error = writing.error;
        snapshot_abort(writing.file);
    }
    uint64_t length = stat(path, &status) == 0 ? (uint64_t)status.st_size : 0;
    *size = (struct base_size){ keys, length };
    return error;
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

static void report_done(const struct base_load *load, uint64_t *reported, uint64_t done)
{
    if (load->progress.report == NULL || done < *reported + PROGRESS) return;
    *reported = done;
    load->progress.report(load->progress.ctx, done);
}

static bool load_parts(struct ahead *ahead, struct replay *replay, struct base_load *load)
{
    for (uint64_t reported = 0;;) {
        const struct ahead_part *part = ahead_next(ahead);
        if (part->got == SNAPSHOT_FAULT) return fail_load_reading(load, &part->fault);
        if (part->got == SNAPSHOT_END)
            return !part->is_incomplete ||
                   fail_load_at(load, part->end, "the last command is incomplete");
        if (!replay_parsed(replay, &part->batch, 0, part->batch.count, part->batch.commands))
            return fail_load_at(load, part->begin, replay->error);
        report_done(load, &reported, part->end);
    }
}

/* Loads without a thread. `carry` holds the beginning of a command whose end is in the next
 * block. */
static bool load_blocks(struct snapshot_reader *file, struct replay *replay, struct buffer *carry,
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
        if (!replay_carry(replay, carry, data, len))
            return fail_load_at(load, offset, replay->error);
        report_done(load, &reported, snapshot_offset(file));
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
    struct buffer carry = { 0 };
    replay_init(replay, store, now);
    uint64_t text = snapshot_info(file)->length * PACKED_MOST;
    if (snapshot_info(file)->raw < text) text = snapshot_info(file)->raw;
    replay->expects_most = text / ELEMENT_LEAST;
    struct ahead *ahead =
        load->start_thread != NULL ? ahead_of_snapshot(file, load->start_thread) : NULL;
    bool good =
        ahead != NULL ? load_parts(ahead, replay, load) : load_blocks(file, replay, &carry, load);
    if (ahead != NULL) ahead_stop(ahead);
    load->commands = replay->commands;
    load->effects = replay->effects;
    load->marks = replay->marks;
    replay_drop(replay);
    mem_free(replay);
    buffer_drop(&carry);
    snapshot_close(file);
    return good;
}
