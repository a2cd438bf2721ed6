/* effect_brief: see effect_brief.h. A row lists the parts of an effect of its kind. */
#include "server/disk/effect/effect_brief.h"

#include <endian.h>

#include "server/disk/effect/effect_words.h"

enum { SAME_KEY = 0x40, KIND = 0x3f };

enum brief {
    BRIEF_SET,
    BRIEF_SET_UNTIL,
    BRIEF_DROP,
    BRIEF_EXPIRE,
    BRIEF_HASH_PUT,
    BRIEF_ZSET_PUT,
    BRIEF_REDE_PUSH,
    BRIEF_REDE_MOVE,
    BRIEF_REDE_DROP,
    BRIEF_KINDS,
};

enum number { NO_NUMBER, DEADLINE, SCORE, STAGE };

static const struct row {
    enum effect_kind kind;
    bool has_a, has_b;
    enum number number;
    bool has_claim;
} rows[BRIEF_KINDS] = {
    [BRIEF_SET] = { EFFECT_SET, true, false, NO_NUMBER, false },
    [BRIEF_SET_UNTIL] = { EFFECT_SET, true, false, DEADLINE, false },
    [BRIEF_DROP] = { EFFECT_DROP, false, false, NO_NUMBER, false },
    [BRIEF_EXPIRE] = { EFFECT_EXPIRE, false, false, DEADLINE, false },
    [BRIEF_HASH_PUT] = { EFFECT_HASH_PUT, true, true, NO_NUMBER, false },
    [BRIEF_ZSET_PUT] = { EFFECT_ZSET_PUT, true, false, SCORE, false },
    [BRIEF_REDE_PUSH] = { EFFECT_REDE_PUSH, true, true, STAGE, false },
    [BRIEF_REDE_MOVE] = { EFFECT_REDE_MOVE, true, false, STAGE, true },
    [BRIEF_REDE_DROP] = { EFFECT_REDE_DROP, true, false, NO_NUMBER, false },
};

/* ---- writing --------------------------------------------------------------------------------- */

/* Most changes in a journal are written by these functions, so they avoid calls and branches: the
 * parts before the number are written as one word, and short texts are copied and compared in two
 * overlapping pieces. */

static inline uint64_t first_bytes(const char *text, size_t len)
{
    uint64_t word = 0;
    memcpy(&word, text, len);
    return word;
}

static inline bool keys_equal(struct bytes a, struct bytes b)
{
    size_t len = a.len;
    if (len != b.len) return false;
    if (len < 4)
        return len == 0 || (a.data[0] == b.data[0] && a.data[len / 2] == b.data[len / 2] &&
                            a.data[len - 1] == b.data[len - 1]);
    if (len < 8)
        return first_bytes(a.data, 4) == first_bytes(b.data, 4) &&
               first_bytes(a.data + len - 4, 4) == first_bytes(b.data + len - 4, 4);
    /* Keys mostly differ in their last bytes. */
    return first_bytes(a.data + len - 8, 8) == first_bytes(b.data + len - 8, 8) &&
           first_bytes(a.data, 8) == first_bytes(b.data, 8) &&
           (len <= 16 || memcmp(a.data + 8, b.data + 8, len - 16) == 0);
}

static inline char *print_u64(char *to, uint64_t value)
{
    value = htole64(value);
    memcpy(to, &value, sizeof(value));
    return to + sizeof(value);
}

static inline char *print_number(char *to, enum number number, const struct effect *effect)
{
    uint64_t bits;
    switch (number) {
    case NO_NUMBER: break;
    case DEADLINE: return print_u64(to, (uint64_t)effect->at);
    case STAGE: return print_u64(to, (uint64_t)effect->stage.at);
    case SCORE: memcpy(&bits, &effect->score, sizeof(bits)); return print_u64(to, bits);
    }
    return to;
}

/* Prints an effect of this kind. Inlined for each kind, so that its row is known. */
__attribute__((always_inline)) static inline size_t
print_as(enum brief kind, char *to, const struct effect *effect, struct bytes *last)
{
    const struct row *row = &rows[kind];
    const char *start = to;
    bool is_same = last->data != NULL && keys_equal(*last, effect->key);
    uint64_t head = EFFECT_BRIEF | kind | (is_same ? SAME_KEY : effect->key.len << 8);
    unsigned bits = is_same ? 8 : 16;
    if (row->has_a) {
        head |= (uint64_t)effect->a.len << bits;
        bits += 16;
    }
    if (row->has_b) {
        head |= (uint64_t)effect->b.len << bits;
        bits += 16;
    }
    print_u64(to, head);
    to = print_number(to + bits / 8, row->number, effect);
    if (row->has_claim) {
        const struct stage *stage = &effect->stage;
        uint32_t deliveries = htole32(stage->deliveries);
        memcpy(to, &deliveries, sizeof(deliveries));
        to = print_u64(to + sizeof(deliveries), (uint64_t)(stage->claimed ? stage->token : -1));
    }
    if (!is_same) {
        *last = bytes_of(to, effect->key.len);
        to = copy_short(to, effect->key.data, effect->key.len);
    }
    if (row->has_a) to = copy_short(to, effect->a.data, effect->a.len);
    if (row->has_b) to = copy_short(to, effect->b.data, effect->b.len);
    return (size_t)(to - start);
}

