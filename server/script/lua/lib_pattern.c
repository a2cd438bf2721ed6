/* lib_pattern: string.find, match, gmatch and gsub as in Lua 5.1. Unlike LuaJIT's, they can be
 * stopped while they run: a pattern with n repeats may take time that grows with the n-th power of
 * the subject's length. They count their steps and report them to interpreter, which checks the
 * time now and then and may raise an error.
 *
 * Patterns are not compiled: at each position of the subject, the items of the pattern are read
 * again. An item is a byte, a class or a set, perhaps with a repeat behind it. */
#include "server/script/lua/libraries.h"

#include <ctype.h>
#include <luajit-2.1/lauxlib.h>
#include <string.h>

#include "server/script/lua/interpreter.h"
#include "store/base/bytes.h"

enum {
    CAPTURES = 32,
    DEPTH_MAX = 200,
    STEPS_AT_ONCE = 1000,
    BYTES_PER_STEP = 32, /* of a search for a plain text */
};

struct capture {
    const char *begin;
    ptrdiff_t len; /* its length, or CAPTURE_OPEN or CAPTURE_POSITION */
};
enum { CAPTURE_OPEN = -1, CAPTURE_POSITION = -2 };

/* One search: a subject, a pattern and the captures so far. Both texts end with a zero byte. A zero
 * byte inside the pattern ends it too. */
struct search {
    lua_State *lua;
    struct bytes subject;
    const char *pattern;
    unsigned steps; /* not passed to interpreter_spend yet */
    int depth;
    int level; /* number of captures so far */
    struct capture captures[CAPTURES];
};

static const char *match(struct search *run, const char *at, const char *p);

/* Passes the steps so far to interpreter_spend, which may raise an error. */
static void spend_steps(struct search *run)
{
    interpreter_spend(run->lua, run->steps);
    run->steps = 0;
}

static void count_steps(struct search *run, size_t steps)
{
    run->steps += (unsigned)steps;
    if (run->steps >= STEPS_AT_ONCE) spend_steps(run);
}

static const char *subject_end(const struct search *run)
{
    return run->subject.data + run->subject.len;
}

/* ---- items ----------------------------------------------------------------------------------- */

static const char *set_end(struct search *run, const char *p)
{
    const char *begin = p++;
    if (*p == '^') p++;
    do {
        if (*p == '\0') luaL_error(run->lua, "malformed pattern (missing ']')");
        bool escapes = *p++ == '%';
        if (escapes && *p != '\0') p++;
    } while (*p != ']');
    count_steps(run, (size_t)(p - begin));
    return p + 1;
}

static bool is_in_class(unsigned char c, char letter)
{
    bool is;
    switch (tolower((unsigned char)letter)) {
    case 'a': is = isalpha(c) != 0; break;
    case 'c': is = iscntrl(c) != 0; break;
    case 'd': is = isdigit(c) != 0; break;
    case 'l': is = islower(c) != 0; break;
    case 'p': is = ispunct(c) != 0; break;
    case 's': is = isspace(c) != 0; break;
    case 'u': is = isupper(c) != 0; break;
    case 'w': is = isalnum(c) != 0; break;
    case 'x': is = isxdigit(c) != 0; break;
    case 'z': is = c == 0; break;
    default: return c == (unsigned char)letter;
    }
    return is != (isupper((unsigned char)letter) != 0);
}

/* Is the character in the set that begins at p? `end` is after the set's last bracket. */
static bool is_in_set(struct search *run, unsigned char c, const char *p, const char *end)
{
    const char *last = end - 1;
    bool inverted = p[1] == '^', found = false;
    count_steps(run, (size_t)(end - p));
    for (p += inverted ? 2 : 1; p < last && !found; p++) {
        if (*p == '%') {
            found = is_in_class(c, *++p);
        } else if (p[1] == '-' && p + 2 < last) {
            found = (unsigned char)p[0] <= c && c <= (unsigned char)p[2];
            p += 2;
        } else {
            found = (unsigned char)*p == c;
        }
    }
    return found != inverted;
}

static bool fits(struct search *run, const char *at, const char *p, const char *end)
{
    count_steps(run, 1);
    if (at >= subject_end(run)) return false;
    unsigned char c = (unsigned char)*at;
    switch (*p) {
    case '.': return true;
    case '%': return is_in_class(c, p[1]);
    case '[': return is_in_set(run, c, p, end);
    default: return (unsigned char)*p == c;
    }
}

