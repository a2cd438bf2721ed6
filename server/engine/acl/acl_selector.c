/* acl_selector: see acl_selector.h. Key and channel patterns; commands are in acl_commands.c. */
#include "server/engine/acl/acl_selector.h"

#include <ctype.h>

const char *acl_fault_text(enum acl_fault fault)
{
    switch (fault) {
    case ACL_NO_FAULT: return "";
    case ACL_SYNTAX: return "Syntax error";
    case ACL_UNKNOWN: return "Unknown command or category name in ACL";
    case ACL_HAS_ALL_KEYS:
        return "Adding a pattern after the * pattern (or the 'allkeys' flag) is not valid and "
               "does not have any effect. Try 'resetkeys' to start with an empty list of patterns";
    case ACL_HAS_ALL_CHANNELS:
        return "Adding a pattern after the * pattern (or the 'allchannels' flag) is not valid and "
               "does not have any effect. Try 'resetchannels' to start with an empty list of "
               "channels";
    case ACL_FIRST_OF_SUBCOMMAND: return "Allowing first-arg of a subcommand is not supported";
    case ACL_NO_SUCH_PASSWORD:
        return "The password you are trying to remove from the user does not exist";
    case ACL_BAD_HASH:
        return "The password hash must be exactly 64 characters and contain only lowercase "
               "hexadecimal characters";
    case ACL_TWO_USERS:
        return "Duplicate user found. A user can only be defined once in config files";
    }
    return "";
}

bool acl_has_spaces(struct bytes text)
{
    for (size_t i = 0; i < text.len; i++)
        if (text.data[i] == '\0' || isspace((unsigned char)text.data[i])) return true;
    return false;
}

/* ---- life ----------------------------------------------------------------------------------- */

void acl_selector_init(struct acl_selector *selector, bool all_channels)
{
    *selector = (struct acl_selector){ .all_channels = all_channels };
}

void acl_selector_drop(struct acl_selector *selector)
{
    acl_items_clear(&selector->keys);
    acl_items_clear(&selector->channels);
    acl_rules_drop(&selector->rules);
}

struct acl_selector acl_selector_copy(const struct acl_selector *selector)
{
    struct acl_selector copy = *selector;
    copy.keys = acl_items_copy(&selector->keys);
    copy.channels = acl_items_copy(&selector->channels);
    copy.rules = acl_rules_copy(&selector->rules);
    return copy;
}

void acl_selector_reset(struct acl_selector *selector, bool all_channels)
{
    acl_selector_drop(selector);
    acl_selector_init(selector, all_channels);
}

/* ---- words ---------------------------------------------------------------------------------- */

static void set_all_keys(struct acl_selector *selector, bool all)
{
    selector->all_keys = all;
    acl_items_clear(&selector->keys);
}

static void set_all_channels(struct acl_selector *selector, bool all)
{
    selector->all_channels = all;
    acl_items_clear(&selector->channels);
}

