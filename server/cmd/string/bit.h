/* bit: shared by the commands that address bits of a string. Bit 0 is the most significant bit of
 * the first byte. */
#ifndef SERVER_CMD_STRING_BIT_H
#define SERVER_CMD_STRING_BIT_H

#include "server/cmd/call/call.h"

/* Parses the offset of a bit at argument i, below the maximum length of a string. If width > 0,
 * "#n" means n * width. Returns false after sending an error. */
bool arg_bit_offset(struct call *call, int i, unsigned width, uint64_t *offset);

#endif
