/* interpreter: see interpreter.h. */
#include "server/script/lua/interpreter.h"

#include <sys/resource.h>

#include <luajit-2.1/lauxlib.h>
#include <luajit-2.1/luajit.h>

#include "store/base/ensure.h"
#include "store/mem/mem.h"

enum {
    /* interpreter_collect begins once the bytes in use exceed twice the live ones by this much.
     * Less garbage than that is left to Lua's own collector. */
    GARBAGE_MIN = 1 << 20,
    /* Lua's own collector begins when the bytes in use have grown to this percentage of the live
     * ones. interpreter_collect begins earlier, but never runs during a script. */
    PAUSE_PERCENT = 400,
    /* The speed of Lua's own collector, in percent of the speed of allocation: the first value
     * below half of the memory limit, the second above it. */
    STEP_PERCENT = 200,
    FAST_PERCENT = 1000,
    /* Above half of the limit, the script may allocate this part (1/8) of the bytes that are left
     * before the next collection begins. */
    ROOM_PARTS = 8,
    STEP_KIB = 16,         /* one step of interpreter_collect; takes about 20 us */
    LARGE_BLOCK = 1 << 16, /* bytes from which a block counts as large */
    /* The instructions between two calls of the hook may read this many bytes in total, supposing
     * that each instruction reads all large blocks. */
    HOOK_BYTES = 1 << 26,
    STACK_PART = 4, /* if `ulimit -s` is small, a script may use a quarter of it */
    /* A function in C that calls itself, but not Lua, may use C's stack up to this multiple of the
     * limit for scripts. */
    LEAF_PARTS = 2,
};

static int hook_steps(const struct interpreter *interpreter)
{
    size_t steps = interpreter->large > 0 ? HOOK_BYTES / interpreter->large : ENGINE_HOOK_STEPS;
    if (steps > ENGINE_HOOK_STEPS) return ENGINE_HOOK_STEPS;
    return steps > 0 ? (int)steps : 1;
}

static size_t if_large(size_t size)
{
    return size >= LARGE_BLOCK ? size : 0;
}

static void count_block(struct interpreter *interpreter, size_t old_size, size_t size)
{
    interpreter->used += size - old_size;
    if (size > old_size) interpreter->made += size - old_size;
    interpreter->large += if_large(size) - if_large(old_size);
    if (size < LARGE_BLOCK || interpreter->lua == NULL || interpreter_hurries(interpreter->lua))
        return;
    /* The hook may be changed while Lua runs, because LuaJIT checks for that at each instruction.
     * Setting the hook restarts its count, so here it is only made more frequent; otherwise a
     * script that allocates could postpone the hook for ever. */
    if (hook_steps(interpreter) < interpreter->hook_steps) interpreter_resume(interpreter);
}

/* Lua's allocator: counts and limits the memory. Lua requires that shrinking never fails. */
static void *allocate_block(void *ctx, void *old, size_t old_size, size_t size)
{
    struct interpreter *interpreter = ctx;
    size_t used = interpreter->used, limit = interpreter->limit;
    if (size == 0) {
        mem_free(old);
        count_block(interpreter, old_size, 0);
        return NULL;
    }
    if (old == NULL) old_size = 0;
    void *block;
    if (size <= old_size)
        block = mem_realloc(old, size);
    else if (limit != SIZE_MAX && (used >= limit || size - old_size > limit - used))
        block = NULL;
    else
        block = old == NULL ? mem_try_alloc(size) : mem_try_realloc(old, size);
    if (block == NULL && !interpreter->may_fail) {
        interpreter->exceeded = true;
        block = mem_realloc(old, size);
    }
    if (block != NULL) count_block(interpreter, old_size, size);
    return block;
}

static struct interpreter *interpreter_of(lua_State *lua)
{
    void *interpreter;
    lua_getallocf(lua, &interpreter);
    return interpreter;
}

bool interpreter_call(struct interpreter *interpreter, int args, int results, int on_error)
{
    bool before = interpreter->may_fail;
    interpreter->may_fail = true;
    bool good = lua_pcall(interpreter->lua, args, results, on_error) == 0;
    interpreter->may_fail = before;
    return good;
}

bool interpreter_let_fail(lua_State *lua, bool on)
{
    struct interpreter *interpreter = interpreter_of(lua);
    bool before = interpreter->may_fail;
    interpreter->may_fail = on;
    return before;
}

static const char *stack_address(void)
{
    return __builtin_frame_address(0);
}

/* Returns how many bytes of C's stack have been used since the script began. */
static ptrdiff_t stack_used(const struct interpreter *interpreter)
{
    return interpreter->stack_base != NULL ? interpreter->stack_base - stack_address() : 0;
}

void interpreter_check_stack(lua_State *lua)
{
    const struct interpreter *interpreter = interpreter_of(lua);
    if (stack_used(interpreter) > interpreter->stack_max) luaL_error(lua, "C stack overflow");
}

bool interpreter_has_stack(lua_State *lua)
{
    void *ctx;
    if (lua_getallocf(lua, &ctx) != allocate_block) return true;
    const struct interpreter *interpreter = ctx;
    return stack_used(interpreter) <= LEAF_PARTS * interpreter->stack_max;
}

