/* txn_withheld: withholds expired members from one call without removing them, mainly for reads on
 * a replica: its master, whose clock may differ, removes them.
 *
 * The members are moved to an object of the transaction and put back when the call ends. A stream
 * withholds its expired entries in place. The key's agenda node is not touched, because the members
 * for which it is armed return. */
#include "store/txn/txn_internal.h"

#include "store/mem/mem.h"
#include "store/walk.h"

struct txn_withheld {
    struct txn_withheld *next;
    struct entry *entry;
    struct object members; /* those withheld; unused if the entry's type withholds in place */
};

static void move(struct txn_withheld *withheld, struct object *object, struct bytes member, msec at)
{
    struct effect effect = walk_member(object, member, at);
    walk_put(&withheld->members, &effect);
    object_member_remove(object, member);
}

void txn_withhold_expired(struct txn *txn, struct entry *entry)
{
    struct object *object = &entry->object;
    bool in_place = type_rows[object->type].withhold != NULL;
    if (in_place && !type_rows[object->type].withhold(object, txn->now)) return;
    struct txn_withheld *withheld = mem_alloc(sizeof(*withheld));
    *withheld = (struct txn_withheld){ .next = txn->withheld, .entry = entry };
    txn->withheld = withheld;
    if (in_place) return;
    withheld->members = object_new(object->type);
    struct bytes member;
    msec at;
    for (size_t i = 0; txn->named != NULL && i < txn->named_count; i++)
        if (object_member_deadline(object, txn->named[i], &at) && instant_expired(at, txn->now))
            move(withheld, object, txn->named[i], at);
    while (txn->named == NULL && object_member_first(object, &member, &at) &&
           instant_expired(at, txn->now))
        move(withheld, object, member, at);
}

static void put_back(void *ctx, struct effect *effect)
{
    walk_put(ctx, effect);
}

void txn_give_back(struct txn *txn)
{
    while (txn->withheld != NULL) {
        struct txn_withheld *withheld = txn->withheld;
        txn->withheld = withheld->next;
        struct object *object = &withheld->entry->object;
        if (type_rows[object->type].give_back != NULL) {
            type_rows[object->type].give_back(object);
        } else {
            walk_object(&withheld->members, put_back, object);
            object_free(&withheld->members);
        }
        mem_free(withheld);
    }
}
