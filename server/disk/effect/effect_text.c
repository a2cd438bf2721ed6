/* effect_text: the writers of effect_text.h. To be fast, they write words directly to their
 * destination: the text of the run, bytes reserved in the output, or an argument vector. Words too
 * large to reserve are appended piece by piece, and big blobs are shared instead of copied. */
#include "server/disk/effect/effect_text.h"

#include "server/disk/effect/effect_brief.h"
#include "server/disk/effect/effect_words.h"

enum {
    RESERVE_MAX = 4096,        /* most bytes to reserve in an outbuf at once */
    RUN_SPARE = 5 * ARG_SPARE, /* a run's head and one element, without their texts */
};

/* ---- commands -------------------------------------------------------------------------------- */

/* Computes the number of arguments of one effect's command, and an upper bound of its length. */
static size_t count_arguments(const struct effect_form *form, const struct effect *effect,
                              size_t *bound)
{
    const struct words *head = &form->head;
    size_t argc = 1 + head->count + form->element.count + form->tail.count;
    size_t texts = effect->key.len + effect->a.len + effect->b.len;
    if (form->counts.len > 0) argc += 2;
    enum word_type last = head->count > 0 ? head->at[head->count - 1].type : WORD_LITERAL;
    if (last == WORD_DEADLINE) {
        argc = effect->at == NEVER ? argc - 1 : argc + 1;
    } else if (last >= WORD_TEXTS) {
        struct pen counted = { .to = NULL };
        put_words(&counted, &(struct words){ &head->at[head->count - 1], 1 }, effect, NULL);
        argc += counted.words - 1;
        texts += counted.bytes;
    }
    *bound = texts + (argc + 1) * ARG_SPARE;
    return argc;
}

static inline char *print_words(char *to, const struct words *words, const struct effect *effect)
{
    for (size_t i = 0; i < words->count; i++)
        to = print_word(to, &words->at[i], effect);
    return to;
}

/* Writes the command of one effect to `to`, which has enough space. */
static inline char *print_command(char *to, const struct effect_form *form,
                                  const struct effect *effect, size_t argc,
                                  struct effect_layout *layout)
{
    layout->start = to;
    to = print_bulk(print_resp_header(to, '*', argc), form->name);
    layout->head = to;
    layout->head_end = to = print_words(to, &form->head, effect);
    if (form->counts.len > 0) to = print_int64(print_bulk(to, form->counts), 1);
    layout->elements = to;
    layout->elements_end = to = print_words(to, &form->element, effect);
    layout->end = to = print_words(to, &form->tail, effect);
    return to;
}

static void write_alone(struct outbuf *out, const struct effect_form *form,
                        const struct effect *effect)
{
    struct effect_layout layout;
    size_t bound, argc = count_arguments(form, effect, &bound);
    if (bound <= RESERVE_MAX) {
        char *start = outbuf_reserve(out, bound);
        outbuf_commit(out, (size_t)(print_command(start, form, effect, argc, &layout) - start));
        return;
    }
    struct pen pen = { .out = out };
    put_resp_header(&pen, '*', argc);
    put_argument(&pen, form->name);
    put_words(&pen, &form->head, effect, NULL);
    if (form->counts.len > 0) {
        put_argument(&pen, form->counts);
        put_int64(&pen, 1);
    }
    put_words(&pen, &form->element, effect, NULL);
    put_words(&pen, &form->tail, effect, NULL);
}

/* A fast path for the most frequent command. Written word by word, SET would take several times as
 * many instructions. */
#define SET_FOREVER LIT("*3\r\n$3\r\nSET\r\n")
#define SET_UNTIL   LIT("*5\r\n$3\r\nSET\r\n")
#define DEADLINE    LIT("$4\r\nPXAT\r\n")

static inline size_t set_bound(const struct effect *effect)
{
    return SET_UNTIL.len + effect->key.len + effect->a.len + DEADLINE.len + 3 * ARG_SPARE;
}

static inline char *print_set(char *to, const struct effect *effect)
{
    bool lasts = effect->at == NEVER;
    to = bytes_copy(to, lasts ? SET_FOREVER : SET_UNTIL);
    to = print_bulk(print_bulk(to, effect->key), effect->a);
    return lasts ? to : print_int64(bytes_copy(to, DEADLINE), effect->at);
}

