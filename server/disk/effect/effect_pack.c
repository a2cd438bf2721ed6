/* effect_pack: see effect_pack.h. */
#include "server/disk/effect/effect_pack.h"

#include <limits.h>

#include "store/mem/mem.h"

enum {
    VARINT_MAX = 10,
    TEXT = 1,   /* h & 1 */
    NUMBER = 2, /* h & 3 */
    TYPE_BITS = 2,
};

/* The zigzag of a number fits beside the type. */
#define MOST_DIFFERENCE ((INT64_C(1) << 60) - 1)

/* ---- writing --------------------------------------------------------------------------------- */

/* Appends a varint and the bytes after it. */
static void append(struct effect_packer *packer, uint64_t head, struct bytes text)
{
    struct buffer *out = packer->out;
    packer->failed = packer->failed || !buffer_try_reserve(out, VARINT_MAX + text.len);
    if (packer->failed) return;
    char *to = out->data + out->len;
    for (; head >= 0x80; head >>= 7)
        *to++ = (char)(head | 0x80);
    *to++ = (char)head;
    out->len = (size_t)(to - out->data);
    if (text.len > 0) memcpy(out->data + out->len, text.data, text.len);
    out->len += text.len;
}

static const struct bytes nothing = { "", 0 };

static void append_same(struct effect_packer *packer)
{
    if (packer->same > 0) append(packer, (uint64_t)packer->same << TYPE_BITS, nothing);
    packer->same = 0;
}

static void append_text(struct effect_packer *packer, struct bytes text, struct packed_word *word)
{
    append_same(packer);
    append(packer, (uint64_t)text.len << 1 | TEXT, text);
    *word = (struct packed_word){ .type = PACKED_TEXT,
                                  .at = packer->out->len - text.len,
                                  .len = text.len };
}

static void pack_number(struct effect_packer *packer, struct packed_word *word, int64_t number)
{
    char text[NUMBER_INT64_MAX_CHARS];
    int64_t difference, base = word->type == PACKED_NUMBER ? word->number : 0;
    if (word->type == PACKED_NUMBER && word->number == number) {
        packer->same++;
        return;
    }
    if (__builtin_sub_overflow(number, base, &difference) || difference > MOST_DIFFERENCE ||
        difference < -MOST_DIFFERENCE) {
        append_text(packer, bytes_of(text, number_print_int64(text, number)), word);
        return;
    }
    uint64_t zigzag = (uint64_t)difference << 1 ^ (uint64_t)(difference >> 63);
    append_same(packer);
    append(packer, zigzag << TYPE_BITS | NUMBER, nothing);
    *word = (struct packed_word){ .type = PACKED_NUMBER, .number = number };
}

/* Returns the word of the previous command at this index. From EFFECT_PACK_SAME on, words can't
 * refer to the previous command: returns a word that equals no other. */
static struct packed_word *previous_word(struct effect_packer *packer, size_t index)
{
    if (index < EFFECT_PACK_SAME) return &packer->words[index];
    packer->other.type = PACKED_NONE;
    return &packer->other;
}

static void keep_number(void *ctx, size_t index, int64_t number)
{
    pack_number(ctx, previous_word(ctx, index), number);
}

static struct bytes keep_word(void *ctx, size_t index, struct bytes text)
{
    struct effect_packer *packer = ctx;
    struct packed_word *word = previous_word(packer, index);
    int64_t number;
    /* Most texts begin with a letter. */
    if (text.len > 0 && text.data[0] <= '9' && number_parse_int64(text.data, text.len, &number))
        pack_number(packer, word, number);
    else if (word->type == PACKED_TEXT && word->len == text.len && !packer->failed &&
             (text.len == 0 || memcmp(packer->out->data + word->at, text.data, text.len) == 0))
        packer->same++;
    else
        append_text(packer, text, word);
    return text;
}

static void end_command(void *ctx, size_t argc)
{
    struct effect_packer *packer = ctx;
    append_same(packer);
    append(packer, 0, nothing);
    for (; argc < EFFECT_PACK_SAME; argc++)
        packer->words[argc].type = PACKED_NONE;
}

void effect_packer_init(struct effect_packer *packer, struct buffer *out)
{
    *packer = (struct effect_packer){
        .args = { .keep = keep_word, .number = keep_number, .end = end_command, .ctx = packer },
        .out = out,
    };
}

