/* acl_rules: see acl_rules.h. */
#include "server/engine/acl/acl_rules.h"

#include "store/base/ensure.h"
#include "store/mem/mem.h"

/* Tags of rules. */
enum {
    ALLOWS = 1,
    IS_CATEGORY = 2,
    COUNTS = 4, /* allows a first argument, and no later rule has ended that */
};

/* The rules about parts of a command. Rules with COUNTS come first, so that ending them does not
 * visit the others. */
struct acl_subrules {
    const struct command *command;
    LIST_HEAD(, acl_item) rules;
};

bool acl_rule_allows(const struct acl_item *rule)
{
    return rule->tag & ALLOWS;
}

static struct acl_subrules *find_subrules(const struct acl_rules *rules,
                                          const struct command *command)
{
    for (size_t i = 0; i < rules->subrule_count; i++)
        if (rules->subrules[i]->command == command) return rules->subrules[i];
    return NULL;
}

static void add_subrule(struct acl_rules *rules, const struct command *command,
                        struct acl_item *rule)
{
    struct acl_subrules *subrules = find_subrules(rules, command);
    if (subrules == NULL) {
        subrules = mem_alloc(sizeof(*subrules));
        subrules->command = command;
        LIST_INIT(&subrules->rules);
        rules->subrules =
            mem_realloc(rules->subrules, (rules->subrule_count + 1) * sizeof(subrules));
        rules->subrules[rules->subrule_count++] = subrules;
    }
    LIST_INSERT_HEAD(&subrules->rules, rule, of_command);
    rule->subrules = subrules;
}

void acl_rules_drop(struct acl_rules *rules)
{
    acl_items_clear(&rules->items);
    for (size_t i = 0; i < rules->subrule_count; i++)
        mem_free(rules->subrules[i]);
    mem_free(rules->subrules);
    *rules = (struct acl_rules){ 0 };
}

/* Copies the rules. In a list of subrules, those with COUNTS come first, because they were added
 * last. The copy adds the rules in their original order, and so arrives at the same lists. */
struct acl_rules acl_rules_copy(const struct acl_rules *rules)
{
    struct acl_rules copy = { .from_all = rules->from_all };
    for (const struct acl_item *rule = rules->items.first; rule != NULL; rule = rule->next) {
        struct acl_item *added = acl_items_add(&copy.items, rule->tag, blob_view(rule->text));
        if (rule == rules->first_category) copy.first_category = added;
        if (rule->subrules != NULL) add_subrule(&copy, rule->subrules->command, added);
    }
    return copy;
}

/* Does the rule, which follows no category, only repeat what already applies: to all commands, or
 * to the command of which it names a part? */
static bool is_needless(const struct acl_rules *rules, const struct acl_item *rule)
{
    struct bytes name = blob_view(rule->text);
    const char *bar = memchr(name.data, '|', name.len);
    bool is_allowed = rules->from_all;
    if (rule->tag & IS_CATEGORY) return false;
    if (bar != NULL) {
        struct bytes parent = bytes_of(name.data, (size_t)(bar - name.data));
        const struct acl_item *above = acl_items_find(&rules->items, parent);
        if (above != NULL) is_allowed = acl_rule_allows(above);
    }
    return acl_rule_allows(rule) == is_allowed;
}

static void remove_rule(struct acl_rules *rules, struct acl_item *rule)
{
    if (rule->subrules != NULL) LIST_REMOVE(rule, of_command);
    acl_items_remove(&rules->items, rule);
}

static size_t copy_lower(char *to, struct bytes text)
{
    for (size_t i = 0; i < text.len; i++) {
        char c = text.data[i];
        to[i] = c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
    }
    return text.len;
}

void acl_rules_add(struct acl_rules *rules, enum acl_rule_kind kind, const struct command *command,
                   struct bytes word)
{
    char text[ACL_RULE_MAX_LEN];
    ensure(word.len <= sizeof(text), "a rule of %zu bytes", word.len);
    struct bytes name = { text, copy_lower(text, bytes_of(word.data + 1, word.len - 1)) };
    unsigned tag = word.data[0] == '+' ? ALLOWS : 0;
    if (kind == ACL_RULE_CATEGORY) tag |= IS_CATEGORY;
    if (kind == ACL_RULE_FIRST_ARG) tag |= COUNTS;
    /* Remove the rules that this one covers. */
    struct acl_subrules *subrules = kind == ACL_RULE_COMMAND ? find_subrules(rules, command) : NULL;
    while (subrules != NULL && !LIST_EMPTY(&subrules->rules))
        remove_rule(rules, LIST_FIRST(&subrules->rules));
    struct acl_item *same = acl_items_find(&rules->items, name);
    if (same != NULL) {
        struct acl_item *next = same->next, *rule;
        bool was_first = same == rules->first_category;
        remove_rule(rules, same);
        /* Also remove the rules behind it that only this category made necessary. Amortized, each
         * rule is visited once: afterwards no category precedes it. */
        while (was_first && next != NULL && !(next->tag & IS_CATEGORY)) {
            rule = next;
            next = rule->next;
            if (is_needless(rules, rule)) remove_rule(rules, rule);
        }
        if (was_first) rules->first_category = next;
    }
    struct acl_item *rule = acl_items_add(&rules->items, tag, name);
    if (kind == ACL_RULE_SUBCOMMAND || kind == ACL_RULE_FIRST_ARG)
        add_subrule(rules, command, rule);
    if (rules->first_category != NULL) return;
    if (kind == ACL_RULE_CATEGORY)
        rules->first_category = rule;
    else if (is_needless(rules, rule))
        remove_rule(rules, rule);
}

bool acl_rules_allow_first_arg(const struct acl_rules *rules, const struct command *command,
                               struct bytes arg)
{
    char text[ACL_RULE_MAX_LEN];
    struct bytes name = bytes_of(command->name, strlen(command->name));
    if (name.len + 1 + arg.len > sizeof(text)) return false;
    size_t len = copy_lower(text, name);
    text[len++] = '|';
    len += copy_lower(text + len, arg);
    const struct acl_item *rule = acl_items_find(&rules->items, bytes_of(text, len));
    return rule != NULL && (rule->tag & COUNTS);
}

void acl_rules_end_first_args(struct acl_rules *rules, const struct command *command)
{
    const struct acl_subrules *subrules = find_subrules(rules, command);
    if (subrules == NULL) return;
    for (struct acl_item *rule = LIST_FIRST(&subrules->rules); rule != NULL && (rule->tag & COUNTS);
         rule = LIST_NEXT(rule, of_command))
        rule->tag &= ~(unsigned)COUNTS;
}
