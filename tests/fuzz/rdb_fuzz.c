/* Fuzz target: RDB files and payloads give a status, the same from memory and in pieces.
 * The first byte chooses what follows: a file, or a value (its checksum is corrected), or a list of
 * changes to one of the samples, so that the fuzzer need not discover the format. It also chooses
 * between the numbers of types of Redis and of Valkey. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/rdb/rdb_read.h"
#include "tests/unit/proto/rdb/samples.h"

enum { MAX_INPUT = 4096, MAX_STRING = 1 << 20, ROUGH = 64, VALKEY = 192 };

/* A hash (FNV-1a) of all calls of the visitor. */
struct outcome {
    uint64_t hash;
    bool in_key;
    struct rdb_stream_id last; /* of the entries of a stream */
    enum rdb_status status;
    struct rdb_error error;
};

static void ensure(bool holds, const char *what)
{
    if (holds) return;
    fprintf(stderr, "rdb_fuzz: %s\n", what);
    abort();
}

static bool fold(struct outcome *outcome, const void *data, size_t len)
{
    const unsigned char *bytes = data;
    for (size_t i = 0; i < len; i++)
        outcome->hash = (outcome->hash ^ bytes[i]) * UINT64_C(1099511628211);
    outcome->hash = (outcome->hash ^ len) * UINT64_C(1099511628211);
    return true;
}

static bool begin(void *ctx, const struct rdb_key *key)
{
    struct outcome *outcome = ctx;
    ensure(!outcome->in_key, "a key in a key");
    outcome->in_key = true;
    outcome->last = (struct rdb_stream_id){ 0, 0 };
    fold(outcome, &key->type, sizeof(key->type));
    return fold(outcome, key->name.data, key->name.len);
}

static bool function(void *ctx, struct bytes code)
{
    ensure(!((struct outcome *)ctx)->in_key, "a function in a key");
    return fold(ctx, code.data, code.len);
}

static bool part(void *ctx, struct bytes bytes)
{
    ensure(((struct outcome *)ctx)->in_key, "a part without a key");
    return fold(ctx, bytes.data, bytes.len);
}

static bool field(void *ctx, struct bytes name, struct bytes value, int64_t at)
{
    fold(ctx, &at, sizeof(at));
    return part(ctx, name) && part(ctx, value);
}

static bool scored(void *ctx, struct bytes member, double score)
{
    fold(ctx, &score, sizeof(score));
    return part(ctx, member);
}

static bool element(void *ctx, const struct rdb_element *element)
{
    fold(ctx, &element->at, sizeof(element->at));
    return part(ctx, element->id) && part(ctx, element->payload);
}

static bool entry(void *ctx, const struct rdb_stream_entry *entry)
{
    struct outcome *outcome = ctx;
    ensure(outcome->in_key, "an entry without a key");
    ensure(entry->count >= 2 && entry->count % 2 == 0, "an entry without fields");
    ensure(rdb_stream_id_compare(entry->id, outcome->last) > 0, "entries that are not in order");
    outcome->last = entry->id;
    for (size_t i = 0; i < entry->count; i++)
        part(ctx, entry->texts[i]);
    return fold(ctx, &entry->id, sizeof(entry->id));
}

static bool marks(void *ctx, const struct rdb_stream_marks *marks)
{
    struct outcome *outcome = ctx;
    ensure(rdb_stream_id_compare(marks->last, outcome->last) >= 0, "a last ID that is too low");
    return fold(ctx, marks, sizeof(*marks));
}

static bool group(void *ctx, const struct rdb_group *group)
{
    ensure(group->read >= RDB_READ_UNKNOWN, "a number of entries below 0");
    fold(ctx, &group->last, sizeof(group->last));
    return part(ctx, group->name);
}

static bool consumer(void *ctx, const struct rdb_consumer *consumer)
{
    fold(ctx, &consumer->seen_at, sizeof(consumer->seen_at));
    return part(ctx, consumer->name);
}

static bool released(void *ctx, const struct rdb_pending *pending)
{
    return part(ctx, (struct bytes){ "released", 8 }) && fold(ctx, pending, sizeof(*pending));
}

static bool limits(void *ctx, uint64_t seconds, uint64_t texts)
{
    return fold(ctx, &seconds, sizeof(seconds)) && fold(ctx, &texts, sizeof(texts));
}

static bool repeat(void *ctx, const struct rdb_repeat *sent)
{
    return part(ctx, sent->producer) && part(ctx, sent->text) &&
           fold(ctx, &sent->id, sizeof(sent->id));
}

static bool pending(void *ctx, const struct rdb_pending *pending)
{
    return fold(ctx, pending, sizeof(*pending));
}

static bool aux(void *ctx, struct bytes name, struct bytes value)
{
    return fold(ctx, name.data, name.len) && fold(ctx, value.data, value.len);
}

static bool unsupported(void *ctx, const struct rdb_unsupported *what)
{
    return fold(ctx, what->module, strlen(what->module)) &&
           fold(ctx, what->key.data, what->key.len);
}

static void leave(struct outcome *outcome)
{
    ensure(outcome->in_key, "an end without a key");
    outcome->in_key = false;
}

