/* parsed: see parsed.h. A command whose effects do not fit into the rest of a batch is left for the
 * next one; if an empty batch is too small for it, it stays text. */
#include "server/disk/format/parsed.h"

#include <string.h>

#include "server/disk/effect/request.h"
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

/* Adjacent effects of one command share the bytes of their key. */
static void hash_key(struct parsed *item, const struct parsed *before)
{
    struct bytes key = item->effect.key;
    bool is_same = before != NULL && before->is_hashed[0] && before->effect.key.data == key.data &&
                   before->effect.key.len == key.len;
    item->is_hashed[0] = key.len > 0;
    item->hashes[0] = is_same ? before->hashes[0] : siphash_anew(key.data, key.len);
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
    hash_key(item, batch->count > 1 ? item - 1 : NULL);
    item->is_hashed[1] = effect_names_member(effect) || effect->kind == EFFECT_REDE_PUSH;
    if (item->is_hashed[1]) item->hashes[1] = siphash_anew(effect->a.data, effect->a.len);
    return true;
}

/* False: the batch is full, and the command is left for the next one. */
static bool put_command(struct parser *parser, const struct request *request, struct bytes text)
{
    struct parsed_batch *batch = parser->batch;
    unsigned before = batch->count;
    parser->name = request->argv[0];
    parser->is_full = request->is_cut;
    bool good = !request->is_cut && effect_text_is_plain(&parser->reader, parser->name) &&
                effect_text_read(request->argc, request->argv, &parser->reader, put_effect, parser);
    if (good) {
        bool keeps_words = batch->count > before && batch->items[before].effect.texts != NULL;
        if (keeps_words) batch->word_count += (unsigned)request->argc;
        batch->commands++;
        return true;
    }
    batch->count = before;
    if (parser->is_full && (before > 0 || batch->word_count > 0)) return false;
    put_text(parser, text);
    return true;
}

size_t parser_fill(struct parser *parser, const char *data, size_t len, struct parsed_batch *batch,
                   bool *is_full)
{
    parser->batch = batch;
    batch->count = batch->word_count = 0;
    batch->commands = 0;
    *is_full = false;
    size_t at = 0, size;
    for (; at < len; at += size) {
        parser->at = at;
        *is_full = batch->count == PARSED_MAX || batch->word_count == PARSED_WORDS;
        if (*is_full) break;
        if (data[at] == '#') {
            const char *end = memchr(data + at, '\n', len - at);
            if (end == NULL) break;
            size = (size_t)(end + 1 - (data + at));
            put_text(parser, bytes_of(data + at, size));
            continue;
        }
        struct request request = { .argv = batch->words + batch->word_count,
                                   .cap = (int)(PARSED_WORDS - batch->word_count),
                                   .is_fixed = true };
        enum request_status status = request_read(&request, data + at, len - at, &size);
        if (status == REQUEST_PARTIAL) break;
        if (status == REQUEST_MALFORMED) size = len - at;
        if (status == REQUEST_MALFORMED) put_text(parser, bytes_of(data + at, size));
        if (status == REQUEST_WHOLE && !put_command(parser, &request, bytes_of(data + at, size))) {
            *is_full = true;
            break;
        }
    }
    return at;
}
