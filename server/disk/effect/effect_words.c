/* effect_words: see effect_words.h. To add a type of word, add a case to put_word and one to
 * take_word. */
#include "server/disk/effect/effect_words.h"

#include "server/disk/effect/effect_args.h"
#include "store/policy/policy_words.h"
#include "store/tokens.h"

static void set_number(struct effect *effect, const struct word *word, int64_t number)
{
    void *field = field_in(effect, word);
    if (word->size == sizeof(int64_t))
        *(int64_t *)field = number;
    else if (word->size == sizeof(uint32_t))
        *(uint32_t *)field = (uint32_t)number;
    else
        *(bool *)field = number != 0;
}

static struct bytes other_of(const struct word *word)
{
    return bytes_of(word->other, word->other_len);
}

/* ---- pieces ---------------------------------------------------------------------------------- */

void put_resp_header(struct pen *pen, char type, size_t value)
{
    if (pen->to != NULL) {
        pen->to = print_resp_header(pen->to, type, value);
        return;
    }
    char *start = outbuf_reserve(pen->out, HEADER_MAX);
    outbuf_commit(pen->out, (size_t)(print_resp_header(start, type, value) - start));
}

static void release_blob(void *blob)
{
    blob_free(blob);
}

void put_raw(struct pen *pen, const char *data, size_t len)
{
    if (len == 0) return;
    if (pen->to != NULL) {
        pen->to = bytes_copy(pen->to, bytes_of(data, len));
        return;
    }
    struct blob *blob = len >= BLOB_BIG ? blob_share(bytes_of(data, len)) : NULL;
    if (blob != NULL)
        outbuf_append_shared(pen->out, data, len, release_blob, blob);
    else
        outbuf_append(pen->out, data, len);
}

static void put_elsewhere(struct pen *pen, struct bytes text)
{
    if (pen->out != NULL) {
        put_resp_header(pen, '$', text.len);
        put_raw(pen, text.data, text.len);
        outbuf_append(pen->out, "\r\n", 2);
    } else if (pen->args != NULL) {
        pen->args->kept = pen->args->keep(pen->args->ctx, pen->args->argc++, text);
    } else {
        pen->words++;
        pen->bytes += text.len;
    }
}

static inline void put_text(struct pen *pen, struct bytes text)
{
    if (pen->to != NULL)
        pen->to = print_bulk(pen->to, text);
    else
        put_elsewhere(pen, text);
}

void put_argument(struct pen *pen, struct bytes text)
{
    put_text(pen, text);
}

void put_int64(struct pen *pen, int64_t number)
{
    char text[NUMBER_INT64_MAX_CHARS];
    if (pen->to != NULL)
        pen->to = print_int64(pen->to, number);
    else if (pen->out == NULL && pen->args == NULL)
        pen->words++;
    else if (pen->out == NULL && pen->args->number != NULL)
        pen->args->number(pen->args->ctx, pen->args->argc++, number);
    else
        put_elsewhere(pen, bytes_of(text, number_print_int64(text, number)));
}

/* ---- writing --------------------------------------------------------------------------------- */

/* Apart from put_word, because words take much of the stack. */
static void put_policy(struct pen *pen, const struct policy *policy)
{
    struct policy_words words;
    policy_words_write(&words, policy);
    for (size_t i = 0; i < words.count; i++)
        put_argument(pen, words.words[i]);
}

/* An empty range is written as 1 0. */
static bool range_is_empty(const struct effect *effect)
{
    return effect->from >= effect->to;
}

static inline void put_word(struct pen *pen, const struct word *word, const struct effect *effect,
                            struct effect *kept)
{
    char printed[SCORE_MAX_CHARS], id[2 * NUMBER_INT64_MAX_CHARS + 1];
    switch ((enum word_type)word->type) {
    case WORD_LITERAL: put_argument(pen, literal_of(word)); break;
    case WORD_TEXT:
        put_text(pen, text_of(effect, word));
        if (kept != NULL) *(struct bytes *)field_in(kept, word) = pen->args->kept;
        break;
    case WORD_NUMBER: put_int64(pen, number_of(effect, word)); break;
    case WORD_CHOICE:
        put_argument(pen, number_of(effect, word) == 0 ? literal_of(word) : other_of(word));
        break;
    case WORD_CLAIM:
        if (effect->stage.token != 0)
            put_int64(pen, effect->stage.token);
        else
            put_argument(pen, effect->stage.claimed ? LIT("CLAIMED") : LIT("WAITING"));
        break;
    case WORD_SCORE:
        put_argument(pen, bytes_of(printed, score_print(printed, effect->score)));
        break;
    case WORD_ID: {
        const struct stream_id *of = field_of(effect, word);
        size_t len = number_print_uint64(id, of->ms);
        id[len++] = '-';
        put_argument(pen, bytes_of(id, len + number_print_uint64(id + len, of->seq)));
        break;
    }
    case WORD_FIRST: put_int64(pen, range_is_empty(effect) ? 1 : effect->from); break;
    case WORD_LAST: put_int64(pen, range_is_empty(effect) ? 0 : effect->to - 1); break;
    case WORD_CODE: put_argument(pen, effect->a); break;
    case WORD_BLOCK: put_argument(pen, effect->b); break;
    case WORD_TEXTS:
        for (size_t i = 0; i < effect->text_count; i++)
            put_argument(pen, effect->texts[i]);
        break;
    case WORD_POLICY: put_policy(pen, effect->policy); break;
    case WORD_DEADLINE:
        if (effect->at == NEVER) break;
        put_argument(pen, LIT("PXAT"));
        put_int64(pen, effect->at);
        break;
    case WORD_IMPLIED: break;
    }
}