/* ---- repeats --------------------------------------------------------------------------------- */

/* Matches a repeated item and the rest of the pattern, with most repetitions first. */
static const char *repeat_longest(struct search *run, const char *at, const char *p,
                                  const char *end, size_t least)
{
    size_t count = 0;
    while (fits(run, at + count, p, end))
        count++;
    for (; count + 1 > least; count--) {
        const char *found = match(run, at + count, end + 1);
        if (found != NULL || count == 0) return found;
    }
    return NULL;
}

/* ---- captures and the rest ------------------------------------------------------------------- */

static const char *open_capture(struct search *run, const char *at, const char *p, ptrdiff_t kind)
{
    if (run->level >= CAPTURES) luaL_error(run->lua, "too many captures");
    run->captures[run->level++] = (struct capture){ .begin = at, .len = kind };
    const char *found = match(run, at, p);
    if (found == NULL) run->level--;
    return found;
}

static const char *close_capture(struct search *run, const char *at, const char *p)
{
    int i = run->level - 1;
    while (i >= 0 && run->captures[i].len != CAPTURE_OPEN)
        i--;
    if (i < 0) luaL_error(run->lua, "invalid pattern capture");
    run->captures[i].len = at - run->captures[i].begin;
    const char *found = match(run, at, p);
    if (found == NULL) run->captures[i].len = CAPTURE_OPEN;
    return found;
}

static const char *match_balance(struct search *run, const char *at, const char *p)
{
    if (p[0] == '\0' || p[1] == '\0') luaL_error(run->lua, "unbalanced pattern");
    if (at >= subject_end(run) || *at != p[0]) return NULL;
    size_t open = 1;
    for (at++; at < subject_end(run); at++) {
        count_steps(run, 1);
        if (*at == p[1]) {
            if (--open == 0) return at + 1;
        } else if (*at == p[0]) {
            open++;
        }
    }
    return NULL;
}

/* Matches an item and its repeat. Returns true if the match is to continue at *at and *p; false if
 * it is over, with its end in *at, or NULL. */
static bool match_item(struct search *run, const char **at, const char **p)
{
    const char *end = *p + 1, *found = NULL; /* the end of the item */
    if (**p == '[') {
        end = set_end(run, *p);
    } else if (**p == '%') {
        if ((*p)[1] == '\0') luaL_error(run->lua, "malformed pattern (ends with '%%')");
        end = *p + 2;
    }
    switch (*end) {
    case '?':
        if (fits(run, *at, *p, end)) found = match(run, *at + 1, end + 1);
        *p = end + 1;
        if (found == NULL) return true;
        break;
    case '*': found = repeat_longest(run, *at, *p, end, 0); break;
    case '+': found = repeat_longest(run, *at, *p, end, 1); break;
    case '-': /* the smallest number of repetitions first */
        while ((found = match(run, *at, end + 1)) == NULL && fits(run, *at, *p, end))
            ++*at;
        break;
    default:
        if (!fits(run, *at, *p, end)) break;
        ++*at;
        *p = end;
        return true;
    }
    *at = found;
    return false;
}

/* As match_item, for an item that begins with '%'. */
static bool match_escape(struct search *run, const char **at, const char **p)
{
    const char *end;
    unsigned char before;
    int index;
    ptrdiff_t len;
    switch ((*p)[1]) {
    case 'b':
        *at = match_balance(run, *at, *p + 2);
        *p += 4;
        return *at != NULL;
    case 'f':
        if ((*p)[2] != '[') luaL_error(run->lua, "missing '[' after '%%f' in pattern");
        end = set_end(run, *p + 2);
        /* The bytes before the subject and after it count as zero. */
        before = *at == run->subject.data ? 0 : (unsigned char)(*at)[-1];
        if (is_in_set(run, before, *p + 2, end) ||
            !is_in_set(run, (unsigned char)**at, *p + 2, end))
            *at = NULL;
        *p = end;
        return *at != NULL;
    default:
        if (!isdigit((unsigned char)(*p)[1])) return match_item(run, at, p);
        /* The text here must equal the capture. */
        index = (*p)[1] - '1';
        if (index < 0 || index >= run->level || run->captures[index].len == CAPTURE_OPEN)
            return luaL_error(run->lua, "invalid capture index");
        len = run->captures[index].len;
        bool is_equal = len >= 0 && subject_end(run) - *at >= len;
        if (is_equal) {
            count_steps(run, (size_t)len / 8);
            is_equal = memcmp(run->captures[index].begin, *at, (size_t)len) == 0;
        }
        *at = is_equal ? *at + len : NULL;
        *p += 2;
        return is_equal;
    }
}

