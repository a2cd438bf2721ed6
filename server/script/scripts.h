/* scripts: the compiled scripts, by their text and by the SHA-1 of it. Of scripts that only EVAL
 * has sent, SCRIPTS_KEPT are kept; the least recently used go first. Depends on sandbox. */
#ifndef SERVER_SCRIPT_SCRIPTS_H
#define SERVER_SCRIPT_SCRIPTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "server/script/sandbox.h"
#include "server/script/lua/sha1.h"
#include "store/base/bytes.h"
#include "store/struct/dict.h"

enum { SCRIPTS_KEPT = 500 };

struct script {
    char sha[SHA1_HEX_LEN + 1];
    unsigned flags;             /* SCRIPT_*: see host.h */
    int function;               /* Lua's reference to it */
    bool loaded;                /* by SCRIPT LOAD: stays until SCRIPT FLUSH */
    bool runs;                  /* it must not be freed now */
    bool dropped;               /* free it when it has run */
    TAILQ_ENTRY(script) recent; /* unless loaded */
    struct blob *text;
};

TAILQ_HEAD(script_list, script);

struct scripts {
    lua_State *lua;
    struct dict by_text, by_sha; /* of struct script */
    struct script_list recent;   /* the most recently used first */
    struct script *last;         /* found by its text; NULL: none */
    size_t recent_count;
    uint64_t evicted; /* scripts of EVAL that were forgotten because there were too many */
    size_t bytes;     /* of scripts and tables, without what Lua holds */
};

void scripts_init(struct scripts *scripts, lua_State *lua);
void scripts_drop(struct scripts *scripts);

/* Finds the script, or compiles it. NULL: `why` (of size) says what is wrong with it. */
struct script *scripts_get(struct scripts *scripts, struct bytes text, char *why, size_t size);
/* NULL: unknown. Ignores the case of sha. */
struct script *scripts_find(struct scripts *scripts, struct bytes sha);
/* For SCRIPT LOAD: the script is kept. */
void scripts_keep(struct scripts *scripts, struct script *script);
/* Call before and after the script runs. */
void scripts_begin(struct scripts *scripts, struct script *script);
void scripts_end(struct scripts *scripts, struct script *script);
void scripts_flush(struct scripts *scripts);

size_t scripts_bytes(const struct scripts *scripts);

#endif