size_t effect_brief_print(char *to, const struct effect *effect, struct bytes *last)
{
    bool lasts = effect->at == NEVER;
    if (effect->key.len > UINT8_MAX) return 0;
    switch (effect->kind) {
    case EFFECT_SET:
        return lasts ? print_as(BRIEF_SET, to, effect, last)
                     : print_as(BRIEF_SET_UNTIL, to, effect, last);
    case EFFECT_DROP: return print_as(BRIEF_DROP, to, effect, last);
    case EFFECT_EXPIRE: return print_as(BRIEF_EXPIRE, to, effect, last);
    case EFFECT_HASH_PUT: return lasts ? print_as(BRIEF_HASH_PUT, to, effect, last) : 0;
    case EFFECT_ZSET_PUT: return lasts ? print_as(BRIEF_ZSET_PUT, to, effect, last) : 0;
    case EFFECT_REDE_PUSH:
        if (effect->stage.claimed || effect->stage.deliveries > 0) return 0;
        return print_as(BRIEF_REDE_PUSH, to, effect, last);
    case EFFECT_REDE_MOVE: return print_as(BRIEF_REDE_MOVE, to, effect, last);
    case EFFECT_REDE_DROP: return print_as(BRIEF_REDE_DROP, to, effect, last);
    default: return 0;
    }
}

/* ---- reading --------------------------------------------------------------------------------- */

/* An effect being read: the parts before its texts. */
struct head {
    const struct row *row;
    bool is_same;
    size_t key_len, a_len, b_len;
    const char *number; /* address of the number */
    const char *texts;
};

static inline size_t read_u16(const char **from)
{
    uint16_t bytes;
    memcpy(&bytes, *from, sizeof(bytes));
    *from += sizeof(bytes);
    return le16toh(bytes);
}

static inline uint64_t read_u64(const char *from)
{
    uint64_t bytes;
    memcpy(&bytes, from, sizeof(bytes));
    return le64toh(bytes);
}

/* Reads the parts before the texts. Sets *size to the size of the whole effect or, if the effect is
 * incomplete or malformed, as request_read does. */
static inline enum request_status read_head(const char *data, size_t len, struct head *head,
                                            size_t *size)
{
    unsigned first = (unsigned char)data[0], kind = first & KIND;
    *size = 0;
    if (kind >= BRIEF_KINDS) return REQUEST_MALFORMED;
    const struct row *row = head->row = &rows[kind];
    head->is_same = (first & SAME_KEY) != 0;
    size_t lengths = (head->is_same ? 0u : 1u) + (row->has_a ? 2u : 0u) + (row->has_b ? 2u : 0u);
    *size = 1 + lengths + (row->number != NO_NUMBER ? 8u : 0u) + (row->has_claim ? 12u : 0u);
    if (len < *size) return REQUEST_PARTIAL;
    const char *at = data + 1;
    head->key_len = head->is_same ? 0 : (unsigned char)*at++;
    head->a_len = row->has_a ? read_u16(&at) : 0;
    head->b_len = row->has_b ? read_u16(&at) : 0;
    head->number = at;
    head->texts = data + *size;
    size_t texts = head->key_len + head->a_len + head->b_len;
    if (texts > EFFECT_BRIEF_TEXTS_MAX) {
        *size = 0;
        return REQUEST_MALFORMED;
    }
    *size += texts;
    return len < *size ? REQUEST_PARTIAL : REQUEST_WHOLE;
}

enum request_status effect_brief_measure(const char *data, size_t len, size_t *size)
{
    struct head head;
    return read_head(data, len, &head, size);
}

/* Reads the number, and the stage of a claim. Returns false for values that are never written. */
static bool read_numbers(const struct head *head, struct effect *effect)
{
    uint64_t bits = head->row->number != NO_NUMBER ? read_u64(head->number) : 0;
    if (head->row->has_claim) {
        const char *at = head->number + sizeof(bits);
        uint32_t deliveries;
        memcpy(&deliveries, at, sizeof(deliveries));
        int64_t token = (int64_t)read_u64(at + sizeof(deliveries));
        if (token < -1) return false;
        effect->stage.deliveries = le32toh(deliveries);
        effect->stage.claimed = token >= 0;
        effect->stage.token = token >= 0 ? token : 0;
    }
    switch (head->row->number) {
    case NO_NUMBER: return true;
    case DEADLINE: effect->at = (msec)bits; return instant_ok(effect->at);
    case STAGE: effect->stage.at = (msec)bits; return effect_times_ok(effect);
    case SCORE:
        memcpy(&effect->score, &bits, sizeof(bits));
        return effect->score == effect->score; /* not NaN */
    }
    return false;
}

enum request_status effect_brief_read(const char *data, size_t len, struct bytes *last,
                                      struct effect *effect, size_t *size)
{
    struct head head;
    enum request_status status = read_head(data, len, &head, size);
    if (status != REQUEST_WHOLE) return status;
    *effect = (struct effect){ .kind = head.row->kind, .db = effect->db, .at = NEVER };
    bool has_key = !head.is_same || last->data != NULL;
    if (!has_key || !read_numbers(&head, effect)) {
        *size = 0;
        return REQUEST_MALFORMED;
    }
    if (!head.is_same) *last = bytes_of(head.texts, head.key_len);
    effect->key = *last;
    if (head.row->has_a) effect->a = bytes_of(head.texts + head.key_len, head.a_len);
    if (head.row->has_b) effect->b = bytes_of(head.texts + head.key_len + head.a_len, head.b_len);
    return REQUEST_WHOLE;
}
