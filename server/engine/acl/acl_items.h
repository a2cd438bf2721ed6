/* acl_items: a list of distinct texts, each with a tag, in the order in which they were added:
 * patterns of keys and channels, passwords, rules. Assigning the struct moves the list: the old
 * struct must not be used afterwards. */
#pragma once

#include <sys/queue.h>

#include "store/mem/blob.h"
#include "store/struct/dict.h"

struct acl_item {
    struct acl_item *prev, *next;
    struct blob *text;
    unsigned tag; /* a number that the owner of the list defines */
    /* For a rule about a part of a command (acl_rules.c): */
    struct acl_subrules *subrules; /* the list that `of_command` links it into; or NULL */
    LIST_ENTRY(acl_item) of_command;
};

/* A list of items; all zero if empty. */
struct acl_items {
    struct acl_item *first, *last;
    size_t count;
    /* private */
    bool is_indexed; /* true for a long list */
    struct dict index;
};

/* Appends a copy of the text, which must not be in the list yet. Amortized O(1) */
struct acl_item *acl_items_add(struct acl_items *items, unsigned tag, struct bytes text);
struct acl_item *acl_items_find(const struct acl_items *items,
                                struct bytes text);                    /* or NULL. O(1) */
void acl_items_remove(struct acl_items *items, struct acl_item *item); /* frees it. O(1) */
void acl_items_clear(struct acl_items *items);
struct acl_items acl_items_copy(const struct acl_items *items); /* texts and tags only */
