/* list: the chain of nodes and the packing of elements in them.
 * Knows bytes and positions; refuses to know keys or commands.
 *
 * An element is packed as its length, its bytes, and its length again, readable backwards. A node's
 * elements lie in data[begin, end), so both ends may have room. Invariants: no node is empty; every
 * block of more than BLOCK_MAX bytes holds one element.
 *
 * Room is made in amortised O(1): a block at most half full shares its free space out to both ends,
 * a fuller one doubles with all the new space at the end that asked, and one that can't double gets
 * a neighbour. */
#include "store/list.h"

#include "store/ensure.h"
#include "store/mem.h"

struct node {
    struct node *prev, *next;
    uint32_t count;
    uint32_t cap; /* of data */
    uint32_t begin, end;
    char data[];
};

struct list {
    struct node *head, *tail;
    size_t count;
    size_t bytes;
};

enum {
    BLOCK_MIN = 64,
    BLOCK_MAX = 8192,
    CAP_MIN = BLOCK_MIN - sizeof(struct node),
    CAP_MAX = BLOCK_MAX - sizeof(struct node),
};

/* ---- packing -------------------------------------------------------------------------------- */

static uint32_t length_size(uint32_t len)
{
    uint32_t size = 1;
    while (len >>= 7)
        size++;
    return size;
}

static uint32_t packed_size(size_t len)
{
    ensure(len <= INT32_MAX, "an element of %zu bytes", len);
    return (uint32_t)len + 2 * length_size((uint32_t)len);
}

/* Seven bits in a byte, low ones first; step is 1 to write forwards, -1 backwards. */
static void length_write(char *at, int step, uint32_t len)
{
    for (; len >= 0x80; len >>= 7, at += step)
        *at = (char)(0x80 | (len & 0x7f));
    *at = (char)len;
}

static uint32_t length_read(const char *at, int step)
{
    uint32_t len = 0;
    for (unsigned shift = 0;; shift += 7, at += step) {
        uint32_t byte = (unsigned char)*at;
        len |= (byte & 0x7f) << shift;
        if (byte < 0x80) return len;
    }
}

static void pack(char *at, uint32_t size, struct bytes element)
{
    uint32_t len = (uint32_t)element.len;
    length_write(at, 1, len);
    if (len > 0) memcpy(at + length_size(len), element.data, len);
    length_write(at + size - 1, -1, len);
}

/* The packed size of the element that begins at `offset`. */
static uint32_t size_at(const struct node *node, uint32_t offset)
{
    return packed_size(length_read(node->data + offset, 1));
}

/* ... of the one that ends before `offset`. */
static uint32_t size_before(const struct node *node, uint32_t offset)
{
    return packed_size(length_read(node->data + offset - 1, -1));
}

static struct bytes unpack(const struct node *node, uint32_t offset)
{
    uint32_t len = length_read(node->data + offset, 1);
    return bytes_of(node->data + offset + length_size(len), len);
}

/* ---- nodes ---------------------------------------------------------------------------------- */

static uint32_t used(const struct node *node)
{
    return node->end - node->begin;
}

static struct node *node_new(struct list *list, uint32_t cap)
{
    struct node *node = mem_alloc(sizeof(*node) + cap);
    *node = (struct node){ .cap = cap };
    list->bytes += mem_size(node);
    return node;
}

static void node_free(struct list *list, struct node *node)
{
    list->bytes -= mem_size(node);
    mem_free(node);
}

static void link_neighbours(struct list *list, struct node *node)
{
    *(node->prev != NULL ? &node->prev->next : &list->head) = node;
    *(node->next != NULL ? &node->next->prev : &list->tail) = node;
}

static void unlink_node(struct list *list, struct node *node)
{
    *(node->prev != NULL ? &node->prev->next : &list->head) = node->next;
    *(node->next != NULL ? &node->next->prev : &list->tail) = node->prev;
    node_free(list, node);
}

/* Gives the node a block with that cap and that much room in front. The old one is invalid. */
static struct node *arrange(struct list *list, struct node *node, uint32_t cap, uint32_t front)
{
    uint32_t size = used(node);
    ensure(front + size <= cap, "%u + %u in %u", front, size, cap);
    struct node *now = node;
    if (cap != node->cap) {
        now = node_new(list, cap);
        now->prev = node->prev;
        now->next = node->next;
        now->count = node->count;
        link_neighbours(list, now);
    }
    memmove(now->data + front, node->data + node->begin, size);
    now->begin = front;
    now->end = front + size;
    if (now != node) node_free(list, node);
    return now;
}

