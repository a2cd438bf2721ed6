/* txn_list: mutators of lists. */
#include "store/txn/txn_internal.h"

void txn_list_push(struct txn *txn, struct entry *entry, enum list_end end, struct bytes element)
{
    struct list *list = entry->object.list;
    list_push(list, end, element);
    struct effect effect = {
        .kind = end == LIST_HEAD ? EFFECT_PUSH_HEAD : EFFECT_PUSH_TAIL,
        .event = end == LIST_HEAD ? EVENT_LPUSH : EVENT_RPUSH,
        /* Read it back: the argument may have pointed into the list, which moved. */
        .a = list_at(list, end == LIST_HEAD ? 0 : list_count(list) - 1),
    };
    txn_record(txn, entry, &effect);
    txn_note(txn, entry, end == LIST_HEAD ? POLICY_PUSHED_HEAD : POLICY_PUSHED_TAIL);
}

void txn_list_pop(struct txn *txn, struct entry *entry, enum list_end end, size_t count)
{
    list_pop(entry->object.list, end, count);
    RECORD(txn, entry, end == LIST_HEAD ? EFFECT_POP_HEAD : EFFECT_POP_TAIL,
           end == LIST_HEAD ? EVENT_LPOP : EVENT_RPOP, .from = (int64_t)count);
    txn_note_emptied(txn, entry);
}

void txn_list_keep(struct txn *txn, struct entry *entry, size_t from, size_t to)
{
    list_keep(entry->object.list, from, to);
    RECORD(txn, entry, EFFECT_KEEP, EVENT_LTRIM, .from = (int64_t)from, .to = (int64_t)to);
    txn_note_emptied(txn, entry);
}

void txn_list_put(struct txn *txn, struct entry *entry, size_t index, struct bytes element)
{
    list_put(entry->object.list, index, element);
    RECORD(txn, entry, EFFECT_LIST_PUT, EVENT_LSET, .a = element, .from = (int64_t)index);
}

void txn_list_insert(struct txn *txn, struct entry *entry, size_t index, struct bytes element,
                     const struct list_pivot *pivot)
{
    list_insert(entry->object.list, index, element);
    RECORD(txn, entry, EFFECT_LIST_INSERT, EVENT_LINSERT, .a = element,
           .b = pivot != NULL ? pivot->element : bytes_of("", 0), .from = (int64_t)index,
           .to = pivot == NULL ? -1 : pivot->after);
    /* For MAXLEN this counts as a push at the nearer end, so that the new element is not the one
     * that MAXLEN removes. */
    size_t behind = list_count(entry->object.list) - 1 - index;
    txn_note(txn, entry, index < behind ? POLICY_PUSHED_HEAD : POLICY_PUSHED_TAIL);
}

size_t txn_list_remove(struct txn *txn, struct entry *entry, int64_t count, struct bytes element)
{
    size_t removed = list_remove(entry->object.list, count, element);
    if (removed == 0) return 0;
    RECORD(txn, entry, EFFECT_LIST_DROP, EVENT_LREM, .a = element, .from = count);
    txn_note_emptied(txn, entry);
    return removed;
}
