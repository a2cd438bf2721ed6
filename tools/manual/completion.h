/* completion: bash completions, made from the table of a command line and from the table of
 * options. */
#ifndef TOOLS_MANUAL_COMPLETION_H
#define TOOLS_MANUAL_COMPLETION_H

#include <stdio.h>

#include "conf/usage.h"

/* Options, and file names elsewhere. With `options_too` also the options of the configuration that
 * have an effect, with their values where these are a few words or a folder. */
void completion_write(FILE *to, const struct usage *usage, bool options_too);

#endif
