/* list_node: the nodes of a list, and the packing of elements in them. Private to list*.c.
 *
 *     free | element | element ... | free
 *          ^ begin                 ^ end
 *
 * An element is packed as its length, its bytes, and its length again, so that it can be read
 * backwards. Free space at both ends leaves room for pushes. Invariants: no node is empty; a block
 * of more than LIST_BLOCK_MAX bytes contains one element. */
#pragma once

#include <string.h>

#include "store/base/bytes.h"
#include "store/base/ensure.h"
#include "store/mem/relocate.h"

struct list_node {
    struct list_node *prev, *next;
    uint32_t count;
    uint32_t cap; /* bytes of data */
    uint32_t begin, end;
    char data[];
};

struct list {
    struct list_node *head, *tail;
    size_t count;
    size_t bytes; /* memory of the nodes and this struct */
};

enum {
    LIST_BLOCK_MIN = 64,
    LIST_BLOCK_MAX = 8192,
    LIST_CAP_MIN = LIST_BLOCK_MIN - sizeof(struct list_node),
    LIST_CAP_MAX = LIST_BLOCK_MAX - sizeof(struct list_node),
};

/* ---- packing -------------------------------------------------------------------------------- */

static inline uint32_t list_length_size(uint32_t len)
{
    uint32_t size = 1;
    while (len >>= 7)
        size++;
    return size;
}

static inline uint32_t list_packed_size(size_t len)
{
    ensure(len <= INT32_MAX, "list element of %zu bytes", len);
    return (uint32_t)len + 2 * list_length_size((uint32_t)len);
}

/* Writes seven bits per byte, lowest first; step is 1 to write forwards, -1 backwards. */
static inline void list_length_write(char *at, int step, uint32_t len)
{
    for (; len >= 0x80; len >>= 7, at += step)
        *at = (char)(0x80 | (len & 0x7f));
    *at = (char)len;
}

static inline uint32_t list_length_read(const char *at, int step)
{
    uint32_t len = 0;
    for (unsigned shift = 0;; shift += 7, at += step) {
        uint32_t byte = (unsigned char)*at;
        len |= (byte & 0x7f) << shift;
        if (byte < 0x80) return len;
    }
}

static inline void list_pack(char *at, uint32_t size, struct bytes element)
{
    uint32_t len = (uint32_t)element.len;
    list_length_write(at, 1, len);
    if (len > 0) memcpy(at + list_length_size(len), element.data, len);
    list_length_write(at + size - 1, -1, len);
}

/* Returns the packed size of the element that begins at `offset`. */
static inline uint32_t list_size_at(const struct list_node *node, uint32_t offset)
{
    return list_packed_size(list_length_read(node->data + offset, 1));
}

/* Returns the packed size of the element that ends at `offset`. */
static inline uint32_t list_size_before(const struct list_node *node, uint32_t offset)
{
    return list_packed_size(list_length_read(node->data + offset - 1, -1));
}

static inline struct bytes list_unpack(const struct list_node *node, uint32_t offset)
{
    uint32_t len = list_length_read(node->data + offset, 1);
    return bytes_of(node->data + offset + list_length_size(len), len);
}

/* ---- nodes ---------------------------------------------------------------------------------- */

static inline uint32_t list_node_used(const struct list_node *node)
{
    return node->end - node->begin;
}

/* Returns a new node, not linked. */
struct list_node *list_node_new(struct list *list, uint32_t cap);
void list_node_link(struct list *list, struct list_node *node);   /* between node's prev and next */
void list_node_unlink(struct list *list, struct list_node *node); /* and frees it */

/* Reallocates the node with this cap and this much room in front; returns its address. */
struct list_node *list_node_arrange(struct list *list, struct list_node *node, uint32_t cap,
                                    uint32_t front);
/* Returns the cap of the smallest regular block that holds `size` bytes. */
uint32_t list_node_cap_for(uint32_t size);
/* Moves the node if that saves memory (relocate.h). Returns its address. */
struct list_node *list_node_relocate(struct list *list, struct list_node *node,
                                     struct relocation *relocation);
/* Frees unused room of a node that expects no more pushes; returns its address. */
struct list_node *list_node_trim(struct list *list, struct list_node *node);
/* Reallocates the node if pops have left less than an eighth of its block in use. */
void list_node_shrink(struct list *list, struct list_node *node);

void list_node_check(const struct list_node *node);
