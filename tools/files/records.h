/* records: prints the records of a journal as text. Depends on record.h and the effects' forms. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Prints the records of a journal up to `end`, which must be the end of a good record: each line
 * and each command, with its offset in the file. Effects in brief form are printed as commands.
 * Returns false, with errno set, if the file can't be read. */
bool records_show(FILE *to, const char *path, uint64_t end);

/* Prints the command for which the effect in brief form at `data` stands, without a line end.
 * Returns false, printing nothing, if the effect is malformed or incomplete, or if its key is left
 * out because the effect before it has the same. */
bool records_show_brief(FILE *to, const char *data, size_t len);
