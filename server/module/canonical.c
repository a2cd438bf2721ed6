/* canonical: see canonical.h. The engine runs one command at a time, so one writer is enough; it is
 * empty between two of them. */
#include "server/module/canonical.h"

#include <stdio.h>
#include <string.h>

#include "proto/base/outbuf.h"
#include "server/persist/format/effect_text.h"
#include "server/persist/format/request.h"
#include "store/base/ensure.h"
#include "store/mem/mem.h"

enum { NAME_MAX_CHARS = 32 };

static struct effect_writer writer;
static struct outbuf text;

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
    int len = snprintf(to, NAME_MAX_CHARS, "%s%.*s", has_prefix ? CANONICAL_PREFIX : "",
                       (int)name.len, name.data);
    ensure(len < NAME_MAX_CHARS, "a command of %zu bytes", name.len);
}

static void pass_on(const struct taker *to, const struct request *request)
{
    size_t count = (size_t)request->argc - 1;
    RedisModuleString **argv = mem_alloc((count + 1) * sizeof(RedisModuleString *));
    char name[NAME_MAX_CHARS];
    engine_name(request->argv[0], name);
    for (size_t i = 0; i < count; i++)
        argv[i] = redis.CreateString(NULL, request->argv[i + 1].data, request->argv[i + 1].len);
    if (to->ctx != NULL)
        redis.Replicate(to->ctx, name, "v", argv, count);
    else
        redis.EmitAOF(to->aof, name, "v", argv, count);
    for (size_t i = 0; i < count; i++)
        redis.FreeString(NULL, argv[i]);
    mem_free(argv);
}

static void pass_all(const struct taker *to)
{
    struct request request;
    if (writer.out == NULL) return;
    effect_writer_end(&writer);
    size_t len = text.len, size;
    if (len == 0) return;
    char *bytes = mem_alloc(len);
    outbuf_copy(&text, bytes);
    outbuf_drop(&text);
    request_init(&request);
    for (size_t at = 0; at < len; at += size) {
        enum request_status status = request_read(&request, bytes + at, len - at, &size);
        ensure(status == REQUEST_WHOLE, "status %d at %zu of %zu", status, at, len);
        pass_on(to, &request);
    }
    request_drop(&request);
    mem_free(bytes);
}

void canonical_replicate(RedisModuleCtx *ctx)
{
    pass_all(&(struct taker){ .ctx = ctx });
}

void canonical_emit(RedisModuleIO *aof)
{
    pass_all(&(struct taker){ .aof = aof });
}
