/* Fuzz target: a request stream gives the same requests at once, byte by byte or cut anywhere.
 * The first four bytes choose the limits and the cuts; the rest is the stream. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/resp/resp_read.h"

enum { CHOICES = 4, MAX_STREAM = 4096 };

/* A hash (FNV-1a) of all requests of a reader, and its last status and error. */
struct outcome {
    uint64_t hash;
    enum resp_status last;
    char error[128];
};

static void fold(struct outcome *outcome, const void *data, size_t len)
{
    const unsigned char *bytes = data;
    for (size_t i = 0; i < len; i++)
        outcome->hash = (outcome->hash ^ bytes[i]) * UINT64_C(1099511628211);
}

static void fold_request(struct outcome *outcome, const struct resp_reader *reader,
                         const char *input)
{
    fold(outcome, &reader->argc, sizeof(reader->argc));
    fold(outcome, &reader->consumed, sizeof(reader->consumed));
    for (int i = 0; i < reader->argc; i++) {
        fold(outcome, &reader->args[i].len, sizeof(reader->args[i].len));
        fold(outcome, resp_reader_arg(reader, input, i), reader->args[i].len);
    }
}

/* The next cut: 0 gives everything, 1 single bytes, else a sequence made from the seed. */
static size_t next_step(uint32_t *seed)
{
    if (*seed == 0) return SIZE_MAX;
    if (*seed == 1) return 1;
    *seed = *seed * 1664525u + 1013904223u;
    if (*seed <= 1) *seed = 2;
    return 1 + (*seed >> 24) % 32;
}

static struct outcome run(const char *stream, size_t len, const struct resp_limits *limits,
                          uint32_t seed)
{
    struct outcome outcome = { .hash = UINT64_C(14695981039346656037) };
    struct resp_reader reader;
    size_t start = 0, end = 0;
    resp_reader_init(&reader);
    do {
        size_t step = next_step(&seed);
        end = step < len - end ? end + step : len;
        do {
            /* A block of its own, so that a sanitizer detects a read past the end. */
            char *input = malloc(end - start + (start == end));
            memcpy(input, stream + start, end - start);
            outcome.last = resp_read(&reader, input, end - start, limits);
            if (outcome.last == RESP_REQUEST) {
                fold_request(&outcome, &reader, input);
                start += reader.consumed;
            }
            free(input);
        } while (outcome.last == RESP_REQUEST);
    } while (outcome.last == RESP_PARTIAL && end < len);
    if (outcome.last == RESP_MALFORMED) strcpy(outcome.error, reader.error);
    resp_reader_drop(&reader);
    return outcome;
}

static void compare(const struct outcome *a, const struct outcome *b)
{
    if (a->hash == b->hash && a->last == b->last && strcmp(a->error, b->error) == 0) return;
    fprintf(stderr, "outcomes differ: %d '%s' and %d '%s'\n", (int)a->last, a->error, (int)b->last,
            b->error);
    abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < CHOICES || size > MAX_STREAM) return 0;
    struct resp_limits limits = {
        .max_bulk = data[0] & 1 ? 512 * 1024 * 1024 : data[1],
        .max_args = data[0] & 2 ? INT32_MAX : data[1] % 16,
        .max_line = data[0] & 4 ? 64 * 1024 : data[2],
        .max_bulk_anon = data[2],
        .anonymous = (data[0] & 8) != 0,
    };
    const char *stream = (const char *)data + CHOICES;
    size_t len = size - CHOICES;
    struct outcome whole = run(stream, len, &limits, 0);
    struct outcome single = run(stream, len, &limits, 1);
    struct outcome cut = run(stream, len, &limits, 2 + data[3] + (uint32_t)len * 256);
    compare(&whole, &single);
    compare(&whole, &cut);
    return 0;
}
