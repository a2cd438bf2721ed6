/* numkeys: finds the keys of commands that are given their number. */
#ifndef SERVER_CMD_NUMKEYS_H
#define SERVER_CMD_NUMKEYS_H

#include "store/base/bytes.h"

/* For find_keys: stores the positions of the keys that follow their number at argument i; returns
 * how many there are, or -1. The number is read as by atoi, as in Redis, less strictly than the
 * command itself reads it. */
int numkeys_find(int argc, const struct bytes *argv, int i, int *positions);

#endif