void interpreter_spend(lua_State *lua, unsigned steps)
{
    void *ctx;
    if (lua_getallocf(lua, &ctx) != allocate_block) return;
    struct interpreter *interpreter = ctx;
    interpreter->spent += steps;
    if (interpreter->spent < ENGINE_HOOK_STEPS) return;
    interpreter->spent = 0;
    if (interpreter->on_steps != NULL) interpreter->on_steps(interpreter->ctx, lua);
}

/* Sets when Lua's collector begins and how fast it works, because it does not know our limit. A
 * collection must begin at half of the limit at the latest, and end before the script reaches the
 * limit. Above half of it, the script may allocate 1/ROOM_PARTS of the bytes that are left before
 * the next collection begins: without such a pause, each allocation would begin another one. */
static void pace_collection(struct interpreter *interpreter)
{
    int pause = PAUSE_PERCENT, speed = STEP_PERCENT;
    size_t half = interpreter->limit / 2;
    if (interpreter->limit != SIZE_MAX && interpreter->used > half / (PAUSE_PERCENT / 100)) {
        size_t used = interpreter->used, limit = interpreter->limit;
        size_t between = limit > used ? (limit - used) / ROOM_PARTS : 0;
        pause = (int)(100 * (used < half ? half : used + between) / used);
        if (used > half) speed = FAST_PERCENT;
    }
    lua_gc(interpreter->lua, LUA_GCSETPAUSE, pause);
    lua_gc(interpreter->lua, LUA_GCSETSTEPMUL, speed);
}

static void after_steps(lua_State *lua, lua_Debug *where)
{
    (void)where;
    struct interpreter *interpreter = interpreter_of(lua);
    pace_collection(interpreter);
    if (!interpreter_hurries(lua) && hook_steps(interpreter) > interpreter->hook_steps)
        interpreter_resume(interpreter);
    if (interpreter->on_steps != NULL) interpreter->on_steps(interpreter->ctx, lua);
}

/* Aborts. Lua calls this for an error outside of any protected call, which only a bug can cause. */
static int die_of_error(lua_State *lua)
{
    const char *text = lua_tostring(lua, -1);
    ensure(false, "unprotected Lua error: %s", text != NULL ? text : "?");
    return 0;
}

struct interpreter *interpreter_new(void)
{
    struct interpreter *interpreter = mem_zalloc(sizeof(*interpreter));
    interpreter->limit = SIZE_MAX;
    struct rlimit stack;
    interpreter->stack_max = ENGINE_STACK_MAX;
    if (getrlimit(RLIMIT_STACK, &stack) == 0 && stack.rlim_cur / STACK_PART < ENGINE_STACK_MAX)
        interpreter->stack_max = (ptrdiff_t)(stack.rlim_cur / STACK_PART);
    interpreter->lua = lua_newstate(allocate_block, interpreter);
    ensure(interpreter->lua != NULL, "no Lua state");
    lua_atpanic(interpreter->lua, die_of_error);
    pace_collection(interpreter);
    luaJIT_setmode(interpreter->lua, 0, LUAJIT_MODE_ENGINE | LUAJIT_MODE_OFF);
    interpreter_resume(interpreter);
    interpreter_note_live(interpreter);
    return interpreter;
}

void interpreter_free(struct interpreter *interpreter)
{
    lua_close(interpreter->lua);
    mem_free(interpreter);
}

void interpreter_limit(struct interpreter *interpreter, size_t bytes)
{
    interpreter->exceeded = false;
    if (hook_steps(interpreter) != interpreter->hook_steps) interpreter_resume(interpreter);
    interpreter->stack_base = stack_address();
    interpreter->limit =
        bytes == 0 || bytes > SIZE_MAX - interpreter->used ? SIZE_MAX : interpreter->used + bytes;
}

void interpreter_unlimit(struct interpreter *interpreter)
{
    interpreter->limit = SIZE_MAX;
}

void interpreter_hurry(struct interpreter *interpreter)
{
    lua_sethook(interpreter->lua, after_steps, LUA_MASKLINE | LUA_MASKCOUNT, 1);
}

void interpreter_resume(struct interpreter *interpreter)
{
    interpreter->hook_steps = hook_steps(interpreter);
    lua_sethook(interpreter->lua, after_steps, LUA_MASKCOUNT, interpreter->hook_steps);
}

bool interpreter_hurries(lua_State *lua)
{
    return lua_gethookmask(lua) & LUA_MASKLINE;
}

bool interpreter_collect(void *ctx, size_t amount)
{
    struct interpreter *interpreter = ctx;
    if (interpreter->used < 2 * interpreter->live + GARBAGE_MIN) return false;
    for (; amount > 0; amount--)
        if (lua_gc(interpreter->lua, LUA_GCSTEP, STEP_KIB) != 0) {
            /* Memory that a script allocated while the collection ran was not freed. It may be
             * garbage, so it does not count as live. */
            size_t used = interpreter->used, made = interpreter->made;
            interpreter->live = used > made ? used - made : 0;
            interpreter->made = 0;
            break;
        }
    return true;
}

void interpreter_note_live(struct interpreter *interpreter)
{
    interpreter->live = interpreter->used;
    interpreter->made = 0;
}

size_t interpreter_garbage(const void *ctx)
{
    const struct interpreter *interpreter = ctx;
    size_t used = interpreter->used, live = interpreter->live;
    return used > live ? used - live : 0;
}
