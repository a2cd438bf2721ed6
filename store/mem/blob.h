/* blob: a byte string in one allocation. Binary-safe. */
#ifndef STORE_MEM_BLOB_H
#define STORE_MEM_BLOB_H

#include "store/base/bytes.h"

struct blob {
    uint32_t len;
    char data[];
};

struct blob *blob_new(struct bytes content); /* a copy of less than 4 GiB; free with blob_free */
void blob_free(struct blob *blob);           /* NULL is allowed */
static inline struct bytes blob_view(const struct blob *blob)
{
    return (struct bytes){ blob->data, blob->len };
}

#endif
