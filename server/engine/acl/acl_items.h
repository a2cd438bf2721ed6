/* acl_items: a list of texts, each with a number: patterns of keys and channels, passwords,
 * rules. In the order in which they were added. */
#ifndef SERVER_ENGINE_ACL_ACL_ITEMS_H
#define SERVER_ENGINE_ACL_ACL_ITEMS_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "store/mem/blob.h"
#include "store/struct/dict.h"

struct acl_item {
    unsigned tag; /* what the owner of the list says */
    struct blob *text;
};

struct acl_items {
    struct acl_item **at; /* owned */
    size_t count;
    /* private */
    size_t cap;
    bool is_indexed;   /* a long list: */
    struct dict index; /* the first item of each text */
};

#define ACL_ANY_TAG UINT_MAX

void acl_items_add(struct acl_items *items, unsigned tag, struct bytes text);
/* The item with this tag and text; NULL: none. Valid until it is removed. O(1);
 * O(n) for a text that other items have, too */
struct acl_item *acl_items_find(const struct acl_items *items, unsigned tag, struct bytes text);
void acl_items_remove(struct acl_items *items, size_t i); /* O(n) */
void acl_items_remove_tag(struct acl_items *items, unsigned tag);
void acl_items_clear(struct acl_items *items);
struct acl_items acl_items_copy(const struct acl_items *items);

#endif
