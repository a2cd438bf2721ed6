/* function_batch: see function_batch.h. The order of the checks decides which error a client sees;
 * it is Redis', as are the words. */
#include "server/script/function_batch.h"

#include <stdarg.h>

#include "server/disk/effect/library_header.h"

void function_batch_init(struct function_batch *batch, struct functions *functions)
{
    *batch = (struct function_batch){ .functions = functions };
    libraries_init(&batch->codes);
    functions_table_init(functions, &batch->table);
}

void function_batch_drop(struct function_batch *batch)
{
    libraries_drop(&batch->codes);
    function_table_drop(&batch->table);
}

/* Sets the error. Returns false. */
__attribute__((format(printf, 2, 3))) static bool refuse(struct function_batch *batch,
                                                         const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(batch->error, sizeof(batch->error), format, args);
    va_end(args);
    return false;
}

static bool refuse_function(struct function_batch *batch, const struct function *function)
{
    return refuse(batch, "ERR Function %s already exists", function_name(function).data);
}

bool function_batch_add(struct function_batch *batch, struct bytes code,
                        const struct libraries *taken)
{
    struct library_header header;
    bool good = library_header_read(&header, code);
    struct bytes name = header.name, engine = header.engine;
    struct function_library *library = NULL;
    if (!good)
        refuse(batch, "ERR %s%.*s", header.error, (int)header.part.len, header.part.data);
    else if (engine.len != 3 || strncasecmp(engine.data, "lua", 3) != 0)
        refuse(batch, "ERR Engine '%.*s' not found", (int)engine.len, engine.data);
    else if (libraries_find(&batch->codes, name) != NULL ||
             (taken != NULL && libraries_find(taken, name) != NULL))
        refuse(batch, "ERR Library '%.*s' already exists", (int)name.len, name.data);
    else
        library = functions_compile(batch->functions, name, code, batch->error);

    const struct function *function = function_table_clash(&batch->table, library);
    if (function != NULL) {
        refuse_function(batch, function);
        function_library_free(&batch->table, library);
    } else if (library != NULL) {
        function_table_add(&batch->table, library);
        batch->last = library_name(libraries_set(&batch->codes, name, code));
    }
    library_header_drop(&header);
    return library != NULL && function == NULL;
}

struct fitting {
    struct function_batch *batch;
    const struct libraries *libraries;
    bool replace, fits;
};

static void check_name(void *ctx, const struct library *library)
{
    struct fitting *fitting = ctx;
    struct bytes name = library_name(library);
    if (!fitting->fits || fitting->replace || libraries_find(fitting->libraries, name) == NULL)
        return;
    fitting->fits =
        refuse(fitting->batch, "ERR Library %.*s already exists", (int)name.len, name.data);
}

/* Refuses the batch if a function of this library has the name of an installed function. Libraries
 * that the batch replaces do not count. */
static void check_functions(void *ctx, const struct library *library)
{
    struct fitting *fitting = ctx;
    struct function_batch *batch = fitting->batch;
    const struct function_table *table = &batch->functions->table;
    const struct function *function =
        function_table_library(&batch->table, library_name(library))->first;
    for (; fitting->fits && function != NULL; function = function->next) {
        const struct function *other = function_table_find(table, function_name(function));
        if (other == NULL) continue;
        if (libraries_find(&batch->codes, function_library_name(other->library)) != NULL) continue;
        fitting->fits = refuse_function(batch, function);
    }
}

bool function_batch_fits(struct function_batch *batch, const struct libraries *libraries,
                         bool replace)
{
    struct fitting fitting = { batch, libraries, replace, true };
    functions_sync(batch->functions, libraries);
    libraries_each(&batch->codes, check_name, &fitting);
    libraries_each(&batch->codes, check_functions, &fitting);
    return fitting.fits;
}

struct applying {
    struct function_batch *batch;
    struct txn *txn;
};

/* Removes the installed library of this name. This is done for all libraries of the batch before
 * the first one is installed, because a function may move from one library to another. */
static void remove_old(void *ctx, const struct library *library)
{
    const struct applying *applying = ctx;
    struct function_table *table = &applying->batch->functions->table;
    struct function_library *old = function_table_library(table, library_name(library));
    if (old != NULL) function_table_remove(table, old);
}

static void apply(void *ctx, const struct library *library)
{
    const struct applying *applying = ctx;
    struct function_batch *batch = applying->batch;
    struct bytes name = library_name(library);
    struct libraries *libraries = &applying->txn->store->libraries;
    struct function_library *compiled = function_table_library(&batch->table, name);
    txn_library_set(applying->txn, name, library_code(library));
    function_table_take(&batch->table, compiled);
    functions_install(batch->functions, compiled, libraries, libraries_find(libraries, name));
}

void function_batch_apply(struct function_batch *batch, struct txn *txn)
{
    struct applying applying = { batch, txn };
    functions_sync(batch->functions, &txn->store->libraries);
    libraries_each(&batch->codes, remove_old, &applying);
    libraries_each(&batch->codes, apply, &applying);
}
