/* sha: SHA-1 and SHA-256 in hexadecimal digits, for the names of scripts, redis.sha1hex and
 * passwords. Allocates no memory, so it never fails. Depends on OpenSSL. */
#pragma once

#include "store/base/bytes.h"

enum { SHA1_HEX_LEN = 40, SHA256_HEX_LEN = 64 };

/* Write this many lower-case digits; sha1_hex adds a NUL. O(len) */
void sha1_hex(struct bytes text, char hex[SHA1_HEX_LEN + 1]);
void sha256_hex(struct bytes text, char hex[SHA256_HEX_LEN]);