/* The cap of the smallest regular block for so many bytes. */
static uint32_t cap_for(uint32_t size)
{
    uint32_t block = BLOCK_MIN;
    while (block - sizeof(struct node) < size)
        block *= 2;
    return block - (uint32_t)sizeof(struct node);
}

/* No more pushes are expected here: gives back what would stay unused. */
static struct node *trim(struct list *list, struct node *node)
{
    if (node->cap - used(node) <= node->cap / 4) return node;
    return arrange(list, node, used(node), 0);
}

/* An end has so much been popped from that its block is a waste. */
static void shrink(struct list *list, struct node *node)
{
    if (node->cap <= CAP_MIN || used(node) >= node->cap / 8) return;
    uint32_t cap = cap_for(2 * used(node));
    if (cap < node->cap) arrange(list, node, cap, (cap - used(node)) / 2);
}

/* ---- push ----------------------------------------------------------------------------------- */

static uint32_t room(const struct node *node, enum list_end end)
{
    return end == LIST_HEAD ? node->begin : node->cap - node->end;
}

/* The node with room for `size` more bytes at that end, or NULL if it should have no more. */
static struct node *make_room(struct list *list, struct node *node, enum list_end end,
                              uint32_t size)
{
    if (room(node, end) >= size) return node;
    uint32_t have = used(node);
    if (size > CAP_MAX || have + size > CAP_MAX) return NULL;
    if (have <= node->cap / 2 && have + size <= node->cap) {
        uint32_t front = (node->cap - have - size) / 2;
        return arrange(list, node, node->cap, end == LIST_HEAD ? front + size : front);
    }
    if (node->cap >= CAP_MAX) return NULL;
    uint32_t cap = cap_for(have + size > node->cap ? have + size : node->cap + 1);
    return arrange(list, node, cap, end == LIST_HEAD ? cap - have : 0);
}

static struct node *add_end_node(struct list *list, enum list_end end, uint32_t size)
{
    struct node *beside = end == LIST_HEAD ? list->head : list->tail;
    if (beside != NULL) beside = trim(list, beside);
    uint32_t cap = beside == NULL ? cap_for(size) : CAP_MAX;
    if (size > CAP_MAX / 2) cap = size;
    struct node *node = node_new(list, cap);
    node->begin = node->end = end == LIST_HEAD ? cap : 0;
    node->prev = end == LIST_HEAD ? NULL : beside;
    node->next = end == LIST_HEAD ? beside : NULL;
    link_neighbours(list, node);
    return node;
}

/* `element` may lie in a node of this list: only the end node moves, and then it is copied first.
 */
static struct node *end_node(struct list *list, enum list_end end, uint32_t size,
                             struct bytes *element, struct blob **copy)
{
    struct node *node = end == LIST_HEAD ? list->head : list->tail;
    if (node != NULL && room(node, end) >= size) return node;
    if (node != NULL && element->data >= node->data && element->data < node->data + node->cap) {
        *copy = blob_new(*element);
        *element = blob_view(*copy);
    }
    if (node != NULL) node = make_room(list, node, end, size);
    return node != NULL ? node : add_end_node(list, end, size);
}

void list_push(struct list *list, enum list_end end, struct bytes element)
{
    struct blob *copy = NULL;
    uint32_t size = packed_size(element.len);
    struct node *node = end_node(list, end, size, &element, &copy);
    if (end == LIST_HEAD) {
        node->begin -= size;
        pack(node->data + node->begin, size, element);
    } else {
        pack(node->data + node->end, size, element);
        node->end += size;
    }
    node->count++;
    list->count++;
    blob_free(copy);
}

/* ---- pop and keep --------------------------------------------------------------------------- */

/* Fewer than the node has. */
static void node_pop(struct node *node, enum list_end end, uint32_t count)
{
    node->count -= count;
    for (; count > 0; count--) {
        if (end == LIST_HEAD)
            node->begin += size_at(node, node->begin);
        else
            node->end -= size_before(node, node->end);
    }
}

void list_pop(struct list *list, enum list_end end, size_t count)
{
    ensure(count <= list->count, "%zu of %zu", count, list->count);
    list->count -= count;
    while (count > 0) {
        struct node *node = end == LIST_HEAD ? list->head : list->tail;
        if (count < node->count) {
            node_pop(node, end, (uint32_t)count);
            break;
        }
        count -= node->count;
        unlink_node(list, node);
    }
    if (list->head != NULL && list->head == list->tail) shrink(list, list->head);
}

void list_keep(struct list *list, size_t from, size_t to)
{
    if (to > list->count) to = list->count;
    if (from >= to) from = to = list->count;
    list_pop(list, LIST_TAIL, list->count - to);
    list_pop(list, LIST_HEAD, from);
}

/* ---- remove --------------------------------------------------------------------------------- */

