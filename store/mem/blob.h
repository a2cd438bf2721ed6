/* blob: a byte string in one allocation. Binary-safe.
 *
 * A big blob can have several owners: an argument of hundreds of megabytes becomes a value, a part
 * of a journal record and a reply without being copied. A blob with more than one owner must not be
 * changed. A table finds all big blobs by address, so that code that receives only a struct bytes
 * can become an owner too. */
#ifndef STORE_MEM_BLOB_H
#define STORE_MEM_BLOB_H

#include "store/base/bytes.h"

enum { BLOB_BIG = 1 << 20 }; /* size in bytes from which a blob can have several owners */

struct blob {
    uint32_t len;
    char data[];
};

struct blob *blob_new(struct bytes content); /* a copy of less than 4 GiB; free with blob_free */
/* Returns a blob with uninitialized content, or NULL if memory runs out or len is 4 GiB or more. */
struct blob *blob_try_new(size_t len);
/* Ends one ownership; the last owner frees the memory. Does nothing for NULL. */
void blob_free(struct blob *blob);
/* Changes the length of a blob, keeping its content, or makes a new one if it is NULL. New bytes
 * are uninitialized. If memory runs out, returns NULL and changes nothing. The caller must be the
 * only owner. */
struct blob *blob_try_resize(struct blob *blob, size_t len);
static inline struct bytes blob_view(const struct blob *blob)
{
    return (struct bytes){ blob->data, blob->len };
}

/* If these bytes are the whole content of a big blob, adds an owner and returns it; otherwise
 * returns NULL. O(1) */
struct blob *blob_share(struct bytes content);
bool blob_is_shared(const struct blob *blob); /* it has more than one owner */

#endif
