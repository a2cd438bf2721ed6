/* Folder server/cmd/stream: the commands of streams and their consumer groups. The value is
 * store/type/stream. Start with stream_entries.c.
 *
 *     stream_entries   adds, reads and removes entries; stream_trim: MAXLEN and MINID
 *     stream_read      reads entries as they arrive; read_budget limits the reply
 *     stream_group     makes groups and consumers
 *     stream_delivery  delivers entries to a consumer
 *     stream_pending   acknowledges or removes entries, and lists those that are pending
 *     stream_claim     gives pending entries to another consumer
 *     stream_info      describes streams and groups
 *     stream_args      arguments and replies that these files share
 *
 * May use: proto/resp server/cmd/call server/cmd store/. */
#pragma once

#include "server/cmd/call/command.h"

/* XADD XLEN XRANGE XREVRANGE XTRIM XDEL XSETID XCFGSET XIDMPRECORD. */
extern const struct command_group stream_commands;
/* XREAD XREADGROUP. */
extern const struct command_group stream_read_commands;
extern const struct command_group stream_group_commands;
/* XACK XACKDEL XDELEX XNACK XPENDING. */
extern const struct command_group stream_pending_commands;
/* XCLAIM XAUTOCLAIM. */
extern const struct command_group stream_claim_commands;
extern const struct command_group stream_info_commands;
