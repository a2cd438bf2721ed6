/* Tests of sha: the examples of FIPS 180, and hashes while OpenSSL gets no memory. */
#include "server/base/sha.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include "tests/support/suite.h"

static const struct {
    const char *text, *sha1, *sha256;
} examples[] = {
    { "", "da39a3ee5e6b4b0d3255bfef95601890afd80709",
      "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" },
    { "abc", "a9993e364706816aba3e25717850c26c9cd0d89d",
      "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" },
    { "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
      "84983e441c3bd26ebaae4aa1f95129e5e54670f1",
      "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1" },
};

static void check_examples(void)
{
    for (size_t i = 0; i < sizeof(examples) / sizeof(examples[0]); i++) {
        struct bytes text = bytes_of(examples[i].text, strlen(examples[i].text));
        char sha1[SHA1_HEX_LEN + 1], sha256[SHA256_HEX_LEN + 1] = "";
        sha1_hex(text, sha1);
        sha256_hex(text, sha256);
        ck_assert_str_eq(sha1, examples[i].sha1);
        ck_assert_str_eq(sha256, examples[i].sha256);
    }
}

START_TEST(examples_have_their_hashes)
{
    check_examples();
}
END_TEST

static void *none(size_t size, const char *file, int line)
{
    (void)size;
    (void)file;
    (void)line;
    return NULL;
}

static void *no_more(void *old, size_t size, const char *file, int line)
{
    (void)old;
    return none(size, file, line);
}

static void ignore(void *block, const char *file, int line)
{
    (void)block;
    (void)file;
    (void)line;
}

START_TEST(hashes_need_no_memory)
{
    unsigned char hash[EVP_MAX_MD_SIZE];
    unsigned len;
    ck_assert_int_eq(CRYPTO_set_mem_functions(none, no_more, ignore), 1);
    ck_assert_int_eq(EVP_Digest("", 0, hash, &len, EVP_sha1(), NULL), 0); /* they are in use */
    check_examples();
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = { examples_have_their_hashes, hashes_need_no_memory, NULL };
    return suite_of("sha", tests);
}
