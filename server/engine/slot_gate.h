/* slot_gate: with `cluster-enabled emulated-strict`, refuses calls whose keys belong to several
 * slots, as a node of Redis Cluster does; of an EXEC, those of its whole queue. */
#ifndef SERVER_ENGINE_SLOT_GATE_H
#define SERVER_ENGINE_SLOT_GATE_H

#include "server/engine/dispatch.h"

/* True: the error is replied, and a refused EXEC has ended its MULTI. */
bool slot_gate_refuses(struct dispatch *dispatch, struct call *call);

#endif
