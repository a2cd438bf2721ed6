/* list: a sequence of byte strings, cheap at both ends.
 * Knows bytes and positions; refuses to know keys or commands.
 *
 * A doubly linked chain of nodes; a node packs its elements one behind the other in one block of at
 * most 8 KiB (a larger element has a node of its own), readable in both directions.
 * Ends: O(1). By index: O(nodes). */
#ifndef STORE_TYPE_LIST_H
#define STORE_TYPE_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/base/bytes.h"
#include "store/mem/relocate.h"

struct list;

enum list_end { LIST_HEAD, LIST_TAIL };

struct list *list_new(void);
void list_free(struct list *list);
/* Frees about *work elements' worth and lowers *work; true when all is gone, the list included. */
bool list_free_some(struct list *list, size_t *work);

size_t list_count(const struct list *list);
/* `element` may be one of this list's own. */
void list_push(struct list *list, enum list_end end, struct bytes element);
struct bytes list_at(const struct list *list, size_t index);       /* borrowed; index < count */
void list_pop(struct list *list, enum list_end end, size_t count); /* count <= list_count */
void list_keep(struct list *list, size_t from, size_t to); /* keeps [from, to), drops the rest */
void list_put(struct list *list, size_t index, struct bytes element); /* instead of what is there */
/* Before the element at index, which may be the count. `element` is not one of the list's own. */
void list_insert(struct list *list, size_t index, struct bytes element);
/* As LREM: count > 0 from the head, < 0 from the tail, 0 all. Returns how many went. */
size_t list_remove(struct list *list, int64_t count, struct bytes element);

/* Borrowed elements; the list must not change meanwhile. */
struct list_iter {
    const void *node;
    size_t offset;
};
void list_iter_at(struct list_iter *iter, const struct list *list, size_t index);
bool list_iter_next(struct list_iter *iter,
                    struct bytes *element); /* gives it, steps to the tail */
bool list_iter_prev(struct list_iter *iter,
                    struct bytes *element); /* gives it, steps to the head */

const char *list_encoding(const struct list *list); /* Redis' name for it */
/* Where the list is now; nothing of it that was borrowed is valid any more. Of a list of many MiB
 * only what is near its head is looked at: blocks there are large, and fill their pages. */
struct list *list_relocate(struct list *list, struct relocation_place *place,
                           struct relocation *relocation);
size_t list_bytes(const struct list *list); /* all memory, O(1) */
void list_check(const struct list *list);

#endif
