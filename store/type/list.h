/* list: a sequence of byte strings, efficient at both ends.
 *
 * The list is a doubly linked chain of nodes. A node packs elements one after another in a block of
 * at most 8 KiB, readable in both directions. A larger element is alone in its node. Work at the
 * ends is O(1), by index O(nodes). */
#pragma once

#include "store/base/bytes.h"
#include "store/mem/relocate.h"

struct list;

enum list_end { LIST_HEAD, LIST_TAIL };

struct list *list_new(void);
void list_free(struct list *list);
/* Frees in slices: frees about *work elements and subtracts their number from *work. Returns true
 * when everything, including the list itself, is freed. */
bool list_free_some(struct list *list, size_t *work);

size_t list_count(const struct list *list);
/* Adds an element at one end. `element` may point into this list. */
void list_push(struct list *list, enum list_end end, struct bytes element);
struct bytes list_at(const struct list *list, size_t index);       /* borrowed; index < count */
void list_pop(struct list *list, enum list_end end, size_t count); /* count <= list_count */
void list_keep(struct list *list, size_t from, size_t to);         /* removes all but [from, to) */
/* Replace the element at `index`, or insert one before it (at the end if `index` is the count).
 * `element` must not point into this list. */
void list_put(struct list *list, size_t index, struct bytes element);
void list_insert(struct list *list, size_t index, struct bytes element);
/* Removes elements equal to this one, as LREM: the first `count` (count > 0), the last -count
 * (count < 0), or all (0). Returns the number removed. `element` must not point into this list.
 * O(n) */
size_t list_remove(struct list *list, int64_t count, struct bytes element);

/* Finds the index of the first element equal to this one. Returns false if there is none. O(n) */
bool list_find(const struct list *list, struct bytes element, size_t *index);

/* Walks borrowed elements in either direction; the list must not change meanwhile. */
struct list_iter {
    const void *node;
    size_t offset;
};
void list_iter_at(struct list_iter *iter, const struct list *list, size_t index);
bool list_iter_next(struct list_iter *iter, struct bytes *element); /* then moves to the tail */
bool list_iter_prev(struct list_iter *iter, struct bytes *element); /* then moves to the head */

/* Relocates blocks and returns the list's address. Invalidates everything borrowed from the list.
 * Of a long list only the first 1024 nodes are relocated, because most blocks of such a list are
 * large and waste little memory. */
struct list *list_relocate(struct list *list, struct relocation_cursor *cursor,
                           struct relocation *relocation);
size_t list_bytes(const struct list *list); /* all memory. O(1) */
void list_check(const struct list *list);
