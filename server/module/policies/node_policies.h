/* node_policies: the policies of this node, set by EXPIRED.POLICY or by the host's option
 * expired.policies. Depends on store/policy and the rows of POLICY; key_policies applies them.
 *
 * The option is a list of policies, separated by ';', each in the syntax of EXPIRED.POLICY SET. */
#pragma once

#include "server/module/api/redis_api.h"
#include "store/policy/policies.h"

/* Registers the command and the option, and reads the option. From then on calls `on_change`
 * whenever the policies have changed. Returns false if the host refused. */
bool node_policies_start(RedisModuleCtx *ctx, void (*on_change)(RedisModuleCtx *ctx));

const struct policies *node_policies(void);
