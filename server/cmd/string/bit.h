/* bit: what the commands that address single bits of a string share. Bit 0 is the most significant
 * bit of the first byte. */
#pragma once

#include "server/cmd/call/call.h"

/* Parses argument i as the offset of a bit, which must be within the maximum length of a string. If
 * width > 0, "#n" is allowed and means n * width. Returns false after sending an error. */
bool arg_bit_offset(struct call *call, int i, unsigned width, uint64_t *offset);