void effect_packer_put(struct effect_packer *packer, const struct effect *effect)
{
    /* Each effect becomes a command of its own. A run would not be shorter, and could only be
     * written at its end, when its name and its count are known. */
    effect_args_put(&packer->args, effect);
    effect_args_end(&packer->args);
}

bool effect_packer_end(const struct effect_packer *packer)
{
    return !packer->failed;
}

/* ---- reading --------------------------------------------------------------------------------- */

void effect_unpacker_init(struct effect_unpacker *unpacker, struct bytes packed)
{
    *unpacker = (struct effect_unpacker){ .packed = packed };
}

void effect_unpacker_drop(struct effect_unpacker *unpacker)
{
    mem_free(unpacker->argv);
    mem_free(unpacker->digits);
}

bool effect_unpacker_more(const struct effect_unpacker *unpacker)
{
    return unpacker->at < unpacker->packed.len;
}

static bool read_varint(struct effect_unpacker *unpacker, uint64_t *value)
{
    *value = 0;
    for (unsigned shift = 0; shift < 64 && effect_unpacker_more(unpacker); shift += 7) {
        uint64_t byte = (unsigned char)unpacker->packed.data[unpacker->at++];
        if (shift == 63 && byte > 1) return false;
        *value |= (byte & 0x7f) << shift;
        if (byte < 0x80) return true;
    }
    return false;
}

static bool grow(struct effect_unpacker *unpacker)
{
    enum { FIRST = 32 };
    size_t cap = unpacker->cap > 0 ? 2 * unpacker->cap : FIRST;
    struct bytes *argv = mem_try_alloc(cap * sizeof(*argv));
    char(*digits)[NUMBER_INT64_MAX_CHARS] = mem_try_alloc(cap * sizeof(*digits));
    if (argv == NULL || digits == NULL) {
        mem_free(argv);
        mem_free(digits);
        return false;
    }
    for (size_t i = 0; i < unpacker->cap; i++) {
        argv[i] = unpacker->argv[i];
        if (argv[i].data != unpacker->digits[i]) continue;
        memcpy(digits[i], unpacker->digits[i], sizeof(digits[i]));
        argv[i].data = digits[i];
    }
    effect_unpacker_drop(unpacker);
    unpacker->argv = argv;
    unpacker->digits = digits;
    unpacker->cap = cap;
    return true;
}

bool effect_unpacker_next(struct effect_unpacker *unpacker)
{
    size_t argc = 0;
    uint64_t head;
    for (;;) {
        struct packed_word none = { .type = PACKED_NONE };
        struct packed_word *word = argc < EFFECT_PACK_SAME ? &unpacker->words[argc] : &none;
        if (!read_varint(unpacker, &head)) return false;
        if (head == 0) break;
        if (argc >= INT_MAX || (argc == unpacker->cap && !grow(unpacker))) return false;
        if ((head & TEXT) != 0) {
            uint64_t len = head >> 1;
            if (len > unpacker->packed.len - unpacker->at) return false;
            *word = (struct packed_word){ .type = PACKED_TEXT };
            unpacker->argv[argc++] = bytes_of(unpacker->packed.data + unpacker->at, (size_t)len);
            unpacker->at += len;
        } else if ((head & NUMBER) != 0) {
            uint64_t zigzag = head >> TYPE_BITS;
            int64_t number = word->type == PACKED_NUMBER ? word->number : 0;
            int64_t difference = (int64_t)(zigzag >> 1) ^ -(int64_t)(zigzag & 1);
            if (__builtin_add_overflow(number, difference, &number)) return false;
            *word = (struct packed_word){ .type = PACKED_NUMBER, .number = number };
            char *digits = unpacker->digits[argc];
            unpacker->argv[argc++] = bytes_of(digits, number_print_int64(digits, number));
        } else { /* this many words are the same, and still in argv */
            uint64_t count = head >> TYPE_BITS;
            if (count > EFFECT_PACK_SAME) return false;
            for (; count > 0; count--, argc++)
                if (argc >= EFFECT_PACK_SAME || unpacker->words[argc].type == PACKED_NONE)
                    return false;
        }
    }
    for (size_t i = argc; i < EFFECT_PACK_SAME; i++)
        unpacker->words[i].type = PACKED_NONE;
    unpacker->argc = (int)argc;
    return true;
}
