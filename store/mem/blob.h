/* blob: a byte string in one allocation. It may contain any bytes.
 *
 * A big blob can have several owners: an argument of hundreds of megabytes becomes a value, a part
 * of a journal record and a reply without a copy. A blob with more than one owner must not be
 * changed. A table finds all big blobs by address, so that code that receives only a struct bytes
 * can become an owner too (blob_share). */
#pragma once

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
/* Changes the length of a blob, keeping its content; for NULL makes a new blob. New bytes are
 * uninitialized. The caller must be the only owner. If memory runs out, returns NULL, and the old
 * blob is unchanged. */
struct blob *blob_try_resize(struct blob *blob, size_t len);
static inline struct bytes blob_view(const struct blob *blob)
{
    return (struct bytes){ blob->data, blob->len };
}

/* Adds an owner to a big blob and returns it, if `content` is the whole content of one; otherwise
 * returns NULL. O(1) */
struct blob *blob_share(struct bytes content);
bool blob_is_shared(const struct blob *blob);
