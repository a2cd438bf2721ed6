/* acl_commands: the rules of a selector that are about commands.
 *
 * Each rule changes the bits of the commands that it names; the last rule about a command decides.
 * The rules are kept in their order too, so that a list of users says what was meant, also about
 * commands that a later version adds to a category. */
#include "server/engine/acl/acl_selector.h"

#include "server/cmd/call/category.h"
#include "store/base/ensure.h"

enum { RULE_MAX_LEN = 256 };

/* ---- the list of rules ---------------------------------------------------------------------- */

static char to_lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* Is the rule `old`, without its sign, about the same as `name` or about a subcommand of it? */
static bool is_covered(struct bytes old, struct bytes name)
{
    bool begins = old.len >= name.len && memcmp(old.data, name.data, name.len) == 0;
    return begins && (old.len == name.len || old.data[name.len] == '|');
}

/* Without rules about categories, a rule is useless if it says again what holds already: for all
 * commands, or for its container. */
static bool is_needed(const struct acl_selector *selector, size_t rules_before, struct bytes rule)
{
    const char *bar = memchr(rule.data, '|', rule.len);
    struct bytes parent = bytes_of(rule.data + 1, bar == NULL ? 0 : (size_t)(bar - rule.data) - 1);
    bool is_allowed = selector->from_all;
    for (size_t i = 0; i < rules_before; i++) {
        struct bytes old = blob_view(selector->rules.at[i]->text);
        if (old.data[1] == '@') return true;
        if (bytes_equal(bytes_of(old.data + 1, old.len - 1), parent))
            is_allowed = old.data[0] == '+';
    }
    return rule.data[1] == '@' || (rule.data[0] == '+') != is_allowed;
}

/* Rules that were needed because of a category before them. */
static void drop_needless(struct acl_selector *selector)
{
    for (size_t i = 0; i < selector->rules.count;) {
        if (is_needed(selector, i, blob_view(selector->rules.at[i]->text)))
            i++;
        else
            acl_items_remove(&selector->rules, i);
    }
}

/* Adds the rule in place of those that it makes useless. */
static void keep_rule(struct acl_selector *selector, struct bytes word)
{
    char text[RULE_MAX_LEN] = "";
    ensure(word.len <= sizeof(text), "a rule of %zu bytes", word.len);
    for (size_t i = 0; i < word.len; i++)
        text[i] = to_lower(word.data[i]);
    struct bytes name = bytes_of(text + 1, word.len - 1);
    for (size_t i = selector->rules.count; i-- > 0;) {
        struct bytes old = blob_view(selector->rules.at[i]->text);
        if (is_covered(bytes_of(old.data + 1, old.len - 1), name))
            acl_items_remove(&selector->rules, i);
    }
    if (name.data[0] == '@') drop_needless(selector);
    if (is_needed(selector, selector->rules.count, bytes_of(text, word.len)))
        acl_items_add(&selector->rules, 0, bytes_of(text, word.len));
}

/* ---- bits ----------------------------------------------------------------------------------- */

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
    acl_items_remove_tag(&selector->first_args, id);
}

/* Of a command and its subcommands. */
static void set_bits(struct acl_selector *selector, struct command_ref ref, bool allow)
{
    set_bit(selector, ref.stats->id, allow);
    struct command_ref sub;
    for (size_t i = 0; ref.parent == NULL && (sub = commands_subcommand(ref, i)).row != NULL; i++)
        set_bit(selector, sub.stats->id, allow);
}

static void set_category(struct acl_selector *selector, const struct commands *commands,
                         unsigned category, bool allow)
{
    for (size_t i = 0; i < commands_count(commands); i++) {
        struct command_ref ref = commands_at(commands, i), sub;
        if (category_bits(ref.row) >> category & 1) set_bits(selector, ref, allow);
        for (size_t j = 0; (sub = commands_subcommand(ref, j)).row != NULL; j++)
            if (category_bits(sub.row) >> category & 1) set_bit(selector, sub.stats->id, allow);
    }
}

