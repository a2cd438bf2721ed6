/* engine: see engine.h. */
#include "server/script/lua/engine.h"

#include <stdint.h>
#include <sys/resource.h>

#include <luajit-2.1/lauxlib.h>
#include <luajit-2.1/luajit.h>

#include "store/base/ensure.h"
#include "store/mem/mem.h"

enum {
    GARBAGE_MIN = 1 << 20, /* bytes; less is left to Lua's own collector */
    PAUSE_PERCENT = 400,   /* that one begins at so much of what was live; engine_collect earlier */
    STEP_KIB = 16,         /* about 20 us of collection */
    LARGE_BLOCK = 1 << 16,
    HOOK_BYTES = 1 << 26, /* of large blocks that the instructions between two hooks may read */
    STACK_PART = 4,       /* scripts get a quarter of a small stack */
    LEAF_PARTS = 2,       /* and functions in C that only call themselves get as much again */
};

static void adapt_hook(struct engine *engine);

static void *take_beyond_limit(struct engine *engine, void *old, size_t size)
{
    engine->exceeded = true;
    return mem_realloc(old, size);
}

static bool has_room(const struct engine *engine, size_t more)
{
    return engine->limit == SIZE_MAX ||
           (engine->used < engine->limit && more <= engine->limit - engine->used);
}

static size_t if_large(size_t size)
{
    return size >= LARGE_BLOCK ? size : 0;
}

static void count_block(struct engine *engine, size_t old_size, size_t size)
{
    engine->used += size - old_size;
    engine->large += if_large(size) - if_large(old_size);
    if (size >= LARGE_BLOCK) adapt_hook(engine);
}

/* Lua requires that shrinking never fails. */
static void *allocate_block(void *ctx, void *old, size_t old_size, size_t size)
{
    struct engine *engine = ctx;
    if (size == 0) {
        mem_free(old);
        count_block(engine, old_size, 0);
        return NULL;
    }
    if (old == NULL) old_size = 0;
    void *block;
    if (size <= old_size)
        block = mem_realloc(old, size);
    else if (!has_room(engine, size - old_size))
        block = NULL;
    else
        block = old == NULL ? mem_try_alloc(size) : mem_try_realloc(old, size);
    if (block == NULL && !engine->may_fail) block = take_beyond_limit(engine, old, size);
    if (block != NULL) count_block(engine, old_size, size);
    return block;
}

static struct engine *engine_of(lua_State *lua)
{
    void *engine;
    lua_getallocf(lua, &engine);
    return engine;
}

bool engine_call(struct engine *engine, int args, int results, int on_error)
{
    bool before = engine->may_fail;
    engine->may_fail = true;
    bool good = lua_pcall(engine->lua, args, results, on_error) == 0;
    engine->may_fail = before;
    return good;
}

bool engine_let_fail(lua_State *lua, bool on)
{
    struct engine *engine = engine_of(lua);
    bool before = engine->may_fail;
    engine->may_fail = on;
    return before;
}

static const char *stack_place(void)
{
    return __builtin_frame_address(0);
}

/* Of C's stack, since the script began. */
static ptrdiff_t stack_used(const struct engine *engine)
{
    return engine->stack_base != NULL ? engine->stack_base - stack_place() : 0;
}

void engine_check_stack(lua_State *lua)
{
    const struct engine *engine = engine_of(lua);
    if (stack_used(engine) > engine->stack_max) luaL_error(lua, "C stack overflow");
}

bool engine_has_stack(lua_State *lua)
{
    void *ctx;
    if (lua_getallocf(lua, &ctx) != allocate_block) return true;
    const struct engine *engine = ctx;
    return stack_used(engine) <= LEAF_PARTS * engine->stack_max;
}