static const char *match(struct search *run, const char *at, const char *p)
{
    if (++run->depth > DEPTH_MAX) luaL_error(run->lua, "pattern too complex");
    for (bool unfinished = true; unfinished;) {
        unfinished = false;
        switch (*p) {
        case '\0': break;
        case '(':
            at = p[1] == ')' ? open_capture(run, at, p + 2, CAPTURE_POSITION)
                             : open_capture(run, at, p + 1, CAPTURE_OPEN);
            break;
        case ')': at = close_capture(run, at, p + 1); break;
        case '%': unfinished = match_escape(run, &at, &p); break;
        case '$':
            if (p[1] != '\0')
                unfinished = match_item(run, &at, &p);
            else if (at != subject_end(run))
                at = NULL;
            break;
        default: unfinished = match_item(run, &at, &p); break;
        }
    }
    run->depth--;
    return at;
}

/* Matches at exactly this position of the subject. Returns the end of the match, or NULL. Raises a
 * Lua error if the pattern is malformed or too complex, or if the script has to end. */
static const char *match_at(struct search *run, const char *at)
{
    run->level = run->depth = 0;
    return match(run, at, run->pattern);
}

/* Pushes capture `index`. For a pattern without captures, 0 is the match. */
static void push_capture(const struct search *run, int index, const char *begin, const char *end)
{
    if (index >= run->level) {
        if (index != 0) luaL_error(run->lua, "invalid capture index");
        lua_pushlstring(run->lua, begin, (size_t)(end - begin));
        return;
    }
    const struct capture *capture = &run->captures[index];
    if (capture->len == CAPTURE_OPEN) luaL_error(run->lua, "unfinished capture");
    if (capture->len == CAPTURE_POSITION)
        lua_pushinteger(run->lua, capture->begin - run->subject.data + 1);
    else
        lua_pushlstring(run->lua, capture->begin, (size_t)capture->len);
}

/* Pushes all captures and returns their number. If the pattern has no captures and `begin` is not
 * NULL, pushes the match from begin to end instead. */
static int push_captures(const struct search *run, const char *begin, const char *end)
{
    int count = run->level == 0 && begin != NULL ? 1 : run->level;
    luaL_checkstack(run->lua, count, "too many captures");
    for (int i = 0; i < count; i++)
        push_capture(run, i, begin, end);
    return count;
}

/* ---- the functions --------------------------------------------------------------------------- */

static struct bytes text_at(lua_State *lua, int index)
{
    size_t len;
    const char *text = luaL_checklstring(lua, index, &len);
    return bytes_of(text, len);
}

static int push_none(lua_State *lua)
{
    lua_pushnil(lua);
    return 1;
}

static void push_range(lua_State *lua, struct bytes subject, const char *begin, const char *end)
{
    lua_pushinteger(lua, begin - subject.data + 1);
    lua_pushinteger(lua, end - subject.data);
}

static int find_pattern(lua_State *lua, bool with_range)
{
    struct search run = { .lua = lua, .subject = text_at(lua, 1) };
    struct bytes subject = run.subject, text = text_at(lua, 2);
    ptrdiff_t init = luaL_optinteger(lua, 3, 1), len = (ptrdiff_t)subject.len;
    if (init < 0) init += len + 1;
    init--;
    if (init < 0) init = 0;
    const char *at = subject.data + (init < len ? init : len), *last = subject.data + len;

    if (with_range && (lua_toboolean(lua, 4) || strpbrk(text.data, "^$*+?.([%-") == NULL)) {
        size_t left = (size_t)(last - at);
        interpreter_spend(lua, (unsigned)((left + text.len) / BYTES_PER_STEP));
        const char *found = memmem(at, left, text.data, text.len);
        if (found == NULL) return push_none(lua);
        push_range(lua, subject, found, found + text.len);
        return 2;
    }

    bool anchored = text.data[0] == '^';
    run.pattern = text.data + anchored;
    const char *end;
    while ((end = match_at(&run, at)) == NULL && at < last && !anchored)
        at++;
    spend_steps(&run);
    if (end == NULL) return push_none(lua);
    if (!with_range) return push_captures(&run, at, end);
    push_range(lua, subject, at, end);
    return 2 + push_captures(&run, NULL, end);
}

