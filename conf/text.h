/* text: a configuration text taken apart: the file, its lines, their words, and words quoted again.
 * Knows redis.conf's quoting; refuses to know options. */
#ifndef CONF_TEXT_H
#define CONF_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum { CONF_FILE_MAX = 16 << 20 }; /* bytes; a longer file is no configuration */

/* Memory for this library. Never NULL: without memory the process ends with a message. */
void *conf_resize(void *old, size_t size);
char *conf_copy(const char *text);
FILE *conf_memory_stream(char **text, size_t *len); /* open_memstream */

/* The whole file, with a zero byte behind it; owned by the caller (free). NULL: see errno, which is
 * EFBIG for one beyond CONF_FILE_MAX. */
char *conf_read_file(const char *path, size_t *len);
char *conf_read_stream(FILE *from, size_t *len);

/* The next line of [*at, end), without its end; moves *at behind it. False at the end. */
bool conf_next_line(const char **at, const char *end, const char **line, size_t *len);

struct conf_words {
    char **at; /* `count` of them, then NULL */
    size_t count;
};

/* Splits at white space; "..." with \n \r \t \b \a \xHH and '...' with \' hold words together.
 * False, with the reason and nothing to drop, when the quoting is broken. */
bool conf_words_split(const char *text, size_t len, struct conf_words *words, const char **why);
void conf_words_add(struct conf_words *words, const char *word); /* to begin: {NULL, 0} */
void conf_words_drop(struct conf_words *words);
/* The words from index `first` on, with one space between them; owned by the caller (free). */
char *conf_words_join(const struct conf_words *words, size_t first);
/* The same, quoted where they have to be, so that splitting gives them back. */
char *conf_words_quote(const struct conf_words *words, size_t first);

/* Writes one word, quoted if it has to be, so that splitting gives it back. */
void conf_word_write(FILE *to, const char *word);

#endif
