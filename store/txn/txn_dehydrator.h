/* txn_dehydrator: the mutators of dehydrators; the rest of the contract is in txn.h. */
#ifndef STORE_TXN_TXN_DEHYDRATOR_H
#define STORE_TXN_TXN_DEHYDRATOR_H

#include "store/txn/txn.h"

/* False: the id exists. */
bool txn_rede_push(struct txn *txn, struct entry *entry, struct bytes id, struct bytes payload,
                   const struct stage *stage);
/* `event`: claimed, given back or rescheduled. `element` may be invalid afterwards. */
struct element *txn_rede_move(struct txn *txn, struct entry *entry, struct element *element,
                              const struct stage *stage, enum event event);
void txn_rede_update(struct txn *txn, struct entry *entry, struct element *element,
                     struct bytes payload);
void txn_rede_remove(struct txn *txn, struct entry *entry, struct element *element,
                     enum event event);

#endif