void engine_spend(lua_State *lua, unsigned steps)
{
    void *ctx;
    if (lua_getallocf(lua, &ctx) != allocate_block) return;
    struct engine *engine = ctx;
    engine->spent += steps;
    if (engine->spent < ENGINE_HOOK_STEPS) return;
    engine->spent = 0;
    if (engine->on_steps != NULL) engine->on_steps(engine->ctx, lua);
}

static int hook_steps(const struct engine *engine)
{
    size_t steps = engine->large > 0 ? HOOK_BYTES / engine->large : ENGINE_HOOK_STEPS;
    if (steps > ENGINE_HOOK_STEPS) return ENGINE_HOOK_STEPS;
    return steps > 0 ? (int)steps : 1;
}

/* May be called while Lua runs: it looks for a changed hook at each instruction. Setting the hook
 * begins its count anew, so only the hook itself may make it rarer. */
static void adapt_hook(struct engine *engine)
{
    if (engine->lua == NULL || engine_hurries(engine->lua)) return;
    if (hook_steps(engine) < engine->hook_steps) engine_resume(engine);
}

static void after_steps(lua_State *lua, lua_Debug *where)
{
    (void)where;
    struct engine *engine = engine_of(lua);
    if (!engine_hurries(lua) && hook_steps(engine) > engine->hook_steps) engine_resume(engine);
    if (engine->on_steps != NULL) engine->on_steps(engine->ctx, lua);
}

static ptrdiff_t stack_max(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur / STACK_PART >= ENGINE_STACK_MAX)
        return ENGINE_STACK_MAX;
    return (ptrdiff_t)(limit.rlim_cur / STACK_PART);
}

/* Nothing of ours calls Lua unprotected where it may fail. */
static int die_of_error(lua_State *lua)
{
    const char *text = lua_tostring(lua, -1);
    ensure(false, "unprotected Lua error: %s", text != NULL ? text : "?");
    return 0;
}

struct engine *engine_new(void)
{
    struct engine *engine = mem_zalloc(sizeof(*engine));
    engine->limit = SIZE_MAX;
    engine->stack_max = stack_max();
    engine->lua = lua_newstate(allocate_block, engine);
    ensure(engine->lua != NULL, "no Lua state");
    lua_atpanic(engine->lua, die_of_error);
    lua_gc(engine->lua, LUA_GCSETPAUSE, PAUSE_PERCENT);
    luaJIT_setmode(engine->lua, 0, LUAJIT_MODE_ENGINE | LUAJIT_MODE_OFF);
    engine_resume(engine);
    engine->live = engine->used;
    return engine;
}

void engine_free(struct engine *engine)
{
    lua_close(engine->lua);
    mem_free(engine);
}

void engine_limit(struct engine *engine, size_t bytes)
{
    engine->exceeded = false;
    if (hook_steps(engine) != engine->hook_steps) engine_resume(engine);
    engine->stack_base = stack_place();
    engine->limit = bytes == 0 || bytes > SIZE_MAX - engine->used ? SIZE_MAX : engine->used + bytes;
}

void engine_unlimit(struct engine *engine)
{
    engine->limit = SIZE_MAX;
}

void engine_hurry(struct engine *engine)
{
    lua_sethook(engine->lua, after_steps, LUA_MASKLINE | LUA_MASKCOUNT, 1);
}

void engine_resume(struct engine *engine)
{
    engine->hook_steps = hook_steps(engine);
    lua_sethook(engine->lua, after_steps, LUA_MASKCOUNT, engine->hook_steps);
}

bool engine_hurries(lua_State *lua)
{
    return lua_gethookmask(lua) & LUA_MASKLINE;
}

bool engine_collect(void *ctx, size_t amount)
{
    struct engine *engine = ctx;
    if (engine->used < 2 * engine->live + GARBAGE_MIN) return false;
    for (; amount > 0; amount--)
        if (lua_gc(engine->lua, LUA_GCSTEP, STEP_KIB) != 0) {
            engine->live = engine->used;
            break;
        }
    return true;
}
