/* canonical: see canonical.h. The host runs one command at a time, so there is only one collection
 * of effects. It is empty between two commands; its memory is reused. */
#include "server/module/values/canonical.h"

#include "server/disk/effect/effect_text.h"
#include "store/base/ensure.h"
#include "store/mem/mem.h"

enum { NAME_MAX_CHARS = 32 };

/* The arguments of the commands, one after the other. */
static RedisModuleString **strings;
static size_t count, cap;
static size_t first; /* of the current command; those before it are complete */
static size_t *ends; /* of complete commands */
static size_t command_count, command_cap;

static struct bytes keep(void *ctx, size_t index, struct bytes text)
{
    (void)ctx;
    char name[NAME_MAX_CHARS];
    size_t at = first + index;
    /* Our names with a dot are the same in the host, and DEL is the host's own command. All other
     * names have the prefix in the host. */
    if (index == 0 && memchr(text.data, '.', text.len) == NULL && !bytes_equal(text, LIT("DEL"))) {
        size_t prefix = sizeof(CANONICAL_PREFIX) - 1;
        ensure(prefix + text.len < NAME_MAX_CHARS, "a command of %zu bytes", text.len);
        memcpy(name, CANONICAL_PREFIX, prefix);
        memcpy(name + prefix, text.data, text.len);
        text = bytes_of(name, prefix + text.len);
    }
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

/* All effects are of database 0: the host selects databases itself. */
void canonical_put(const struct effect *effect)
{
    effect_args_put(&commands, effect);
}

/* Writes to replicas and the append-only file or, without ctx, to a rewrite of that file. */
static void write_all(RedisModuleCtx *ctx, RedisModuleIO *aof)
{
    effect_args_end(&commands);
    for (size_t i = 0, at = 0; i < command_count; at = ends[i++]) {
        RedisModuleString **argv = strings + at;
        size_t argc = ends[i] - at;
        const char *name = api_bytes(argv[0]).data;
        if (ctx != NULL)
            redis.Replicate(ctx, name, "v", argv + 1, argc - 1);
        else
            redis.EmitAOF(aof, name, "v", argv + 1, argc - 1);
    }
    for (size_t i = 0; i < count; i++)
        redis.FreeString(NULL, strings[i]);
    count = first = command_count = 0;
}

void canonical_replicate(RedisModuleCtx *ctx)
{
    write_all(ctx, NULL);
}

void canonical_emit(RedisModuleIO *aof)
{
    write_all(NULL, aof);
}
