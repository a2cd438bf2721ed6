/* cmd: the list of the groups of data commands. */
#include "server/cmd/cmd.h"

void cmd_add_all(struct commands *commands, const int64_t *longest_string)
{
    static const struct command_group *const groups[] = {
        &key_commands,
        &key_expire_commands,
        &key_scan_commands,
        &object_commands,
        &key_copy_commands,
        &dump_commands,
        &sort_commands,
        &string_commands,
        &string_number_commands,
        &list_commands,
        &list_pop_commands,
        &list_move_commands,
        &zset_pop_commands,
        &set_commands,
        &set_algebra_commands,
        &set_random_commands,
        &hash_random_commands,
        &collection_scan_commands,
        &hash_commands,
        &zset_commands,
        &zset_range_commands,
        &dehydrator_commands,
        &dehydrator_due_commands,
        &dehydrator_look_commands,
        &string_range_commands,
        &lcs_commands,
        &bit_commands,
        &bitfield_commands,
        &hyperloglog_commands,
        &zset_algebra_commands,
        &zset_random_commands,
        &geo_commands,
        &geo_search_commands,
        &member_expire_commands,
        &hash_ex_commands,
        &set_ex_commands,
        &other_servers_commands,
        &policy_commands,
        &zset_time_commands,
    };
    for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++)
        commands_add(commands, groups[i], (void *)(uintptr_t)longest_string);
}