enum acl_fault acl_selector_apply(struct acl_selector *selector, const struct commands *commands,
                                  struct bytes word)
{
    if (bytes_is_word(word, "allkeys") || bytes_is_word(word, "~*"))
        set_all_keys(selector, true);
    else if (bytes_is_word(word, "resetkeys"))
        set_all_keys(selector, false);
    else if (bytes_is_word(word, "allchannels") || bytes_is_word(word, "&*"))
        set_all_channels(selector, true);
    else if (bytes_is_word(word, "resetchannels"))
        set_all_channels(selector, false);
    else if (bytes_is_word(word, "allcommands"))
        acl_commands_set_all(selector, true);
    else if (bytes_is_word(word, "nocommands"))
        acl_commands_set_all(selector, false);
    else if (word.len > 0 && (word.data[0] == '~' || word.data[0] == '%')) {
        /* "~pattern", "%R~pattern", "%W~pattern" or "%RW~pattern". If a rule with this pattern
         * exists, add the permissions to it. As in Redis, a word that ends at ~ is accepted, and
         * matches only the empty key. */
        unsigned access = word.data[0] == '~' ? ACL_READ_WRITE : 0;
        size_t i = 1;
        if (selector->all_keys) return ACL_HAS_ALL_KEYS;
        for (; word.data[0] == '%' && i < word.len; i++) {
            unsigned right = toupper(word.data[i]) == 'R'   ? ACL_READ
                             : toupper(word.data[i]) == 'W' ? ACL_WRITE
                                                            : 0;
            if (word.data[i] == '~' && access != 0) break;
            if (right == 0 || (access & right)) return ACL_SYNTAX;
            access |= right;
        }
        if (access == 0) return ACL_SYNTAX;
        if (word.data[0] == '%' && i < word.len) i++;
        struct bytes pattern = bytes_without(word, i);
        if (acl_has_spaces(pattern)) return ACL_SYNTAX;
        struct acl_item *item = acl_items_find(&selector->keys, pattern);
        if (item != NULL)
            item->tag |= access;
        else
            acl_items_add(&selector->keys, access, pattern);
    } else if (word.len > 0 && word.data[0] == '&') {
        struct bytes pattern = bytes_without(word, 1);
        if (selector->all_channels) return ACL_HAS_ALL_CHANNELS;
        if (acl_has_spaces(pattern)) return ACL_SYNTAX;
        if (acl_items_find(&selector->channels, pattern) == NULL)
            acl_items_add(&selector->channels, 0, pattern);
    } else if (word.len > 0 && (word.data[0] == '+' || word.data[0] == '-'))
        return acl_commands_apply(selector, commands, word);
    else
        return ACL_SYNTAX;
    return ACL_NO_FAULT;
}

/* ---- describing ----------------------------------------------------------------------------- */

static void append_text(struct outbuf *to, const char *text)
{
    outbuf_append(to, text, strlen(text));
}

/* Appends a mark and a text as one word, after a space unless it is the first. */
static void append_word(struct outbuf *to, bool *begun, const char *mark, const struct blob *text)
{
    if (*begun) append_text(to, " ");
    *begun = true;
    append_text(to, mark);
    if (text != NULL) outbuf_append(to, text->data, text->len);
}

void acl_selector_describe_keys(const struct acl_selector *selector, struct outbuf *to)
{
    static const char *const marks[] = { "", "%R~", "%W~", "~" };
    bool begun = false;
    if (selector->all_keys) append_word(to, &begun, "~*", NULL);
    for (const struct acl_item *item = selector->keys.first; item != NULL; item = item->next) {
        /* DIFFERS: Redis shows "%RW~*" as "~*"; here it is shown as it is. After "~*", a file that
         * is read again may not name further patterns. (doc/differs.md) */
        bool is_all = item->tag == ACL_READ_WRITE && bytes_equal(blob_view(item->text), LIT("*"));
        append_word(to, &begun, is_all ? "%RW~" : marks[item->tag], item->text);
    }
}

void acl_selector_describe_channels(const struct acl_selector *selector, bool resets,
                                    struct outbuf *to)
{
    bool begun = false;
    if (selector->all_channels)
        append_word(to, &begun, "&*", NULL);
    else if (resets)
        append_word(to, &begun, "resetchannels", NULL);
    for (const struct acl_item *item = selector->channels.first; item != NULL; item = item->next)
        append_word(to, &begun, "&", item->text);
}

void acl_selector_describe_commands(const struct acl_selector *selector, struct outbuf *to)
{
    bool begun = false;
    append_word(to, &begun, selector->rules.from_all ? "+@all" : "-@all", NULL);
    for (const struct acl_item *rule = selector->rules.items.first; rule != NULL; rule = rule->next)
        append_word(to, &begun, acl_rule_allows(rule) ? "+" : "-", rule->text);
}

void acl_selector_describe(const struct acl_selector *selector, struct outbuf *to)
{
    acl_selector_describe_keys(selector, to);
    if (selector->all_keys || selector->keys.count > 0) append_text(to, " ");
    acl_selector_describe_channels(selector, true, to);
    append_text(to, " ");
    acl_selector_describe_commands(selector, to);
}
