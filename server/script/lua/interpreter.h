/* interpreter: a Lua interpreter that counts and limits its memory, and calls back while a script
 * runs. Depends on LuaJIT and store/mem; knows neither commands nor scripts.
 *
 * LuaJIT's compiler is off, for two reasons. In a compiled loop the hook would never be called, so
 * nothing could stop the loop. And compiled code needs pages that are writable and executable. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <luajit-2.1/lua.h>

struct interpreter {
    lua_State *lua;
    size_t used;  /* bytes of all Lua blocks */
    size_t limit; /* most of `used` while a script runs; SIZE_MAX for no limit */
    /* Inside a protected call an allocation may fail, which raises a Lua error. Elsewhere, and
     * while a command of a script makes its reply, such an error would skip C code that must run:
     * allocations beyond the limit then succeed, and set `exceeded`. */
    bool may_fail;
    bool exceeded;
    size_t live;            /* at least this many bytes were in use after the last collection */
    size_t made;            /* bytes allocated since the last collection ended */
    const char *stack_base; /* where C's stack was when the script began */
    ptrdiff_t stack_max;    /* bytes of C's stack that the script may use */
    unsigned spent;         /* steps of functions in C since their last call of on_steps */
    size_t large;           /* bytes in large blocks */
    int hook_steps;         /* instructions between two calls of on_steps */
    /* Called after each ENGINE_HOOK_STEPS instructions or earlier; may raise a Lua error. */
    void (*on_steps)(void *ctx, lua_State *lua);
    void *ctx;
};

/* How much of C's stack a script may use, unless a quarter of `ulimit -s` is less. LuaJIT limits
 * the depth of calls in one coroutine, but coroutines within coroutines would use up C's stack. */
enum { ENGINE_STACK_MAX = 2 << 20 };

/* The greatest number of instructions between two calls of on_steps; simple ones take about 50 us.
 *
 * Most functions and operators take time in proportion to their operands. So the hook is called
 * more often the more bytes there are in large blocks; above 32 MiB, after each instruction.
 * Blocks of earlier scripts count too, because a function of a library can keep them for its next
 * call. A function that can take longer calls interpreter_spend. */
enum { ENGINE_HOOK_STEPS = 10000 };

struct interpreter *interpreter_new(void);
void interpreter_free(struct interpreter *interpreter);

/* Calls lua_pcall, inside which allocations may fail. Returns false if there was an error, which is
 * then at the top of the stack. */
bool interpreter_call(struct interpreter *interpreter, int args, int results, int on_error);
/* Sets whether allocations may fail, for calls into Lua that Lua itself protects. Returns the
 * former state, to be restored by a second call. */
bool interpreter_let_fail(lua_State *lua, bool on);

/* Raises an error if the script has used too much of C's stack. Our functions in C call this before
 * they call a function of the script, so the limit also holds for error handlers, callbacks and
 * coroutines. */
void interpreter_check_stack(lua_State *lua);

/* Does C's stack allow one more level of recursion? For functions in C that call themselves but not
 * Lua: they may use twice as much as interpreter_check_stack allows. Always true in a state without
 * an interpreter. */
bool interpreter_has_stack(lua_State *lua);

/* Adds the work of a function in C, measured in instructions of Lua. When enough has been added
 * calls on_steps, which may raise a Lua error. No effect in a state without an interpreter. */
void interpreter_spend(lua_State *lua, unsigned steps);

/* Lets Lua allocate this many more bytes while a script runs. Beyond them, an allocation fails with
 * Lua's error "not enough memory" if may_fail is set; otherwise it succeeds and sets `exceeded`. 0
 * sets no limit. The use of C's stack is measured from this call on. */
void interpreter_limit(struct interpreter *interpreter, size_t bytes);
void interpreter_unlimit(struct interpreter *interpreter);
static inline bool interpreter_is_full(const struct interpreter *interpreter)
{
    return interpreter->used > interpreter->limit;
}

/* Makes Lua call the hook at each instruction until interpreter_resume. A script that catches the
 * errors of on_steps then meets the next error at once, and so can't go on. */
void interpreter_hurry(struct interpreter *interpreter);
void interpreter_resume(struct interpreter *interpreter);
bool interpreter_hurries(lua_State *lua);

/* Background work: collects some garbage, if scripts have left much. Returns false once little is
 * left. */
bool interpreter_collect(void *interpreter, size_t amount);

/* Counts all bytes in use now as live. */
void interpreter_note_live(struct interpreter *interpreter);

/* Returns the bytes in use beyond the live ones: garbage, unless a script runs. */
size_t interpreter_garbage(const void *interpreter);
