/* completion: bash completions, made from the table of a command line and from the table of
 * options. */
#ifndef TOOLS_MANUAL_COMPLETION_H
#define TOOLS_MANUAL_COMPLETION_H

#include <stdio.h>

#include "conf/usage.h"

/* Completes options, and file names in other places. With `options_too` it also completes the
 * configuration's options that have an effect, and their values if these are a few words or a
 * folder. */
void completion_write(FILE *to, const struct usage *usage, bool options_too);

#endif
