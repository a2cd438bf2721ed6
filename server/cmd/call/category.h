/* category: the ACL categories of a command ("read", "sortedset" ...), derived from the flags,
 * group, `acl`, `origin` and `since` of its row. COMMAND and the ACL share this list, so they can't
 * disagree. */
#pragma once

#include "server/cmd/call/command.h"

/* Categories are numbered from 0 to category_count() - 1, in the order in which COMMAND and ACL CAT
 * list them. There are fewer than 32, so a set of categories fits in a uint32_t. */
unsigned category_count(void);
const char *category_name(unsigned category); /* "read", without the @ */
int category_find(struct bytes name);         /* ignores case; -1: no such category */
bool category_has(unsigned category, struct command_ref ref);
uint32_t category_bits(struct command_ref ref); /* one bit per category */
