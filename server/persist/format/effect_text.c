/* effect_text: the writer of effect_text.h. Writes operands directly to their destination: the text
 * of the run, or bytes reserved in the output. Operands too large to reserve are appended piece by
 * piece. */
#include "server/persist/format/effect_text.h"

#include <string.h>

#include "proto/base/number.h"
#include "server/persist/format/effect_form.h"
#include "server/persist/format/policy_words.h"
#include "server/persist/format/score.h"

enum {
    RESERVE_MAX = 4096,              /* the most that is reserved in an outbuf at once */
    HEADER_MAX = 24,                 /* "*n" or "$n" with its line end */
    ARG_SPARE = SCORE_MAX_CHARS + 8, /* an argument with its header, other than key, a and b */
    RUN_ARGS_MAX = 4,                /* arguments of a run's head, and of each element */
    RUN_SPARE = (RUN_ARGS_MAX + 1) * ARG_SPARE,
};

/* Where the text goes: to `to`, or, if that is NULL, to `out`. */
struct pen {
    char *to;
    struct outbuf *out;
};

/* ---- pieces ---------------------------------------------------------------------------------- */

/* Most texts are short: copying two overlapping halves is cheaper than a call. */
static inline char *copy_short(char *to, const char *from, size_t len)
{
    if (len > 64 || len < 8) {
        if (len > 0) memcpy(to, from, len);
    } else if (len <= 16) {
        memcpy(to, from, 8);
        memcpy(to + len - 8, from + len - 8, 8);
    } else if (len <= 32) {
        memcpy(to, from, 16);
        memcpy(to + len - 16, from + len - 16, 16);
    } else {
        memcpy(to, from, 32);
        memcpy(to + len - 32, from + len - 32, 32);
    }
    return to + len;
}

static inline char *end_line(char *to)
{
    memcpy(to, "\r\n", 2);
    return to + 2;
}

static inline char *print_resp_header(char *to, char type, size_t value)
{
    *to++ = type;
    if (value >= 100) {
        to += number_print_uint64(to, value);
    } else {
        if (value >= 10) *to++ = (char)('0' + value / 10);
        *to++ = (char)('0' + value % 10);
    }
    return end_line(to);
}

static void put_resp_header(struct pen *pen, char type, size_t value)
{
    if (pen->to != NULL) {
        pen->to = print_resp_header(pen->to, type, value);
        return;
    }
    char *start = outbuf_reserve(pen->out, HEADER_MAX);
    outbuf_commit(pen->out, (size_t)(print_resp_header(start, type, value) - start));
}

static void put_raw(struct pen *pen, const char *data, size_t len)
{
    if (len == 0) return;
    if (pen->to != NULL)
        pen->to = copy_short(pen->to, data, len);
    else
        outbuf_append(pen->out, data, len);
}

static inline char *print_bulk(char *to, struct bytes text)
{
    return end_line(copy_short(print_resp_header(to, '$', text.len), text.data, text.len));
}

static inline void put_argument(struct pen *pen, struct bytes text)
{
    if (pen->to != NULL) {
        pen->to = print_bulk(pen->to, text);
        return;
    }
    put_resp_header(pen, '$', text.len);
    put_raw(pen, text.data, text.len);
    outbuf_append(pen->out, "\r\n", 2);
}

static void put_int64(struct pen *pen, int64_t number)
{
    char text[NUMBER_INT64_MAX_CHARS];
    put_argument(pen, bytes_of(text, number_print_int64(text, number)));
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
    default: break;
    }
}

static void put_operands(struct pen *pen, const char *letters, const struct effect *effect)
{
    for (; *letters != '\0'; letters++)
        put_operand(pen, *letters, effect);
}

static unsigned count_operands(const char *letters, const struct effect *effect)
{
    unsigned count = 0;
    for (; *letters != '\0'; letters++) {
        switch (*letters) {
        case 'p':
        case 'l':
        case 'r': count += 2; break;
        case 'o': count += effect->at != NEVER ? 2 : 0; break;
        case 'g':
        case 'c': count += 3; break;
        case 'P': count += (unsigned)policy_words_size(effect->policy).count; break;
        default: count++; break;
        }
    }
    return count;
}

/* ---- commands -------------------------------------------------------------------------------- */

/* A pen for at most `len` bytes; if that is too much to reserve, one that appends. */
static struct pen pen_for(struct outbuf *out, size_t len)
{
    return (struct pen){ len <= RESERVE_MAX ? outbuf_reserve(out, len) : NULL, out };
}

static void pen_done(const struct pen *pen, const char *start)
{
    if (pen->to != NULL) outbuf_commit(pen->out, (size_t)(pen->to - start));
}

static unsigned argc_of(const struct effect_form *form, const struct effect *effect, unsigned count)
{
    unsigned argc = 1 + count_operands(form->head, effect);
    if (form->word.len > 0) argc++;
    if (form->counts.len > 0) argc += 2;
    if (form->element != NULL) argc += count * count_operands(form->element, effect);
    return argc;
}

/* Writes the command of one effect of any size. */
static void write_alone(struct outbuf *out, const struct effect_form *form,
                        const struct effect *effect)
{
    unsigned argc = argc_of(form, effect, 1);
    size_t text = effect->key.len + effect->a.len + effect->b.len;
    if (effect->policy != NULL) text += policy_words_size(effect->policy).bytes;
    struct pen pen = pen_for(out, text + (argc + 1) * ARG_SPARE);
    char *start = pen.to;
    put_resp_header(&pen, '*', argc);
    put_argument(&pen, form->name);
    if (form->word.len > 0) put_argument(&pen, form->word);
    put_operands(&pen, form->head, effect);
    if (form->counts.len > 0) {
        put_argument(&pen, form->counts);
        put_int64(&pen, 1);
    }
    if (form->element != NULL) put_operands(&pen, form->element, effect);
    pen_done(&pen, start);
}

