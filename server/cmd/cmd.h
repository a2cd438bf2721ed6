/* cmd: the groups of commands that read and write data. Declare a new group here and list it in
 * cmd.c.
 *
 * Folder server/cmd: the commands that read and write data. Each type has a folder. This one has
 * the files that several of them share: scan and collection_scan for SCAN and its family, sample
 * for random elements, numkeys, and blocking for commands that take elements from the first of
 * several keys that has any. Depends on server/cmd/call, proto/resp and store/ only, so that the
 * module (server/module) runs the same functions inside Redis. Start with
 * server/cmd/string/string_number.c, the shortest complete file of commands. */
#ifndef SERVER_CMD_CMD_H
#define SERVER_CMD_CMD_H

#include "server/cmd/call/command.h"

/* DEL UNLINK EXISTS TYPE TOUCH RENAME RENAMENX. */
extern const struct command_group key_commands;
/* EXPIRE TTL PERSIST and their families. */
extern const struct command_group key_expire_commands;
/* KEYS SCAN RANDOMKEY DBSIZE FLUSHDB FLUSHALL. */
extern const struct command_group key_scan_commands;
/* COPY MOVE SWAPDB. */
extern const struct command_group key_copy_commands;
/* DUMP RESTORE. */
extern const struct command_group dump_commands;
/* SORT SORT_RO. */
extern const struct command_group sort_commands;
/* OBJECT. */
extern const struct command_group object_commands;
/* POLICY. */
extern const struct command_group policy_commands;

/* SET GET MSET APPEND and others. Context: const int64_t *, the maximum length of a string
 * (proto-max-bulk-len); NULL: 512 MiB. */
extern const struct command_group string_commands;
/* MSETEX DELIFEQ DELEX DIGEST. */
extern const struct command_group string_if_commands;
/* INCR DECR INCRBY DECRBY INCRBYFLOAT. */
extern const struct command_group string_number_commands;
/* INCREX. */
extern const struct command_group string_increx_commands;
/* GETFRESH STALE SOFTTTL. */
extern const struct command_group fresh_commands;
/* CL.THROTTLE CL.THROTTLEMS. */
extern const struct command_group throttle_commands;

/* The context of the next five groups is that of string_commands. */
/* SETRANGE GETRANGE SUBSTR. */
extern const struct command_group string_range_commands;
/* LCS. */
extern const struct command_group lcs_commands;
/* SETBIT GETBIT BITCOUNT BITPOS BITOP. */
extern const struct command_group bit_commands;
/* BITFIELD BITFIELD_RO. */
extern const struct command_group bitfield_commands;
/* CL.WINDOW. */
extern const struct command_group window_commands;
/* PFADD PFCOUNT PFMERGE PFDEBUG PFSELFTEST. */
extern const struct command_group hyperloglog_commands;

extern const struct command_group list_commands;
/* LPOP RPOP LMPOP BLPOP BRPOP BLMPOP. */
extern const struct command_group list_pop_commands;
/* LMOVE RPOPLPUSH BLMOVE BRPOPLPUSH LMOVEM BLMOVEM. */
extern const struct command_group list_move_commands;
extern const struct command_group set_commands;
/* SINTER SUNION SDIFF and their forms; SMOVE. */
extern const struct command_group set_algebra_commands;
/* SPOP SRANDMEMBER. */
extern const struct command_group set_random_commands;
/* SADDEX. */
extern const struct command_group set_ex_commands;
extern const struct command_group hash_commands;
/* HRANDFIELD. */
extern const struct command_group hash_random_commands;
/* HSETEX HGETEX HGETDEL. */
extern const struct command_group hash_ex_commands;
/* HEXPIRE SEXPIRE ZEXPIRE and their families. */
extern const struct command_group member_expire_commands;
/* EXPIREMEMBER, FIELDEXPIRE and others. */
extern const struct command_group other_servers_commands;
/* SSCAN HSCAN ZSCAN. */
extern const struct command_group collection_scan_commands;
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
/* GEOADD GEOPOS GEODIST GEOHASH. */
extern const struct command_group geo_commands;
/* GEOSEARCH GEORADIUS and their forms. */
extern const struct command_group geo_search_commands;
/* XADD XTRIM XDEL XDELEX XSETID. */
extern const struct command_group stream_commands;
/* XLEN XRANGE XREVRANGE. */
extern const struct command_group stream_range_commands;
/* XREAD XREADGROUP. */
extern const struct command_group stream_read_commands;
/* XCFGSET XIDMPRECORD. */
extern const struct command_group stream_idmp_commands;
/* XGROUP. */
extern const struct command_group stream_group_commands;
/* XACK XACKDEL XNACK XPENDING. */
extern const struct command_group stream_pending_commands;
/* XCLAIM XAUTOCLAIM. */
extern const struct command_group stream_claim_commands;
/* XINFO. */
extern const struct command_group stream_info_commands;
/* REDE.PUSH and its forms; REDE.PULL LOOK UPDATE. */
extern const struct command_group dehydrator_commands;
/* REDE.POLL BPOLL XPOLL CLAIM XACK NACK RESCHEDULE. */
extern const struct command_group dehydrator_due_commands;
/* REDE.TTN LEN RANGE SCAN INFO. */
extern const struct command_group dehydrator_look_commands;
/* REDE.ACK EXTEND RETRY. */
extern const struct command_group dehydrator_token_commands;
/* REDE.PAUSE RESUME. */
extern const struct command_group dehydrator_pause_commands;
/* LEASE.TAKE EXTEND DROP CHECK INFO. */
extern const struct command_group lease_commands;

/* Adds all groups to the table. longest_string is the maximum length of a string
 * (proto-max-bulk-len), the context of the groups; it must outlive the table. */
void cmd_add_all(struct commands *commands, const int64_t *longest_string);

#endif
