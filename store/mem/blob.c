/* blob: finds big blobs by their address in a hash table with chains. A fixed number of buckets is
 * enough, because a gigabyte of memory holds only about a thousand big blobs. */
#include "store/mem/blob.h"

#include "store/base/ensure.h"
#include "store/mem/mem.h"

enum { BUCKETS = 1024 };

struct big {
    struct big *next;
    struct blob *blob;
    unsigned owners;
};

static struct big *table[BUCKETS];

static struct big **find(const struct blob *blob)
{
    uint64_t mixed = (uint64_t)(uintptr_t)blob * 0x9e3779b97f4a7c15u;
    struct big **at = &table[mixed >> 54];
    while (*at != NULL && (*at)->blob != blob)
        at = &(*at)->next;
    return at;
}

static struct big *find_big(const struct blob *blob)
{
    struct big *big = *find(blob);
    ensure(big != NULL, "a blob of %u bytes is not in the table", blob->len);
    return big;
}

static void list_if_big(struct blob *blob)
{
    if (blob->len < BLOB_BIG) return;
    struct big **at = find(blob);
    ensure(*at == NULL, "a blob of %u bytes is in the table already", blob->len);
    *at = mem_alloc(sizeof(**at));
    **at = (struct big){ .blob = blob, .owners = 1 };
}

static void unlist(struct big **at)
{
    struct big *big = *at;
    *at = big->next;
    mem_free(big);
}

struct blob *blob_new(struct bytes content)
{
    ensure(content.len <= UINT32_MAX, "blob of %zu bytes", content.len);
    struct blob *blob = mem_alloc_tight(sizeof(*blob) + content.len);
    blob->len = (uint32_t)content.len;
    if (content.len > 0) memcpy(blob->data, content.data, content.len);
    list_if_big(blob);
    return blob;
}

struct blob *blob_try_new(size_t len)
{
    return blob_try_resize(NULL, len);
}

void blob_free(struct blob *blob)
{
    if (blob != NULL && blob->len >= BLOB_BIG) {
        if (--find_big(blob)->owners > 0) return;
        unlist(find(blob));
    }
    mem_free(blob);
}

struct blob *blob_try_resize(struct blob *blob, size_t len)
{
    if (len > UINT32_MAX) return NULL;
    bool was_big = blob != NULL && blob->len >= BLOB_BIG;
    if (was_big) ensure(!blob_is_shared(blob), "a shared blob of %u bytes is resized", blob->len);
    struct big **listed = was_big ? find(blob) : NULL;
    struct blob *resized = mem_try_realloc(blob, sizeof(*blob) + len);
    if (resized == NULL) return NULL;
    if (was_big) unlist(listed);
    resized->len = (uint32_t)len;
    list_if_big(resized);
    return resized;
}

struct blob *blob_share(struct bytes content)
{
    if (content.len < BLOB_BIG) return NULL;
    const char *start = content.data - offsetof(struct blob, data);
    struct big *big = *find((const struct blob *)(const void *)start);
    if (big == NULL || big->blob->len != content.len) return NULL;
    big->owners++;
    return big->blob;
}

bool blob_is_shared(const struct blob *blob)
{
    return blob->len >= BLOB_BIG && find_big(blob)->owners > 1;
}
