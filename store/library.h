/* library: the libraries of functions that are part of the data set: names and texts of programs.
 * Does not depend on any language; whoever compiles the texts compares `version` with the one that
 * it has compiled. */
#ifndef STORE_LIBRARY_H
#define STORE_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/base/bytes.h"
#include "store/struct/dict.h"

struct library;

struct libraries {
    struct dict dict; /* of struct library, by name */
    size_t bytes;     /* memory of the libraries, without the table */
    /* Changes whenever the set of libraries, or a text, may have changed; also after another data
     * set was loaded. */
    uint64_t version;
};

void libraries_init(struct libraries *libraries);
void libraries_drop(struct libraries *libraries);

/* Is it non-empty, and are all bytes ASCII letters, digits or '_'? */
bool library_name_ok(struct bytes name);
/* Borrowed until the library is replaced or removed. O(1) */
struct bytes library_name(const struct library *library);
struct bytes library_code(const struct library *library);
/* Another number each time that a library of the store is set, even to the same code. */
uint64_t library_stamp(const struct library *library);

static inline size_t libraries_count(const struct libraries *libraries)
{
    return dict_count(&libraries->dict);
}
/* The library of this name, or NULL. Borrowed until it is replaced or removed. O(1) */
const struct library *libraries_find(const struct libraries *libraries, struct bytes name);
/* Adds a library, or replaces the code of the one that has the name, which must satisfy
 * library_name_ok. Copies both, which may point into the old one. O(length) */
const struct library *libraries_set(struct libraries *libraries, struct bytes name,
                                    struct bytes code);
bool libraries_remove(struct libraries *libraries, struct bytes name); /* false: there is none */
/* In the order of the table; the libraries must not change meanwhile. O(n) */
void libraries_each(const struct libraries *libraries,
                    void (*visit)(void *ctx, const struct library *library), void *ctx);

/* Drops the libraries and takes those of `other`, which is empty afterwards. */
void libraries_replace(struct libraries *libraries, struct libraries *other);

void libraries_check(const struct libraries *libraries);

#endif
