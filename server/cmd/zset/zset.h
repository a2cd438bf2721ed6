/* Folder server/cmd/zset: the commands of sorted sets. The value is store/type/zset. Start with
 * zset.c.
 *
 *     zset           adds, removes and reads given members, draws random ones
 *     zset_range     ranges of ranks, scores or members; zset_span: a range of ranks
 *     zset_pop       pops members, or those whose score, a time, is due
 *     zset_algebra   unions, intersections and differences of sorted sets and sets
 *
 * May use: proto/resp server/cmd/call server/cmd server/cmd/member store/. */
#pragma once

#include "server/cmd/call/command.h"

extern const struct command_group zset_commands;
/* ZMPOP BZPOPMIN BZPOPMAX BZMPOP BZTSPOP BZTSMOVE. */
extern const struct command_group zset_pop_commands;
/* The commands of sorted sets that take a range; ZPOPMIN and ZPOPMAX. */
extern const struct command_group zset_range_commands;
/* ZUNION ZINTER ZDIFF, ...STORE, ZINTERCARD. */
extern const struct command_group zset_algebra_commands;
