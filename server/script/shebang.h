/* shebang: reads the first line of a script, such as "#!lua flags=no-writes,allow-oom", and lists
 * the flags. For the first line of a library, see server/disk/effect/library_header.h. */
#pragma once

#include "store/base/bytes.h"

struct shebang {
    size_t len;     /* length of the line, without its newline; 0 without such a line */
    unsigned flags; /* SCRIPT_*: see host.h */
};

/* Reads the first line of a script; flags= is its only option. On failure, returns false with the
 * error in `why`, which has `size` bytes. */
bool shebang_read(struct bytes text, struct shebang *shebang, char *why, size_t size);

/* Ends with a NULL name. */
extern const struct script_flag_name {
    const char *name;
    unsigned flag;
} script_flag_names[];
