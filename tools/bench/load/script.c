#include "tools/bench/load/script.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Marks of a round's first command, and of a later one in a batch of its own. */
enum { WIDTH_MAX = 19, ROUND_MARK = '*', SAME_ROUND = '+' };

/* The first time, in seconds (10 digits) or milliseconds (13). */
static const uint64_t times[] = { [10] = 1700000000u, [13] = 1700000000000u };

__attribute__((noreturn)) static void die(const char *text, const char *why)
{
    fprintf(stderr, "load: %s: %s\n", why, text);
    exit(2);
}

/* Makes room for `more` elements in an array of `count`. Capacities are powers of two, so they can
 * be computed from the count and need not be stored. */
static void *grown(void *array, size_t count, size_t more, size_t size)
{
    size_t cap = 16, had = count > 0 ? 16 : 0;
    while (had < count)
        had *= 2;
    while (cap < count + more)
        cap *= 2;
    if (cap == had) return array;
    void *bigger = realloc(array, cap * size);
    if (bigger == NULL) die("", "no memory");
    return bigger;
}

static void add_field(struct script *script, size_t at, unsigned width, char kind)
{
    script->fields = grown(script->fields, script->field_count, 1, sizeof(*script->fields));
    script->fields[script->field_count++] =
        (struct field){ .at = (uint32_t)at, .width = (uint8_t)width, .kind = kind };
}

static void add_bytes(struct script *script, const char *bytes, size_t len)
{
    script->bytes = grown(script->bytes, script->len, len, 1);
    memcpy(script->bytes + script->len, bytes, len);
    script->len += len;
}

static void add_header(struct script *script, char mark, size_t count)
{
    char header[32];
    int len = snprintf(header, sizeof(header), "%c%zu\r\n", mark, count);
    add_bytes(script, header, (size_t)len);
}

/* Returns the width of the placeholder at `text`, and sets *end to the character after it. */
static size_t hole_width(const char *text, const char **end, size_t value_size)
{
    char *close = (char *)(uintptr_t)(text + 2);
    unsigned long width = text[1] == 'v' ? value_size : strtoul(text + 2, &close, 10);
    bool is_time = text[1] == 't' || text[1] == 'o';
    bool fits = text[1] == 'v' ||
                (strchr("kmnstorli", text[1]) != NULL && width > 0 && width <= WIDTH_MAX &&
                 (!is_time || (width < sizeof(times) / sizeof(times[0]) && times[width] != 0)));
    if (*close != '}' || !fits) die(text, "not a hole");
    *end = close + 1;
    return width;
}

/* Returns the end of the word at `at`: after its closing backquote, or the next space or
 * newline. */
static const char *word_end(const char *at)
{
    const char *close = *at == '`' ? strchr(at + 1, '`') : NULL;
    if (*at == '`' && close == NULL) die(at, "no closing backquote");
    return close != NULL ? close + 1 : at + strcspn(at, " \n");
}

static void add_word(struct script *script, const char *word, const char *end, size_t value_size)
{
    size_t len = 0;
    if (*word == '`') len = (size_t)(end - word) - 2;
    for (const char *at = word; *word != '`' && at < end;) {
        bool is_hole = *at == '{';
        len += is_hole ? hole_width(at, &at, value_size) : 1;
        at += !is_hole;
    }
    add_header(script, '$', len);
    if (*word == '`') {
        add_bytes(script, word + 1, len);
        word = end;
    }
    while (word < end) {
        char kind = word[1];
        if (*word != '{') {
            add_bytes(script, word++, 1);
            continue;
        }
        size_t width = hole_width(word, &word, value_size);
        if (kind != 'v') add_field(script, script->len, (unsigned)width, kind);
        script->bytes = grown(script->bytes, script->len, width, 1);
        memset(script->bytes + script->len, kind == 'v' ? 'x' : '0', width);
        script->len += width;
    }
    add_bytes(script, "\r\n", 2);
}

