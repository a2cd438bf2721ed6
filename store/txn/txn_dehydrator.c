/* txn_dehydrator: mutators of dehydrators. */
#include "store/txn/txn_dehydrator.h"

#include "store/txn/txn_internal.h"
#include "store/txn/txn_token.h"

bool txn_rede_push(struct txn *txn, struct entry *entry, struct bytes id, struct bytes payload,
                   const struct stage *stage)
{
    struct dehydrator *dehydrator = entry->object.dehydrator;
    if (dehydrator_find(dehydrator, id) != NULL) return false;
    dehydrator_push(dehydrator, id, payload, stage);
    txn_token_raise(txn, stage->token);
    keyspace_rearm(txn->ks, entry);
    struct effect effect = {
        .kind = EFFECT_REDE_PUSH,
        .event = EVENT_REDE_PUSH,
        .a = id,
        .b = payload,
        .stage = *stage,
    };
    txn_record(txn, entry, &effect);
    return true;
}

void txn_rede_update(struct txn *txn, struct entry *entry, struct element *element,
                     struct bytes payload)
{
    struct effect effect = {
        .kind = EFFECT_REDE_PUT,
        .event = EVENT_REDE_UPDATE,
        .a = element_id(element),
        .b = payload,
    };
    /* Record first: the update may move the element and its id. */
    txn_record(txn, entry, &effect);
    dehydrator_update(entry->object.dehydrator, element, payload);
}

struct element *txn_rede_move(struct txn *txn, struct entry *entry, struct element *element,
                              const struct stage *stage, enum event event)
{
    struct effect effect = {
        .kind = EFFECT_REDE_MOVE,
        .event = event,
        .a = element_id(element),
        .stage = *stage,
    };
    txn_record(txn, entry, &effect);
    element = dehydrator_move(entry->object.dehydrator, element, stage);
    txn_token_raise(txn, stage->token);
    keyspace_rearm(txn->ks, entry);
    return element;
}

void txn_rede_remove(struct txn *txn, struct entry *entry, struct element *element,
                     enum event event)
{
    struct effect effect = {
        .kind = EFFECT_REDE_DROP,
        .event = event,
        .a = element_id(element),
    };
    /* Record first: the id is freed with the element. */
    txn_record(txn, entry, &effect);
    dehydrator_remove(entry->object.dehydrator, element);
    if (entry->object.has_expiry) keyspace_rearm(txn->ks, entry);
    txn_note_emptied(txn, entry);
}

void txn_rede_announce(struct txn *txn, struct entry *entry)
{
    struct effect effect = { .kind = EFFECT_NONE, .event = EVENT_REDE_DUE };
    txn_notify(txn, entry, &effect);
    dehydrator_announce(entry->object.dehydrator, txn->now);
    rewind_note(&txn->store->rewind, txn->now);
    keyspace_rearm(txn->ks, entry);
}
