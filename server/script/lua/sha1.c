/* sha1: see sha1.h. */
#include "server/script/lua/sha1.h"

#include <openssl/evp.h>

#include "store/base/ensure.h"

void sha1_hex(struct bytes text, char hex[SHA1_HEX_LEN + 1])
{
    static const char digits[] = "0123456789abcdef";
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned int len;
    int done = EVP_Digest(text.data, text.len, digest, &len, EVP_sha1(), NULL);
    ensure(done == 1 && 2 * len == SHA1_HEX_LEN, "SHA-1 of %zu bytes failed", text.len);
    for (unsigned int i = 0; i < len; i++) {
        hex[2 * i] = digits[digest[i] >> 4];
        hex[2 * i + 1] = digits[digest[i] & 15];
    }
    hex[SHA1_HEX_LEN] = '\0';
}
