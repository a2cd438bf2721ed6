/* blob: see blob.h. */
#include "store/mem/blob.h"

#include "store/base/ensure.h"
#include "store/mem/mem.h"

struct blob *blob_new(struct bytes content)
{
    ensure(content.len <= UINT32_MAX, "blob of %zu bytes", content.len);
    struct blob *blob = mem_alloc(sizeof(*blob) + content.len);
    blob->len = (uint32_t)content.len;
    if (content.len > 0) memcpy(blob->data, content.data, content.len);
    return blob;
}

void blob_free(struct blob *blob)
{
    mem_free(blob);
}
