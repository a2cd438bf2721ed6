/* acl_items: see acl_items.h. */
#include "server/engine/acl/acl_items.h"

#include "store/mem/mem.h"

/* A list that grows beyond this length is indexed. If it becomes shorter again, it keeps the index:
 * a list whose length varies around the limit would otherwise build it again and again. */
enum { UNINDEXED = 16 };

static struct bytes item_text(const void *item)
{
    return blob_view(((const struct acl_item *)item)->text);
}

static const struct dict_type by_text = { .key = item_text };

struct acl_item *acl_items_add(struct acl_items *items, unsigned tag, struct bytes text)
{
    struct acl_item *item = mem_alloc(sizeof(*item));
    *item = (struct acl_item){ .prev = items->last, .tag = tag, .text = blob_new(text) };
    *(items->last != NULL ? &items->last->next : &items->first) = item;
    items->last = item;
    items->count++;
    if (items->is_indexed) {
        dict_add(&items->index, item);
    } else if (items->count > UNINDEXED) {
        dict_init(&items->index, &by_text);
        items->is_indexed = true;
        for (struct acl_item *each = items->first; each != NULL; each = each->next)
            dict_add(&items->index, each);
    }
    return item;
}

struct acl_item *acl_items_find(const struct acl_items *items, struct bytes text)
{
    struct acl_item *item = items->first;
    if (items->is_indexed) return dict_find(&items->index, text);
    while (item != NULL && !bytes_equal(item_text(item), text))
        item = item->next;
    return item;
}

static void free_item(struct acl_item *item)
{
    blob_free(item->text);
    mem_free(item);
}

void acl_items_remove(struct acl_items *items, struct acl_item *item)
{
    if (items->is_indexed) dict_remove(&items->index, item_text(item));
    *(item->prev != NULL ? &item->prev->next : &items->first) = item->next;
    *(item->next != NULL ? &item->next->prev : &items->last) = item->prev;
    items->count--;
    free_item(item);
}

void acl_items_clear(struct acl_items *items)
{
    if (items->is_indexed) dict_drop(&items->index);
    for (struct acl_item *item = items->first, *next; item != NULL; item = next) {
        next = item->next;
        free_item(item);
    }
    *items = (struct acl_items){ 0 };
}

struct acl_items acl_items_copy(const struct acl_items *items)
{
    struct acl_items copy = { 0 };
    for (const struct acl_item *item = items->first; item != NULL; item = item->next)
        acl_items_add(&copy, item->tag, blob_view(item->text));
    return copy;
}
