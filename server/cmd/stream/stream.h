/* Folder server/cmd/stream: streams and their groups. stream_entries adds and removes entries,
 * stream_range and stream_read read them, stream_group, stream_pending and stream_claim manage
 * groups, stream_delivery delivers entries to consumers. The value is store/type/stream. Start with
 * stream_entries.c.
 *
 * May use: proto/resp server/cmd/call server/cmd store/. */
#ifndef SERVER_CMD_STREAM_STREAM_H
#define SERVER_CMD_STREAM_STREAM_H

#include "server/cmd/call/command.h"

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

#endif
