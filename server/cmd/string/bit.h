/* bit: what the commands that address bits share. Bit 0 is the highest of the first byte. */
#ifndef SERVER_CMD_STRING_BIT_H
#define SERVER_CMD_STRING_BIT_H

#include "server/call/call.h"

/* The offset of a bit at argument i, within what a string may be. width > 0: "#n" is n times that.
 * False: replied. */
bool arg_bit_offset(struct call *call, int i, unsigned width, uint64_t *offset);

#endif
