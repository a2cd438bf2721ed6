/* blob: a byte string in one allocation. Binary-safe.
 *
 * A big one can have several owners, so that an argument of hundreds of megabytes becomes a value,
 * a part of a journal record and a reply without being copied. While it has more than one, nobody
 * changes it. A table knows all big ones by their addresses, so that code that is given the bytes
 * alone can become an owner, too. */
#ifndef STORE_MEM_BLOB_H
#define STORE_MEM_BLOB_H

#include "store/base/bytes.h"

enum { BLOB_BIG = 1 << 20 }; /* bytes from which on a blob can have several owners */

struct blob {
    uint32_t len;
    char data[];
};

struct blob *blob_new(struct bytes content); /* a copy of less than 4 GiB; free with blob_free */
/* With unset content; NULL: no memory, or 4 GiB and more. */
struct blob *blob_try_new(size_t len);
/* NULL is allowed. Of several owners only the last one frees the memory. */
void blob_free(struct blob *blob);
/* Gives a blob (NULL: a new one) another length; its content stays, and new bytes are unset. NULL:
 * no memory, and no change. Call as its only owner. */
struct blob *blob_try_resize(struct blob *blob, size_t len);
static inline struct bytes blob_view(const struct blob *blob)
{
    return (struct bytes){ blob->data, blob->len };
}

/* Becomes one more owner of the big blob whose whole content these bytes are; NULL: they are
 * something else. O(1) */
struct blob *blob_share(struct bytes content);
bool blob_is_shared(const struct blob *blob); /* it has more than one owner */

#endif