char *print_other_word(char *to, const struct word *word, const struct effect *effect)
{
    struct pen pen = { .to = to };
    put_word(&pen, word, effect, NULL);
    return pen.to;
}

void put_words(struct pen *pen, const struct words *words, const struct effect *effect,
               struct effect *kept)
{
    for (size_t i = 0; i < words->count; i++)
        put_word(pen, &words->at[i], effect, kept);
}

/* ---- reading --------------------------------------------------------------------------------- */

static bool take_text(struct cursor *cursor, struct bytes *text)
{
    if (cursor->next == cursor->end) return false;
    *text = *cursor->next++;
    return text->len <= UINT32_MAX;
}

bool take_literal(struct cursor *cursor, struct bytes literal)
{
    struct bytes text;
    return take_text(cursor, &text) && bytes_equal(text, literal);
}

bool take_int64(struct cursor *cursor, int64_t *number)
{
    struct bytes text;
    return take_text(cursor, &text) && number_parse_int64(text.data, text.len, number);
}

static bool take_within(struct cursor *cursor, int64_t least, int64_t most, int64_t *number)
{
    return take_int64(cursor, number) && *number >= least && *number <= most;
}

static bool take_claim(struct cursor *cursor, struct stage *stage)
{
    struct bytes text;
    if (!take_text(cursor, &text)) return false;
    stage->claimed = !bytes_equal(text, LIT("WAITING"));
    stage->token = 0;
    if (!stage->claimed || bytes_equal(text, LIT("CLAIMED"))) return true;
    return number_parse_int64(text.data, text.len, &stage->token) && stage->token > 0 &&
           stage->token <= TOKEN_MAX;
}

static bool parse_id(struct bytes text, struct stream_id *id)
{
    const char *dash = text.len > 0 ? memchr(text.data, '-', text.len) : NULL;
    if (dash == NULL) return false;
    size_t ms_len = (size_t)(dash - text.data);
    return number_parse_uint64(text.data, ms_len, &id->ms) &&
           number_parse_uint64(dash + 1, text.len - ms_len - 1, &id->seq);
}

static bool take_word(struct cursor *cursor, const struct word *word, struct effect *effect)
{
    struct bytes text;
    int64_t number;
    switch ((enum word_type)word->type) {
    case WORD_LITERAL: return take_literal(cursor, literal_of(word));
    case WORD_TEXT: return take_text(cursor, field_in(effect, word));
    case WORD_NUMBER:
        if (!take_within(cursor, word->least, word->most, &number)) return false;
        set_number(effect, word, number);
        return true;
    case WORD_CHOICE:
        if (!take_text(cursor, &text)) return false;
        set_number(effect, word, bytes_equal(text, other_of(word)));
        return bytes_equal(text, other_of(word)) || bytes_equal(text, literal_of(word));
    case WORD_CLAIM: return take_claim(cursor, &effect->stage);
    case WORD_SCORE:
        return take_text(cursor, &text) && score_parse(text.data, text.len, &effect->score);
    case WORD_ID: return take_text(cursor, &text) && parse_id(text, field_in(effect, word));
    case WORD_FIRST: return take_within(cursor, 0, INT64_MAX, &effect->from);
    case WORD_LAST:
        if (!take_within(cursor, 0, INT64_MAX - 1, &number)) return false;
        if (effect->from == 1 && number == 0) effect->from = 0, number = -1; /* the empty range */
        effect->to = number + 1;
        return effect->to >= effect->from;
    case WORD_TEXTS:
        effect->texts = cursor->next;
        effect->text_count = (size_t)(cursor->end - cursor->next);
        while (cursor->next < cursor->end)
            if (!take_text(cursor, &text)) return false;
        return effect->text_count > 0 && effect->text_count % 2 == 0;
    case WORD_POLICY: {
        const struct bytes *words = cursor->next;
        effect->policy = cursor->policy;
        cursor->next = cursor->end;
        return policy_words_parse(words, (size_t)(cursor->end - words), cursor->policy);
    }
    case WORD_BLOCK: {
        struct stream_packed packed;
        if (!take_text(cursor, &effect->b)) return false;
        packed = effect_packed(effect);
        if (!stream_packed_check(&packed)) return false;
        effect->marks.last = packed.last;
        effect->from = packed.own_names;
        return true;
    }
    case WORD_CODE: {
        if (!take_text(cursor, &effect->a)) return false;
        cursor->has_header = true;
        bool good = library_header_read(cursor->header, effect->a);
        effect->key = cursor->header->name;
        return good;
    }
    case WORD_DEADLINE:
        return cursor->next == cursor->end ||
               (take_literal(cursor, LIT("PXAT")) &&
                take_within(cursor, INSTANT_MIN, INSTANT_MAX, &effect->at));
    case WORD_IMPLIED: set_number(effect, word, word->least); return true;
    }
    return false;
}

bool take_words(struct cursor *cursor, const struct words *words, struct effect *effect)
{
    for (unsigned i = 0; i < words->count; i++)
        if (!take_word(cursor, &words->at[i], effect)) return false;
    return true;
}
