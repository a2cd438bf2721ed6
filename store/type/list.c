/* list: a list of nodes, each of which packs elements in a block:
 *
 *     free | element | element ... | free
 *          ^ begin                 ^ end
 *
 * An element is packed as its length, its bytes, and its length again, so that it can be read
 * backwards. Free space at both ends leaves room for pushes. Invariants: no node is empty; a block
 * of more than LIST_BLOCK_MAX bytes contains one element.
 *
 * Pushing is amortised O(1). If there is no room at the end, the first of these that is possible
 * happens:
 *
 * - A block that is at most half full divides its free space between both ends.
 * - A fuller block doubles, with the new space at the end that needs it.
 * - A new node is added. */
#include "store/type/list.h"

#include <string.h>

#include "store/base/ensure.h"
#include "store/mem/blob.h"
#include "store/mem/mem.h"
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

static uint32_t list_length_size(uint32_t len)
{
    uint32_t size = 1;
    while (len >>= 7)
        size++;
    return size;
}

static uint32_t list_packed_size(size_t len)
{
    ensure(len <= INT32_MAX, "list element of %zu bytes", len);
    return (uint32_t)len + 2 * list_length_size((uint32_t)len);
}

/* Writes seven bits per byte, lowest first; step is 1 to write forwards, -1 backwards. */
static void list_length_write(char *at, int step, uint32_t len)
{
    for (; len >= 0x80; len >>= 7, at += step)
        *at = (char)(0x80 | (len & 0x7f));
    *at = (char)len;
}

static uint32_t list_length_read(const char *at, int step)
{
    uint32_t len = 0;
    for (unsigned shift = 0;; shift += 7, at += step) {
        uint32_t byte = (unsigned char)*at;
        len |= (byte & 0x7f) << shift;
        if (byte < 0x80) return len;
    }
}

static void list_pack(char *at, uint32_t size, struct bytes element)
{
    uint32_t len = (uint32_t)element.len;
    list_length_write(at, 1, len);
    if (len > 0) memcpy(at + list_length_size(len), element.data, len);
    list_length_write(at + size - 1, -1, len);
}

static uint32_t list_size_at(const struct list_node *node, uint32_t offset)
{
    return list_packed_size(list_length_read(node->data + offset, 1));
}

static uint32_t list_size_before(const struct list_node *node, uint32_t offset)
{
    return list_packed_size(list_length_read(node->data + offset - 1, -1));
}

static struct bytes list_unpack(const struct list_node *node, uint32_t offset)
{
    uint32_t len = list_length_read(node->data + offset, 1);
    return bytes_of(node->data + offset + list_length_size(len), len);
}

/* ---- nodes ---------------------------------------------------------------------------------- */

static uint32_t list_node_used(const struct list_node *node)
{
    return node->end - node->begin;
}

static struct list_node *list_node_new(struct list *list, uint32_t cap)
{
    struct list_node *node = mem_alloc(sizeof(*node) + cap);
    *node = (struct list_node){ .cap = cap };
    list->bytes += mem_size(node);
    return node;
}

static void list_node_free(struct list *list, struct list_node *node)
{
    list->bytes -= mem_size(node);
    mem_free(node);
}

static void list_node_link(struct list *list, struct list_node *node)
{
    *(node->prev != NULL ? &node->prev->next : &list->head) = node;
    *(node->next != NULL ? &node->next->prev : &list->tail) = node;
}

/* Unlinks and frees the node. */
static void list_node_unlink(struct list *list, struct list_node *node)
{
    *(node->prev != NULL ? &node->prev->next : &list->head) = node->next;
    *(node->next != NULL ? &node->next->prev : &list->tail) = node->prev;
    list_node_free(list, node);
}

/* Reallocates the node with this cap and this much room in front; returns its address. */
static struct list_node *list_node_arrange(struct list *list, struct list_node *node, uint32_t cap,
                                           uint32_t front)
{
    uint32_t size = list_node_used(node);
    ensure(front + size <= cap, "%u bytes at %u exceed cap %u", size, front, cap);
    struct list_node *moved = node;
    if (cap != node->cap) {
        moved = list_node_new(list, cap);
        moved->prev = node->prev;
        moved->next = node->next;
        moved->count = node->count;
        list_node_link(list, moved);
    }
    memmove(moved->data + front, node->data + node->begin, size);
    moved->begin = front;
    moved->end = front + size;
    if (moved != node) list_node_free(list, node);
    return moved;
}

