/* copy: see copy.h. */
#include "server/disk/format/copy.h"

#include <inttypes.h>
#include <stdio.h>

#include "server/disk/format/crc32c.h"
#include "server/disk/format/replay.h"
#include "server/disk/format/store_text.h"
#include "store/base/little_endian.h"
#include "store/mem/buffer.h"
#include "store/mem/mem.h"

enum {
    VERSION = 1,
    HEADER = 20,
    /* `between` is called after so many bytes or parsed items, and at this interval of waiting. */
    PIECE = 8 * 1024,
    PIECE_ITEMS = 128,
    WAIT_USEC = 500,
};

#define MAGIC "EXPIRED-COPY"

struct writing {
    const struct copy_sink *sink;
    struct block_packer packer;
};

static bool send_block(struct writing *writing)
{
    size_t len = block_pack(&writing->packer);
    return writing->sink->write(writing->sink->ctx, writing->packer.block, len);
}

static bool pack_piece(void *ctx, const char *data, size_t len)
{
    struct writing *writing = ctx;
    while (len > 0) {
        size_t taken = block_fill(&writing->packer, data, len);
        data += taken;
        len -= taken;
        if (writing->packer.filled == BLOCK_RAW && !send_block(writing)) return false;
    }
    return true;
}

static void report_copied(void *ctx, uint64_t keys)
{
    const struct copy_sink *sink = ((struct writing *)ctx)->sink;
    if (sink->report != NULL) sink->report(sink->ctx, keys);
}

bool copy_write(const struct store *store, unsigned stream_db, const struct copy_sink *sink)
{
    struct writing *writing = mem_zalloc(sizeof(*writing));
    struct store_text_sink text = { pack_piece, report_copied, writing };
    uint64_t keys;
    char header[HEADER] = MAGIC;
    put_u32(header + 12, VERSION);
    put_u32(header + 16, stream_db);
    writing->sink = sink;
    writing->packer.sum = crc32c(0, header, sizeof(header));
    bool good = sink->write(sink->ctx, header, sizeof(header)) &&
                store_text_write(store, &text, &keys) &&
                (writing->packer.filled == 0 || send_block(writing)) && send_block(writing);
    mem_free(writing);
    return good;
}

struct reading {
    const struct copy_source *source;
    struct replay replay;
    uint64_t at; /* bytes read */
    uint32_t sum;
    struct buffer carry; /* raw bytes that are not applied yet: the beginning of a command */
    size_t held;         /* bytes of the block that is being received */
    bool has_last;       /* the last block has been received */
    char *why;
    size_t why_size;
    char block[BLOCK_HEADER + BLOCK_RAW], text[BLOCK_RAW];
};

static bool fail_at(struct reading *reading, const char *reason)
{
    snprintf(reading->why, reading->why_size, "byte %" PRIu64 " of the copy: %s", reading->at,
             reason);
    return false;
}

static bool receive_all(struct reading *reading, char *to, size_t len)
{
    while (len > 0) {
        ssize_t got = reading->source->read(reading->source->ctx, to, len);
        if (got <= 0) return fail_at(reading, got == 0 ? "unexpected end" : "reading failed");
        reading->at += (uint64_t)got;
        to += got;
        len -= (size_t)got;
    }
    return true;
}

static bool load_block(struct reading *reading, bool *last)
{
    const struct copy_source *source = reading->source;
    if (!receive_all(reading, reading->block, BLOCK_HEADER)) return false;
    struct block_sizes sizes = block_sizes(reading->block);
    if (!block_sizes_ok(&sizes)) return fail_at(reading, "impossible block size");
    if (!receive_all(reading, reading->block + BLOCK_HEADER, sizes.stored)) return false;
    if (!block_sum_ok(reading->block, &sizes, &reading->sum))
        return fail_at(reading, "wrong checksum of the block");
    *last = sizes.raw == 0;
    if (*last) return reading->carry.len == 0 || fail_at(reading, "the last command is incomplete");
    const char *raw = block_unpack(reading->block, &sizes, reading->text);
    if (raw == NULL) return fail_at(reading, "block is not valid LZ4");
    for (size_t at = 0, part; at < sizes.raw; at += part) {
        part = sizes.raw - at < PIECE ? sizes.raw - at : PIECE;
        if (!replay_carry(&reading->replay, &reading->carry, raw + at, part))
            return fail_at(reading, reading->replay.error);
        if (source->between != NULL) source->between(source->ctx);
    }
    return true;
}

