/* random_call: a call of mutators made up at random, of any type, on few keys in three databases.
 * Collections become large ones on the way. It is apart from the other generators (tests/README.md)
 * because tests of the store are linked without commands. */
#ifndef TESTS_SUPPORT_RANDOM_CALL_H
#define TESTS_SUPPORT_RANDOM_CALL_H

#include "store/txn/txn.h"
#include "tests/support/rng.h"

void random_call(struct txn *txn, struct rng *rng);

#endif