/* Returns the cap of the smallest block, a power of two in size, that holds `size` bytes. */
static uint32_t list_node_cap_for(uint32_t size)
{
    uint32_t block = LIST_BLOCK_MIN;
    while (block - sizeof(struct list_node) < size)
        block *= 2;
    return block - (uint32_t)sizeof(struct list_node);
}

/* Frees the unused room of a node if it is more than a quarter; returns the node's address. */
static struct list_node *list_node_trim(struct list *list, struct list_node *node)
{
    if (node->cap - list_node_used(node) <= node->cap / 4) return node;
    return list_node_arrange(list, node, list_node_used(node), 0);
}

/* Do the node's elements and one of this size fit in a block of LIST_BLOCK_MAX bytes? */
static bool node_fits(const struct list_node *node, uint32_t size)
{
    return list_node_used(node) <= LIST_CAP_MAX && list_node_used(node) + size <= LIST_CAP_MAX;
}

static uint32_t room_at(const struct list_node *node, enum list_end end)
{
    return end == LIST_HEAD ? node->begin : node->cap - node->end;
}

/* Returns the node with room for `size` more bytes at that end, or NULL if a new node is needed. */
static struct list_node *arrange_room(struct list *list, struct list_node *node, enum list_end end,
                                      uint32_t size)
{
    if (room_at(node, end) >= size) return node;
    uint32_t have = list_node_used(node);
    if (!node_fits(node, size)) return NULL;
    if (have <= node->cap / 2 && have + size <= node->cap) {
        uint32_t front = (node->cap - have - size) / 2;
        return list_node_arrange(list, node, node->cap, end == LIST_HEAD ? front + size : front);
    }
    if (node->cap >= LIST_CAP_MAX) return NULL;
    uint32_t cap = list_node_cap_for(have + size > node->cap ? have + size : node->cap + 1);
    return list_node_arrange(list, node, cap, end == LIST_HEAD ? cap - have : 0);
}

void list_push(struct list *list, enum list_end end, struct bytes element)
{
    struct blob *copy = NULL;
    uint32_t size = list_packed_size(element.len);
    struct list_node *beside = end == LIST_HEAD ? list->head : list->tail, *node = beside;
    if (node == NULL || room_at(node, end) < size) {
        /* The element may point into this node, which may move. */
        if (node != NULL && element.data >= node->data && element.data < node->data + node->cap) {
            copy = blob_new(element);
            element = blob_view(copy);
        }
        if (node != NULL) node = arrange_room(list, node, end, size);
        if (node == NULL) {
            if (beside != NULL) beside = list_node_trim(list, beside);
            uint32_t cap = beside == NULL ? list_node_cap_for(size) : LIST_CAP_MAX;
            if (size > LIST_CAP_MAX / 2) cap = size;
            node = list_node_new(list, cap);
            node->begin = node->end = end == LIST_HEAD ? cap : 0;
            node->prev = end == LIST_HEAD ? NULL : beside;
            node->next = end == LIST_HEAD ? beside : NULL;
            list_node_link(list, node);
        }
    }
    if (end == LIST_HEAD) {
        node->begin -= size;
        list_pack(node->data + node->begin, size, element);
    } else {
        list_pack(node->data + node->end, size, element);
        node->end += size;
    }
    node->count++;
    list->count++;
    blob_free(copy);
}

