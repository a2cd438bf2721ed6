/* quoted: see quoted.h. */
#include "store/base/quoted.h"

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

/* Takes the character after a backslash in "..."; *at < end. */
static char take_escape(const char **at, const char *end)
{
    const char *p = *at;
    if (end - p >= 3 && p[0] == 'x' && hex_digit(p[1]) >= 0 && hex_digit(p[2]) >= 0) {
        *at += 3;
        return (char)(hex_digit(p[1]) * 16 + hex_digit(p[2]));
    }
    ++*at;
    switch (*p) {
    case 'n': return '\n';
    case 'r': return '\r';
    case 't': return '\t';
    case 'b': return '\b';
    case 'a': return '\a';
    default: return *p;
    }
}

bool quoted_take(const char **at, const char *end, char **to)
{
    while (*at < end && !quoted_ends_word(**at)) {
        char quote = *(*at)++;
        if (quote != '"' && quote != '\'') {
            *(*to)++ = quote;
            continue;
        }
        while (*at < end) {
            char c = *(*at)++;
            bool more = *at < end;
            if (c == quote) return !more || quoted_is_space(**at);
            if (c == '\\' && quote == '"' && more)
                c = take_escape(at, end);
            else if (c == '\\' && quote == '\'' && more && **at == '\'')
                c = *(*at)++;
            *(*to)++ = c;
        }
        return false;
    }
    return true;
}
