/* scripts: the compiled scripts, found by their text or by its SHA-1. Scripts of SCRIPT LOAD are
 * kept until SCRIPT FLUSH; of those that only EVAL has sent, the SCRIPTS_KEPT most recently used
 * ones are kept. Depends on sandbox. */
#pragma once

#include <sys/queue.h>

#include "server/base/sha.h"
#include "server/script/sandbox.h"
#include "store/base/bytes.h"
#include "store/struct/dict.h"

enum { SCRIPTS_KEPT = 500 };

struct script {
    char sha[SHA1_HEX_LEN + 1];
    unsigned flags;             /* SCRIPT_*: see host.h */
    int function;               /* Lua's reference to it */
    bool loaded;                /* loaded by SCRIPT LOAD: stays until SCRIPT FLUSH */
    bool runs;                  /* must not be freed now */
    bool dropped;               /* to be freed when it has run */
    TAILQ_ENTRY(script) recent; /* in scripts.recent, unless loaded */
    struct blob *text;
};

TAILQ_HEAD(script_list, script);

struct scripts {
    lua_State *lua;
    struct dict by_text, by_sha; /* of struct script */
    struct script_list recent;   /* the most recently used first */
    struct script *last;         /* returned last by scripts_get or scripts_find; may be NULL */
    size_t recent_count;
    uint64_t evicted; /* scripts of EVAL dropped because there were more than SCRIPTS_KEPT */
    size_t bytes;     /* memory of the scripts, not counting Lua's */
};

void scripts_init(struct scripts *scripts, lua_State *lua);
void scripts_drop(struct scripts *scripts);

/* Finds the script with this text, or compiles it. On failure, returns NULL with the error in
 * `why`, which has `size` bytes. */
struct script *scripts_get(struct scripts *scripts, struct bytes text, char *why, size_t size);
/* Finds a script by its SHA-1, ignoring case. Returns NULL if it is unknown. */
struct script *scripts_find(struct scripts *scripts, struct bytes sha);
/* Keeps the script until scripts_flush, for SCRIPT LOAD. */
void scripts_keep(struct scripts *scripts, struct script *script);
/* Surround each run of a script, which is not freed while it runs. scripts_begin also makes it the
 * most recently used one; scripts_end frees it if it was dropped meanwhile. */
void scripts_begin(struct scripts *scripts, struct script *script);
void scripts_end(struct scripts *scripts, struct script *script);
void scripts_flush(struct scripts *scripts);
