/* show: a file's bytes for people: nothing that a terminal would act on.
 * Knows bytes; refuses to know what they are. */
#ifndef TOOLS_FILES_SHOW_H
#define TOOLS_FILES_SHOW_H

#include <stddef.h>
#include <stdio.h>

/* As a word that redis-cli takes: plain where it can be, else in quotes with \n \r \t \" \\ \xHH.
 */
void show_word(FILE *to, const char *data, size_t len);
/* The same, always in quotes, and cut behind so many bytes, which shows by dots. */
void show_start(FILE *to, const char *data, size_t len, size_t most);
/* A name of a file, which may be any bytes: what is not printable is a question mark. */
void show_path(FILE *to, const char *path);

#endif
