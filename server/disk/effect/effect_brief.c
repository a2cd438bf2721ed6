/* effect_brief: see effect_brief.h. */
#include "server/disk/effect/effect_brief.h"

#include "store/base/bytes.h"

/* The effect that each brief kind stands for, and what its number means. */
enum number { NO_NUMBER, DEADLINE, SCORE, STAGE };

static const struct meaning {
    enum effect_kind kind;
    enum number number;
} meanings[BRIEF_KINDS] = {
    [BRIEF_SET] = { EFFECT_SET, NO_NUMBER },
    [BRIEF_SET_UNTIL] = { EFFECT_SET, DEADLINE },
    [BRIEF_DROP] = { EFFECT_DROP, NO_NUMBER },
    [BRIEF_EXPIRE] = { EFFECT_EXPIRE, DEADLINE },
    [BRIEF_HASH_PUT] = { EFFECT_HASH_PUT, NO_NUMBER },
    [BRIEF_ZSET_PUT] = { EFFECT_ZSET_PUT, SCORE },
    [BRIEF_REDE_PUSH] = { EFFECT_REDE_PUSH, STAGE },
    [BRIEF_REDE_MOVE] = { EFFECT_REDE_MOVE, STAGE },
    [BRIEF_REDE_DROP] = { EFFECT_REDE_DROP, NO_NUMBER },
};

/* ---- writing --------------------------------------------------------------------------------- */

/* Inlined for each kind, as brief_print is. */
__attribute__((always_inline)) static inline size_t
print_as(enum brief_kind kind, char *to, const struct effect *effect, struct bytes *last)
{
    const struct stage *stage = &effect->stage;
    struct brief_parts parts = { .key = effect->key, .a = effect->a, .b = effect->b };
    switch (meanings[kind].number) {
    case NO_NUMBER: break;
    case DEADLINE: parts.number = (uint64_t)effect->at; break;
    case STAGE: parts.number = (uint64_t)stage->at; break;
    case SCORE: memcpy(&parts.number, &effect->score, sizeof(parts.number)); break;
    }
    parts.deliveries = stage->deliveries;
    parts.token = stage->claimed ? stage->token : -1;
    return (size_t)(brief_print(to, kind, &parts, last) - to);
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
    enum brief_kind kind;
    bool is_same;
    size_t key_len, a_len, b_len;
    const char *number;
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
    enum { KIND = BRIEF_SAME_KEY - 1 };
    unsigned first = (unsigned char)data[0], kind = first & KIND;
    *size = 0;
    if (kind >= BRIEF_KINDS) return REQUEST_MALFORMED;
    const struct brief_row *row = &brief_rows[kind];
    head->kind = (enum brief_kind)kind;
    head->is_same = (first & BRIEF_SAME_KEY) != 0;
    size_t lengths = (head->is_same ? 0u : 1u) + (row->has_a ? 2u : 0u) + (row->has_b ? 2u : 0u);
    *size = 1 + lengths + (row->has_number ? 8u : 0u) + (row->has_claim ? 12u : 0u);
    if (len < *size) return REQUEST_PARTIAL;
    const char *at = data + 1;
    head->key_len = head->is_same ? 0 : (unsigned char)*at++;
    head->a_len = row->has_a ? read_u16(&at) : 0;
    head->b_len = row->has_b ? read_u16(&at) : 0;
    head->number = at;
    head->texts = data + *size;
    size_t texts = head->key_len + head->a_len + head->b_len;
    if (texts > BRIEF_TEXTS_MAX) {
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
    const struct brief_row *row = &brief_rows[head->kind];
    uint64_t bits = row->has_number ? read_u64(head->number) : 0;
    if (row->has_claim) {
        const char *at = head->number + sizeof(bits);
        uint32_t deliveries;
        memcpy(&deliveries, at, sizeof(deliveries));
        int64_t token = (int64_t)read_u64(at + sizeof(deliveries));
        if (token < -1) return false;
        effect->stage.deliveries = le32toh(deliveries);
        effect->stage.claimed = token >= 0;
        effect->stage.token = token >= 0 ? token : 0;
    }
    switch (meanings[head->kind].number) {
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
    *effect = (struct effect){ .kind = meanings[head.kind].kind, .db = effect->db, .at = NEVER };
    bool has_key = !head.is_same || last->data != NULL;
    if (!has_key || !read_numbers(&head, effect)) {
        *size = 0;
        return REQUEST_MALFORMED;
    }
    if (!head.is_same) *last = bytes_of(head.texts, head.key_len);
    effect->key = *last;
    const struct brief_row *row = &brief_rows[head.kind];
    if (row->has_a) effect->a = bytes_of(head.texts + head.key_len, head.a_len);
    if (row->has_b) effect->b = bytes_of(head.texts + head.key_len + head.a_len, head.b_len);
    return REQUEST_WHOLE;
}
