/* acl_rules: a selector's rules about commands, in order: "+get", "-@write", "+select|0". They are
 * kept in addition to the bits, which would lose the intent: "+@read" also covers commands that a
 * later version adds to the category. ACL LIST and the ACL file show them. A rule that a later rule
 * makes useless is removed.
 *
 * A client may send any number of rules with first arguments, so each step takes amortized constant
 * time. */
#pragma once

#include "server/cmd/call/command.h"
#include "server/engine/acl/acl_items.h"

enum { ACL_RULE_MAX_LEN = 256 };

/* What a rule applies to. */
enum acl_rule_kind {
    ACL_RULE_CATEGORY,
    ACL_RULE_COMMAND,    /* a command with its subcommands */
    ACL_RULE_SUBCOMMAND, /* one subcommand of `command` */
    ACL_RULE_FIRST_ARG,  /* `command` with one first argument: "+select|0" */
};

/* The rules of one selector. All zero without rules: no command is allowed. */
struct acl_rules {
    bool from_all; /* the rules begin with +@all, so commands of later versions are allowed */
    struct acl_items items; /* the rules, in lower case and without their signs */
    /* private */
    struct acl_item *first_category; /* the first rule about a category, or NULL */
    struct acl_subrules *
        *subrules; /* lists of the rules about parts of a command, one for each such command */
    size_t subrule_count;
};

void acl_rules_drop(struct acl_rules *rules);
struct acl_rules acl_rules_copy(const struct acl_rules *rules);

/* Adds a rule, such as "+get", and removes the rules that it makes useless; a rule that only
 * repeats what applies already is not kept. `command` is NULL for a category. `word` begins with +
 * or - and has at most ACL_RULE_MAX_LEN bytes. */
void acl_rules_add(struct acl_rules *rules, enum acl_rule_kind kind, const struct command *command,
                   struct bytes word);
/* Does a rule that still counts (acl_rules_end_first_args) allow the command with this first
 * argument? */
bool acl_rules_allow_first_arg(const struct acl_rules *rules, const struct command *command,
                               struct bytes arg);
/* Ends the effect of earlier rules about first arguments of the command, because a later rule
 * allows or forbids it whatever its first argument is: they stay in the list, but
 * acl_rules_allow_first_arg ignores them. */
void acl_rules_end_first_args(struct acl_rules *rules, const struct command *command);

bool acl_rule_allows(const struct acl_item *rule); /* "+", not "-" */
