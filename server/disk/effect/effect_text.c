/* effect_text: the writers of effect_text.h. Every write to the store passes through here, so words
 * are written straight to their destination: the text of the run, bytes reserved in the output, or
 * an argument vector. Words too large to reserve are appended piece by piece, and big blobs are not
 * copied. */
#include "server/disk/effect/effect_text.h"

#include "server/disk/effect/effect_words.h"

enum {
    RESERVE_MAX = 4096,        /* most bytes to reserve in an outbuf at once */
    RUN_SPARE = 5 * ARG_SPARE, /* a run's head and one element, without their texts */
};

/* ---- commands -------------------------------------------------------------------------------- */

/* A pen for at most `len` bytes: reserves them, or appends if they are too many. */
static struct pen pen_for(struct outbuf *out, size_t len)
{
    return (struct pen){ .to = len <= RESERVE_MAX ? outbuf_reserve(out, len) : NULL, .out = out };
}

static void pen_done(const struct pen *pen, const char *start)
{
    if (pen->to != NULL) outbuf_commit(pen->out, (size_t)(pen->to - start));
}

/* The number of arguments of one effect's command, and an upper bound of its length. */
static size_t count_arguments(const struct effect_form *form, const struct effect *effect,
                              size_t *bound)
{
    const struct words *head = &form->head;
    size_t argc = 1 + head->count + form->element.count + form->tail.count;
    size_t texts = effect->key.len + effect->a.len + effect->b.len;
    if (form->counts.len > 0) argc += 2;
    if (head->count > 0 && head->at[head->count - 1].type >= WORD_TEXTS) {
        struct pen counted = { .to = NULL };
        put_words(&counted, &(struct words){ &head->at[head->count - 1], 1 }, effect, NULL);
        argc += counted.words - 1;
        texts += counted.bytes;
    }
    *bound = texts + (argc + 1) * ARG_SPARE;
    return argc;
}

static void put_command(struct pen *pen, const struct effect_form *form,
                        const struct effect *effect, size_t argc)
{
    put_resp_header(pen, '*', argc);
    put_argument(pen, form->name);
    put_words(pen, &form->head, effect, NULL);
    if (form->counts.len > 0) {
        put_argument(pen, form->counts);
        put_int64(pen, 1);
    }
    put_words(pen, &form->element, effect, NULL);
    put_words(pen, &form->tail, effect, NULL);
}

/* Writes the command of one effect of any size. */
static void write_alone(struct outbuf *out, const struct effect_form *form,
                        const struct effect *effect)
{
    size_t bound, argc = count_arguments(form, effect, &bound);
    struct pen pen = pen_for(out, bound);
    char *start = pen.to;
    put_command(&pen, form, effect, argc);
    pen_done(&pen, start);
}

/* A fast path for the most frequent command, SET without a deadline: it takes about 160
 * instructions, where writing word by word takes 530. */
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

/* False: the command is too large. */
static inline bool write_plain_set(struct effect_writer *writer, const struct effect *effect)
{
    size_t bound = plain_set_bound(effect);
    if (bound > RESERVE_MAX) return false;
    char *start = outbuf_reserve(writer->out, bound);
    outbuf_commit(writer->out, (size_t)(print_plain_set(start, effect) - start));
    writer->commands++;
    return true;
}

static bool fits_database(const struct effect_writer *writer, const struct effect *effect)
{
    return writer->db == effect->db || effect_rows[effect->kind].any_database;
}

/* ---- runs ------------------------------------------------------------------------------------ */

/* Length of an element's texts. In a form without a head, the element includes the key. */
static size_t element_len(const struct effect_form *form, const struct effect *effect)
{
    return (form->head.count > 0 ? 0 : effect->key.len) + effect->a.len + effect->b.len;
}

/* Does the effect continue this run of its form? */
static inline bool continues_run(const struct effect_run *run, const struct effect_form *form,
                                 const struct effect *effect)
{
    return run->first.db == effect->db && run->count < EFFECT_RUN_MAX &&
           words_equal(&form->head, &run->first, effect) &&
           words_equal(&form->tail, &run->first, effect) &&
           run->len + element_len(form, effect) + RUN_SPARE <= EFFECT_RUN_BYTES;
}

static void begin_run(struct effect_run *run, struct pen *pen, const struct effect_form *form,
                      const struct effect *effect)
{
    run->form = form;
    run->count = 0;
    run->len = 0;
    run->first = *effect;
    put_words(pen, &form->head, effect, &run->first);
}

/* ---- the writer ------------------------------------------------------------------------------ */

void effect_writer_init(struct effect_writer *writer, struct outbuf *out)
{
    writer->out = out;
    writer->db = -1;
    writer->commands = 0;
    writer->run.form = NULL;
}

