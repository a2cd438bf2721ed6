/* effect_text: the writer of effect_text.h. Writes operands directly to their destination: the text
 * of the run, or bytes reserved in the output. Operands too large to reserve are appended piece by
 * piece, big blobs without copying them. */
#include "server/disk/effect/effect_text.h"

#include "server/disk/effect/effect_form.h"
#include "server/disk/effect/effect_pen.h"
#include "server/disk/effect/policy_words.h"

enum { RESERVE_MAX = 4096 }; /* the most that is reserved in an outbuf at once */

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
    if (form->tail != NULL) argc += count_operands(form->tail, effect);
    return argc;
}

static size_t text_bound(const struct effect *effect, unsigned argc)
{
    size_t text = effect->key.len + effect->a.len + effect->b.len;
    if (effect->policy != NULL) text += policy_words_size(effect->policy).bytes;
    for (size_t i = 0; i < effect->part_count; i++)
        text += effect->parts[i].len;
    return text + (argc + 1) * ARG_SPARE;
}

static void put_command(struct pen *pen, const struct effect_form *form,
                        const struct effect *effect, unsigned argc)
{
    put_resp_header(pen, '*', argc);
    put_argument(pen, form->name);
    if (form->word.len > 0) put_argument(pen, form->word);
    put_operands(pen, form->head, effect);
    if (form->counts.len > 0) {
        put_argument(pen, form->counts);
        put_int64(pen, 1);
    }
    if (form->element != NULL) put_operands(pen, form->element, effect);
    if (form->tail != NULL) put_operands(pen, form->tail, effect);
}

/* Writes the command of one effect of any size. */
static void write_alone(struct outbuf *out, const struct effect_form *form,
                        const struct effect *effect)
{
    unsigned argc = argc_of(form, effect, 1);
    struct pen pen = pen_for(out, text_bound(effect, argc));
    char *start = pen.to;
    put_command(&pen, form, effect, argc);
    pen_done(&pen, start);
}

/* A fast path for the most frequent command, SET without a deadline. */
static inline bool is_plain_set(const struct effect *effect)
{
    return effect->kind == EFFECT_SET && effect->at == NEVER;
}

#define PLAIN_SET LIT("*3\r\n$3\r\nSET\r\n")

static inline size_t plain_set_bound(const struct effect *effect)
{
    return PLAIN_SET.len + effect->key.len + effect->a.len + 2 * ARG_SPARE;
}

static inline char *print_plain_set(char *to, const struct effect *effect)
{
    to = copy_short(to, PLAIN_SET.data, PLAIN_SET.len);
    return print_bulk(print_bulk(to, effect->key), effect->a);
}

/* False: it is too large. */
static inline bool write_plain_set(struct outbuf *out, const struct effect *effect)
{
    size_t bound = plain_set_bound(effect);
    if (bound > RESERVE_MAX) return false;
    char *start = outbuf_reserve(out, bound);
    outbuf_commit(out, (size_t)(print_plain_set(start, effect) - start));
    return true;
}

/* SWAPDB names its databases; policies and libraries apply to all of them. */
static bool fits_database(const struct effect_writer *writer, const struct effect *effect)
{
    return writer->db == effect->db || effect->kind == EFFECT_SWAP ||
           effect->kind >= EFFECT_POLICY_SET;
}

static void select_database(struct effect_writer *writer, const struct effect *effect)
{
    if (fits_database(writer, effect)) return;
    writer->db = effect->db;
    struct effect change = { .kind = EFFECT_NONE, .db = effect->db };
    writer->commands++;
    write_alone(writer->out, effect_form_of(&change), &change);
}

/* ---- runs ------------------------------------------------------------------------------------ */

static bool form_has_key(const struct effect_form *form)
{
    return form->head[0] == 'k';
}

/* Do a, and b, belong to the whole run? */
static bool form_has_group(const struct effect_form *form)
{
    return form_has_key(form) && form->head[1] == 'a';
}

static bool form_has_consumer(const struct effect_form *form)
{
    return form_has_group(form) && form->head[2] == 'b';
}

static bool form_has_stage(const struct effect_form *form)
{
    return form_has_key(form) && form->head[1] == 'g';
}

static bool stages_equal(const struct stage *a, const struct stage *b)
{
    return a->at == b->at && a->deliveries == b->deliveries && a->claimed == b->claimed;
}

/* Are the group, consumer and number of deliveries those of the run? */
static bool continues_group(const struct effect_writer *writer, const struct effect *effect)
{
    if (!form_has_group(writer->form)) return true;
    if (form_has_consumer(writer->form) && !bytes_equal(writer->consumer, effect->b)) return false;
    return writer->to == effect->to && bytes_equal(writer->group, effect->a);
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
    if (!continues_group(writer, effect)) return false;
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

/* The operand of this length that begins at *at; its bytes follow its length. */
static struct bytes find_operand(const char **at, size_t len)
{
    char header[HEADER_MAX];
    size_t header_len = (size_t)(print_resp_header(header, '$', len) - header);
    struct bytes text = bytes_of(*at + header_len, len);
    *at = text.data + len + 2;
    return text;
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
    writer->to = effect->to;
    const char *at = writer->text;
    if (form_has_key(form)) writer->key = find_operand(&at, effect->key.len);
    if (form_has_group(form)) writer->group = find_operand(&at, effect->a.len);
    if (form_has_consumer(form)) writer->consumer = find_operand(&at, effect->b.len);
}

static void end_run(struct effect_writer *writer)
{
    const struct effect_form *form = writer->form;
    struct effect example = { .at = writer->at, .to = writer->to };
    bool is_many = writer->count > 1 && form->many.len > 0;
    struct pen pen = pen_for(writer->out, writer->len + RUN_SPARE + TAIL_SPARE);
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
    if (form->tail != NULL) put_operands(&pen, form->tail, &example);
    pen_done(&pen, start);
    writer->form = NULL;
    writer->commands++;
}

/* ---- the writer ------------------------------------------------------------------------------ */

void effect_writer_init(struct effect_writer *writer, struct outbuf *out)
{
    writer->out = out;
    writer->db = -1;
    writer->commands = 0;
    writer->form = NULL;
}

bool effect_text_is_redis(const struct effect *effect)
{
    return !effect_form_of(effect)->own;
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
    writer->commands += form->element == NULL;
    if (is_plain_set(effect) && write_plain_set(writer->out, effect)) return;
    size_t head = (form_has_key(form) ? effect->key.len : 0) + RUN_SPARE;
    if (form->element == NULL || head + element_bound(form, effect) > EFFECT_RUN_BYTES) {
        writer->commands += form->element != NULL;
        write_alone(writer->out, form, effect);
        return;
    }
    begin_run(writer, form, effect);
    add_element(writer, effect);
}

size_t effect_writer_print(const struct effect_writer *writer, const struct effect *effect,
                           char *to, size_t room)
{
    const struct effect_form *form = effect_form_of(effect);
    if (writer->form != NULL || form->element != NULL || !fits_database(writer, effect)) return 0;
    if (room > EFFECT_PRINT_MAX) room = EFFECT_PRINT_MAX;
    if (is_plain_set(effect))
        return plain_set_bound(effect) > room ? 0 : (size_t)(print_plain_set(to, effect) - to);
    unsigned argc = argc_of(form, effect, 1);
    if (text_bound(effect, argc) > room) return 0;
    struct pen pen = { .to = to };
    put_command(&pen, form, effect, argc);
    return (size_t)(pen.to - to);
}
