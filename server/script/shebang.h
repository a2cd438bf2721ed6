/* shebang: the first line of a script or a library: "#!lua name=x flags=no-writes,allow-oom". */
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

/* The flag with this name ("no-writes"), or 0. */
unsigned script_flag(struct bytes name);
/* Names and flags, for lists of them; ends with a NULL name. */
extern const struct script_flag_name {
    const char *name;
    unsigned flag;
} script_flag_names[];

#endif
