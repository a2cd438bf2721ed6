/* acl_items: see acl_items.h. */
#include "server/engine/acl/acl_items.h"

#include <string.h>

#include "store/mem/mem.h"

enum { UNINDEXED = 16 };

/* ---- index ----------------------------------------------------------------------------------- */

static struct bytes text_of(const void *item)
{
    return blob_view(((const struct acl_item *)item)->text);
}

static const struct dict_type by_text = { .key = text_of };

static void index_one(struct acl_items *items, struct acl_item *item)
{
    if (dict_find(&items->index, text_of(item)) == NULL) dict_add(&items->index, item);
}

static void drop_index(struct acl_items *items)
{
    if (items->is_indexed) dict_drop(&items->index);
    items->is_indexed = false;
}

static void make_index(struct acl_items *items)
{
    drop_index(items);
    if (items->count <= UNINDEXED) return;
    dict_init(&items->index, &by_text);
    items->is_indexed = true;
    for (size_t i = 0; i < items->count; i++)
        index_one(items, items->at[i]);
}

/* ---- the list -------------------------------------------------------------------------------- */

void acl_items_add(struct acl_items *items, unsigned tag, struct bytes text)
{
    if (items->count == items->cap) {
        items->cap = items->cap > 0 ? 2 * items->cap : 1;
        items->at = mem_realloc(items->at, items->cap * sizeof(*items->at));
    }
    struct acl_item *item = mem_alloc(sizeof(*item));
    *item = (struct acl_item){ .tag = tag, .text = blob_new(text) };
    items->at[items->count++] = item;
    if (items->is_indexed)
        index_one(items, item);
    else
        make_index(items);
}

static bool has_tag(const struct acl_item *item, unsigned tag)
{
    return tag == ACL_ANY_TAG || item->tag == tag;
}

struct acl_item *acl_items_find(const struct acl_items *items, unsigned tag, struct bytes text)
{
    if (items->is_indexed) {
        struct acl_item *item = dict_find(&items->index, text);
        if (item == NULL || has_tag(item, tag)) return item;
    }
    for (size_t i = 0; i < items->count; i++)
        if (has_tag(items->at[i], tag) && bytes_equal(text_of(items->at[i]), text))
            return items->at[i];
    return NULL;
}

static void free_item(struct acl_item *item)
{
    blob_free(item->text);
    mem_free(item);
}

void acl_items_remove(struct acl_items *items, size_t i)
{
    drop_index(items);
    free_item(items->at[i]);
    items->count--;
    memmove(items->at + i, items->at + i + 1, (items->count - i) * sizeof(*items->at));
    make_index(items);
}

void acl_items_remove_tag(struct acl_items *items, unsigned tag)
{
    size_t kept = 0;
    drop_index(items);
    for (size_t i = 0; i < items->count; i++)
        if (items->at[i]->tag == tag)
            free_item(items->at[i]);
        else
            items->at[kept++] = items->at[i];
    items->count = kept;
    make_index(items);
}

void acl_items_clear(struct acl_items *items)
{
    drop_index(items);
    for (size_t i = 0; i < items->count; i++)
        free_item(items->at[i]);
    mem_free(items->at);
    *items = (struct acl_items){ 0 };
}

struct acl_items acl_items_copy(const struct acl_items *items)
{
    struct acl_items copy = { 0 };
    for (size_t i = 0; i < items->count; i++)
        acl_items_add(&copy, items->at[i]->tag, blob_view(items->at[i]->text));
    return copy;
}
