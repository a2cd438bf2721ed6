/* random_call: calls random mutators of any type, on few keys in three databases. Some collections
 * become large. It is separate from the other generators (tests/README.md) because tests of the
 * store are linked without commands. */
#pragma once

#include "store/txn/txn.h"
#include "tests/support/rng.h"

void random_call(struct txn *txn, struct rng *rng);
