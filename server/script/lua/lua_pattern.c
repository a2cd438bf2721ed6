/* lua_pattern: see lua_pattern.h. Patterns are not compiled: at each position of the subject, the
 * items of the pattern are read again. An item is a byte, a class or a set, perhaps with a repeat
 * behind it. */
#include "server/script/lua/lua_pattern.h"

#include <ctype.h>
#include <luajit-2.1/lauxlib.h>

#include "server/script/lua/interpreter.h"

enum { DEPTH_MAX = 200, STEPS_AT_ONCE = 1000 };

static const char *match(struct lua_pattern *run, const char *at, const char *p);

static void count_steps(struct lua_pattern *run, size_t steps)
{
    run->steps += (unsigned)steps;
    if (run->steps >= STEPS_AT_ONCE) lua_pattern_end(run);
}

void lua_pattern_end(struct lua_pattern *run)
{
    interpreter_spend(run->lua, run->steps);
    run->steps = 0;
}

static const char *subject_end(const struct lua_pattern *run)
{
    return run->subject.data + run->subject.len;
}

/* ---- items ---- */

static const char *set_end(struct lua_pattern *run, const char *p)
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
static bool is_in_set(struct lua_pattern *run, unsigned char c, const char *p, const char *end)
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

static bool fits(struct lua_pattern *run, const char *at, const char *p, const char *end)
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

/* ---- repeats ---- */

/* Matches a repeated item and the rest of the pattern, with most repetitions first. */
static const char *repeat_longest(struct lua_pattern *run, const char *at, const char *p,
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

/* ---- captures and the rest ---- */

static const char *open_capture(struct lua_pattern *run, const char *at, const char *p,
                                ptrdiff_t kind)
{
    if (run->level >= LUA_PATTERN_CAPTURES) luaL_error(run->lua, "too many captures");
    run->captures[run->level++] = (struct lua_capture){ .begin = at, .len = kind };
    const char *found = match(run, at, p);
    if (found == NULL) run->level--;
    return found;
}

static const char *close_capture(struct lua_pattern *run, const char *at, const char *p)
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

static const char *match_balance(struct lua_pattern *run, const char *at, const char *p)
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
static bool match_item(struct lua_pattern *run, const char **at, const char **p)
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
static bool match_escape(struct lua_pattern *run, const char **at, const char **p)
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
            luaL_error(run->lua, "invalid capture index");
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

static const char *match(struct lua_pattern *run, const char *at, const char *p)
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

const char *lua_pattern_match(struct lua_pattern *run, const char *at)
{
    run->level = run->depth = 0;
    return match(run, at, run->pattern);
}

void lua_pattern_push(const struct lua_pattern *run, int index, const char *begin, const char *end)
{
    if (index >= run->level) {
        if (index != 0) luaL_error(run->lua, "invalid capture index");
        lua_pushlstring(run->lua, begin, (size_t)(end - begin));
        return;
    }
    const struct lua_capture *capture = &run->captures[index];
    if (capture->len == CAPTURE_OPEN) luaL_error(run->lua, "unfinished capture");
    if (capture->len == CAPTURE_POSITION)
        lua_pushinteger(run->lua, capture->begin - run->subject.data + 1);
    else
        lua_pushlstring(run->lua, capture->begin, (size_t)capture->len);
}

int lua_pattern_push_all(const struct lua_pattern *run, const char *begin, const char *end)
{
    int count = run->level == 0 && begin != NULL ? 1 : run->level;
    luaL_checkstack(run->lua, count, "too many captures");
    for (int i = 0; i < count; i++)
        lua_pattern_push(run, i, begin, end);
    return count;
}
