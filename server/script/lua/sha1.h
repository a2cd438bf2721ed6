/* sha1: the name of a script, by OpenSSL's SHA-1. */
#ifndef SERVER_SCRIPT_LUA_SHA1_H
#define SERVER_SCRIPT_LUA_SHA1_H

#include "store/base/bytes.h"

enum { SHA1_HEX_LEN = 40 };

/* Writes 40 lower-case hexadecimal digits and a NUL. */
void sha1_hex(struct bytes text, char hex[SHA1_HEX_LEN + 1]);

#endif