static int string_find(lua_State *lua)
{
    return find_pattern(lua, true);
}

static int string_match(lua_State *lua)
{
    return find_pattern(lua, false);
}

/* The iterator of gmatch. Upvalues: the subject, the pattern, and where to begin. */
static int next_match(lua_State *lua)
{
    struct search run = { .lua = lua, .subject = text_at(lua, lua_upvalueindex(1)) };
    const char *last = run.subject.data + run.subject.len;
    run.pattern = text_at(lua, lua_upvalueindex(2)).data;
    const char *at = run.subject.data + lua_tointeger(lua, lua_upvalueindex(3));
    for (; at <= last; at++) {
        const char *end = match_at(&run, at);
        if (end == NULL) continue;
        spend_steps(&run);
        lua_pushinteger(lua, end - run.subject.data + (end == at));
        lua_replace(lua, lua_upvalueindex(3));
        return push_captures(&run, at, end);
    }
    spend_steps(&run);
    return 0;
}

static int string_gmatch(lua_State *lua)
{
    text_at(lua, 1);
    text_at(lua, 2);
    lua_settop(lua, 2);
    lua_pushinteger(lua, 0);
    lua_pushcclosure(lua, next_match, 3);
    return 1;
}

static void add_replacement(const struct search *run, luaL_Buffer *out, const char *begin,
                            const char *end)
{
    lua_State *lua = run->lua;
    switch (lua_type(lua, 3)) {
    case LUA_TFUNCTION:
        lua_pushvalue(lua, 3);
        lua_call(lua, push_captures(run, begin, end), 1);
        break;
    case LUA_TTABLE:
        push_capture(run, 0, begin, end);
        lua_gettable(lua, 3);
        break;
    default: {
        struct bytes text = text_at(lua, 3);
        for (const char *at = text.data; at < text.data + text.len; at++) {
            if (*at != '%' || !isdigit((unsigned char)*++at)) {
                luaL_addchar(out, *at);
            } else if (*at == '0') {
                luaL_addlstring(out, begin, (size_t)(end - begin));
            } else {
                push_capture(run, *at - '1', begin, end);
                luaL_addvalue(out);
            }
        }
        return;
    }
    }
    if (!lua_toboolean(lua, -1)) {
        lua_pop(lua, 1);
        lua_pushlstring(lua, begin, (size_t)(end - begin));
    } else if (!lua_isstring(lua, -1)) {
        luaL_error(lua, "invalid replacement value (a %s)", luaL_typename(lua, -1));
    }
    luaL_addvalue(out);
}

static int string_gsub(lua_State *lua)
{
    struct search run = { .lua = lua, .subject = text_at(lua, 1) };
    const char *at = run.subject.data, *last = at + run.subject.len;
    run.pattern = text_at(lua, 2).data;
    int kind = lua_type(lua, 3), count = 0;
    lua_Integer most = luaL_optinteger(lua, 4, (lua_Integer)run.subject.len + 1);
    bool fits =
        kind == LUA_TNUMBER || kind == LUA_TSTRING || kind == LUA_TFUNCTION || kind == LUA_TTABLE;
    luaL_argcheck(lua, fits, 3, "string/function/table expected");
    bool anchored = *run.pattern == '^';
    run.pattern += anchored;
    luaL_Buffer out;
    interpreter_check_stack(lua);
    luaL_buffinit(lua, &out);
    while (count < most) {
        const char *end = match_at(&run, at);
        if (end != NULL) {
            count++;
            add_replacement(&run, &out, at, end);
        }
        if (end != NULL && end > at)
            at = end;
        else if (at < last)
            luaL_addchar(&out, *at++);
        else
            break;
        if (anchored) break;
    }
    spend_steps(&run);
    luaL_addlstring(&out, at, (size_t)(last - at));
    luaL_pushresult(&out);
    lua_pushinteger(lua, count);
    return 2;
}

void lib_pattern_open(lua_State *lua)
{
    static const luaL_Reg functions[] = {
        { "find", string_find },
        { "match", string_match },
        { "gmatch", string_gmatch },
        { "gsub", string_gsub },
        { NULL, NULL },
    };
    luaL_register(lua, NULL, functions);
}
