/* Folder server/cmd/zset: the commands of sorted sets. The value is store/type/zset. Start with
 * zset.c.
 *
 *     zset           adds, removes and reads given members
 *     zset_range     ranges of ranks, scores or members; zset_span: a range of ranks
 *     zset_pop       pops members; zset_time: those whose score, a time, is due
 *     zset_algebra   unions, intersections and differences of sorted sets and sets
 *     zset_random    ZRANDMEMBER
 *
 * May use: proto/resp server/cmd/call server/cmd server/cmd/member store/. */
#pragma once

#include "server/cmd/call/command.h"

extern const struct command_group zset_commands;
/* ZMPOP BZPOPMIN BZPOPMAX BZMPOP. */
extern const struct command_group zset_pop_commands;
/* BZTSPOP BZTSMOVE. */
extern const struct command_group zset_time_commands;
/* The commands of sorted sets that take a range; ZPOPMIN and ZPOPMAX. */
extern const struct command_group zset_range_commands;
/* ZUNION ZINTER ZDIFF, ...STORE, ZINTERCARD. */
extern const struct command_group zset_algebra_commands;
/* ZRANDMEMBER. */
extern const struct command_group zset_random_commands;
