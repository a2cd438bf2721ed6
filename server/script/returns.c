/* returns: see returns.h. */
#include "server/script/returns.h"

#include <ctype.h>

#include "store/mem/mem.h"

enum { DEPTH_MAX = 200, OPEN_MAX = 32, MARKS_FIRST = 16 };

/* Kinds of tokens; the kind of a punctuation character is the character. */
enum { END_OF_TEXT = 0, NAME = 'n', NUMBER = '0', STRING = 's', BROKEN = '!', FUNCTION = 'f' };

/* How much of a call that returns one value has been read. */
enum callee { AT_NAME, AT_DOT, AT_FIELD, AT_PAREN, IN_CALL, BEHIND_CALL, NO_CALLEE };

/* A return whose expression has not ended. */
struct open_return {
    unsigned depth;
    size_t begin, paren;
    bool of_chunk, has_comma;
    enum callee callee;
};

struct finder {
    struct bytes text;
    size_t at;         /* offset where the next token is searched */
    size_t begin, end; /* offsets of the current token */
    size_t last_end;   /* end of the token before it */
    int kind;          /* kind of the current token */
    unsigned depth, functions, open_count;
    char nest[DEPTH_MAX]; /* 'f' function, 'b' other block, or a bracket */
    struct open_return open[OPEN_MAX];
    struct returns *returns;
    bool first_only;
    int before;      /* kind of the token before it; FUNCTION after the keyword */
    bool after_name; /* the token before is `redis` or `error`, and not a field's name */
    bool renamed;    /* the text uses `redis` or `error` in another way */
};

/* ---- tokens ---- */

static char char_at(const struct finder *finder, size_t at)
{
    return at < finder->text.len ? finder->text.data[at] : '\0';
}

static bool is_name_char(char c)
{
    return isalnum((unsigned char)c) || c == '_' || (unsigned char)c >= 0x80;
}

/* Returns the end of the long string or long comment whose first bracket is at `at`. Returns 0 if
 * there is no such bracket, and SIZE_MAX if the string does not end. */
static size_t long_end(const struct finder *finder, size_t at)
{
    size_t level = 0;
    if (char_at(finder, at) != '[') return 0;
    while (char_at(finder, at + 1 + level) == '=')
        level++;
    if (char_at(finder, at + 1 + level) != '[') return 0;
    for (at += level + 2; at < finder->text.len; at++) {
        if (finder->text.data[at] != ']') continue;
        size_t same = 0;
        while (char_at(finder, at + 1 + same) == '=')
            same++;
        if (same == level && char_at(finder, at + 1 + same) == ']') return at + same + 2;
    }
    return SIZE_MAX;
}

static size_t quoted_end(const struct finder *finder, size_t at)
{
    char quote = finder->text.data[at];
    for (at++; at < finder->text.len; at++) {
        char c = finder->text.data[at];
        if (c == quote) return at + 1;
        if (c == '\\')
            at++;
        else if (c == '\n' || c == '\r')
            break;
    }
    return SIZE_MAX;
}

static int read_token(struct finder *finder, size_t *end)
{
    char c = char_at(finder, finder->at);
    *end = finder->at + 1;
    if (finder->at >= finder->text.len) {
        *end = finder->text.len;
        return END_OF_TEXT;
    }
    if (isdigit((unsigned char)c)) {
        for (;; ++*end) {
            char next = char_at(finder, *end), before = char_at(finder, *end - 1);
            bool is_sign = (next == '+' || next == '-') && strchr("eEpP", before) != NULL;
            if (!isalnum((unsigned char)next) && next != '.' && next != '_' && !is_sign)
                return NUMBER;
        }
    }
    if (is_name_char(c)) {
        while (is_name_char(char_at(finder, *end)))
            ++*end;
        return NAME;
    }
    size_t string_end =
        c == '"' || c == '\'' ? quoted_end(finder, finder->at) : long_end(finder, finder->at);
    if (string_end == 0) return c != '\0' ? c : BROKEN;
    *end = string_end;
    return string_end != SIZE_MAX ? STRING : BROKEN;
}

