/* Fuzz target: records with effects in brief form. An effect that is read can be printed and read
 * again, and its beginnings are partial. A journal of the records, whose checksums are correct, is
 * replayed into a store that passes its check, with the same result with a thread that reads ahead.
 * The first byte chooses whether there is such a thread, whose memory takes time, and whether the
 * others are a record, or changes to records that have every effect with a brief form. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "server/disk/effect/effect_brief.h"
#include "server/disk/format/crc32c.h"
#include "server/disk/format/record.h"
#include "server/disk/format/replay.h"
#include "store/store.h"
#include "tests/unit/server/disk/effect/effect_samples.h"

enum { MAX_INPUT = 4096, NOW = 1000000, DATABASES = 16, RAW = 1, AHEAD = 2, PER_RECORD = 3 };

/* Of all records: in the samples, keys repeat within a record. */
static char bodies[MAX_INPUT + SAMPLES * (BRIEF_TEXTS_MAX + BRIEF_HEAD)];
static size_t ends[SAMPLES + 1]; /* of the bodies */
static size_t count;

static void require(bool holds, const char *what)
{
    if (holds) return;
    fprintf(stderr, "brief_fuzz: %s\n", what);
    abort();
}

/* ---- effects --------------------------------------------------------------------------------- */

/* Reads from a block of its own, so that a sanitizer detects a read past the end. */
static enum request_status read_block(const char *data, size_t len, struct bytes last, size_t *size)
{
    char *block = malloc(len);
    struct effect effect = { 0 };
    size_t measured;
    memcpy(block, data, len);
    enum request_status status = effect_brief_read(block, len, &last, &effect, size);
    enum request_status seen = effect_brief_measure(block, len, &measured);
    bool is_agreed = status == seen && *size == measured;
    require(is_agreed || (status == REQUEST_MALFORMED && seen == REQUEST_WHOLE),
            "measuring and reading differ");
    free(block);
    return status;
}

static void check_effect(const char *data, size_t size, struct bytes before,
                         const struct effect *effect)
{
    static char printed[BRIEF_TEXTS_MAX + BRIEF_HEAD];
    struct effect again = { .db = effect->db };
    struct bytes last = before, other = before;
    size_t wanted, len = effect_brief_print(printed, effect, &last);
    require(len > 0, "an effect that has no brief form was read");
    require(effect_brief_read(printed, len, &other, &again, &wanted) == REQUEST_WHOLE &&
                wanted == len && same_effect(effect, &again),
            "a printed effect is read as another one");
    for (size_t cut = 1; cut < size; cut += 1 + size / 16)
        require(read_block(data, cut, before, &wanted) == REQUEST_PARTIAL && wanted > cut,
                "a beginning is not partial");
}

static void check_body(const char *data, size_t len)
{
    struct bytes last = { 0 };
    for (size_t at = 0, size; at < len && effect_brief_begins(data[at]); at += size) {
        struct bytes before = last;
        struct effect effect = { .db = 3 };
        enum request_status status = read_block(data + at, len - at, before, &size);
        if (status != REQUEST_WHOLE) return;
        require(effect_brief_read(data + at, len - at, &last, &effect, &size) == REQUEST_WHOLE,
                "an effect can be read once only");
        check_effect(data + at, size, before, &effect);
    }
}

/* ---- journals -------------------------------------------------------------------------------- */

static void put(int fd, uint32_t *sum, const char *data, size_t len)
{
    require(write(fd, data, len) == (ssize_t)len, "no memory for a file");
    *sum = crc32c(*sum, data, len);
}

static int journal(void)
{
    int fd = memfd_create("journal", 0);
    uint32_t sum = 0;
    char line[RECORD_SUM_LINE];
    require(fd >= 0, "no file");
    put(fd, &sum, RECORD_FIRST_LINE, strlen(RECORD_FIRST_LINE));
    for (size_t i = 0, from = 0; i < count; from = ends[i++]) {
        put(fd, &sum, bodies + from, ends[i] - from);
        record_print_sum(line, sum);
        put(fd, &sum, line, sizeof(line));
    }
    return fd;
}

static int start_thread(pthread_t *thread, void *(*run)(void *ctx), void *ctx)
{
    return pthread_create(thread, NULL, run, ctx);
}

static struct digest load(int fd, thread_starter *start, struct replay_file *file)
{
    static struct replay replay; /* too large for the stack */
    struct store *store = store_new(DATABASES);
    replay_init(&replay, store, NOW);
    replay.start_thread = start;
    replay.ahead_from = 0;
    replay_records(&replay, fd, NULL, file);
    replay_drop(&replay);
    store_check(store);
    struct digest digest = store_digest(store, INT64_MIN);
    store_free(store);
    return digest;
}

static void check_journal(bool twice)
{
    static struct replay_file alone, ahead;
    int fd = journal();
    struct digest a = load(fd, NULL, &alone), b = a;
    ahead = alone;
    if (twice) b = load(fd, start_thread, &ahead);
    close(fd);
    require(alone.end == ahead.end && alone.good == ahead.good && alone.bad == ahead.bad &&
                alone.sum == ahead.sum && alone.records == ahead.records &&
                strcmp(alone.reason, ahead.reason) == 0,
            "reading ahead ends differently");
    require(a.high == b.high && a.low == b.low, "reading ahead gives other data");
}

/* ---- input ----------------------------------------------------------------------------------- */

static void print_samples(void)
{
    struct bytes last = { 0 };
    size_t len = 0, printed = 0;
    count = 0;
    for (size_t i = 0; i < SAMPLES; i++) {
        const struct effect *effect = &samples[i].effect;
        if (effect->a.len + effect->b.len > MAX_INPUT / 2) continue;
        size_t size = effect_brief_print(bodies + len, effect, &last);
        if (size == 0) continue;
        len += size;
        if (++printed % PER_RECORD > 0) continue;
        ends[count++] = len;
        last = (struct bytes){ 0 };
    }
    if (count == 0 || ends[count - 1] < len) ends[count++] = len;
}

/* Three bytes are a change: how, where, what. */
static void change(const uint8_t *data, size_t size)
{
    for (; size >= 3; data += 3, size -= 3) {
        size_t len = ends[count - 1], at = (data[1] | (size_t)(data[0] & 0x0f) << 8) % len;
        bool removes = data[0] >= 0xc0 && len > 1, inserts = data[0] >= 0x80 && data[0] < 0xc0;
        if (removes) memmove(bodies + at, bodies + at + 1, len - at - 1);
        if (inserts) memmove(bodies + at + 1, bodies + at, len - at);
        if (!removes) bodies[at] = (char)data[2];
        for (size_t i = 0; i < count; i++)
            if (ends[i] > at) ends[i] = ends[i] + inserts - removes;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2 || size > MAX_INPUT) return 0;
    if (data[0] & RAW) {
        memcpy(bodies, data + 1, size - 1);
        ends[0] = size - 1;
        count = 1;
    } else {
        print_samples();
        change(data + 1, size - 1);
    }
    for (size_t i = 0, from = 0; i < count; from = ends[i++])
        check_body(bodies + from, ends[i] - from);
    check_journal(data[0] & AHEAD);
    return 0;
}