bool effect_text_is_redis(const struct effect *effect)
{
    return !effect_form_of(effect)->own;
}

static void add_element(struct effect_writer *writer, const struct effect *effect)
{
    struct pen pen = { .to = writer->text + writer->run.len };
    put_words(&pen, &writer->run.form->element, effect, NULL);
    writer->run.len = (size_t)(pen.to - writer->text);
    writer->run.count++;
}

/* Not a part of effect_writer_end, which mostly has nothing to do and then saves no registers. */
static void end_run(struct effect_writer *writer)
{
    struct effect_run *run = &writer->run;
    const struct effect_form *form = run->form;
    size_t argc = 1 + form->head.count + run->count * form->element.count + form->tail.count;
    struct pen pen = pen_for(writer->out, run->len + (4 + form->tail.count) * ARG_SPARE);
    char *start = pen.to;
    put_resp_header(&pen, '*', form->counts.len > 0 ? argc + 2 : argc);
    put_argument(&pen, run->count > 1 && form->many.len > 0 ? form->many : form->name);
    size_t from = 0;
    if (form->counts.len > 0) {
        from = writer->head;
        put_raw(&pen, writer->text, from);
        put_argument(&pen, form->counts);
        put_int64(&pen, run->count);
    }
    put_raw(&pen, writer->text + from, run->len - from);
    put_words(&pen, &form->tail, &run->first, NULL);
    pen_done(&pen, start);
    run->form = NULL;
    writer->commands++;
}

void effect_writer_end(struct effect_writer *writer)
{
    if (writer->run.form != NULL) end_run(writer);
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
    bool has_elements = form->element.count > 0;
    if (writer->run.form == form && continues_run(&writer->run, form, effect)) {
        add_element(writer, effect);
        return;
    }
    effect_writer_end(writer);
    if (!fits_database(writer, effect)) {
        const struct effect change = { .kind = EFFECT_NONE, .db = effect->db };
        writer->db = effect->db;
        writer->commands++;
        write_alone(writer->out, effect_form_of(&change), &change);
    }
    if (is_plain_set(effect) && write_plain_set(writer, effect)) return;
    if (has_elements &&
        effect->key.len + effect->a.len + effect->b.len + 2 * RUN_SPARE <= EFFECT_RUN_BYTES) {
        struct pen pen = { .to = writer->text };
        begin_run(&writer->run, &pen, form, effect);
        writer->head = writer->run.len = (size_t)(pen.to - writer->text);
        add_element(writer, effect);
        return;
    }
    writer->commands++;
    write_alone(writer->out, form, effect);
}

size_t effect_writer_print(const struct effect_writer *writer, const struct effect *effect,
                           char *to, size_t room)
{
    const struct effect_form *form = effect_form_of(effect);
    if (writer->run.form != NULL || form->element.count > 0 || !fits_database(writer, effect))
        return 0;
    if (room > EFFECT_PRINT_MAX) room = EFFECT_PRINT_MAX;
    if (is_plain_set(effect))
        return plain_set_bound(effect) > room ? 0 : (size_t)(print_plain_set(to, effect) - to);
    size_t bound, argc = count_arguments(form, effect, &bound);
    if (bound > room) return 0;
    struct pen pen = { .to = to };
    put_command(&pen, form, effect, argc);
    return (size_t)(pen.to - to);
}

/* ---- as arguments ---------------------------------------------------------------------------- */

void effect_args_end(struct effect_args *args)
{
    const struct effect_run *run = &args->run;
    const struct effect_form *form = run->form;
    if (form == NULL) return;
    struct pen pen = { .args = args };
    put_words(&pen, &form->tail, &run->first, NULL);
    size_t argc = args->argc;
    args->argc = args->count_at;
    if (run->count > 1 && form->counts.len > 0) put_int64(&pen, run->count);
    args->argc = 0;
    if (run->count > 1 && form->many.len > 0) put_argument(&pen, form->many);
    args->run.form = NULL;
    args->end(args->ctx, argc);
}

void effect_args_put(struct effect_args *args, const struct effect *effect)
{
    if (effect->kind == EFFECT_NONE) return;
    const struct effect_form *form = effect_form_of(effect);
    struct pen pen = { .args = args };
    if (args->run.form != form || !continues_run(&args->run, form, effect)) {
        effect_args_end(args);
        args->argc = 0;
        put_argument(&pen, form->name);
        begin_run(&args->run, &pen, form, effect);
        if (form->counts.len > 0) {
            put_argument(&pen, form->counts);
            args->count_at = args->argc;
            put_int64(&pen, 1);
        }
    }
    put_words(&pen, &form->element, effect, NULL);
    args->run.count++;
    args->run.len += element_len(form, effect);
    if (form->element.count == 0) effect_args_end(args);
}
