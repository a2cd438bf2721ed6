/* functions: compiles the libraries of the store, so that their functions can be called. Depends on
 * the store's libraries, which it only reads, and on Lua; knows no command.
 *
 * Libraries change in the store first, by commands, by loading or by replay; functions_sync then
 * compiles those that have changed. All others keep the values of their variables. */
#ifndef SERVER_SCRIPT_FUNCTIONS_H
#define SERVER_SCRIPT_FUNCTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "conf/conf.h"
#include "server/script/function_register.h"
#include "server/script/lua/interpreter.h"
#include "store/library.h"

enum { FUNCTION_ERROR_MAX = 1024 };

struct functions {
    struct interpreter *interpreter;
    const struct conf *conf;
    struct function_table table; /* the compiled libraries of the store */
    uint64_t version;            /* version of the store's libraries when they were last compiled */
    struct function_library *loading;
    int64_t load_until; /* clock_mono_usec() at which loading is stopped */
};

/* The sandbox must be complete, with the table `redis`. */
void functions_init(struct functions *functions, struct interpreter *interpreter,
                    const struct conf *conf);
void functions_drop(struct functions *functions);

/* Compiles the libraries that have changed since the last call, and drops those that the store no
 * longer contains. Logs a library that does not compile, and adds no functions of it. O(1) if no
 * library has changed. */
void functions_sync(struct functions *functions, const struct libraries *libraries);

/* Compiles a library, to be installed or freed (with functions->table). On failure, returns NULL
 * with Redis' message in `error`. */
struct function_library *functions_compile(struct functions *functions, struct bytes name,
                                           struct bytes code, char error[FUNCTION_ERROR_MAX]);
/* Replaces the library of this name and takes ownership. Call after functions_sync, and once the
 * store contains the new code as `stored`. No other library may contain a function of the same
 * name. */
void functions_install(struct functions *functions, struct function_library *library,
                       const struct libraries *libraries, const struct library *stored);

/* Inits another table, whose libraries can be installed later. */
void functions_table_init(struct functions *functions, struct function_table *table);

size_t functions_bytes(const struct functions *functions); /* without Lua's memory */

#endif