void list_pop(struct list *list, enum list_end end, size_t count)
{
    ensure(count <= list->count, "pop of %zu from %zu elements", count, list->count);
    list->count -= count;
    while (count > 0) {
        struct list_node *node = end == LIST_HEAD ? list->head : list->tail;
        if (count >= node->count) {
            count -= node->count;
            list_node_unlink(list, node);
            continue;
        }
        node->count -= (uint32_t)count;
        for (; count > 0; count--) {
            if (end == LIST_HEAD)
                node->begin += list_size_at(node, node->begin);
            else
                node->end -= list_size_before(node, node->end);
        }
    }

    /* Reallocate the only node left, if pops have left less than an eighth of its block in use. */
    struct list_node *last = list->head == list->tail ? list->head : NULL;
    if (last == NULL || last->cap <= LIST_CAP_MIN || list_node_used(last) >= last->cap / 8) return;
    uint32_t cap = list_node_cap_for(2 * list_node_used(last));
    if (cap < last->cap) list_node_arrange(list, last, cap, (cap - list_node_used(last)) / 2);
}

void list_keep(struct list *list, size_t from, size_t to)
{
    if (to > list->count) to = list->count;
    if (from >= to) from = to = list->count;
    list_pop(list, LIST_TAIL, list->count - to);
    list_pop(list, LIST_HEAD, from);
}

/* Removes up to `limit` matches from the head of a node, in one pass. */
static uint32_t remove_forward(struct list_node *node, uint64_t limit, struct bytes element)
{
    uint32_t gone = 0, to = node->begin, from = node->begin;
    while (from < node->end && gone < limit) {
        uint32_t size = list_size_at(node, from);
        if (bytes_equal(list_unpack(node, from), element)) {
            gone++;
        } else {
            if (to != from) memmove(node->data + to, node->data + from, size);
            to += size;
        }
        from += size;
    }
    if (gone == 0) return 0;
    memmove(node->data + to, node->data + from, node->end - from);
    node->end = to + (node->end - from);
    node->count -= gone;
    return gone;
}

static uint32_t remove_backward(struct list_node *node, uint64_t limit, struct bytes element)
{
    uint32_t gone = 0, to = node->end, from = node->end;
    while (from > node->begin && gone < limit) {
        uint32_t size = list_size_before(node, from);
        from -= size;
        if (bytes_equal(list_unpack(node, from), element)) {
            gone++;
        } else {
            to -= size;
            if (to != from) memmove(node->data + to, node->data + from, size);
        }
    }
    if (gone == 0) return 0;
    uint32_t rest = from - node->begin;
    memmove(node->data + to - rest, node->data + node->begin, rest);
    node->begin = to - rest;
    node->count -= gone;
    return gone;
}

static void merge_next(struct list *list, struct list_node *node)
{
    if (node == NULL || node->next == NULL) return;
    uint32_t size = list_node_used(node->next);
    if (!node_fits(node, size)) return;
    if (room_at(node, LIST_TAIL) < size)
        node = list_node_arrange(list, node, list_node_used(node) + size, 0);
    memcpy(node->data + node->end, node->next->data + node->next->begin, size);
    node->end += size;
    node->count += node->next->count;
    list_node_unlink(list, node->next);
}

size_t list_remove(struct list *list, int64_t count, struct bytes element)
{
    bool backward = count < 0;
    uint64_t limit = backward ? -(uint64_t)count : (uint64_t)count;
    if (limit == 0) limit = UINT64_MAX;
    size_t removed = 0;
    struct list_node *node = backward ? list->tail : list->head;
    while (node != NULL && removed < limit) {
        struct list_node *following = backward ? node->prev : node->next;
        uint32_t gone = backward ? remove_backward(node, limit - removed, element)
                                 : remove_forward(node, limit - removed, element);
        removed += gone;
        if (gone > 0 && node->count == 0) {
            list_node_unlink(list, node);
        } else if (gone > 0) {
            node = list_node_trim(list, node);
            merge_next(list, backward ? node : node->prev);
        }
        node = following;
    }
    list->count -= removed;
    return removed;
}

/* Returns the node that contains the element at *index, and sets *index to the element's number in
 * this node. Searches from the nearer end. */
static const struct list_node *find_node(const struct list *list, size_t *index)
{
    const struct list_node *node;
    if (*index < list->count / 2) {
        for (node = list->head; *index >= node->count; node = node->next)
            *index -= node->count;
        return node;
    }
    size_t after = list->count - *index;
    for (node = list->tail; after > node->count; node = node->prev)
        after -= node->count;
    *index = node->count - after;
    return node;
}

