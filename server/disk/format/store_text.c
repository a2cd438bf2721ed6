/* store_text: see store_text.h. */
#include "server/disk/format/store_text.h"

#include "server/disk/effect/effect_text.h"
#include "server/disk/format/size_mark.h"
#include "store/mem/mem.h"
#include "store/mem/outbuf.h"
#include "store/walk.h"

enum { DRAIN = 128 * 1024, DRAIN_CHUNKS = 64 };

struct writing {
    const struct store_text_sink *sink;
    struct outbuf text;
    struct effect_writer effects;
    uint64_t keys;
    bool refused;
};

static void drain_text(struct writing *writing)
{
    struct iovec chunks[DRAIN_CHUNKS];
    const struct store_text_sink *sink = writing->sink;
    while (writing->text.len > 0) {
        size_t len = 0;
        int count = outbuf_peek(&writing->text, chunks, DRAIN_CHUNKS);
        for (int i = 0; i < count; i++) {
            if (!writing->refused)
                writing->refused = !sink->take(sink->ctx, chunks[i].iov_base, chunks[i].iov_len);
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
    effect_writer_end(&writing->effects);
    drain_text(writing);
    if (writing->sink->report != NULL) writing->sink->report(writing->sink->ctx, writing->keys);
}

static void write_size(void *ctx, const struct store_size *size)
{
    struct writing *writing = ctx;
    char line[SIZE_MARK_MAX];
    effect_writer_end(&writing->effects);
    outbuf_append(&writing->text, line, size_mark_print(size, line));
}

static bool count_key(void *ctx)
{
    struct writing *writing = ctx;
    writing->keys++;
    return !writing->refused;
}

bool store_text_write(const struct store *store, const struct store_text_sink *sink, uint64_t *keys)
{
    struct writing *writing = mem_zalloc(sizeof(*writing)); /* too large for the stack */
    writing->sink = sink;
    outbuf_init(&writing->text);
    effect_writer_init(&writing->effects, &writing->text);
    walk_store(store, &(struct store_visitor){ .effect = write_effect,
                                               .key_done = count_key,
                                               .ctx = writing,
                                               .size = write_size,
                                               .in_blocks = true });
    effect_writer_end(&writing->effects);
    drain_text(writing);
    *keys = writing->keys;
    bool good = !writing->refused;
    outbuf_drop(&writing->text);
    mem_free(writing);
    return good;
}