void script_compile(struct script *script, const char *text, unsigned pipeline, size_t value_size)
{
    *script = (struct script){ .pipeline = pipeline, .commands = 1 };
    for (const char *end = word_end(text); *end != '\0'; end = word_end(end + 1))
        script->commands += *end == '\n';
    script->by_command =
        strstr(text, "{r") != NULL || strstr(text, "{l") != NULL || strstr(text, "{i") != NULL;
    script->batch_count = script->commands;
    if (!script->by_command) {
        /* Batches repeat after the least common multiple of both lengths. */
        unsigned divisor = pipeline;
        for (unsigned rest = script->commands, next; rest != 0; rest = next) {
            next = divisor % rest;
            divisor = rest;
        }
        script->batch_count = script->commands / divisor;
    }
    script->batches = grown(NULL, 0, script->batch_count, sizeof(*script->batches));
    const char *at = text;
    for (uint32_t i = 0; i < script->batch_count; i++) {
        struct batch *batch = &script->batches[i];
        batch->begin = (uint32_t)script->len;
        batch->field_begin = script->field_count;
        const char *next = at;
        for (unsigned command = 0; command < pipeline; command++) {
            size_t words = 1;
            const char *end = word_end(at);
            for (; *end == ' '; end = word_end(end + 1))
                words++;
            if (at == text)
                add_field(script, script->len, 1, ROUND_MARK);
            else if (script->by_command)
                add_field(script, script->len, 1, SAME_ROUND);
            add_header(script, '*', words);
            for (const char *word = at; words > 0; words--, word = word_end(word) + 1)
                add_word(script, word, word_end(word), value_size);

            next = *end == '\0' ? text : end + 1; /* after the last command, the first one again */
            if (!script->by_command) at = next;
        }
        at = next;
        batch->end = (uint32_t)script->len;
        batch->field_end = script->field_count;
    }
}

void script_drop(struct script *script)
{
    free(script->bytes);
    free(script->fields);
    free(script->batches);
}

static uint64_t random_below(struct numbers *numbers, uint64_t limit)
{
    uint64_t x = numbers->random; /* xorshift64* (Vigna 2016) */
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    numbers->random = x;
    return (uint64_t)((unsigned __int128)(x * 0x2545F4914F6CDD1DULL) * limit >> 64);
}

static const char pairs[] = "00010203040506070809101112131415161718192021222324"
                            "25262728293031323334353637383940414243444546474849"
                            "50515253545556575859606162636465666768697071727374"
                            "75767778798081828384858687888990919293949596979899";

void script_patch(const struct script *script, uint32_t batch, char *bytes, struct numbers *numbers,
                  struct draw *draws)
{
    const struct field *begin = script->fields + script->batches[batch].field_begin;
    const struct field *end = script->fields + script->batches[batch].field_end;
    struct draw *draw = draws;
    for (const struct field *field = begin; field < end; field++) {
        uint64_t value = 0;
        bool is_mark = field->kind == ROUND_MARK || field->kind == SAME_ROUND;
        if (is_mark && script->by_command && field > begin) draw++;
        switch (field->kind) {
        case SAME_ROUND: continue;
        case ROUND_MARK:
            draw->n = numbers->next++;
            draw->k =
                numbers->in_turn ? draw->n % numbers->keys : random_below(numbers, numbers->keys);
            draw->m = numbers->in_turn ? draw->k : random_below(numbers, numbers->keys);
            continue;
        case 'r': value = draw->reply.first; break;
        case 'l': value = draw->reply.last; break;
        case 'i': value = draw->reply.text; break;
        case 'k': value = draw->k; break;
        case 'm': value = draw->m; break;
        case 'n': value = draw->n; break;
        case 's': /* a score of this many digits */
            value = 1;
            for (unsigned digit = 1; digit < field->width; digit++)
                value *= 10;
            value += random_below(numbers, 9 * value);
            break;
        case 't': value = times[field->width] + draw->n; break;
        case 'o': value = times[field->width] + draw->n - numbers->behind; break;
        }

        char *to = bytes + field->at;
        unsigned left = field->width;
        for (; left >= 2; left -= 2, value /= 100)
            memcpy(to + left - 2, pairs + value % 100 * 2, 2);
        if (left == 1) *to = (char)('0' + value % 10);
    }
}
