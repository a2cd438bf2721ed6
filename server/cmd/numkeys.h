/* numkeys: where the keys stand of a command that is told how many there are. */
#ifndef SERVER_CMD_NUMKEYS_H
#define SERVER_CMD_NUMKEYS_H

#include "store/base/bytes.h"

/* For find_keys: the positions of the keys that follow their count at argument i; how many there
 * are, or -1. As in Redis the count is read as atoi does, laxer than the command itself reads it.
 */
int numkeys_find(int argc, const struct bytes *argv, int i, int *positions);

#endif