static bool is_name(const struct finder *finder, const char *name)
{
    size_t len = finder->end - finder->begin;
    return finder->kind == NAME && strlen(name) == len &&
           memcmp(finder->text.data + finder->begin, name, len) == 0;
}

static bool is_one_of(const struct finder *finder, const char *const *names)
{
    while (*names != NULL && !is_name(finder, *names))
        names++;
    return *names != NULL;
}

/* ---- returns ---- */

static size_t add_paren(struct returns *returns, size_t at)
{
    size_t count = returns->count;
    if (count == 0 || (count >= MARKS_FIRST && (count & (count - 1)) == 0)) {
        size_t cap = count < MARKS_FIRST ? MARKS_FIRST : 2 * count;
        returns->parens = mem_realloc(returns->parens, cap * sizeof(*returns->parens));
    }
    returns->parens[returns->count++] = (struct return_paren){ .at = at };
    return count;
}

static bool open_return(struct finder *finder)
{
    if (finder->open_count == OPEN_MAX) return false;
    finder->open[finder->open_count++] =
        (struct open_return){ .depth = finder->depth,
                              .begin = finder->end,
                              .paren = add_paren(finder->returns, finder->end),
                              .of_chunk = finder->first_only && finder->functions == 0 };
    return true;
}

/* Follows a return by one token of its expression that is outside of brackets. */
static void follow_return(const struct finder *finder, struct open_return *open)
{
    static const enum callee next[] = {
        [AT_NAME] = AT_DOT,     [AT_DOT] = AT_FIELD,     [AT_FIELD] = AT_PAREN,
        [AT_PAREN] = IN_CALL,   [IN_CALL] = BEHIND_CALL, [BEHIND_CALL] = NO_CALLEE,
        [NO_CALLEE] = NO_CALLEE
    };
    bool fits = (open->callee == AT_NAME && is_name(finder, "redis")) ||
                (open->callee == AT_DOT && finder->kind == '.') ||
                (open->callee == AT_FIELD && finder->kind == NAME) ||
                (open->callee == AT_PAREN && finder->kind == '(') ||
                (open->callee == IN_CALL && finder->kind == ')');
    if (finder->kind == ',') open->has_comma = true;
    if (open->callee == AT_NAME && is_name(finder, "error"))
        open->callee = AT_PAREN;
    else
        open->callee = fits ? next[open->callee] : NO_CALLEE;
}

/* ---- nesting ---- */

static bool push(struct finder *finder, char what)
{
    if (finder->depth == DEPTH_MAX) return false;
    finder->nest[finder->depth++] = what;
    finder->functions += what == 'f';
    return true;
}

/* Updates `nest` for the current token. Returns false if the text is nested too deeply, or if an
 * end has no beginning. */
static bool follow_nesting(struct finder *finder)
{
    static const char *const begin[] = { "do", "if", "repeat", NULL };
    static const char *const end[] = { "end", "until", NULL };
    if (finder->kind == '(' || finder->kind == '{' || finder->kind == '[')
        return push(finder, (char)finder->kind);
    if (finder->kind == ')' || finder->kind == '}' || finder->kind == ']' ||
        is_one_of(finder, end)) {
        if (finder->depth == 0) return false;
        finder->functions -= finder->nest[--finder->depth] == 'f';
        return true;
    }
    if (is_name(finder, "function")) return push(finder, 'f');
    return !is_one_of(finder, begin) || push(finder, 'b');
}

static struct open_return *open_here(struct finder *finder)
{
    if (finder->open_count == 0) return NULL;
    struct open_return *open = &finder->open[finder->open_count - 1];
    return open->depth == finder->depth ? open : NULL;
}

