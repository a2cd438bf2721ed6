/* function_table: finds the functions of compiled libraries by name. Knows no Lua: a callback is a
 * number that the caller interprets. As in Redis 7.0, names of functions are case-insensitive and
 * unique among all libraries; names of libraries are case-sensitive. */
#pragma once

#include "store/base/bytes.h"
#include "store/struct/dict.h"

struct function_library;

struct function {
    struct function_library *library;
    struct function *next; /* of the library, in the order of registration */
    unsigned flags;
    int callback;
    bool described;
    size_t name_len, description_len;
    char text[]; /* the name in lower case; the name and a zero byte; the description */
};

struct function_library {
    uint64_t stamp; /* library_stamp of the code that was compiled */
    size_t bytes;   /* memory of the library and its functions */
    struct function *first, *last;
    struct dict functions; /* the same, by name in lower case */
    size_t name_len;
    char name[];
};

struct function_table {
    struct dict libraries; /* struct function_library by name */
    struct dict functions; /* struct function by name in lower case */
    size_t bytes;          /* memory of its libraries, without the tables */
    /* Called for the callback of each function that is freed. */
    void (*release)(void *ctx, int callback);
    void *ctx;
};

struct function_spec {
    struct bytes name, description; /* description.data is NULL without one */
    unsigned flags;
    int callback; /* ownership passes */
};

struct bytes function_name(const struct function *function);        /* a zero byte follows */
struct bytes function_description(const struct function *function); /* if `described` */
struct bytes function_library_name(const struct function_library *library);

void function_table_init(struct function_table *table, void (*release)(void *ctx, int callback),
                         void *ctx);
void function_table_drop(struct function_table *table);

/* Makes a library, to be added to a table or freed. */
struct function_library *function_library_new(struct bytes name);
/* Adds a function. If the library already contains one of this name, returns false; the callback
 * then still belongs to the caller. O(1) */
bool function_library_register(struct function_library *library, const struct function_spec *spec);
/* Frees a library that is in no table. `table` is only used to release the callbacks: any table
 * with the right `release` will do. */
void function_library_free(const struct function_table *table, struct function_library *library);

struct function_library *function_table_library(const struct function_table *table,
                                                struct bytes name); /* or NULL */
struct function *function_table_find(const struct function_table *table,
                                     struct bytes name); /* or NULL */
/* Returns the library's first function whose name the table has already, or NULL. */
const struct function *function_table_clash(const struct function_table *table,
                                            const struct function_library *library);
/* Adds a library whose name and functions are not in the table; ownership passes. */
void function_table_add(struct function_table *table, struct function_library *library);
/* Removes a library of the table; ownership passes to the caller. */
void function_table_take(struct function_table *table, struct function_library *library);
/* Removes a library of the table and frees it. */
void function_table_remove(struct function_table *table, struct function_library *library);
void function_table_clear(struct function_table *table);
