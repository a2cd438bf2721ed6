/* records: prints the records of a journal as text. Depends on record.h and the effects' forms. */
#ifndef TOOLS_FILES_RECORDS_H
#define TOOLS_FILES_RECORDS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Prints each line and each command of the records up to `end`, where a good record ends, with its
 * offset in the file. Effects in brief form are printed as commands. False with errno: the file
 * can't be read. */
bool records_show(FILE *to, const char *path, uint64_t end);

/* Prints the command that the effect in brief form at `data` stands for, without a line end. False,
 * nothing printed: it is malformed or incomplete, or its key is left out. */
bool records_show_brief(FILE *to, const char *data, size_t len);

#endif
