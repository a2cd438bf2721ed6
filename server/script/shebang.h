/* shebang: the first line of a script, "#!lua flags=no-writes,allow-oom", and the names of flags.
 * That of a library is read by persist/format/library_header. */
#ifndef SERVER_SCRIPT_SHEBANG_H
#define SERVER_SCRIPT_SHEBANG_H

#include <stdbool.h>

#include "store/base/bytes.h"

struct shebang {
    size_t len;     /* of the line, without its end; 0: there is none */
    unsigned flags; /* SCRIPT_*: see host.h */
};

/* Of a script, which may have flags only. False: `why` (of size) has the error. */
bool shebang_read(struct bytes text, struct shebang *shebang, char *why, size_t size);

/* Names and flags, for lists of them; ends with a NULL name. */
extern const struct script_flag_name {
    const char *name;
    unsigned flag;
} script_flag_names[];

#endif
