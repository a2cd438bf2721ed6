/* blob: owned bytes in one allocation. Binary-safe. */
#ifndef STORE_MEM_BLOB_H
#define STORE_MEM_BLOB_H

#include "store/base/bytes.h"

struct blob {
    uint32_t len;
    char data[];
};

struct blob *blob_new(struct bytes content); /* owned: free with blob_free; len < 4 GiB */
void blob_free(struct blob *blob);           /* NULL is fine */
static inline struct bytes blob_view(const struct blob *blob)
{
    return (struct bytes){ blob->data, blob->len };
}

#endif
