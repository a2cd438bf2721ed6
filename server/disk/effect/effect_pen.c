/* effect_pen: see effect_pen.h. */
#include "server/disk/effect/effect_pen.h"

#include "server/disk/effect/policy_words.h"
#include "store/mem/blob.h"

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

static void append_big(struct outbuf *out, struct bytes text)
{
    struct blob *blob = blob_share(text);
    if (blob != NULL)
        outbuf_append_shared(out, text.data, text.len, release_blob, blob);
    else
        outbuf_append(out, text.data, text.len);
}

void put_raw(struct pen *pen, const char *data, size_t len)
{
    if (len == 0) return;
    if (pen->to != NULL)
        pen->to = copy_short(pen->to, data, len);
    else if (len >= BLOB_BIG)
        append_big(pen->out, bytes_of(data, len));
    else
        outbuf_append(pen->out, data, len);
}

void put_argument(struct pen *pen, struct bytes text)
{
    if (pen->to != NULL) {
        pen->to = print_bulk(pen->to, text);
        return;
    }
    put_resp_header(pen, '$', text.len);
    put_raw(pen, text.data, text.len);
    outbuf_append(pen->out, "\r\n", 2);
}

void put_int64(struct pen *pen, int64_t number)
{
    char text[NUMBER_INT64_MAX_CHARS];
    put_argument(pen, bytes_of(text, number_print_int64(text, number)));
}

static void put_id(struct pen *pen, struct stream_id id)
{
    char text[ID_MAX_CHARS];
    size_t len = number_print_uint64(text, id.ms);
    text[len++] = '-';
    len += number_print_uint64(text + len, id.seq);
    put_argument(pen, bytes_of(text, len));
}

static void put_score(struct pen *pen, double score)
{
    char text[SCORE_MAX_CHARS];
    put_argument(pen, bytes_of(text, score_print(text, score)));
}

/* ---- operands -------------------------------------------------------------------------------- */

static void put_policy(struct pen *pen, const struct policy *policy)
{
    struct policy_words words;
    policy_words_write(&words, policy);
    for (size_t i = 0; i < words.count; i++)
        put_argument(pen, words.words[i]);
}

/* LTRIM key 0 -1 would keep everything. */
static void put_range(struct pen *pen, const struct effect *effect)
{
    bool is_empty = effect->from >= effect->to;
    put_int64(pen, is_empty ? 1 : effect->from);
    put_int64(pen, is_empty ? 0 : effect->to - 1);
}

static void put_stage(struct pen *pen, const struct stage *stage)
{
    put_int64(pen, stage->at);
    put_int64(pen, stage->deliveries);
    put_argument(pen, stage->claimed ? LIT("CLAIMED") : LIT("WAITING"));
}

static void put_deadline(struct pen *pen, msec at)
{
    put_argument(pen, LIT("PXAT"));
    put_int64(pen, at);
}

static void put_target(struct pen *pen, int64_t db)
{
    put_argument(pen, LIT("DB"));
    put_int64(pen, db);
    put_argument(pen, LIT("REPLACE"));
}

static void put_library(struct pen *pen, struct bytes code)
{
    put_argument(pen, LIT("REPLACE"));
    put_argument(pen, code);
}

static void put_parts(struct pen *pen, const struct effect *effect)
{
    for (size_t i = 0; i < effect->part_count; i++)
        put_argument(pen, effect->parts[i]);
}

static void put_marks(struct pen *pen, const struct stream_marks *marks)
{
    put_id(pen, marks->last);
    put_argument(pen, LIT("ENTRIESADDED"));
    put_int64(pen, (int64_t)marks->added);
    put_argument(pen, LIT("MAXDELETEDID"));
    put_id(pen, marks->max_deleted);
}

static void put_position(struct pen *pen, bool is_new, const struct group_position *position)
{
    put_id(pen, position->last);
    if (is_new) put_argument(pen, LIT("MKSTREAM"));
    put_argument(pen, LIT("ENTRIESREAD"));
    put_int64(pen, position->read);
}

static void put_claim(struct pen *pen, msec at, int64_t deliveries)
{
    put_argument(pen, LIT("TIME"));
    put_int64(pen, at);
    put_argument(pen, LIT("RETRYCOUNT"));
    put_int64(pen, deliveries);
    put_argument(pen, LIT("FORCE"));
    put_argument(pen, LIT("JUSTID"));
}

static void put_stream_operand(struct pen *pen, char letter, const struct effect *effect)
{
    switch (letter) {
    case 'i': put_id(pen, effect->id); break;
    case 'F': put_parts(pen, effect); break;
    case 'm': put_marks(pen, &effect->marks); break;
    case 'q': put_position(pen, false, &effect->position); break;
    case 'G': put_position(pen, true, &effect->position); break;
    case 'w': put_int64(pen, effect->to); break;
    case 'y': put_argument(pen, effect->to != 0 ? LIT("AFTER") : LIT("BEFORE")); break;
    case 'z': put_argument(pen, LIT("0")); break;
    case 'C': put_claim(pen, effect->at, effect->to); break;
    case 'x':
        put_argument(pen, LIT("MINID"));
        put_argument(pen, LIT("="));
        put_id(pen, effect->id);
        break;
    default: break;
    }
}

static void put_operand(struct pen *pen, char letter, const struct effect *effect)
{
    switch (letter) {
    case 'k': put_argument(pen, effect->key); break;
    case 'a': put_argument(pen, effect->a); break;
    case 'b': put_argument(pen, effect->b); break;
    case 'd': put_int64(pen, effect->db); break;
    case 's': put_score(pen, effect->score); break;
    case 'f': put_int64(pen, effect->from); break;
    case 'n': put_int64(pen, effect->to); break;
    case 't': put_int64(pen, effect->at); break;
    case 'e': put_int64(pen, effect->stage.at); break;
    case 'p': put_deadline(pen, effect->at); break;
    case 'o':
        if (effect->at != NEVER) put_deadline(pen, effect->at);
        break;
    case 'r': put_range(pen, effect); break;
    case 'g': put_stage(pen, &effect->stage); break;
    case 'c': put_target(pen, effect->to); break;
    case 'l': put_library(pen, effect->a); break;
    case 'P': put_policy(pen, effect->policy); break;
    default: put_stream_operand(pen, letter, effect); break;
    }
}

void put_operands(struct pen *pen, const char *letters, const struct effect *effect)
{
    for (; *letters != '\0'; letters++)
        put_operand(pen, *letters, effect);
}

unsigned count_operands(const char *letters, const struct effect *effect)
{
    unsigned count = 0;
    for (; *letters != '\0'; letters++) {
        switch (*letters) {
        case 'p':
        case 'l':
        case 'r': count += 2; break;
        case 'o': count += effect->at != NEVER ? 2 : 0; break;
        case 'g':
        case 'c':
        case 'x':
        case 'q': count += 3; break;
        case 'G': count += 4; break;
        case 'm': count += 5; break;
        case 'C': count += 6; break;
        case 'F': count += (unsigned)effect->part_count; break;
        case 'P': count += (unsigned)policy_words_size(effect->policy).count; break;
        default: count++; break;
        }
    }
    return count;
}
