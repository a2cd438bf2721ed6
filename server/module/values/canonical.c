/* canonical: see canonical.h. The engine runs one command at a time, so one collection is enough;
 * it is empty between two of them. Its memory is reused. */
#include "server/module/values/canonical.h"

#include <string.h>

#include "server/disk/effect/effect_text.h"
#include "store/base/ensure.h"
#include "store/mem/mem.h"

enum { NAME_MAX_CHARS = 32 };

/* The arguments of the commands, one after the other. */
static RedisModuleString **strings;
static size_t count, cap;
static size_t first; /* of the current command: those before it are whole */
static size_t *ends; /* of whole commands */
static size_t command_count, command_cap;

/* A name of ours with a dot is in the engine as it is, DEL is the engine's own, and the others have
 * the prefix there. */
static struct bytes engine_name(struct bytes name, char to[NAME_MAX_CHARS])
{
    bool has_prefix = memchr(name.data, '.', name.len) == NULL && !bytes_equal(name, LIT("DEL"));
    size_t prefix = has_prefix ? sizeof(CANONICAL_PREFIX) - 1 : 0;
    ensure(prefix + name.len < NAME_MAX_CHARS, "a command of %zu bytes", name.len);
    memcpy(to, CANONICAL_PREFIX, prefix);
    memcpy(to + prefix, name.data, name.len);
    return bytes_of(to, prefix + name.len);
}

static struct bytes keep(void *ctx, size_t index, struct bytes text)
{
    (void)ctx;
    char name[NAME_MAX_CHARS];
    size_t at = first + index;
    if (index == 0) text = engine_name(text, name);
    if (at < count) redis.FreeString(NULL, strings[at]);
    if (at == count) count++;
    if (count > cap) {
        cap = 2 * count;
        strings = mem_realloc(strings, cap * sizeof(*strings));
    }
    strings[at] = redis.CreateString(NULL, text.data, text.len);
    return api_bytes(strings[at]);
}

static void end(void *ctx, size_t argc)
{
    (void)ctx;
    ensure(first + argc == count, "%zu of %zu arguments", argc, count - first);
    if (command_count == command_cap) {
        command_cap = 2 * command_cap + 1;
        ends = mem_realloc(ends, command_cap * sizeof(*ends));
    }
    ends[command_count++] = first = count;
}

static struct effect_args commands = { .keep = keep, .end = end };

/* All effects are of database 0: the engine selects databases itself. */
void canonical_put(const struct effect *effect)
{
    effect_args_put(&commands, effect);
}

/* Either of the two takes a command: name and arguments. */
struct taker {
    RedisModuleCtx *ctx;
    RedisModuleIO *aof;
};

static void pass_on(const struct taker *to, RedisModuleString **argv, size_t argc)
{
    const char *name = api_bytes(argv[0]).data;
    if (to->ctx != NULL)
        redis.Replicate(to->ctx, name, "v", argv + 1, argc - 1);
    else
        redis.EmitAOF(to->aof, name, "v", argv + 1, argc - 1);
}

static void pass_all(const struct taker *to)
{
    effect_args_end(&commands);
    for (size_t i = 0, at = 0; i < command_count; at = ends[i++])
        pass_on(to, strings + at, ends[i] - at);
    for (size_t i = 0; i < count; i++)
        redis.FreeString(NULL, strings[i]);
    count = first = command_count = 0;
}

void canonical_replicate(RedisModuleCtx *ctx)
{
    pass_all(&(struct taker){ .ctx = ctx });
}

void canonical_emit(RedisModuleIO *aof)
{
    pass_all(&(struct taker){ .aof = aof });
}
