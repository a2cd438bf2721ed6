/* numkeys: finds the keys of commands that have a numkeys argument. */
#ifndef SERVER_CMD_NUMKEYS_H
#define SERVER_CMD_NUMKEYS_H

#include "store/base/bytes.h"

/* For find_keys of a command: argument i is the number of keys that follow it. Stores their
 * positions and returns their number, or -1 if argument i is invalid. See command_count_keys. */
int numkeys_find(int argc, const struct bytes *argv, int i, int *positions);

#endif
