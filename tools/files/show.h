/* show: prints bytes from files without their control characters, on which a terminal would act. */
#pragma once

#include <stddef.h>
#include <stdio.h>

/* Prints a word as redis-cli accepts it: as it is if possible, otherwise in quotes with the escapes
 * \n \r \t \" \\ \xHH. */
void show_word(FILE *to, const char *data, size_t len);
/* As show_word, but always in quotes. Data beyond `most` bytes is replaced with dots. */
void show_start(FILE *to, const char *data, size_t len, size_t most);
/* Prints a line, with a question mark for each byte that is not printable. */
void show_line(FILE *to, const char *data, size_t len);
/* As show_line, for a file name. */
void show_path(FILE *to, const char *path);
