/* Folder server/cmd/zset: sorted sets. zset adds and reads members; zset_range implements the
 * commands on a range (zset_span and zset_range_args parse it), zset_pop and zset_time those that
 * pop and block, zset_algebra unions and intersections. The value is store/type/zset. Start with
 * zset.c.
 *
 * May use: proto/resp server/cmd/call server/cmd server/cmd/member store/. */
#ifndef SERVER_CMD_ZSET_ZSET_H
#define SERVER_CMD_ZSET_ZSET_H

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

#endif
