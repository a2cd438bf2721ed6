/* list_node: see list_node.h. */
#include "store/type/list_node.h"

#include "store/mem/mem.h"

struct list_node *list_node_new(struct list *list, uint32_t cap)
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

void list_node_link(struct list *list, struct list_node *node)
{
    *(node->prev != NULL ? &node->prev->next : &list->head) = node;
    *(node->next != NULL ? &node->next->prev : &list->tail) = node;
}

void list_node_unlink(struct list *list, struct list_node *node)
{
    *(node->prev != NULL ? &node->prev->next : &list->head) = node->next;
    *(node->next != NULL ? &node->next->prev : &list->tail) = node->prev;
    list_node_free(list, node);
}

struct list_node *list_node_arrange(struct list *list, struct list_node *node, uint32_t cap,
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

struct list_node *list_node_relocate(struct list *list, struct list_node *node,
                                     struct relocation *relocation)
{
    struct list_node *moved = relocation_copy(relocation, node);
    if (moved == NULL) return node;
    list_node_link(list, moved);
    mem_free(node);
    return moved;
}

uint32_t list_node_cap_for(uint32_t size)
{
    uint32_t block = LIST_BLOCK_MIN;
    while (block - sizeof(struct list_node) < size)
        block *= 2;
    return block - (uint32_t)sizeof(struct list_node);
}

struct list_node *list_node_trim(struct list *list, struct list_node *node)
{
    if (node->cap - list_node_used(node) <= node->cap / 4) return node;
    return list_node_arrange(list, node, list_node_used(node), 0);
}

void list_node_shrink(struct list *list, struct list_node *node)
{
    if (node->cap <= LIST_CAP_MIN || list_node_used(node) >= node->cap / 8) return;
    uint32_t cap = list_node_cap_for(2 * list_node_used(node));
    if (cap < node->cap) list_node_arrange(list, node, cap, (cap - list_node_used(node)) / 2);
}

void list_node_check(const struct list_node *node)
{
    ensure(node->count > 0, "empty node: count %u", node->count);
    ensure(node->begin < node->end && node->end <= node->cap, "[%u, %u) of %u", node->begin,
           node->end, node->cap);
    ensure(node->cap <= LIST_CAP_MAX || node->count == 1, "%u elements in a large block of %u",
           node->count, node->cap);
    uint32_t count = 0, offset = node->begin;
    while (offset < node->end) {
        offset += list_size_at(node, offset);
        ensure(offset <= node->end, "element ends at %u, after %u", offset, node->end);
        uint32_t back = list_size_before(node, offset), size = list_size_at(node, offset - back);
        ensure(back == size, "sizes %u and %u differ before %u", back, size, offset);
        count++;
    }
    ensure(count == node->count, "%u elements, count %u", count, node->count);
}