static bool end(void *ctx)
{
    leave(ctx);
    return true;
}

static void failed(void *ctx)
{
    leave(ctx);
}

static struct rdb_visitor visitor_of(struct outcome *outcome)
{
    *outcome = (struct outcome){ .hash = UINT64_C(14695981039346656037) };
    return (struct rdb_visitor){ .ctx = outcome,
                                 .max_string = MAX_STRING,
                                 .aux = aux,
                                 .function = function,
                                 .unsupported = unsupported,
                                 .key_begin = begin,
                                 .string = part,
                                 .list_element = part,
                                 .set_member = part,
                                 .hash_field = field,
                                 .zset_member = scored,
                                 .dehydrator_element = element,
                                 .stream_entry = entry,
                                 .stream_marks = marks,
                                 .stream_group = group,
                                 .stream_consumer = consumer,
                                 .stream_pending = pending,
                                 .stream_released = released,
                                 .stream_limits = limits,
                                 .stream_repeat = repeat,
                                 .stream_counts = limits,
                                 .key_end = end,
                                 .key_failed = failed };
}

struct pieces {
    const unsigned char *at;
    size_t left, step;
};

static ssize_t read_piece(void *ctx, void *to, size_t size)
{
    struct pieces *pieces = ctx;
    size_t len = size < pieces->step ? size : pieces->step;
    if (len > pieces->left) len = pieces->left;
    memcpy(to, pieces->at, len);
    pieces->at += len;
    pieces->left -= len;
    return (ssize_t)len;
}

static struct outcome read_file(const struct made *made, size_t step)
{
    struct outcome outcome;
    struct rdb_visitor visitor = visitor_of(&outcome);
    struct rdb_source source;
    struct pieces pieces = { made->at, made->len, step };
    /* A block of its own, so that a sanitizer detects a read past the end. */
    unsigned char *block = malloc(made->len + 1);
    memcpy(block, made->at, made->len);
    if (step == 0)
        rdb_source_of_memory(&source, block, made->len);
    else
        rdb_source_of_reader(&source, read_piece, &pieces);
    outcome.status = rdb_read(&source, &visitor, &outcome.error);
    ensure(!outcome.in_key, "a key left open");
    rdb_source_drop(&source);
    free(block);
    return outcome;
}

static void check_file(struct made *made, size_t step)
{
    struct outcome whole = read_file(made, 0), cut = read_file(made, step);
    ensure(whole.status == cut.status && whole.hash == cut.hash, "pieces make a difference");
    ensure(strcmp(whole.error.text, cut.error.text) == 0, "errors differ");
}

static void check_payload(struct made *made, int version)
{
    struct outcome outcome;
    struct rdb_visitor visitor = visitor_of(&outcome);
    payload_end(made, version);
    char *block = malloc(made->len);
    memcpy(block, made->at, made->len);
    outcome.status = rdb_read_payload((struct bytes){ block, made->len }, &visitor, &outcome.error);
    ensure(!outcome.in_key, "a key left open");
    ensure(outcome.status != RDB_STOPPED && outcome.status != RDB_UNREADABLE, "another status");
    visitor = visitor_of(&outcome);
    outcome.status =
        rdb_read_functions((struct bytes){ block, made->len }, &visitor, &outcome.error);
    ensure(!outcome.in_key, "a key among functions");
    ensure(outcome.status == RDB_OK || outcome.status == RDB_DAMAGED ||
               outcome.status == RDB_TOO_LARGE,
           "another status");
    free(block);
}

/* Three bytes are a change: how, where, what. */
static void change(struct made *made, size_t head, const uint8_t *data, size_t size)
{
    for (; size >= 3 && made->len > head; data += 3, size -= 3) {
        size_t at = head + (data[1] | (size_t)(data[0] & 0x0f) << 8) % (made->len - head);
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

static void check_samples(uint8_t choice, const uint8_t *data, size_t size)
{
    if (choice % ROUGH <= SAMPLES) {
        const struct sample *sample = &samples[choice % ROUGH % SAMPLES];
        struct made *made = choice % ROUGH == SAMPLES ? add_valkey_hash(payload(22), 1700000000999)
                                                      : sample->add(payload(sample->type));
        change(made, 1, data, size);
        check_payload(made, choice < VALKEY ? 15 : 80);
        free(made);
        return;
    }
    struct made *made = file_of_everything();
    made->len -= 9;
    change(made, 9, data, size);
    check_file(file_end(made), 1 + size % 50);
    free(made);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2 || size > MAX_INPUT) return 0;
    uint8_t choice = *data++;
    size--;
    if (choice >= ROUGH) {
        check_samples(choice, data, size);
        return 0;
    }
    bool valkey = choice % 2 == 1;
    struct made *made = made_new();
    if (choice < ROUGH / 2) raw(made, valkey ? "VALKEY080" : "REDIS0016", 9);
    raw(made, data, size);
    if (choice >= ROUGH / 2)
        check_payload(made, valkey ? 80 : 16);
    else
        check_file(file_end(made), 1 + choice);
    free(made);
    return 0;
}
