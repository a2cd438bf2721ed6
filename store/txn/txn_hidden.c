/* txn_hidden: hides expired members from one call without removing them, for reads on a replica:
 * only its master, whose clock may differ, may remove them.
 *
 * The members are moved to an object of the transaction and put back when the call ends, so that
 * commands never see them. A stream hides its expired entries in place. The key's agenda node stays
 * as it is, because the members that it is armed for come back. */
#include "store/txn/txn_internal.h"

#include "store/mem/mem.h"
#include "store/walk.h"

struct txn_hidden {
    struct txn_hidden *next;
    struct entry *entry;
    struct object members; /* of the entry's type; unused if that hides what expired in place */
};

static void move(struct txn_hidden *hidden, struct object *object, struct bytes member, msec at)
{
    struct effect effect = walk_member(object, member, at);
    walk_put(&hidden->members, &effect);
    object_member_remove(object, member);
}

void txn_hide_expired(struct txn *txn, struct entry *entry)
{
    struct object *object = &entry->object;
    bool in_place = type_rows[object->type].hide != NULL;
    if (in_place && !type_rows[object->type].hide(object, txn->now)) return;
    struct txn_hidden *hidden = mem_alloc(sizeof(*hidden));
    *hidden = (struct txn_hidden){ .next = txn->hidden, .entry = entry };
    txn->hidden = hidden;
    if (in_place) return;
    hidden->members = object_new(object->type);
    struct bytes member;
    msec at;
    for (size_t i = 0; txn->named != NULL && i < txn->named_count; i++)
        if (object_member_deadline(object, txn->named[i], &at) && instant_expired(at, txn->now))
            move(hidden, object, txn->named[i], at);
    while (txn->named == NULL && object_member_first(object, &member, &at) &&
           instant_expired(at, txn->now))
        move(hidden, object, member, at);
}

static void put_back(void *ctx, struct effect *effect)
{
    walk_put(ctx, effect);
}

void txn_unhide(struct txn *txn)
{
    while (txn->hidden != NULL) {
        struct txn_hidden *hidden = txn->hidden;
        txn->hidden = hidden->next;
        struct object *object = &hidden->entry->object;
        if (type_rows[object->type].show != NULL) {
            type_rows[object->type].show(object);
        } else {
            walk_object(&hidden->members, put_back, object);
            object_free(&hidden->members);
        }
        mem_free(hidden);
    }
}
