/* acl_items: see acl_items.h. A long list has an index: an open hash table of positions by text. */
#include "server/acl/acl_items.h"

#include <string.h>

#include "store/base/ensure.h"
#include "store/base/siphash.h"
#include "store/mem/mem.h"

enum { UNINDEXED = 16, SLOTS_PER_ITEM = 2 };

/* ---- index ----------------------------------------------------------------------------------- */

static uint32_t *first_slot(const struct acl_items *items, struct bytes text)
{
    return &items->slots[siphash(text.data, text.len) & (items->slot_count - 1)];
}

static uint32_t *next_slot(const struct acl_items *items, uint32_t *slot)
{
    return slot + 1 == items->slots + items->slot_count ? items->slots : slot + 1;
}

static void index_one(struct acl_items *items, size_t i)
{
    uint32_t *slot = first_slot(items, blob_view(items->at[i].text));
    while (*slot != 0)
        slot = next_slot(items, slot);
    *slot = (uint32_t)i + 1;
}

static void drop_index(struct acl_items *items)
{
    mem_free(items->slots);
    items->slots = NULL;
    items->slot_count = 0;
}

static void make_index(struct acl_items *items)
{
    drop_index(items);
    if (items->count <= UNINDEXED) return;
    ensure(items->cap <= UINT32_MAX / SLOTS_PER_ITEM, "%zu items", items->cap);
    items->slot_count = items->cap * SLOTS_PER_ITEM;
    items->slots = mem_zalloc(items->slot_count * sizeof(*items->slots));
    for (size_t i = 0; i < items->count; i++)
        index_one(items, i);
}

static bool fits(const struct acl_item *item, unsigned tag, struct bytes text)
{
    return (tag == ACL_ANY_TAG || item->tag == tag) && bytes_equal(blob_view(item->text), text);
}

/* ---- the list -------------------------------------------------------------------------------- */

void acl_items_add(struct acl_items *items, unsigned tag, struct bytes text)
{
    bool grows = items->count == items->cap;
    if (grows) {
        items->cap = items->cap > 0 ? 2 * items->cap : 1;
        items->at = mem_realloc(items->at, items->cap * sizeof(*items->at));
    }
    items->at[items->count++] = (struct acl_item){ .tag = tag, .text = blob_new(text) };
    if (grows || (items->slots == NULL && items->count > UNINDEXED))
        make_index(items);
    else if (items->slots != NULL)
        index_one(items, items->count - 1);
}

struct acl_item *acl_items_find(const struct acl_items *items, unsigned tag, struct bytes text)
{
    for (size_t i = 0; items->slots == NULL && i < items->count; i++)
        if (fits(&items->at[i], tag, text)) return &items->at[i];
    if (items->slots == NULL) return NULL;
    for (uint32_t *slot = first_slot(items, text); *slot != 0; slot = next_slot(items, slot))
        if (fits(&items->at[*slot - 1], tag, text)) return &items->at[*slot - 1];
    return NULL;
}

void acl_items_remove(struct acl_items *items, size_t index)
{
    blob_free(items->at[index].text);
    items->count--;
    memmove(items->at + index, items->at + index + 1, (items->count - index) * sizeof(*items->at));
    if (items->slots != NULL) make_index(items);
}

void acl_items_remove_tag(struct acl_items *items, unsigned tag)
{
    size_t kept = 0;
    for (size_t i = 0; i < items->count; i++)
        if (items->at[i].tag == tag)
            blob_free(items->at[i].text);
        else
            items->at[kept++] = items->at[i];
    items->count = kept;
    if (items->slots != NULL) make_index(items);
}

void acl_items_clear(struct acl_items *items)
{
    for (size_t i = 0; i < items->count; i++)
        blob_free(items->at[i].text);
    mem_free(items->at);
    drop_index(items);
    *items = (struct acl_items){ 0 };
}

struct acl_items acl_items_copy(const struct acl_items *items)
{
    struct acl_items copy = { 0 };
    for (size_t i = 0; i < items->count; i++)
        acl_items_add(&copy, items->at[i].tag, blob_view(items->at[i].text));
    return copy;
}
