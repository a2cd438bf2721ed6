/* acl_items: see acl_items.h. */
#include "server/acl/acl_items.h"

#include <string.h>

#include "store/mem/mem.h"

void acl_items_add(struct acl_items *items, unsigned tag, struct bytes text)
{
    items->at = mem_realloc(items->at, (items->count + 1) * sizeof(*items->at));
    items->at[items->count++] = (struct acl_item){ .tag = tag, .text = blob_new(text) };
}

struct acl_item *acl_items_find(const struct acl_items *items, unsigned tag, struct bytes text)
{
    for (size_t i = 0; i < items->count; i++)
        if (items->at[i].tag == tag && bytes_equal(blob_view(items->at[i].text), text))
            return &items->at[i];
    return NULL;
}

void acl_items_remove(struct acl_items *items, size_t index)
{
    blob_free(items->at[index].text);
    items->count--;
    memmove(items->at + index, items->at + index + 1, (items->count - index) * sizeof(*items->at));
}

void acl_items_remove_tag(struct acl_items *items, unsigned tag)
{
    for (size_t i = items->count; i-- > 0;)
        if (items->at[i].tag == tag) acl_items_remove(items, i);
}

void acl_items_clear(struct acl_items *items)
{
    for (size_t i = 0; i < items->count; i++)
        blob_free(items->at[i].text);
    mem_free(items->at);
    *items = (struct acl_items){ 0 };
}

struct acl_items acl_items_copy(const struct acl_items *items)
{
    struct acl_items copy = { 0 };
    for (size_t i = 0; i < items->count; i++)
        acl_items_add(&copy, items->at[i].tag, blob_view(items->at[i].text));
    return copy;
}
