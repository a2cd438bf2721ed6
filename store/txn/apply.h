/* apply: turns an effect into a change, through the mutators that recorded it, for replay and
 * replicas. */
#pragma once

#include "store/effect.h"
#include "store/txn/effect_row.h"
#include "store/txn/txn.h"

/* Applies one effect as a call of its own in txn (FROM_REPLAY or FROM_MASTER). Returns false if the
 * effect does not fit the data (wrong type, missing key): the record is then damaged. */
bool apply_effect(struct txn *txn, const struct effect *effect);

/* The appliers, for the table in effect_rows.c. */
effect_applier apply_nothing, apply_set, apply_soft, apply_append, apply_write, apply_drop,
    apply_expire, apply_persist, apply_rename, apply_copy, apply_move, apply_swap, apply_flush,
    apply_push, apply_pop, apply_keep, apply_list_put, apply_list_insert, apply_list_drop,
    apply_set_add, apply_set_drop, apply_hash_put, apply_hash_drop, apply_zset_put, apply_zset_drop,
    apply_zset_cut, apply_member_expire, apply_rede_push, apply_rede_put, apply_rede_move,
    apply_rede_drop, apply_rede_options, apply_rede_follow, apply_rede_cron, apply_rede_unfollow,
    apply_rede_remember, apply_rede_forget, apply_rede_pause, apply_rede_rate, apply_policy_set,
    apply_policy_drop, apply_library_set, apply_library_drop, apply_token, apply_lease_take,
    apply_lease_drop;
effect_applier apply_stream_add, apply_stream_block, apply_stream_drop, apply_stream_trim,
    apply_stream_marks, apply_stream_retain, apply_group_add, apply_group_set, apply_group_drop,
    apply_consumer_add, apply_consumer_drop, apply_pending_put, apply_pending_drop,
    apply_repeat_limits, apply_repeat_put, apply_repeat_counts;
