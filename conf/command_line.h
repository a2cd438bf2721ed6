/* command_line: the command line of the daemon as a table, for its --help, man page and completion.
 * conf_load_args parses it. */
#ifndef CONF_COMMAND_LINE_H
#define CONF_COMMAND_LINE_H

#include "conf/usage.h"

/* The names of the options that --help describes; ends with NULL. */
extern const char *const command_line_common[];

/* The first sentence of an option's help, in one line: "TCP port." */
void command_line_first_sentence(const char *help, char *text, size_t size);

/* Returns a static table, which the first call builds. */
const struct usage *command_line_usage(void);

#endif
