/* words: splits a text into lines, and lines into words by the quoting rules of redis.conf; joins
 * and quotes words again. Also reads the files, and allocates the texts of this library. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum { CONF_FILE_MAX = 16 << 20 }; /* bytes; longer files are refused */

/* Allocate with malloc, for texts of this library; the caller releases them with free. Never return
 * NULL: like mem_alloc they end the process if memory runs out. */
void *conf_resize(void *old, size_t size);
char *conf_copy(const char *text);
FILE *conf_memory_stream(char **text, size_t *len); /* as open_memstream */

/* Read a file, or a stream to its end, and append a zero byte; *len does not count it. The caller
 * frees the text. On failure they return NULL with errno: EFBIG if the text is longer than
 * CONF_FILE_MAX. */
char *conf_read_file(const char *path, size_t *len);
char *conf_read_stream(FILE *from, size_t *len);

/* Finds the next line of [*at, end): *line and *len exclude the newline, and *at moves past it.
 * Returns false at the end. */
bool conf_next_line(const char **at, const char *end, const char **line, size_t *len);

struct conf_words {
    char **at; /* `count` of them, then NULL */
    size_t count;
};

/* Splits a text at white space, with the quotes of store/base/quoted.h. Returns false if quotes are
 * unbalanced or a word contains a zero byte. On failure *why is the reason, and `words` owns
 * nothing. */
bool conf_words_split(const char *text, size_t len, struct conf_words *words, const char **why);
void conf_words_add(struct conf_words *words, const char *word); /* to begin: {NULL, 0} */
void conf_words_drop(struct conf_words *words);
/* Joins the words from index `first` on with single spaces; the caller frees the result. */
char *conf_words_join(const struct conf_words *words, size_t first);
/* Joins the words from index `first` on, quoted where needed, so that splitting the text yields the
 * same words; the caller frees it. */
char *conf_words_quote(const struct conf_words *words, size_t first);

/* Writes one word, with quotes if needed, so that splitting yields the same word. */
void conf_word_write(FILE *to, const char *word);
