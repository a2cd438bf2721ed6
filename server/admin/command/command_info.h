/* command_info: the reply of COMMAND INFO for a row, and helpers for other replies about rows. */
#pragma once

#include "server/cmd/call/call.h"

/* Replies with the row as COMMAND INFO does, including the rows of its subcommands. */
void command_info_reply(struct call *call, struct command_ref ref);
void command_info_reply_name(struct call *call, struct command_ref ref); /* "config|get" */
void command_info_reply_key_flags(struct call *call, unsigned flags);    /* KEY_* */

size_t command_info_subcommand_count(const struct command *row);