/* Returns false if the command is too large. Not inlined, for the same reason as put_other. */
__attribute__((noinline)) static bool write_set(struct effect_writer *writer,
                                                const struct effect *effect)
{
    size_t bound = set_bound(effect);
    if (bound > RESERVE_MAX) return false;
    char *start = outbuf_reserve(writer->out, bound);
    outbuf_commit(writer->out, (size_t)(print_set(start, effect) - start));
    writer->commands++;
    return true;
}

static bool fits_database(const struct effect_writer *writer, const struct effect *effect)
{
    return writer->db == effect->db || effect_rows[effect->kind].any_database;
}

/* ---- runs ------------------------------------------------------------------------------------ */

/* Returns the length of an element's texts. In a form without a head, the key is part of the
 * element. */
static size_t element_len(const struct effect_form *form, const struct effect *effect)
{
    return (form->head.count > 0 ? 0 : effect->key.len) + effect->a.len + effect->b.len;
}

static inline bool continues_run(const struct effect_run *run, const struct effect_form *form,
                                 const struct effect *effect)
{
    return run->first.db == effect->db && run->count < EFFECT_RUN_MAX &&
           words_equal(&form->head, &run->first, effect) &&
           words_equal(&form->tail, &run->first, effect) &&
           run->len + element_len(form, effect) + RUN_SPARE <= EFFECT_RUN_BYTES;
}

static inline void begin_run(struct effect_run *run, const struct effect_form *form,
                             const struct effect *effect)
{
    run->form = form;
    run->count = 0;
    run->len = 0;
    run->first = *effect;
}

/* ---- the writer ------------------------------------------------------------------------------ */

void effect_writer_init(struct effect_writer *writer, struct outbuf *out)
{
    writer->out = out;
    writer->db = -1;
    writer->commands = 0;
    writer->is_brief = false;
    writer->brief = (struct brief_tail){ .out = out, .db = -1 };
    writer->run.form = NULL;
}

bool effect_text_is_redis(const struct effect *effect)
{
    return !effect_form_of(effect)->own;
}

/* Makes the texts of the first effect point into its written head: the caller's texts may be gone
 * when the next effect is compared with it. Each word of the head is "$length\r\n", the text,
 * "\r\n". */
static void keep_texts(struct effect *first, const struct words *head, const char *written)
{
    for (size_t i = 0; i < head->count; i++) {
        size_t len = 0;
        for (written++; *written != '\r'; written++)
            len = 10 * len + (size_t)(*written - '0');
        written += 2;
        if (head->at[i].type == WORD_TEXT)
            *(struct bytes *)field_in(first, &head->at[i]) = bytes_of(written, len);
        written += len + 2;
    }
}

/* Begins a run by writing the command of its first effect to the output as if no effect followed,
 * because most runs consist of one effect. Returns false if the command is too large for that. */
static bool begin_alone(struct effect_writer *writer, const struct effect_form *form,
                        const struct effect *effect)
{
    struct effect_run *run = &writer->run;
    struct effect_layout *alone = &writer->alone;
    size_t argc = 1 + form->head.count + form->element.count + form->tail.count + 2;
    size_t bound = effect->key.len + effect->a.len + effect->b.len + (argc + 1) * ARG_SPARE;
    if (bound > RESERVE_MAX) return false;
    char *start = outbuf_reserve(writer->out, bound);
    print_command(start, form, effect, form->counts.len > 0 ? argc : argc - 2, alone);
    outbuf_commit(writer->out, (size_t)(alone->end - start));
    begin_run(run, form, effect);
    keep_texts(&run->first, &form->head, alone->head);
    run->count = 1;
    run->len = (size_t)(alone->head_end - alone->head + (alone->elements_end - alone->elements));
    writer->is_gathered = false;
    return true;
}

/* As begin_alone, for an effect that is too large for it: the effect waits for others in `text`. */
static bool begin_gathered(struct effect_writer *writer, const struct effect_form *form,
                           const struct effect *effect)
{
    size_t texts = effect->key.len + effect->a.len + effect->b.len;
    if (texts + 2 * RUN_SPARE > EFFECT_RUN_BYTES) return false;
    char *to = print_words(writer->text, &form->head, effect);
    begin_run(&writer->run, form, effect);
    keep_texts(&writer->run.first, &form->head, writer->text);
    writer->head = (size_t)(to - writer->text);
    writer->run.count = 1;
    writer->run.len = (size_t)(print_words(to, &form->element, effect) - writer->text);
    writer->is_gathered = true;
    return true;
}

/* Separate from effect_writer_end, which usually finds no run, so that it need not save registers.
 */