/* A fast path for the most frequent command, SET without a deadline. False: it is too large. */
static inline bool write_plain_set(struct outbuf *out, const struct effect *effect)
{
    const struct bytes head = LIT("*3\r\n$3\r\nSET\r\n");
    size_t bound = head.len + effect->key.len + effect->a.len + 2 * ARG_SPARE;
    if (bound > RESERVE_MAX) return false;
    char *start = outbuf_reserve(out, bound);
    char *to = copy_short(start, head.data, head.len);
    to = print_bulk(print_bulk(to, effect->key), effect->a);
    outbuf_commit(out, (size_t)(to - start));
    return true;
}

static void select_database(struct effect_writer *writer, const struct effect *effect)
{
    if (writer->db == effect->db) return;
    /* SWAPDB names its databases; policies and libraries apply to all of them. */
    if (effect->kind == EFFECT_SWAP || effect->kind >= EFFECT_POLICY_SET) return;
    writer->db = effect->db;
    struct effect change = { .kind = EFFECT_NONE, .db = effect->db };
    write_alone(writer->out, effect_form_of(&change), &change);
}

/* ---- runs ------------------------------------------------------------------------------------ */

static bool form_has_key(const struct effect_form *form)
{
    return form->head[0] == 'k';
}

static bool form_has_stage(const struct effect_form *form)
{
    return form_has_key(form) && form->head[1] == 'g';
}

static bool stages_equal(const struct stage *a, const struct stage *b)
{
    return a->at == b->at && a->deliveries == b->deliveries && a->claimed == b->claimed;
}

static size_t element_bound(const struct effect_form *form, const struct effect *effect)
{
    return (form_has_key(form) ? 0 : effect->key.len) + effect->a.len + effect->b.len + RUN_SPARE;
}

static bool continues_run(const struct effect_writer *writer, const struct effect_form *form,
                          const struct effect *effect)
{
    if (writer->form != form || writer->db != effect->db) return false;
    if (writer->count == EFFECT_RUN_MAX || writer->at != effect->at) return false;
    if (form_has_key(form) && !bytes_equal(writer->key, effect->key)) return false;
    if (form_has_stage(form) && !stages_equal(&writer->stage, &effect->stage)) return false;
    return writer->len + element_bound(form, effect) <= EFFECT_RUN_BYTES;
}

static void add_element(struct effect_writer *writer, const struct effect *effect)
{
    struct pen pen = { .to = writer->text + writer->len };
    put_operands(&pen, writer->form->element, effect);
    writer->len = (uint32_t)(pen.to - writer->text);
    writer->count++;
}

static void begin_run(struct effect_writer *writer, const struct effect_form *form,
                      const struct effect *effect)
{
    struct pen pen = { .to = writer->text };
    put_operands(&pen, form->head, effect);
    writer->form = form;
    writer->count = 0;
    writer->head = writer->len = (uint32_t)(pen.to - writer->text);
    writer->at = effect->at;
    writer->stage = effect->stage;
    /* The key is the first operand; its bytes follow its length. */
    if (!form_has_key(form)) return;
    char header[HEADER_MAX];
    size_t header_len = (size_t)(print_resp_header(header, '$', effect->key.len) - header);
    writer->key = bytes_of(writer->text + header_len, effect->key.len);
}

static void end_run(struct effect_writer *writer)
{
    const struct effect_form *form = writer->form;
    struct effect example = { .at = writer->at };
    bool is_many = writer->count > 1 && form->many.len > 0;
    struct pen pen = pen_for(writer->out, writer->len + RUN_SPARE);
    char *start = pen.to;
    put_resp_header(&pen, '*', argc_of(form, &example, writer->count));
    put_argument(&pen, is_many ? form->many : form->name);
    uint32_t from = 0;
    if (form->counts.len > 0) {
        from = writer->head;
        put_raw(&pen, writer->text, from);
        put_argument(&pen, form->counts);
        put_int64(&pen, writer->count);
    }
    put_raw(&pen, writer->text + from, writer->len - from);
    pen_done(&pen, start);
    writer->form = NULL;
}

/* ---- the writer ------------------------------------------------------------------------------ */

void effect_writer_init(struct effect_writer *writer, struct outbuf *out)
{
    writer->out = out;
    writer->db = -1;
    writer->form = NULL;
}

void effect_writer_end(struct effect_writer *writer)
{
    if (writer->form != NULL) end_run(writer);
}

void effect_writer_restart(struct effect_writer *writer)
{
    effect_writer_end(writer);
    writer->db = -1;
}

void effect_writer_put(struct effect_writer *writer, const struct effect *effect)
{
    if (effect->kind == EFFECT_NONE) return;
    const struct effect_form *form = effect_form_of(effect);
    if (form->element != NULL && continues_run(writer, form, effect)) {
        add_element(writer, effect);
        return;
    }
    effect_writer_end(writer);
    select_database(writer, effect);
    if (effect->kind == EFFECT_SET && effect->at == NEVER && write_plain_set(writer->out, effect))
        return;
    size_t head = (form_has_key(form) ? effect->key.len : 0) + RUN_SPARE;
    if (form->element == NULL || head + element_bound(form, effect) > EFFECT_RUN_BYTES) {
        write_alone(writer->out, form, effect);
        return;
    }
    begin_run(writer, form, effect);
    add_element(writer, effect);
}
