/* usages: the command lines of expired-check and expired-export as tables, from which their
 * parsers, --help, man pages and completions are made. */
#pragma once

#include "conf/usage.h"

enum { CHECK_DEEP = 256, CHECK_SHOW, CHECK_FIX, CHECK_CUT_AT_DAMAGE };
enum { EXPORT_TEXT = 256, EXPORT_STRICT, EXPORT_DROP_MEMBERS, EXPORT_KEEP_MEMBERS };

/* Exit statuses of both; expired-check has no EXIT_LOSSES. */
enum { EXIT_GOOD, EXIT_TORN, EXIT_DAMAGED, EXIT_UNREADABLE, EXIT_LOSSES };

extern const struct usage usages_check, usages_export;