/* Takes up to `limit` matches out of a node, the first ones, with one pass over its bytes. */
static uint32_t strip_forward(struct node *node, uint64_t limit, struct bytes element)
{
    uint32_t gone = 0, to = node->begin, from = node->begin;
    while (from < node->end && gone < limit) {
        uint32_t size = size_at(node, from);
        if (bytes_equal(unpack(node, from), element)) {
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

/* ... the last ones. */
static uint32_t strip_backward(struct node *node, uint64_t limit, struct bytes element)
{
    uint32_t gone = 0, to = node->end, from = node->end;
    while (from > node->begin && gone < limit) {
        uint32_t size = size_before(node, from);
        from -= size;
        if (bytes_equal(unpack(node, from), element)) {
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

/* The node takes in the one after it, if both fit in one block. */
static void absorb_next(struct list *list, struct node *node)
{
    if (node == NULL || node->next == NULL) return;
    uint32_t size = used(node->next);
    if (size > CAP_MAX || used(node) > CAP_MAX || used(node) + size > CAP_MAX) return;
    if (room(node, LIST_TAIL) < size) node = arrange(list, node, used(node) + size, 0);
    memcpy(node->data + node->end, node->next->data + node->next->begin, size);
    node->end += size;
    node->count += node->next->count;
    unlink_node(list, node->next);
}

/* After a strip: no empty and no sparse nodes stay behind. The node is invalid. */
static void tidy(struct list *list, struct node *node, bool backward)
{
    if (node->count == 0) {
        unlink_node(list, node);
        return;
    }
    node = trim(list, node);
    absorb_next(list, backward ? node : node->prev);
}

size_t list_remove(struct list *list, int64_t count, struct bytes element)
{
    bool backward = count < 0;
    uint64_t limit = backward ? -(uint64_t)count : (uint64_t)count;
    if (limit == 0) limit = UINT64_MAX;
    size_t removed = 0;
    struct node *node = backward ? list->tail : list->head;
    while (node != NULL && removed < limit) {
        struct node *following = backward ? node->prev : node->next;
        uint32_t gone = backward ? strip_backward(node, limit - removed, element)
                                 : strip_forward(node, limit - removed, element);
        removed += gone;
        if (gone > 0) tidy(list, node, backward);
        node = following;
    }
    list->count -= removed;
    return removed;
}

/* ---- reading -------------------------------------------------------------------------------- */

/* The node of the element at *index, walked to from the nearer end; *index becomes its number in
 * the node. */
static const struct node *find_node(const struct list *list, size_t *index)
{
    const struct node *node;
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

static uint32_t find_offset(const struct node *node, size_t index)
{
    uint32_t offset;
    if (index < node->count / 2) {
        for (offset = node->begin; index > 0; index--)
            offset += size_at(node, offset);
        return offset;
    }
    offset = node->end;
    for (size_t after = node->count - index; after > 0; after--)
        offset -= size_before(node, offset);
    return offset;
}

void list_iter_at(struct list_iter *iter, const struct list *list, size_t index)
{
    *iter = (struct list_iter){ NULL, 0 };
    if (index >= list->count) return;
    const struct node *node = find_node(list, &index);
    iter->node = node;
    iter->offset = find_offset(node, index);
}

bool list_iter_next(struct list_iter *iter, struct bytes *element)
{
    const struct node *node = iter->node;
    if (node == NULL) return false;
    uint32_t offset = (uint32_t)iter->offset;
    *element = unpack(node, offset);
    iter->offset = offset + packed_size(element->len);
    if (iter->offset == node->end) {
        iter->node = node->next;
        iter->offset = node->next != NULL ? node->next->begin : 0;
    }
    return true;
}

bool list_iter_prev(struct list_iter *iter, struct bytes *element)
{
    const struct node *node = iter->node;
    if (node == NULL) return false;
    uint32_t offset = (uint32_t)iter->offset;
    *element = unpack(node, offset);
    if (offset == node->begin) {
        iter->node = node = node->prev;
        offset = node != NULL ? node->end : 0;
    }
    iter->offset = node != NULL ? offset - size_before(node, offset) : 0;
    return true;
}

struct bytes list_at(const struct list *list, size_t index)
{
    ensure(index < list->count, "%zu of %zu", index, list->count);
    const struct node *node = find_node(list, &index);
    return unpack(node, find_offset(node, index));
}

/* ---- whole lists ---------------------------------------------------------------------------- */

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
        unlink_node(list, list->head);
    }
    mem_free(list);
    return true;
}

size_t list_count(const struct list *list)
{
    return list->count;
}

/* ---- changing the middle -------------------------------------------------------------------- */

/* Room for `size` bytes at the end of the node, which fits them. */
static struct node *widen(struct list *list, struct node *node, uint32_t size)
{
    if (room(node, LIST_TAIL) >= size) return node;
    uint32_t needed = used(node) + size, cap = node->cap;
    while (cap < needed)
        cap = 2 * cap < CAP_MAX ? 2 * cap : CAP_MAX;
    return arrange(list, node, cap, 0);
}

static bool fits(const struct node *node, uint32_t size)
{
    return used(node) <= CAP_MAX && used(node) + size <= CAP_MAX;
}

/* `at` counts from the node's first byte in use. */
static void put_at(struct list *list, struct node *node, uint32_t at, struct bytes element)
{
    uint32_t size = packed_size(element.len);
    node = widen(list, node, size);
    char *to = node->data + node->begin + at;
    memmove(to + size, to, used(node) - at);
    pack(to, size, element);
    node->end += size;
    node->count++;
}

/* A new node behind `prev` (NULL: at the head). */
static struct node *node_after(struct list *list, struct node *prev, uint32_t cap)
{
    struct node *node = node_new(list, cap > CAP_MIN ? cap : CAP_MIN);
    node->prev = prev;
    node->next = prev != NULL ? prev->next : list->head;
    link_neighbours(list, node);
    return node;
}

/* The elements from number `index` on, which stand `at` bytes in, move into a node of their own. */
static void split(struct list *list, struct node *node, uint32_t at, size_t index)
{
    uint32_t size = used(node) - at;
    struct node *tail = node_after(list, node, size);
    memcpy(tail->data, node->data + node->begin + at, size);
    tail->end = size;
    tail->count = node->count - (uint32_t)index;
    node->end -= size;
    node->count = (uint32_t)index;
}

void list_insert(struct list *list, size_t index, struct bytes element)
{
    ensure(index <= list->count, "index %zu of %zu", index, list->count);
    if (index == list->count) {
        list_push(list, LIST_TAIL, element);
        return;
    }
    uint32_t size = packed_size(element.len);
    struct node *node = (struct node *)find_node(list, &index);
    list->count++;
    uint32_t at = find_offset(node, index) - node->begin;
    if (fits(node, size)) {
        put_at(list, node, at, element);
        return;
    }
    if (at > 0) {
        split(list, node, at, index);
    } else {
        node = node->prev;
    }
    if (node == NULL || !fits(node, size)) node = node_after(list, node, size);
    put_at(list, node, used(node), element);
}

void list_put(struct list *list, size_t index, struct bytes element)
{
    ensure(index < list->count, "index %zu of %zu", index, list->count);
    size_t number = index;
    struct node *node = (struct node *)find_node(list, &number);
    uint32_t offset = find_offset(node, number), old = size_at(node, offset);
    uint32_t size = packed_size(element.len);
    if (old == size) {
        pack(node->data + offset, size, element);
        return;
    }
    memmove(node->data + offset, node->data + offset + old, node->end - offset - old);
    node->end -= old;
    list->count--;
    if (--node->count == 0) unlink_node(list, node);
    list_insert(list, index, element);
}

const char *list_encoding(const struct list *list)
{
    (void)list;
    return "quicklist";
}

size_t list_bytes(const struct list *list)
{
    return list->bytes;
}

static void check_node(const struct node *node)
{
    ensure(node->count > 0, "count %u", node->count);
    ensure(node->begin < node->end && node->end <= node->cap, "[%u, %u) of %u", node->begin,
           node->end, node->cap);
    ensure(node->cap <= CAP_MAX || node->count == 1, "%u elements in %u", node->count, node->cap);
    uint32_t count = 0, offset = node->begin;
    while (offset < node->end) {
        offset += size_at(node, offset);
        ensure(offset <= node->end, "offset %u past %u", offset, node->end);
        uint32_t back = size_before(node, offset), size = size_at(node, offset - back);
        ensure(back == size, "sizes %u and %u before %u", back, size, offset);
        count++;
    }
    ensure(count == node->count, "%u elements, count %u", count, node->count);
}

void list_check(const struct list *list)
{
    size_t count = 0, bytes = mem_size(list);
    const struct node *prev = NULL;
    for (const struct node *node = list->head; node != NULL; prev = node, node = node->next) {
        ensure(node->prev == prev, "prev %p, not %p", (void *)node->prev, (const void *)prev);
        check_node(node);
        count += node->count;
        bytes += mem_size(node);
    }
    ensure(list->tail == prev, "tail %p, not %p", (void *)list->tail, (const void *)prev);
    ensure(count == list->count, "%zu elements, count %zu", count, list->count);
    ensure(bytes == list->bytes, "%zu bytes, total %zu", bytes, list->bytes);
}
