/* function_batch: adds libraries to the data set, all of them or none: one for FUNCTION LOAD, any
 * number for FUNCTION RESTORE. Depends on functions and on the store's write path. */
#pragma once

#include "server/script/functions.h"
#include "store/txn/txn.h"

struct function_batch {
    struct functions *functions;
    struct libraries codes;         /* names and codes of the libraries */
    struct function_table table;    /* the compiled libraries of `codes` */
    struct bytes last;              /* the name of the library added last; borrowed from `codes` */
    char error[FUNCTION_ERROR_MAX]; /* Redis' message, if a function here returns false */
};

void function_batch_init(struct function_batch *batch, struct functions *functions);
void function_batch_drop(struct function_batch *batch);

/* Compiles a library and adds it to the batch. Returns false with the error if its first line is
 * wrong or it does not compile, if the batch or `taken`, which may be NULL, already contains a
 * library of this name, or if the batch contains one of its functions. */
bool function_batch_add(struct function_batch *batch, struct bytes code,
                        const struct libraries *taken);
/* Can the batch be added to these libraries? If not, sets the error. With `replace`, it may contain
 * libraries that exist; it will replace them. */
bool function_batch_fits(struct function_batch *batch, const struct libraries *libraries,
                         bool replace);
/* Adds the libraries of the batch, which must fit, to the data set, in place of those with the same
 * names. Their compiled form moves to batch->functions. */
void function_batch_apply(struct function_batch *batch, struct txn *txn);