/* Receives blocks while their bytes have arrived and the thread has space for them. With `waits`,
 * waits for the first bytes. */
static bool give_blocks(struct reading *reading, struct ahead *ahead, bool waits)
{
    const struct copy_source *source = reading->source;
    char *block;
    while (!reading->has_last && (block = ahead_block(ahead)) != NULL) {
        if (!waits && !source->ready(source->ctx)) break;
        waits = false;
        size_t whole = BLOCK_HEADER;
        if (reading->held >= BLOCK_HEADER) whole += block_sizes(block).stored;
        ssize_t got = source->read(source->ctx, block + reading->held, whole - reading->held);
        if (got <= 0) return fail_at(reading, got == 0 ? "unexpected end" : "reading failed");
        reading->at += (uint64_t)got;
        reading->held += (size_t)got;
        if (reading->held < whole) continue;

        struct block_sizes sizes = block_sizes(block);
        if (!block_sizes_ok(&sizes)) return fail_at(reading, "impossible block size");
        if (reading->held < BLOCK_HEADER + sizes.stored) continue;
        reading->has_last = sizes.raw == 0;
        reading->held = 0;
        ahead_give(ahead, reading->at);
    }
    return true;
}

static bool load_ahead(struct reading *reading, struct ahead *ahead)
{
    const struct copy_source *source = reading->source;
    for (bool waits = false, received = true;;) {
        /* If the source fails, the blocks received before are still loaded: an error in them must
         * be the one that is reported, as without a thread. */
        if (received) received = give_blocks(reading, ahead, waits);
        const struct ahead_part *part;
        enum ahead_got got = ahead_try(ahead, source->mono_usec() + WAIT_USEC, &part);
        waits = got == AHEAD_LACKS_BLOCK;
        if (waits && !received) return false;
        if (got == AHEAD_NOT_YET && source->between != NULL) source->between(source->ctx);
        if (got != AHEAD_PART) continue;
        if (part->got != SNAPSHOT_BYTES) reading->at = part->end;
        if (part->got == SNAPSHOT_FAULT) return fail_at(reading, part->fault.reason);
        if (part->got == SNAPSHOT_END)
            return !part->is_incomplete || fail_at(reading, "the last command is incomplete");
        const struct parsed_batch *batch = &part->batch;
        uint64_t commands = batch->commands;
        for (unsigned at = 0, end; at < batch->count; at = end, commands = 0) {
            for (end = at + 1; end < batch->count && end - at < PIECE_ITEMS; end++)
                if (batch->items[end].at - batch->items[at].at >= PIECE) break;
            if (!replay_parsed(&reading->replay, batch, at, end, commands)) {
                reading->at = part->end;
                return fail_at(reading, reading->replay.error);
            }
            if (source->between != NULL) source->between(source->ctx);
        }
    }
}

bool copy_load(struct store *store, const struct copy_source *source, msec now, unsigned *stream_db,
               char *why, size_t size)
{
    struct reading *reading = mem_zalloc(sizeof(*reading));
    reading->source = source;
    reading->why = why;
    reading->why_size = size;
    replay_init(&reading->replay, store, now);

    char header[HEADER];
    bool good = receive_all(reading, header, sizeof(header)), last = false;
    if (good && memcmp(header, MAGIC, sizeof(MAGIC) - 1) != 0)
        good = fail_at(reading, "not a copy of this server");
    if (good && get_u32(header + 12) != VERSION) good = fail_at(reading, "unknown version");
    if (good) {
        *stream_db = get_u32(header + 16);
        reading->sum = crc32c(0, header, sizeof(header));
    }
    struct ahead *ahead = NULL;
    if (good && source->start_thread != NULL)
        ahead = ahead_of_copy(reading->sum, source->start_thread);
    if (ahead != NULL) {
        good = load_ahead(reading, ahead);
        ahead_stop(ahead);
    } else {
        while (good && !last)
            good = load_block(reading, &last);
    }
    replay_drop(&reading->replay);
    buffer_drop(&reading->carry);
    mem_free(reading);
    return good;
}
