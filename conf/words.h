/* words: splits a configuration text into lines and words, with redis.conf's quoting, and quotes
 * words again. */
#ifndef CONF_WORDS_H
#define CONF_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum { CONF_FILE_MAX = 16 << 20 }; /* bytes; longer files are refused */

/* Allocate memory for this library with malloc. Never return NULL: like mem_alloc they exit if
 * there is no memory. */
void *conf_resize(void *old, size_t size);
char *conf_copy(const char *text);
FILE *conf_memory_stream(char **text, size_t *len); /* as open_memstream */

/* Reads a whole file and appends a zero byte; the caller frees it. Returns NULL with errno, which
 * is EFBIG beyond CONF_FILE_MAX. */
char *conf_read_file(const char *path, size_t *len);
char *conf_read_stream(FILE *from, size_t *len);

/* Finds the next line of [*at, end), without the newline, and moves *at past it. Returns false at
 * the end. */
bool conf_next_line(const char **at, const char *end, const char **line, size_t *len);

struct conf_words {
    char **at; /* `count` of them, then NULL */
    size_t count;
};

/* Splits at white space, with the quotes of store/base/quoted.h. Returns false if quotes are broken
 * or a word contains a zero byte: then *why is the reason, and nothing needs to be dropped. */
bool conf_words_split(const char *text, size_t len, struct conf_words *words, const char **why);
void conf_words_add(struct conf_words *words, const char *word); /* to begin: {NULL, 0} */
void conf_words_drop(struct conf_words *words);
/* Joins the words from index `first` on with single spaces; the caller frees the result. */
char *conf_words_join(const struct conf_words *words, size_t first);
/* As conf_words_join, but quotes words where needed, so that splitting yields the same words. */
char *conf_words_quote(const struct conf_words *words, size_t first);

/* Writes one word, with quotes if needed, so that splitting yields the same word. */
void conf_word_write(FILE *to, const char *word);

#endif
