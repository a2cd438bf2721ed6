/* parsed: see parsed.h. A command whose effects do not fit into the rest of a batch is left for the
 * next batch. If even an empty batch is too small for it, it becomes a piece of text. */
#include "server/disk/format/parsed.h"

#include "server/disk/effect/effect_brief.h"
#include "server/disk/effect/request.h"
#include "server/disk/format/crc32c.h"
#include "server/disk/format/record.h"
#include "store/base/siphash.h"

void parser_init(struct parser *parser)
{
    *parser = (struct parser){ .batch = NULL };
    effect_reader_init(&parser->reader);
}

static void put_text(struct parser *parser, struct bytes text)
{
    parser->batch->items[parser->batch->count++] = (struct parsed){
        .effect.db = parser->reader.db, .text = text, .at = parser->at, .is_text = true
    };
}

static bool put_effect(void *ctx, const struct effect *effect)
{
    struct parser *parser = ctx;
    struct parsed_batch *batch = parser->batch;
    parser->is_full = batch->count == PARSED_MAX;
    if (parser->is_full) return false;
    struct parsed *item = &batch->items[batch->count++];
    item->effect = *effect;
    item->text = parser->name;
    item->at = parser->at;
    item->is_text = false;
    /* Adjacent effects of one command share the bytes of their key. */
    const struct parsed *before = batch->count > 1 ? item - 1 : NULL;
    struct bytes key = item->effect.key;
    bool is_same = before != NULL && before->is_hashed[0] && before->effect.key.data == key.data &&
                   before->effect.key.len == key.len;
    item->is_hashed[0] = key.len > 0;
    item->hashes[0] = is_same ? before->hashes[0] : siphash_anew(key.data, key.len);
    item->is_hashed[1] = effect_names_member(effect) || effect->kind == EFFECT_REDE_PUSH;
    if (item->is_hashed[1]) item->hashes[1] = siphash_anew(effect->a.data, effect->a.len);
    return true;
}

static void begin_batch(struct parser *parser, struct parsed_batch *batch)
{
    parser->batch = batch;
    batch->count = batch->word_count = batch->record_count = 0;
    batch->commands = 0;
}

enum put { PUT, PUT_PARTIAL, PUT_FULL };

/* Puts the line or the command at `data` into the batch: *size bytes. */
static enum put put_next(struct parser *parser, const char *data, size_t len, size_t *size)
{
    struct parsed_batch *batch = parser->batch;
    if (batch->count == PARSED_MAX || batch->word_count == PARSED_WORDS) return PUT_FULL;
    if (data[0] == '#') {
        const char *end = memchr(data, '\n', len);
        if (end == NULL) return PUT_PARTIAL;
        *size = (size_t)(end + 1 - data);
        put_text(parser, bytes_of(data, *size));
        return PUT;
    }
    enum request_status status;
    if (parser->reads_brief && effect_brief_begins(data[0])) {
        struct effect effect = { .db = parser->reader.db };
        status = effect_brief_read(data, len, &parser->last_key, &effect, size);
        if (status == REQUEST_WHOLE) {
            parser->name = effect_form_of(&effect)->name;
            put_effect(parser, &effect);
            batch->commands++;
            return PUT;
        }
    } else {
        struct request request = { .argv = batch->words + batch->word_count,
                                   .cap = (int)(PARSED_WORDS - batch->word_count),
                                   .is_fixed = true };
        status = request_read(&request, data, len, size);
        if (status == REQUEST_WHOLE) {
            unsigned before = batch->count;
            parser->name = request.argv[0];
            parser->is_full = request.is_cut;
            if (!request.is_cut && effect_text_is_plain(&parser->reader, parser->name) &&
                effect_text_read(request.argc, request.argv, &parser->reader, put_effect, parser)) {
                bool keeps_words =
                    batch->count > before && batch->items[before].effect.texts != NULL;
                if (keeps_words) batch->word_count += (unsigned)request.argc;
                batch->commands++;
                return PUT;
            }
            batch->count = before;
            if (parser->is_full && (before > 0 || batch->word_count > 0)) return PUT_FULL;
        }
    }
    if (status == REQUEST_PARTIAL) return PUT_PARTIAL;
    if (status == REQUEST_MALFORMED) *size = len;
    put_text(parser, bytes_of(data, *size));
    return PUT;
}

size_t parser_fill(struct parser *parser, const char *data, size_t len, struct parsed_batch *batch,
                   bool *is_full)
{
    enum put put = PUT;
    begin_batch(parser, batch);
    for (parser->at = 0; parser->at < len;) {
        size_t size;
        put = put_next(parser, data + parser->at, len - parser->at, &size);
        if (put != PUT) break;
        parser->at += size;
    }
    *is_full = put == PUT_FULL;
    return parser->at;
}

/* Puts the commands of the record at `data` into the batch. Sets *len to the offset of the line
 * that ends the record, and *sum to the checksum in that line. */
static bool put_record(struct parser *parser, struct instant_marks *instants, const char *data,
                       size_t *len, uint32_t *sum, enum parsed_end *why)
{
    parser->last_key = (struct bytes){ 0 };
    for (parser->at = 0; parser->at < *len;) {
        const char *next = data + parser->at;
        size_t left = *len - parser->at, size = left;
        if (next[0] == '#') {
            const char *end = memchr(next, '\n', left);
            if (end != NULL) size = (size_t)(end + 1 - next);
            *why = size > RECORD_REMARK_MAX ? PARSED_STOP : PARSED_PARTIAL;
            if (end == NULL || size > RECORD_REMARK_MAX) return false;
            if (size == RECORD_SUM_LINE && record_parse_sum(next, sum)) {
                *len = parser->at;
                return true;
            }
            if (instant_marks_read(instants, next, size)) {
                parser->at += size;
                continue;
            }
        }
        enum put put = put_next(parser, next, left, &size);
        *why = put == PUT_FULL ? PARSED_FULL : PARSED_PARTIAL;
        if (put != PUT) return false;
        parser->at += size;
    }
    *why = PARSED_PARTIAL;
    return false;
}

size_t parser_fill_records(struct parser *parser, struct parsed_place *place, msec until,
                           const char *data, size_t len, struct parsed_batch *batch,
                           enum parsed_end *why)
{
    size_t done = 0;
    begin_batch(parser, batch);
    parser->reads_brief = place->is_brief;
    for (;;) {
        struct parsed_record *record = &batch->records[batch->record_count];
        struct parsed_place next = *place;
        unsigned count = batch->count;
        uint64_t commands = batch->commands;
        size_t size = len - done;
        uint32_t written;
        *why = PARSED_FULL;
        if (batch->record_count == PARSED_MAX) break;
        parser->reader.db = place->db;
        if (put_record(parser, &next.instants, data + done, &size, &written, why)) {
            next.sum = crc32c(place->sum, data + done, size);
            *why = PARSED_STOP;
            bool is_good =
                next.sum == written && !(next.instants.known && next.instants.last > until);
            if (is_good) {
                next.sum = crc32c(next.sum, data + done + size, RECORD_SUM_LINE);
                size += RECORD_SUM_LINE;
                done += size;
                next.good += size;
                next.db = parser->reader.db;
                *record = (struct parsed_record){ batch->count, batch->commands - commands, next };
                batch->record_count++;
                *place = next;
                continue;
            }
        }
        batch->count = count;
        break;
    }
    if (*why == PARSED_FULL && batch->record_count == 0) *why = PARSED_STOP;
    return done;
}