/* Reads the next token. Returns false at the end of the text, and where it is not Lua. */
static bool find_next(struct finder *finder)
{
    static const char *const names[] = { "redis", "error", NULL };
    static const char *const ends[] = { "end", "else", "elseif", "until", NULL };
    finder->last_end = finder->end;
    finder->kind = BROKEN;
    for (;;) { /* skip blanks and comments */
        while (finder->at < finder->text.len && isspace((unsigned char)char_at(finder, finder->at)))
            finder->at++;
        if (char_at(finder, finder->at) != '-' || char_at(finder, finder->at + 1) != '-') break;
        size_t end = long_end(finder, finder->at + 2);
        if (end == SIZE_MAX) return false;
        if (end == 0) {
            const char *from = finder->text.data + finder->at;
            const char *line = memchr(from, '\n', finder->text.len - finder->at);
            end = line != NULL ? finder->at + (size_t)(line - from) : finder->text.len;
        }
        finder->at = end;
    }
    finder->begin = finder->at;
    finder->kind = read_token(finder, &finder->end);
    finder->at = finder->end;
    if (finder->kind == BROKEN) return false;

    /* Note a use of `redis` or `error` that is not a call of Redis' functions. */
    finder->renamed |= finder->after_name && finder->kind != '.' && finder->kind != '(';
    finder->after_name = is_one_of(finder, names) && finder->before != '.' && finder->before != ':';
    finder->renamed |= finder->after_name && finder->before == FUNCTION;
    finder->before = is_name(finder, "function") ? FUNCTION : finder->kind;

    bool ends_return =
        finder->kind == END_OF_TEXT || finder->kind == ';' || is_one_of(finder, ends);
    if (ends_return && open_here(finder) != NULL) {
        const struct open_return *ended = &finder->open[--finder->open_count];
        bool has_one = ended->of_chunk ? !ended->has_comma : ended->callee == BEHIND_CALL;
        if (has_one && finder->last_end != ended->begin) {
            size_t last = add_paren(finder->returns, finder->last_end);
            struct return_paren *parens = finder->returns->parens;
            parens[ended->paren].paren = '(';
            parens[last].paren = ')';
            parens[ended->paren].by_name = parens[last].by_name = !ended->of_chunk;
        }
    }
    if (finder->kind == END_OF_TEXT) return false;
    struct open_return *open = open_here(finder);
    if (open != NULL) follow_return(finder, open);
    if (!follow_nesting(finder)) {
        finder->kind = BROKEN;
        return false;
    }
    open = finder->kind == ')' ? open_here(finder) : NULL;
    if (open != NULL) follow_return(finder, open);
    if (is_name(finder, "return") && !open_return(finder)) finder->kind = BROKEN;
    return finder->kind != BROKEN;
}

void returns_find(struct returns *returns, struct bytes text, bool first_only)
{
    struct finder finder = { .text = text, .returns = returns, .first_only = first_only };
    *returns = (struct returns){ 0 };
    while (find_next(&finder)) {
    }
    if (finder.kind == BROKEN) returns_drop(returns);
    for (size_t i = 0; finder.renamed && i < returns->count; i++)
        if (returns->parens[i].by_name) returns->parens[i].paren = 0;
}

void returns_drop(struct returns *returns)
{
    mem_free(returns->parens);
    *returns = (struct returns){ 0 };
}

struct bytes returns_read(struct returns_reader *reader)
{
    const struct returns *returns = reader->returns;
    while (returns != NULL && reader->next < returns->count) {
        const struct return_paren *paren = &returns->parens[reader->next];
        size_t from = reader->at;
        reader->at = paren->at;
        if (from < paren->at) return bytes_of(reader->text.data + from, paren->at - from);
        reader->next++;
        if (paren->paren != 0) return bytes_of(&paren->paren, 1);
    }
    size_t from = reader->at;
    reader->at = reader->text.len;
    return bytes_of(reader->text.data + from, reader->text.len - from);
}
