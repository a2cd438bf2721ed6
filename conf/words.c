/* words: see words.h. */
#include "conf/words.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void die(const char *what)
{
    fprintf(stderr, "expired: conf: %s\n", what);
    abort();
}

void *conf_resize(void *old, size_t size)
{
    void *p = realloc(old, size);
    if (p == NULL) die("out of memory");
    return p;
}

char *conf_copy(const char *text)
{
    size_t size = strlen(text) + 1;
    return memcpy(conf_resize(NULL, size), text, size);
}

FILE *conf_memory_stream(char **text, size_t *len)
{
    FILE *stream = open_memstream(text, len);
    if (stream == NULL) die("out of memory");
    return stream;
}

char *conf_read_stream(FILE *from, size_t *len)
{
    char *text = NULL;
    size_t used = 0, room = 0, got;
    do {
        if (room - used < 2) text = conf_resize(text, room = room * 2 + 4096);
        got = fread(text + used, 1, room - used - 1, from);
        used += got;
    } while (got > 0 && used <= CONF_FILE_MAX);
    if (ferror(from) || used > CONF_FILE_MAX) {
        int why = ferror(from) ? errno : EFBIG;
        free(text);
        errno = why;
        return NULL;
    }
    text[used] = '\0';
    *len = used;
    return text;
}

char *conf_read_file(const char *path, size_t *len)
{
    FILE *from = fopen(path, "re");
    if (from == NULL) return NULL;
    char *text = conf_read_stream(from, len);
    int why = errno;
    fclose(from);
    errno = why;
    return text;
}

bool conf_next_line(const char **at, const char *end, const char **line, size_t *len)
{
    if (*at == end) return false;
    const char *stop = memchr(*at, '\n', (size_t)(end - *at));
    *line = *at;
    *len = (size_t)((stop != NULL ? stop : end) - *at);
    *at = stop != NULL ? stop + 1 : end;
    return true;
}

/* The quoting is that of inline requests (split_with_quotes in proto/resp/resp_read.c), which is a
 * library of its own. The rest differs: here VT and FF end a word, as all white space does, and a
 * zero byte is an error; there VT and FF are part of a word, and words are slices of one buffer.
 * tests/unit/server/agreement_test.c compares the two. */

/* State of a split. Writes to `to`, which never passes `from`: removing quotes shortens a word. */
struct split {
    const char *from, *end;
    char *to;
    const char *why;
};

static bool is_space(char c)
{
    return isspace((unsigned char)c);
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

static void put_char(struct split *split, char c)
{
    /* Values are C strings: a zero byte would cut them. */
    if (c == '\0') split->why = "a zero byte in a value";
    *split->to++ = c;
}

static char unescape_char(char c)
{
    switch (c) {
    case 'n': return '\n';
    case 'r': return '\r';
    case 't': return '\t';
    case 'b': return '\b';
    case 'a': return '\a';
    default: return c;
    }
}

/* The character after a backslash in "...". */
static void take_escape(struct split *split)
{
    const char *at = split->from;
    if (split->end - at >= 3 && at[0] == 'x' && hex_digit(at[1]) >= 0 && hex_digit(at[2]) >= 0) {
        put_char(split, (char)(hex_digit(at[1]) * 16 + hex_digit(at[2])));
        split->from += 3;
    } else {
        put_char(split, unescape_char(*at));
        split->from++;
    }
}

/* Reads from behind the opening quote to behind the closing one. */
static void take_quoted(struct split *split, char quote)
{
    while (split->from < split->end) {
        char c = *split->from++;
        bool more = split->from < split->end;
        if (c == '\\' && quote == '"' && more) {
            take_escape(split);
        } else if (c == '\\' && quote == '\'' && more && *split->from == '\'') {
            put_char(split, *split->from++);
        } else if (c == quote) {
            if (more && !is_space(*split->from)) break;
            return;
        } else {
            put_char(split, c);
        }
    }
    split->why = "unbalanced quotes";
}

static void take_word(struct split *split)
{
    while (split->from < split->end && !is_space(*split->from) && split->why == NULL) {
        char c = *split->from++;
        if (c == '"' || c == '\'')
            take_quoted(split, c);
        else
            put_char(split, c);
    }
    *split->to = '\0';
}

void conf_words_add(struct conf_words *words, const char *word)
{
    words->at = conf_resize(words->at, (words->count + 2) * sizeof(*words->at));
    words->at[words->count++] = conf_copy(word);
    words->at[words->count] = NULL;
}

bool conf_words_split(const char *text, size_t len, struct conf_words *words, const char **why)
{
    char *word = conf_resize(NULL, len + 1);
    struct split split = { .from = text, .end = text + len };
    *words = (struct conf_words){ NULL, 0 };
    for (;;) {
        while (split.from < split.end && is_space(*split.from))
            split.from++;
        if (split.from == split.end) break;
        split.to = word;
        take_word(&split);
        if (split.why != NULL) break;
        conf_words_add(words, word);
    }
    free(word);
    if (split.why != NULL) conf_words_drop(words);
    *why = split.why;
    return split.why == NULL;
}

void conf_words_drop(struct conf_words *words)
{
    for (size_t i = 0; i < words->count; i++)
        free(words->at[i]);
    free(words->at);
    *words = (struct conf_words){ NULL, 0 };
}

char *conf_words_join(const struct conf_words *words, size_t first)
{
    char *text;
    size_t len;
    FILE *to = conf_memory_stream(&text, &len);
    for (size_t i = first; i < words->count; i++)
        fprintf(to, "%s%s", i > first ? " " : "", words->at[i]);
    fclose(to);
    return text;
}

char *conf_words_quote(const struct conf_words *words, size_t first)
{
    char *text;
    size_t len;
    FILE *to = conf_memory_stream(&text, &len);
    for (size_t i = first; i < words->count; i++) {
        if (i > first) fputc(' ', to);
        conf_word_write(to, words->at[i]);
    }
    fclose(to);
    return text;
}

static bool is_plain(char c)
{
    return isalnum((unsigned char)c) || strchr("-_./:*+@,=$%", c) != NULL;
}

static void write_quoted(FILE *to, char c)
{
    static const char plain_names[] = "\n\r\t\b\a", letters[] = "nrtba";
    const char *known = strchr(plain_names, c);
    if (known != NULL)
        fprintf(to, "\\%c", letters[known - plain_names]);
    else if (c == '"' || c == '\\')
        fprintf(to, "\\%c", c);
    else if (isprint((unsigned char)c))
        fputc(c, to);
    else
        fprintf(to, "\\x%02x", (unsigned char)c);
}

void conf_word_write(FILE *to, const char *word)
{
    const char *at = word;
    while (*at != '\0' && is_plain(*at))
        at++;
    if (at > word && *at == '\0') {
        fputs(word, to);
        return;
    }
    fputc('"', to);
    for (at = word; *at != '\0'; at++)
        write_quoted(to, *at);
    fputc('"', to);
}
