/* Folder server/cmd/dehydrator: the commands of dehydrators, which return elements when they are
 * due (doc/dehydrators.md). The value is store/type/dehydrator. Start with dehydrator.c.
 *
 *     dehydrator         adds elements, reads and removes one by its id; stops deliveries
 *     dehydrator_due     delivers due elements: for good (POLL), or under a lease (CLAIM)
 *     dehydrator_claims  ends claims, moves deadlines
 *     dehydrator_look    counts and lists; shows schedules by the calendar
 *     dehydrator_args    arguments that several of them share
 *
 * A claimed element that is not acknowledged is due again when its lease ends, or later if a policy
 * has BACKOFF. With MAXDELIVERIES, an element that was claimed that often moves to the policy's key
 * instead of being claimed again.
 *
 * May use: proto/resp server/cmd/call server/cmd store/. */
#pragma once

#include "server/cmd/call/command.h"

/* REDE.PUSH and its forms; REDE.PULL LOOK UPDATE PAUSE RESUME. */
extern const struct command_group dehydrator_commands;
/* REDE.POLL BPOLL XPOLL CLAIM FAIRCLAIM. */
extern const struct command_group dehydrator_due_commands;
/* REDE.XACK NACK RESCHEDULE. */
extern const struct command_group dehydrator_claim_commands;
/* REDE.TTN LEN COUNT RANGE SCAN INFO FAIRINFO; CRON.NEXT. */
extern const struct command_group dehydrator_look_commands;
/* REDE.ACK EXTEND RETRY. */
extern const struct command_group dehydrator_token_commands;
