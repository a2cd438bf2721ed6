/* words: see words.h. */
#include "conf/words.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "store/base/quoted.h"
#include "store/mem/mem.h"

void *conf_resize(void *old, size_t size)
{
    void *p = realloc(old, size);
    if (p == NULL && mem_release_reserve(size)) p = realloc(old, size);
    if (p == NULL) mem_exhausted(size);
    return p;
}

char *conf_copy(const char *text)
{
    size_t size = strlen(text) + 1;
    return memcpy(conf_resize(NULL, size), text, size);
}

struct memory_stream {
    char **text;
    size_t *len, cap;
};

static ssize_t memory_write(void *cookie, const char *bytes, size_t count)
{
    struct memory_stream *memory = cookie;
    size_t used = *memory->len;
    if (memory->cap - used <= count) {
        memory->cap = 2 * memory->cap + count;
        *memory->text = conf_resize(*memory->text, memory->cap);
    }
    memcpy(*memory->text + used, bytes, count);
    (*memory->text)[used + count] = '\0';
    *memory->len = used + count;
    return (ssize_t)count;
}

static int memory_close(void *cookie)
{
    free(cookie);
    return 0;
}

/* Like open_memstream, except that the process ends if memory runs out: open_memstream would return
 * a text that is cut off, or NULL, and fclose need not report the failure. */
FILE *conf_memory_stream(char **text, size_t *len)
{
    static const cookie_io_functions_t calls = { .write = memory_write, .close = memory_close };
    struct memory_stream *memory = conf_resize(NULL, sizeof(*memory));
    *memory = (struct memory_stream){ .text = text, .len = len, .cap = 128 };
    *text = conf_resize(NULL, memory->cap);
    **text = '\0';
    *len = 0;
    FILE *stream = fopencookie(memory, "w", calls);
    if (stream == NULL && mem_release_reserve(BUFSIZ)) stream = fopencookie(memory, "w", calls);
    if (stream == NULL) mem_exhausted(BUFSIZ);
    return stream;
}

char *conf_read_stream(FILE *from, size_t *len)
{
    char *text = NULL;
    size_t used = 0, cap = 0, got;
    do {
        if (cap - used < 2) text = conf_resize(text, cap = cap * 2 + 4096);
        got = fread(text + used, 1, cap - used - 1, from);
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

void conf_words_add(struct conf_words *words, const char *word)
{
    words->at = conf_resize(words->at, (words->count + 2) * sizeof(*words->at));
    words->at[words->count++] = conf_copy(word);
    words->at[words->count] = NULL;
}

/* Refuses words with a zero byte, which would end the value, a C string, too early. */
bool conf_words_split(const char *text, size_t len, struct conf_words *words, const char **why)
{
    char *word = conf_resize(NULL, len + 1);
    const char *at = text, *end = text + len;
    *words = (struct conf_words){ NULL, 0 };
    *why = NULL;
    while (*why == NULL) {
        char *to = word;
        while (at < end && quoted_is_space(*at))
            at++;
        if (at == end) break;
        if (!quoted_take(&at, end, &to)) *why = "unbalanced quotes";
        if (*why == NULL && memchr(word, '\0', (size_t)(to - word)) != NULL)
            *why = "a zero byte in a value";
        *to = '\0';
        if (*why == NULL) conf_words_add(words, word);
    }
    free(word);
    if (*why != NULL) conf_words_drop(words);
    return *why == NULL;
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

void conf_word_write(FILE *to, const char *word)
{
    static const char controls[] = "\n\r\t\b\a", letters[] = "nrtba";
    const char *at = word;
    while (*at != '\0' && (isalnum((unsigned char)*at) || strchr("-_./:*+@,=$%", *at) != NULL))
        at++;
    if (at > word && *at == '\0') {
        fputs(word, to);
        return;
    }
    fputc('"', to);
    for (at = word; *at != '\0'; at++) {
        const char *control = strchr(controls, *at);
        if (control != NULL)
            fprintf(to, "\\%c", letters[control - controls]);
        else if (*at == '"' || *at == '\\')
            fprintf(to, "\\%c", *at);
        else if (isprint((unsigned char)*at))
            fputc(*at, to);
        else
            fprintf(to, "\\x%02x", (unsigned char)*at);
    }
    fputc('"', to);
}
