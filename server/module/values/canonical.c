/* canonical: see canonical.h. The engine runs one command at a time, so one writer is enough; it is
 * empty between two of them. Its memory is used again. */
#include "server/module/values/canonical.h"

#include <string.h>

#include "server/disk/effect/effect_text.h"
#include "server/disk/effect/request.h"
#include "store/base/ensure.h"
#include "store/mem/mem.h"
#include "store/mem/outbuf.h"

enum { NAME_MAX_CHARS = 32 };

static struct effect_writer writer;
static struct outbuf text;
static struct request request; /* read back from `text` */
static RedisModuleString **strings;
static size_t strings_cap;

void canonical_put(const struct effect *effect)
{
    if (writer.out == NULL) {
        outbuf_init(&text);
        effect_writer_init(&writer, &text);
        writer.db = 0; /* the engine selects databases itself */
    }
    effect_writer_put(&writer, effect);
}

/* Either of the two takes a command: name and arguments. */
struct taker {
    RedisModuleCtx *ctx;
    RedisModuleIO *aof;
};

/* A name of ours with a dot is in the engine as it is, DEL is the engine's own, and the others have
 * the prefix there. */
static void engine_name(struct bytes name, char to[NAME_MAX_CHARS])
{
    bool has_prefix = memchr(name.data, '.', name.len) == NULL && !bytes_equal(name, LIT("DEL"));
    size_t prefix = has_prefix ? sizeof(CANONICAL_PREFIX) - 1 : 0;
    ensure(prefix + name.len < NAME_MAX_CHARS, "a command of %zu bytes", name.len);
    memcpy(to, CANONICAL_PREFIX, prefix);
    memcpy(to + prefix, name.data, name.len);
    to[prefix + name.len] = '\0';
}

static RedisModuleString **strings_for(size_t count)
{
    if (count > strings_cap) {
        strings_cap = count;
        strings = mem_realloc(strings, count * sizeof(RedisModuleString *));
    }
    return strings;
}

static void pass_on(const struct taker *to)
{
    size_t count = (size_t)request.argc - 1;
    RedisModuleString **argv = strings_for(count);
    char name[NAME_MAX_CHARS];
    engine_name(request.argv[0], name);
    for (size_t i = 0; i < count; i++)
        argv[i] = redis.CreateString(NULL, request.argv[i + 1].data, request.argv[i + 1].len);
    if (to->ctx != NULL)
        redis.Replicate(to->ctx, name, "v", argv, count);
    else
        redis.EmitAOF(to->aof, name, "v", argv, count);
    for (size_t i = 0; i < count; i++)
        redis.FreeString(NULL, argv[i]);
}

/* The commands of `len` bytes, which are whole. */
static void pass_each(const struct taker *to, const char *bytes, size_t len)
{
    for (size_t at = 0, size; at < len; at += size) {
        enum request_status status = request_read(&request, bytes + at, len - at, &size);
        ensure(status == REQUEST_WHOLE, "status %d at %zu of %zu", status, at, len);
        pass_on(to);
    }
}

static void pass_all(const struct taker *to)
{
    struct iovec piece;
    if (writer.out == NULL) return;
    effect_writer_end(&writer);
    if (text.len == 0) return;
    outbuf_peek(&text, &piece, 1);
    if (piece.iov_len == text.len) {
        pass_each(to, piece.iov_base, text.len);
    } else {
        char *bytes = mem_alloc(text.len);
        outbuf_copy(&text, bytes);
        pass_each(to, bytes, text.len);
        mem_free(bytes);
    }
    outbuf_drop(&text);
}

void canonical_replicate(RedisModuleCtx *ctx)
{
    pass_all(&(struct taker){ .ctx = ctx });
}

void canonical_emit(RedisModuleIO *aof)
{
    pass_all(&(struct taker){ .aof = aof });
}
