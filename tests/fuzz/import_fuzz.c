/* Fuzz target: an RDB file is imported into a store that passes its check, or is an error with a
 * reason. The first byte chooses whether types are skipped and where the file is cut off; the
 * others are changes to a file with every type, whose checksum is corrected. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "server/disk/import/import.h"
#include "store/store.h"
#include "tests/unit/proto/rdb/samples.h"

enum { MAX_INPUT = 4096, NOW = 1000000, HEAD = 9, SKIP = 1, CUT = 2, SUMMED = 4 };

static void ensure(bool holds, const char *what)
{
    if (holds) return;
    fprintf(stderr, "import_fuzz: %s\n", what);
    abort();
}

struct bytes_left {
    const unsigned char *at;
    size_t left;
};

static ssize_t read_left(void *ctx, void *to, size_t size)
{
    struct bytes_left *in = ctx;
    size_t len = size < in->left ? size : in->left;
    memcpy(to, in->at, len);
    in->at += len;
    in->left -= len;
    return (ssize_t)len;
}

/* As file_of_everything, but each key has a name of its own. */
static struct made *whole_file(void)
{
    struct made *to = file("0015");
    text(text(byte(to, 250), "repl-stream-db"), "1");
    text(byte(to, 245), "#!lua name=lib\n");
    add_templates(to);
    for (int i = 0; i < SAMPLES; i++) {
        const char name[] = { (char)('0' + i), '\0' };
        if (i == SAMPLES / 2) length(byte(to, 254), 1);
        samples[i].add(key(to, samples[i].type, name));
    }
    packed_values(key(to, 30, "packed"), 5);
    values_as_strings(length(key(to, 32, "strings"), 5));
    return byte(to, 255);
}

/* Three bytes are a change: how, where, what. */
static void change(struct made *made, const uint8_t *data, size_t size)
{
    for (; size >= 3 && made->len > HEAD; data += 3, size -= 3) {
        size_t at = HEAD + (data[1] | (size_t)(data[0] & 0x0f) << 8) % (made->len - HEAD);
        if (data[0] >= 0xc0) {
            memmove(made->at + at, made->at + at + 1, --made->len - at);
        } else if (data[0] >= 0x80) {
            memmove(made->at + at + 1, made->at + at, made->len++ - at);
            made->at[at] = data[2];
        } else {
            made->at[at] = data[2];
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 3 || size > MAX_INPUT) return 0;
    uint8_t choice = *data++;
    uint8_t where = *data++;
    size -= 2;
    struct made *made = whole_file();
    change(made, data, size);
    if (choice & SUMMED) {
        made->len--;
        file_end(made);
    }
    if (choice & CUT) made->len = made->len * where / 256;
    struct import import = { .store = store_new(2),
                             .now = NOW,
                             .skip = choice & SKIP ? "array other-_09" : NULL,
                             .skip_unsupported = (choice & SKIP) != 0 && where % 2 == 1,
                             .counts_all = where % 3 == 0 };
    /* A block of its own, so that a sanitizer detects a read past the end. */
    unsigned char *block = malloc(made->len + 1);
    memcpy(block, made->at, made->len);
    struct bytes_left in = { block, made->len };
    bool good = import_rdb(&import, read_left, &in);
    ensure(good == (import.why[0] == '\0'),
           "an error without a reason, or a reason without an error");
    ensure(!good || import.end <= made->len, "an end behind the file");
    store_check(import.store);
    store_free(import.store);
    free(block);
    free(made);
    return 0;
}
