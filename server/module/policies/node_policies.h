/* node_policies: keeps the policies of this node. EXPIRED.POLICY and the host's option
 * expired.policies set them. key_policies applies them to the host's keys; inside values of our own
 * types, the module's commands apply them (guest_use_policies). Depends on store/policy and the
 * rows of POLICY.
 *
 * The option's value lists all policies, separated by ';', each written like the arguments of
 * EXPIRED.POLICY SET: "session:* TTL 30m; log:* MAXLEN 1000". */
#pragma once

#include "server/module/api/redis_api.h"
#include "store/policy/policies.h"

/* Registers the command and the option, and reads the option. From then on calls `on_change`
 * whenever the policies have changed. Returns false if the host refused. */
bool node_policies_start(RedisModuleCtx *ctx, void (*on_change)(RedisModuleCtx *ctx));

const struct policies *node_policies(void);
