/* acl_commands: applies the words of a selector that are about commands.
 *
 * Each word changes the bits of the commands that it names, so the last word about a command wins.
 * acl_rules remembers the words themselves. */
#include "server/engine/acl/acl_selector.h"

#include "server/cmd/call/category.h"
#include "store/base/ensure.h"

static void set_bit(struct acl_selector *selector, unsigned id, bool allow)
{
    uint64_t bit = UINT64_C(1) << id % 64;
    ensure(id < ACL_IDS_MAX, "command id %u", id);
    if (allow) {
        selector->allowed[id / 64] |= bit;
    } else {
        selector->allowed[id / 64] &= ~bit;
        selector->all_commands = false;
    }
}

/* Sets the bits of a command and its subcommands. */
static void set_bits(struct acl_selector *selector, struct command_ref ref, bool allow)
{
    struct command_ref sub;
    set_bit(selector, ref.stats->id, allow);
    acl_rules_end_first_args(&selector->rules, ref.row);
    for (size_t i = 0; ref.parent == NULL && (sub = commands_subcommand(ref, i)).row != NULL; i++)
        set_bit(selector, sub.stats->id, allow);
}

void acl_commands_set_all(struct acl_selector *selector, bool allow)
{
    memset(selector->allowed, allow ? 0xff : 0, sizeof(selector->allowed));
    selector->all_commands = allow;
    acl_rules_drop(&selector->rules);
    selector->rules.from_all = allow;
}

/* Finds "get" or "config|get". The row is NULL if there is no such command. */
static struct command_ref find_command(const struct commands *commands, struct bytes name)
{
    const char *bar = name.len > 0 ? memchr(name.data, '|', name.len) : NULL;
    if (bar == NULL) return commands_find_original(commands, name);
    size_t len = (size_t)(bar - name.data);
    struct bytes argv[2] = { bytes_of(name.data, len), bytes_of(bar + 1, name.len - len - 1) };
    struct command_ref ref = commands_match_original(commands, 2, argv);
    return ref.parent != NULL ? ref : (struct command_ref){ 0 };
}

enum acl_fault acl_commands_apply(struct acl_selector *selector, const struct commands *commands,
                                  struct bytes word)
{
    bool allow = word.data[0] == '+';
    if (word.len > ACL_RULE_MAX_LEN) return ACL_UNKNOWN;
    if (word.len >= 2 && word.data[1] == '@') {
        struct bytes name = bytes_of(word.data + 2, word.len - 2);
        if (bytes_is_word(name, "all")) {
            acl_commands_set_all(selector, allow);
            return ACL_NO_FAULT;
        }
        int category = category_find(name);
        if (category < 0) return ACL_UNKNOWN;
        for (size_t i = 0; i < commands_count(commands); i++) {
            struct command_ref ref = commands_at(commands, i), sub;
            if (category_has((unsigned)category, ref)) set_bits(selector, ref, allow);
            for (size_t j = 0; (sub = commands_subcommand(ref, j)).row != NULL; j++)
                if (category_has((unsigned)category, sub)) set_bit(selector, sub.stats->id, allow);
        }
        acl_rules_add(&selector->rules, ACL_RULE_CATEGORY, NULL, word);
        return ACL_NO_FAULT;
    }

    const char *bar = allow ? memrchr(word.data, '|', word.len) : NULL;
    if (bar != NULL) {
        /* "+x|y", where y is a subcommand of x or, if x has none, a first argument: "+select|0"
         * allows SELECT only with this first argument. Such a word has no effect if the command, or
         * this argument, is allowed already. */
        size_t len = (size_t)(bar - word.data);
        struct bytes part = bytes_of(bar + 1, word.len - len - 1);
        struct command_ref parent = find_command(commands, bytes_of(word.data + 1, len - 1));
        if (parent.row == NULL) return ACL_UNKNOWN;
        if (parent.parent != NULL) return ACL_FIRST_OF_SUBCOMMAND;
        if (part.len == 0) return ACL_SYNTAX;
        if (parent.row->subcommands == NULL) {
            if (acl_has_spaces(part)) return ACL_SYNTAX;
            if (!acl_selector_has_id(selector, parent.stats->id) &&
                !acl_rules_allow_first_arg(&selector->rules, parent.row, part))
                acl_rules_add(&selector->rules, ACL_RULE_FIRST_ARG, parent.row, word);
            return ACL_NO_FAULT;
        }
    }

    struct command_ref ref = find_command(commands, bytes_of(word.data + 1, word.len - 1));
    if (ref.row == NULL) return ACL_UNKNOWN;
    set_bits(selector, ref, allow);
    if (ref.parent != NULL)
        acl_rules_add(&selector->rules, ACL_RULE_SUBCOMMAND, ref.parent, word);
    else
        acl_rules_add(&selector->rules, ACL_RULE_COMMAND, ref.row, word);
    return ACL_NO_FAULT;
}