static void end_run(struct effect_writer *writer)
{
    struct effect_run *run = &writer->run;
    const struct effect_form *form = run->form;
    run->form = NULL;
    writer->commands++;
    if (!writer->is_gathered) return;
    size_t argc = 1 + form->head.count + run->count * form->element.count + form->tail.count;
    size_t bound = run->len + (4 + form->tail.count) * ARG_SPARE;
    char *start = bound <= RESERVE_MAX ? outbuf_reserve(writer->out, bound) : NULL;
    struct pen pen = { .to = start, .out = writer->out };
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
    if (start != NULL) outbuf_commit(writer->out, (size_t)(pen.to - start));
}

void effect_writer_end(struct effect_writer *writer)
{
    if (writer->run.form != NULL) end_run(writer);
}

void effect_writer_end_record(struct effect_writer *writer)
{
    effect_writer_end(writer);
    writer->brief.last_key.data = NULL;
}

void effect_writer_restart(struct effect_writer *writer)
{
    effect_writer_end_record(writer);
    writer->db = writer->brief.db = -1;
}

/* The general case of effect_writer_put: adds the effect to the open run or, after the end of that
 * run, begins another one or writes a command of its own, after a SELECT if one is needed. Not
 * inlined, so that effect_writer_put saves fewer registers. */
__attribute__((noinline)) static void put_other(struct effect_writer *writer,
                                                const struct effect *effect)
{
    const struct effect_form *form = effect_form_of(effect);
    struct effect_run *run = &writer->run;
    writer->brief.db = -1;
    if (run->form == form && continues_run(run, form, effect)) {
        if (!writer->is_gathered) { /* take back the command of the first effect */
            const struct effect_layout *alone = &writer->alone;
            writer->head = (size_t)(alone->head_end - alone->head);
            memcpy(writer->text, alone->head, writer->head);
            memcpy(writer->text + writer->head, alone->elements,
                   (size_t)(alone->elements_end - alone->elements));
            keep_texts(&run->first, &form->head, writer->text);
            outbuf_retract(writer->out, (size_t)(alone->end - alone->start));
            writer->is_gathered = true;
        }
        char *to = writer->text + run->len;
        run->len = (size_t)(print_words(to, &form->element, effect) - writer->text);
        run->count++;
        return;
    }
    if (run->form != NULL || !fits_database(writer, effect)) {
        effect_writer_end(writer);
        if (!fits_database(writer, effect)) {
            const struct effect change = { .kind = EFFECT_NONE, .db = effect->db };
            writer->db = effect->db;
            writer->commands++;
            write_alone(writer->out, effect_form_of(&change), &change);
        }
        effect_writer_put(writer, effect);
        return;
    }
    if (form->element.count > 0 &&
        (begin_alone(writer, form, effect) || begin_gathered(writer, form, effect)))
        return;
    writer->commands++;
    write_alone(writer->out, form, effect);
}

/* Returns false if the effect has no brief form or is too large for one. */
static inline bool write_brief(struct effect_writer *writer, const struct effect *effect)
{
    size_t texts = effect->key.len + effect->a.len + effect->b.len;
    if (texts > BRIEF_TEXTS_MAX) return false;
    char *to = outbuf_reserve(writer->out, texts + BRIEF_HEAD);
    size_t len = effect_brief_print(to, effect, &writer->brief.last_key);
    outbuf_commit(writer->out, len);
    if (len > 0) writer->brief.db = effect->db;
    return len > 0;
}

void effect_writer_put(struct effect_writer *writer, const struct effect *effect)
{
    if (writer->run.form == NULL && writer->db == effect->db) {
        if (writer->is_brief && write_brief(writer, effect)) return;
        if (effect->kind == EFFECT_SET && write_set(writer, effect)) return;
    }
    if (effect->kind != EFFECT_NONE) put_other(writer, effect);
}

size_t effect_writer_print(const struct effect_writer *writer, const struct effect *effect,
                           char *to, size_t room)
{
    const struct effect_form *form = effect_form_of(effect);
    if (writer->run.form != NULL || form->element.count > 0 || !fits_database(writer, effect))
        return 0;
    if (room > EFFECT_PRINT_MAX) room = EFFECT_PRINT_MAX;
    if (effect->kind == EFFECT_SET)
        return set_bound(effect) > room ? 0 : (size_t)(print_set(to, effect) - to);
    size_t bound, argc = count_arguments(form, effect, &bound);
    if (bound > room) return 0;
    struct effect_layout layout;
    return (size_t)(print_command(to, form, effect, argc, &layout) - to);
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
        begin_run(&args->run, form, effect);
        put_words(&pen, &form->head, effect, &args->run.first);
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
