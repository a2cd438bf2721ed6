/* completion: bash completions, made from the table of a command line and from the table of
 * options. */
#pragma once

#include <stdio.h>

#include "conf/usage.h"

/* Writes a completion of the program's own options, and of file names elsewhere. With
 * `options_too`, also of the configuration's options that have an effect, and of their values if
 * these are a few words or a folder. */
void completion_write(FILE *to, const struct usage *usage, bool options_too);
