/* sha: see sha.h. Uses OpenSSL's old interface, because the newer one allocates memory for each
 * hash, and so fails when memory has run out. EVAL could then not name its script, nor AUTH check a
 * password. */
#define OPENSSL_SUPPRESS_DEPRECATED

#include "server/base/sha.h"

#include <openssl/sha.h>

static void write_digits(const unsigned char *hash, size_t len, char *hex)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < len; i++) {
        hex[2 * i] = digits[hash[i] >> 4];
        hex[2 * i + 1] = digits[hash[i] & 15];
    }
}

void sha1_hex(struct bytes text, char hex[SHA1_HEX_LEN + 1])
{
    SHA_CTX state;
    unsigned char hash[SHA_DIGEST_LENGTH];
    SHA1_Init(&state);
    SHA1_Update(&state, text.data, text.len);
    SHA1_Final(hash, &state);
    write_digits(hash, sizeof(hash), hex);
    hex[SHA1_HEX_LEN] = '\0';
}

void sha256_hex(struct bytes text, char hex[SHA256_HEX_LEN])
{
    SHA256_CTX state;
    unsigned char hash[SHA256_DIGEST_LENGTH];
    SHA256_Init(&state);
    SHA256_Update(&state, text.data, text.len);
    SHA256_Final(hash, &state);
    write_digits(hash, sizeof(hash), hex);
}