static uint32_t find_offset(const struct list_node *node, size_t index)
{
    uint32_t offset;
    if (index < node->count / 2) {
        for (offset = node->begin; index > 0; index--)
            offset += list_size_at(node, offset);
        return offset;
    }
    offset = node->end;
    for (size_t after = node->count - index; after > 0; after--)
        offset -= list_size_before(node, offset);
    return offset;
}

void list_iter_at(struct list_iter *iter, const struct list *list, size_t index)
{
    *iter = (struct list_iter){ NULL, 0 };
    if (index >= list->count) return;
    const struct list_node *node = find_node(list, &index);
    iter->node = node;
    iter->offset = find_offset(node, index);
}

bool list_iter_next(struct list_iter *iter, struct bytes *element)
{
    const struct list_node *node = iter->node;
    if (node == NULL) return false;
    uint32_t offset = (uint32_t)iter->offset;
    *element = list_unpack(node, offset);
    iter->offset = offset + list_packed_size(element->len);
    if (iter->offset == node->end) {
        iter->node = node->next;
        iter->offset = node->next != NULL ? node->next->begin : 0;
    }
    return true;
}

bool list_iter_prev(struct list_iter *iter, struct bytes *element)
{
    const struct list_node *node = iter->node;
    if (node == NULL) return false;
    uint32_t offset = (uint32_t)iter->offset;
    *element = list_unpack(node, offset);
    if (offset == node->begin) {
        iter->node = node = node->prev;
        offset = node != NULL ? node->end : 0;
    }
    iter->offset = node != NULL ? offset - list_size_before(node, offset) : 0;
    return true;
}

struct bytes list_at(const struct list *list, size_t index)
{
    ensure(index < list->count, "index %zu of %zu", index, list->count);
    const struct list_node *node = find_node(list, &index);
    return list_unpack(node, find_offset(node, index));
}

/* Inserts at offset `at` from node->begin. The element must fit. */
static void node_insert(struct list *list, struct list_node *node, uint32_t at,
                        struct bytes element)
{
    uint32_t size = list_packed_size(element.len);
    if (room_at(node, LIST_TAIL) < size) {
        uint32_t needed = list_node_used(node) + size, cap = node->cap;
        while (cap < needed)
            cap = 2 * cap < LIST_CAP_MAX ? 2 * cap : LIST_CAP_MAX;
        node = list_node_arrange(list, node, cap, 0);
    }
    char *to = node->data + node->begin + at;
    memmove(to + size, to, list_node_used(node) - at);
    list_pack(to, size, element);
    node->end += size;
    node->count++;
}

/* Inserts a new node after `prev` (NULL: at the head). */
static struct list_node *node_after(struct list *list, struct list_node *prev, uint32_t cap)
{
    struct list_node *node = list_node_new(list, cap > LIST_CAP_MIN ? cap : LIST_CAP_MIN);
    node->prev = prev;
    node->next = prev != NULL ? prev->next : list->head;
    list_node_link(list, node);
    return node;
}

void list_insert(struct list *list, size_t index, struct bytes element)
{
    ensure(index <= list->count, "index %zu of %zu", index, list->count);
    if (index == list->count) {
        list_push(list, LIST_TAIL, element);
        return;
    }
    uint32_t size = list_packed_size(element.len);
    struct list_node *node = (struct list_node *)find_node(list, &index);
    list->count++;
    uint32_t at = find_offset(node, index) - node->begin;
    if (node_fits(node, size)) {
        node_insert(list, node, at, element);
        return;
    }
    if (at > 0) { /* move the elements from `index` on into a new node */
        uint32_t moved = list_node_used(node) - at;
        struct list_node *tail = node_after(list, node, moved);
        memcpy(tail->data, node->data + node->begin + at, moved);
        tail->end = moved;
        tail->count = node->count - (uint32_t)index;
        node->end -= moved;
        node->count = (uint32_t)index;
    } else {
        node = node->prev;
    }
    if (node == NULL || !node_fits(node, size)) node = node_after(list, node, size);
    node_insert(list, node, list_node_used(node), element);
}

