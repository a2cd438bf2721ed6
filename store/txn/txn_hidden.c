/* txn_hidden: hides expired members from one call without removing them, for reads on a replica:
 * only its master may remove them, whose clock may differ.
 *
 * The members are moved to an object of the transaction and put back when the call ends, so that
 * commands never see them. A stream hides its expired entries itself. The key's agenda node stays
 * as it is, because the members that it is armed for come back. */
#include "store/txn/txn_internal.h"

#include "store/mem/mem.h"
#include "store/walk.h"

struct txn_hidden {
    struct txn_hidden *next;
    struct entry *entry;
    struct object members; /* of the entry's type; a stream only hides its entries */
};

/* The effect that would add the member as it is. */
static struct effect effect_of(const struct object *object, struct bytes member, msec at)
{
    struct effect effect = { .a = member, .at = at };
    if (object->type == TYPE_HASH) hash_get(object->hash, member, &effect.b);
    if (object->type == TYPE_ZSET) zset_score(object->zset, member, &effect.score);
    return effect;
}

static void move(struct txn_hidden *hidden, struct object *object, struct bytes member, msec at)
{
    struct effect effect = effect_of(object, member, at);
    walk_put(&hidden->members, &effect);
    object_member_remove(object, member);
}

void txn_hide_expired(struct txn *txn, struct entry *entry)
{
    struct object *object = &entry->object;
    size_t expired =
        object->type == TYPE_STREAM ? stream_count_expired(object->stream, txn->now) : 0;
    if (object->type == TYPE_STREAM && expired == 0) return; /* they are hidden already */
    struct txn_hidden *hidden = mem_alloc(sizeof(*hidden));
    *hidden = (struct txn_hidden){ .next = txn->hidden, .entry = entry };
    txn->hidden = hidden;
    if (object->type == TYPE_STREAM) {
        stream_hide(object->stream, expired);
        return;
    }
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
        if (hidden->entry->object.type == TYPE_STREAM) {
            stream_show(hidden->entry->object.stream);
        } else {
            walk_object(&hidden->members, put_back, &hidden->entry->object);
            object_free(&hidden->members);
        }
        mem_free(hidden);
    }
}
