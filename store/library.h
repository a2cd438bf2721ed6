/* library: the function libraries of the data set, as names and source code. Independent of the
 * language: the interpreter compares `version` with the version that it compiled last. */
#pragma once

#include "store/base/bytes.h"
#include "store/struct/dict.h"

struct library;

struct libraries {
    struct dict dict; /* of struct library, by name */
    size_t bytes;     /* memory of the libraries, without the table */
    /* Changes whenever the libraries may have changed, even by loading another data set. */
    uint64_t version;
};

void libraries_init(struct libraries *libraries);
void libraries_drop(struct libraries *libraries);

/* Is it non-empty, and are all bytes ASCII letters, digits or '_'? */
bool library_name_ok(struct bytes name);
/* Return the name and the code, borrowed until the library is replaced or removed. O(1) */
struct bytes library_name(const struct library *library);
struct bytes library_code(const struct library *library);
/* Returns a number that is new each time the library is set, even to the same code, and each time
 * libraries_replace takes it over. */
uint64_t library_stamp(const struct library *library);

static inline size_t libraries_count(const struct libraries *libraries)
{
    return dict_count(&libraries->dict);
}
/* Returns the library of this name, or NULL. Borrowed until it is replaced or removed. O(1) */
const struct library *libraries_find(const struct libraries *libraries, struct bytes name);
/* Adds a library or replaces its code. The name must satisfy library_name_ok. Both texts are
 * copied, and may point into the old library. O(length) */
const struct library *libraries_set(struct libraries *libraries, struct bytes name,
                                    struct bytes code);
bool libraries_remove(struct libraries *libraries, struct bytes name); /* false if there is none */
/* Visits all libraries, in the order of the table; they must not change meanwhile. O(n) */
void libraries_each(const struct libraries *libraries,
                    void (*visit)(void *ctx, const struct library *library), void *ctx);

/* Drops the libraries and takes those of `other`, which is empty afterwards. */
void libraries_replace(struct libraries *libraries, struct libraries *other);

void libraries_check(const struct libraries *libraries);
