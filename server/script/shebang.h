/* shebang: reads the first line of a script, "#!lua flags=no-writes,allow-oom", and lists the
 * flags. server/disk/effect/library_header reads the first line of a library. */
#ifndef SERVER_SCRIPT_SHEBANG_H
#define SERVER_SCRIPT_SHEBANG_H

#include <stdbool.h>

#include "store/base/bytes.h"

struct shebang {
    size_t len;     /* length of the line, without its newline; 0 without such a line */
    unsigned flags; /* SCRIPT_*: see host.h */
};

/* Reads the first line of a script, whose only option is flags=. On failure, returns false with the
 * error in `why`, of `size` bytes. */
bool shebang_read(struct bytes text, struct shebang *shebang, char *why, size_t size);

/* Ends with a NULL name. */
extern const struct script_flag_name {
    const char *name;
    unsigned flag;
} script_flag_names[];

#endif
