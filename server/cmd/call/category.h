/* category: the ACL categories of commands ("read", "sortedset" ...), derived from the flags, group
 * and `acl` of each row. Both COMMAND and the ACL use this list. */
#ifndef SERVER_CMD_CALL_CATEGORY_H
#define SERVER_CMD_CALL_CATEGORY_H

#include <stdint.h>

#include "server/cmd/call/command.h"

/* Categories have numbers from 0 to category_count() - 1, which is less than 32, in the order in
 * which COMMAND and ACL CAT list them. */
unsigned category_count(void);
const char *category_name(unsigned category); /* "read", without the @ */
int category_find(struct bytes name);         /* ignores case; -1: no such category */
bool category_has(unsigned category, struct command_ref ref);
uint32_t category_bits(struct command_ref ref); /* one bit per category */

#endif
