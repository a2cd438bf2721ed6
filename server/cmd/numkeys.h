/* numkeys: finds the keys of commands that have a numkeys argument. */
#pragma once

#include "store/base/bytes.h"

/* Implements the `find_keys` of a row whose argument i is the number of the keys that follow it.
 * Stores the positions of these keys and returns their number, or -1 if argument i is invalid (see
 * command_count_keys). */
int numkeys_find(int argc, const struct bytes *argv, int i, int *positions);
