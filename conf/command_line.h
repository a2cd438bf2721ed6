/* command_line: describes the daemon's command line as a table, from which --help, the man page and
 * the completion are made. Parsing is separate: see conf_load_args. */
#pragma once

#include "conf/usage.h"

/* The names of the options that --help describes; ends with NULL. */
extern const char *const command_line_common[];

/* Copies the first sentence of an option's help, such as "TCP port.", cut to fit `size`. */
void command_line_first_sentence(const char *help, char *text, size_t size);

/* Returns the description of the command line, in a static table that the first call builds. */
const struct usage *command_line_usage(void);
