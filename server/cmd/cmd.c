/* cmd: the list of the groups of data commands. */
#include "server/cmd/cmd.h"
#include "server/cmd/dehydrator/dehydrator.h"
#include "server/cmd/geo/geo.h"
#include "server/cmd/hash/hash.h"
#include "server/cmd/key/key.h"
#include "server/cmd/lease/lease.h"
#include "server/cmd/list/list.h"
#include "server/cmd/member/member.h"
#include "server/cmd/set/set.h"
#include "server/cmd/stream/stream.h"
#include "server/cmd/string/string.h"
#include "server/cmd/zset/zset.h"

void cmd_add_all(struct commands *commands, const int64_t *longest_string)
{
    static const struct command_group *const groups[] = {
        &key_commands,
        &key_expire_commands,
        &key_scan_commands,
        &database_commands,
        &dump_commands,
        &sort_commands,
        &string_commands,
        &string_number_commands,
        &string_if_commands,
        &string_increx_commands,
        &fresh_commands,
        &throttle_commands,
        &list_commands,
        &list_move_commands,
        &zset_pop_commands,
        &set_commands,
        &set_algebra_commands,
        &set_scan_commands,
        &hash_scan_commands,
        &zset_scan_commands,
        &hash_commands,
        &zset_commands,
        &zset_range_commands,
        &dehydrator_commands,
        &dehydrator_due_commands,
        &dehydrator_claim_commands,
        &dehydrator_look_commands,
        &dehydrator_token_commands,
        &lease_commands,
        &window_commands,
        &lcs_commands,
        &bit_commands,
        &hyperloglog_commands,
        &zset_algebra_commands,
        &geo_commands,
        &geo_search_commands,
        &hash_expire_commands,
        &set_expire_commands,
        &zset_expire_commands,
        &other_servers_commands,
        &policy_commands,
        &stream_commands,
        &stream_read_commands,
        &stream_group_commands,
        &stream_pending_commands,
        &stream_claim_commands,
        &stream_info_commands,
    };
    for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++)
        commands_add(commands, groups[i], (void *)(uintptr_t)longest_string);
}