void list_put(struct list *list, size_t index, struct bytes element)
{
    ensure(index < list->count, "index %zu of %zu", index, list->count);
    size_t number = index;
    struct list_node *node = (struct list_node *)find_node(list, &number);
    uint32_t offset = find_offset(node, number), old = list_size_at(node, offset);
    uint32_t size = list_packed_size(element.len);
    if (old == size) {
        list_pack(node->data + offset, size, element);
        return;
    }
    memmove(node->data + offset, node->data + offset + old, node->end - offset - old);
    node->end -= old;
    list->count--;
    if (--node->count == 0) list_node_unlink(list, node);
    list_insert(list, index, element);
}

struct list *list_new(void)
{
    struct list *list = mem_alloc(sizeof(*list));
    *list = (struct list){ .bytes = mem_size(list) };
    return list;
}

void list_free(struct list *list)
{
    size_t work = SIZE_MAX;
    list_free_some(list, &work);
}

bool list_free_some(struct list *list, size_t *work)
{
    while (list->head != NULL) {
        if (*work == 0) return false;
        size_t count = list->head->count;
        *work -= count < *work ? count : *work;
        list->count -= count;
        list_node_unlink(list, list->head);
    }
    mem_free(list);
    return true;
}

size_t list_count(const struct list *list)
{
    return list->count;
}

/* Relocate at most this many nodes, because each step walks to its node from the head. */
enum { NODES_MAX = 1024 };

struct list *list_relocate(struct list *list, struct relocation_cursor *cursor,
                           struct relocation *relocation)
{
    if (relocation_begins(cursor)) list = relocation_block(relocation, list);
    if (cursor->at > NODES_MAX) cursor->at = NODES_MAX;
    struct list_node *node = list->head;
    for (uint64_t i = 0; i < cursor->at && node != NULL; i++)
        node = node->next;
    while (node != NULL && cursor->at < NODES_MAX) {
        struct list_node *moved = relocation_copy(relocation, node);
        if (moved != NULL) {
            list_node_link(list, moved);
            mem_free(node);
            node = moved;
        }
        node = node->next;
        cursor->at++;
        if (relocation->left == 0) break;
    }
    if (node == NULL || cursor->at == NODES_MAX) *cursor = (struct relocation_cursor){ 0 };
    return list;
}

size_t list_bytes(const struct list *list)
{
    return list->bytes;
}

void list_check(const struct list *list)
{
    size_t count = 0, bytes = mem_size(list);
    const struct list_node *prev = NULL;
    for (const struct list_node *node = list->head; node != NULL; prev = node, node = node->next) {
        ensure(node->prev == prev, "prev %p, not %p", (void *)node->prev, (const void *)prev);
        ensure(node->count > 0, "empty node: count %u", node->count);
        ensure(node->begin < node->end && node->end <= node->cap, "[%u, %u) of %u", node->begin,
               node->end, node->cap);
        ensure(node->cap <= LIST_CAP_MAX || node->count == 1, "%u elements in a large block of %u",
               node->count, node->cap);
        uint32_t found = 0, offset = node->begin;
        for (; offset < node->end; found++) {
            offset += list_size_at(node, offset);
            ensure(offset <= node->end, "element ends at %u, after %u", offset, node->end);
            uint32_t back = list_size_before(node, offset);
            uint32_t size = list_size_at(node, offset - back);
            ensure(back == size, "sizes %u and %u differ before %u", back, size, offset);
        }
        ensure(found == node->count, "%u elements, count %u", found, node->count);
        count += node->count;
        bytes += mem_size(node);
    }
    ensure(list->tail == prev, "tail %p, not %p", (void *)list->tail, (const void *)prev);
    ensure(count == list->count, "%zu elements, count %zu", count, list->count);
    ensure(bytes == list->bytes, "%zu bytes, counted %zu", bytes, list->bytes);
}

bool list_find(const struct list *list, struct bytes element, size_t *index)
{
    struct list_iter iter;
    struct bytes found;
    list_iter_at(&iter, list, 0);
    for (*index = 0; list_iter_next(&iter, &found); ++*index)
        if (bytes_equal(found, element)) return true;
    return false;
}
