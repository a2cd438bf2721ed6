/* functions: compiles the libraries that the store contains, so that their functions can be called.
 * Depends on the store's libraries, which it only reads, and on Lua; knows no command.
 *
 * Libraries change in the store first, by a command, a load or a replay. functions_sync then
 * compiles those that have changed. The others are left alone, and so keep the values of their
 * variables. */
#pragma once

#include "conf/conf.h"
#include "server/script/function_table.h"
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

/* Begins without libraries. The sandbox of the interpreter must be complete, with the table
 * `redis`. */
void functions_init(struct functions *functions, struct interpreter *interpreter,
                    const struct conf *conf);
void functions_drop(struct functions *functions);

/* Compiles the libraries that have changed since the last call, and drops those that are no longer
 * in the store. A library that does not compile, or has a function of another one, is logged, and
 * none of its functions can be called. O(1) if no library has changed. */
void functions_sync(struct functions *functions, const struct libraries *libraries);

/* Compiles a library and runs its code, for at most half a second. The caller then installs the
 * library, or frees it with functions->table. On failure, returns NULL with Redis' message in
 * `error`. */
struct function_library *functions_compile(struct functions *functions, struct bytes name,
                                           struct bytes code, char error[FUNCTION_ERROR_MAX]);
/* Puts the library in the place of the one with its name; ownership passes. The store must contain
 * the new code as `stored`, and no other library may have changed since functions_sync, which would
 * otherwise not notice the change. No other library may contain a function with the name of one of
 * its functions. */
void functions_install(struct functions *functions, struct function_library *library,
                       const struct libraries *libraries, const struct library *stored);

/* Initializes another table, for libraries that functions_compile makes and functions_install may
 * put into functions->table later. */
void functions_table_init(struct functions *functions, struct function_table *table);
