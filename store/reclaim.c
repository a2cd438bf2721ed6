/* reclaim: see reclaim.h. */
#include "store/reclaim.h"

#include "store/mem/mem.h"

/* A value with fewer elements, and nothing else to free, is freed at once. Queueing it would cost
 * more. */
enum { SMALL = 64 };

struct reclaim_item {
    struct reclaim_item *next;
    bool is_keyspace;
    union {
        struct object object;
        struct keyspace ks;
    };
};

void reclaim_init(struct reclaim *reclaim)
{
    *reclaim = (struct reclaim){ .first = NULL };
}

void reclaim_drop(struct reclaim *reclaim)
{
    while (reclaim_run(reclaim, SIZE_MAX))
        continue;
}

static struct reclaim_item *enqueue(struct reclaim *reclaim)
{
    struct reclaim_item *item = mem_zalloc(sizeof(*item));
    if (reclaim->last != NULL)
        reclaim->last->next = item;
    else
        reclaim->first = item;
    reclaim->last = item;
    return item;
}

/* Queues the object, or frees it at once if it is small; returns false then. */
static bool queue_object(struct reclaim *reclaim, struct object object)
{
    if (object.type == TYPE_STRING ||
        (object_count(&object) < SMALL && object_notes(&object) == 0)) {
        object_free(&object);
        return false;
    }
    enqueue(reclaim)->object = object;
    reclaim->left++;
    return true;
}

static void count_freed(struct reclaim *reclaim)
{
    reclaim->left--;
    reclaim->freed++;
}

void reclaim_object(struct reclaim *reclaim, struct object object)
{
    queue_object(reclaim, object);
}

void reclaim_keyspace(struct reclaim *reclaim, struct keyspace ks)
{
    struct reclaim_item *item = enqueue(reclaim);
    item->is_keyspace = true;
    item->ks = ks;
    reclaim->left += dict_count(&ks.dict);
}

/* Frees some entries. Large values are queued, so that each entry is one unit of work. */
static bool free_keyspace_some(struct reclaim *reclaim, struct keyspace *ks, size_t *work)
{
    while (*work > 0) {
        struct entry *entry = dict_take(&ks->dict);
        if (entry == NULL) {
            for (unsigned kind = 0; kind < KEY_KINDS; kind++)
                if (!agenda_drop_some(&ks->agendas[kind], work)) return false;
            if (ks->refreshers != NULL && !hash_free_some(ks->refreshers, work)) return false;
            ks->refreshers = NULL;
            keyspace_drop(ks);
            return true;
        }
        if (queue_object(reclaim, entry->object))
            reclaim->left--; /* it was counted with its keyspace */
        else
            count_freed(reclaim);
        mem_free(entry);
        --*work;
    }
    return false;
}

bool reclaim_run(struct reclaim *reclaim, size_t work)
{
    while (work > 0 && reclaim->first != NULL) {
        struct reclaim_item *item = reclaim->first;
        bool done = item->is_keyspace ? free_keyspace_some(reclaim, &item->ks, &work)
                                      : object_free_some(&item->object, &work);
        if (!done) break;
        if (!item->is_keyspace) count_freed(reclaim);
        reclaim->first = item->next;
        if (reclaim->first == NULL) reclaim->last = NULL;
        mem_free(item);
    }
    return reclaim_pending(reclaim);
}