static void set_all(struct acl_selector *selector, bool allow)
{
    memset(selector->allowed, allow ? 0xff : 0, sizeof(selector->allowed));
    selector->all_commands = selector->from_all = allow;
    acl_items_clear(&selector->first_args);
    acl_items_clear(&selector->rules);
}

void acl_commands_allow_all(struct acl_selector *selector)
{
    set_all(selector, true);
}

void acl_commands_deny_all(struct acl_selector *selector)
{
    set_all(selector, false);
}

/* ---- words ---------------------------------------------------------------------------------- */

/* "get" or "config|get"; row NULL: there is no such command. */
static struct command_ref find_command(const struct commands *commands, struct bytes name)
{
    const char *bar = name.len > 0 ? memchr(name.data, '|', name.len) : NULL;
    if (bar == NULL) return commands_find_original(commands, name);
    size_t len = (size_t)(bar - name.data);
    struct bytes argv[2] = { bytes_of(name.data, len), bytes_of(bar + 1, name.len - len - 1) };
    struct command_ref ref = commands_match_original(commands, 2, argv);
    return ref.parent != NULL ? ref : (struct command_ref){ 0 };
}

/* "+select|0": only with this first argument. It means nothing for a command that is allowed. */
static enum acl_fault allow_first_arg(struct acl_selector *selector, struct command_ref ref,
                                      struct bytes word, struct bytes arg)
{
    if (acl_has_spaces(arg)) return ACL_SYNTAX;
    bool there = acl_selector_has_id(selector, ref.stats->id) ||
                 acl_items_find(&selector->first_args, ref.stats->id, arg) != NULL;
    if (there) return ACL_NO_FAULT;
    acl_items_add(&selector->first_args, ref.stats->id, arg);
    keep_rule(selector, word);
    return ACL_NO_FAULT;
}

/* "+x|y" where y is a subcommand of x, or, if x has none, a first argument. */
static enum acl_fault allow_part(struct acl_selector *selector, const struct commands *commands,
                                 struct bytes word)
{
    const char *bar = memrchr(word.data, '|', word.len);
    size_t len = (size_t)(bar - word.data);
    struct bytes part = bytes_of(bar + 1, word.len - len - 1);
    struct command_ref parent = find_command(commands, bytes_of(word.data + 1, len - 1));
    if (parent.row == NULL) return ACL_UNKNOWN;
    if (parent.parent != NULL) return ACL_FIRST_OF_SUBCOMMAND;
    if (part.len == 0) return ACL_SYNTAX;
    if (parent.row->subcommands == NULL) return allow_first_arg(selector, parent, word, part);
    struct command_ref ref = find_command(commands, bytes_of(word.data + 1, word.len - 1));
    if (ref.row == NULL) return ACL_UNKNOWN;
    set_bits(selector, ref, true);
    keep_rule(selector, word);
    return ACL_NO_FAULT;
}

static enum acl_fault apply_category(struct acl_selector *selector, const struct commands *commands,
                                     struct bytes word)
{
    struct bytes name = bytes_of(word.data + 2, word.len - 2);
    bool allow = word.data[0] == '+';
    if (bytes_is_word(name, "all")) {
        set_all(selector, allow);
        return ACL_NO_FAULT;
    }
    int category = category_find(name);
    if (category < 0) return ACL_UNKNOWN;
    set_category(selector, commands, (unsigned)category, allow);
    keep_rule(selector, word);
    return ACL_NO_FAULT;
}

enum acl_fault acl_commands_apply(struct acl_selector *selector, const struct commands *commands,
                                  struct bytes word)
{
    bool allow = word.data[0] == '+';
    if (word.len > RULE_MAX_LEN) return ACL_UNKNOWN;
    if (word.len >= 2 && word.data[1] == '@') return apply_category(selector, commands, word);
    if (allow && memchr(word.data, '|', word.len) != NULL)
        return allow_part(selector, commands, word);
    struct command_ref ref = find_command(commands, bytes_of(word.data + 1, word.len - 1));
    if (ref.row == NULL) return ACL_UNKNOWN;
    set_bits(selector, ref, allow);
    keep_rule(selector, word);
    return ACL_NO_FAULT;
}
