/* effect_read: the reader of effect_text.h. The row of a command's name (effect_form.h) describes
 * its operands. Commands that the writer would not write are refused. */
#include <string.h>

#include "server/disk/effect/effect_form.h"
#include "server/disk/effect/effect_text.h"
#include "server/disk/effect/library_header.h"
#include "server/disk/effect/policy_words.h"
#include "server/disk/effect/score.h"
#include "store/base/number.h"

enum { CLAIM_ARGUMENTS = 6 }; /* of the operand C */
enum { NAME_MIN = 3, SLOT_MASK = EFFECT_READER_SLOTS - 1 };

_Static_assert(EFFECT_FORMS < 255, "a slot is a byte");

/* ---- names ----------------------------------------------------------------------------------- */

/* Hashes the first and last bytes; all names have at least three. */
static unsigned first_slot(struct bytes name)
{
    uint32_t first = 0, last = 0;
    if (name.len >= 4) {
        memcpy(&first, name.data, 4);
        memcpy(&last, name.data + name.len - 4, 4);
    } else {
        memcpy(&first, name.data, NAME_MIN);
    }
    uint32_t mixed = (first * 0x9e3779b1u) ^ (last * 0x85ebca77u) ^ (uint32_t)name.len;
    return (mixed * 0xc2b2ae3du) >> 25;
}

_Static_assert(EFFECT_READER_SLOTS == 1 << (32 - 25), "a slot's number has 7 bits");

static void add_name(struct effect_reader *reader, struct bytes name, unsigned form)
{
    unsigned slot = first_slot(name);
    while (reader->slots[slot] != 0)
        slot = (slot + 1) & SLOT_MASK;
    reader->slots[slot] = (uint8_t)(form + 1);
}

/* Forms of one name with different subcommands follow one another: the first one has the slot. */
static bool has_slot(unsigned form)
{
    struct bytes name = effect_form_at(form)->name;
    return name.len > 0 && (form < 2 || !bytes_equal(effect_form_at(form - 2)->name, name));
}

void effect_reader_init(struct effect_reader *reader)
{
    *reader = (struct effect_reader){ 0 };
    for (unsigned i = 0; i < EFFECT_FORMS; i++) {
        const struct effect_form *form = effect_form_at(i);
        if (!has_slot(i)) continue;
        add_name(reader, form->name, i);
        if (form->many.len > 0) add_name(reader, form->many, i);
    }
}

static bool has_name(unsigned form, struct bytes name)
{
    return bytes_equal(effect_form_at(form)->name, name) ||
           bytes_equal(effect_form_at(form)->many, name);
}

static bool find_form(struct effect_reader *reader, struct bytes name)
{
    /* Try the last command's row first, because equal commands often follow one another. */
    if (has_name(reader->last, name)) return true;
    if (name.len < NAME_MIN) return false;
    for (unsigned slot = first_slot(name); reader->slots[slot] != 0;
         slot = (slot + 1) & SLOT_MASK) {
        unsigned form = reader->slots[slot] - 1u;
        if (!has_name(form, name)) continue;
        reader->last = form;
        return true;
    }
    return false;
}

/* ---- operands -------------------------------------------------------------------------------- */

struct cursor {
    const struct bytes *next, *end;
    struct policy *policy;         /* filled by the operand P */
    struct library_header *header; /* filled by the operand l; has the library's name, ... */
    bool has_header;               /* ... and must be dropped */
};

static bool take_argument(struct cursor *cursor, struct bytes *text)
{
    if (cursor->next == cursor->end) return false;
    *text = *cursor->next++;
    return text->len <= UINT32_MAX;
}

static bool take_literal(struct cursor *cursor, struct bytes word)
{
    struct bytes text;
    return take_argument(cursor, &text) && bytes_equal(text, word);
}

static bool take_number(struct cursor *cursor, int64_t *number)
{
    struct bytes text;
    return take_argument(cursor, &text) && number_parse_int64(text.data, text.len, number);
}

static bool take_within(struct cursor *cursor, int64_t least, int64_t most, int64_t *number)
{
    return take_number(cursor, number) && *number >= least && *number <= most;
}

static bool take_instant(struct cursor *cursor, msec *at)
{
    return take_within(cursor, INSTANT_MIN, INSTANT_MAX, at);
}

static bool take_deadline(struct cursor *cursor, msec *at)
{
    return take_literal(cursor, LIT("PXAT")) && take_instant(cursor, at);
}

static bool take_db(struct cursor *cursor, unsigned *db)
{
    int64_t number;
    if (!take_within(cursor, 0, INT32_MAX, &number)) return false;
    *db = (unsigned)number;
    return true;
}

/* LTRIM key 1 0 keeps nothing. */
static bool take_range(struct cursor *cursor, struct effect *effect)
{
    int64_t last;
    if (!take_within(cursor, 0, INT64_MAX, &effect->from)) return false;
    if (!take_within(cursor, 0, INT64_MAX - 1, &last)) return false;
    if (effect->from == 1 && last == 0) effect->from = 0, last = -1;
    effect->to = last + 1;
    return effect->to >= effect->from;
}

static bool take_stage(struct cursor *cursor, struct stage *stage)
{
    int64_t deliveries;
    struct bytes word;
    if (!take_instant(cursor, &stage->at)) return false;
    if (!take_within(cursor, 0, UINT32_MAX, &deliveries) || !take_argument(cursor, &word))
        return false;
    stage->deliveries = (uint32_t)deliveries;
    stage->claimed = bytes_equal(word, LIT("CLAIMED"));
    return stage->claimed || bytes_equal(word, LIT("WAITING"));
}

static bool parse_id(struct bytes text, struct stream_id *id)
{
    const char *dash = text.len > 0 ? memchr(text.data, '-', text.len) : NULL;
    if (dash == NULL) return false;
    size_t ms_len = (size_t)(dash - text.data);
    return number_parse_uint64(text.data, ms_len, &id->ms) &&
           number_parse_uint64(dash + 1, text.len - ms_len - 1, &id->seq);
}

static bool take_id(struct cursor *cursor, struct stream_id *id)
{
    struct bytes text;
    return take_argument(cursor, &text) && parse_id(text, id);
}

/* The rest of the arguments. */
static bool take_parts(struct cursor *cursor, struct effect *effect)
{
    effect->parts = cursor->next;
    effect->part_count = (size_t)(cursor->end - cursor->next);
    struct bytes text;
    while (cursor->next < cursor->end)
        if (!take_argument(cursor, &text)) return false;
    return effect->part_count > 0 && effect->part_count % 2 == 0;
}

static bool take_marks(struct cursor *cursor, struct stream_marks *marks)
{
    int64_t added;
    if (!take_id(cursor, &marks->last) || !take_literal(cursor, LIT("ENTRIESADDED"))) return false;
    if (!take_within(cursor, 0, INT64_MAX, &added)) return false;
    marks->added = (uint64_t)added;
    return take_literal(cursor, LIT("MAXDELETEDID")) && take_id(cursor, &marks->max_deleted);
}

static bool take_position(struct cursor *cursor, bool is_new, struct group_position *position)
{
    if (!take_id(cursor, &position->last)) return false;
    if (is_new && !take_literal(cursor, LIT("MKSTREAM"))) return false;
    return take_literal(cursor, LIT("ENTRIESREAD")) &&
           take_within(cursor, GROUP_READ_UNKNOWN, INT64_MAX, &position->read);
}

static bool take_claim(struct cursor *cursor, struct effect *effect)
{
    return take_literal(cursor, LIT("TIME")) && take_instant(cursor, &effect->at) &&
           take_literal(cursor, LIT("RETRYCOUNT")) &&
           take_within(cursor, 0, INT64_MAX, &effect->to) && take_literal(cursor, LIT("FORCE")) &&
           take_literal(cursor, LIT("JUSTID"));
}

static bool take_side(struct cursor *cursor, int64_t *after)
{
    struct bytes word;
    if (!take_argument(cursor, &word)) return false;
    *after = bytes_equal(word, LIT("AFTER"));
    return *after || bytes_equal(word, LIT("BEFORE"));
}

static bool take_score(struct cursor *cursor, double *score)
{
    struct bytes text;
    return take_argument(cursor, &text) && score_parse(text.data, text.len, score);
}

static bool take_policy(struct cursor *cursor, struct effect *effect)
{
    const struct bytes *words = cursor->next;
    effect->policy = cursor->policy;
    cursor->next = cursor->end;
    return policy_words_parse(words, (size_t)(cursor->end - words), cursor->policy);
}

static bool take_library(struct cursor *cursor, struct effect *effect)
{
    if (!take_literal(cursor, LIT("REPLACE")) || !take_argument(cursor, &effect->a)) return false;
    cursor->has_header = true;
    bool good = library_header_read(cursor->header, effect->a);
    effect->key = cursor->header->name;
    return good;
}

static bool take_stream_operand(struct cursor *cursor, char letter, struct effect *effect)
{
    switch (letter) {
    case 'i': return take_id(cursor, &effect->id);
    case 'F': return take_parts(cursor, effect);
    case 'm': return take_marks(cursor, &effect->marks);
    case 'q': return take_position(cursor, false, &effect->position);
    case 'G': return take_position(cursor, true, &effect->position);
    case 'w': return take_within(cursor, 0, INT64_MAX, &effect->to);
    case 'y': return take_side(cursor, &effect->to);
    case 'z': return take_literal(cursor, LIT("0"));
    case 'C': return take_claim(cursor, effect);
    case 'x':
        return take_literal(cursor, LIT("MINID")) && take_literal(cursor, LIT("=")) &&
               take_id(cursor, &effect->id);
    default: return false;
    }
}

static bool take_operand(struct cursor *cursor, char letter, struct effect *effect)
{
    switch (letter) {
    case 'k': return take_argument(cursor, &effect->key);
    case 'a': return take_argument(cursor, &effect->a);
    case 'b': return take_argument(cursor, &effect->b);
    case 'd': return take_db(cursor, &effect->db);
    case 's': return take_score(cursor, &effect->score);
    case 'f': return take_number(cursor, &effect->from);
    case 'n': return take_within(cursor, 0, INT32_MAX, &effect->to);
    case 't': return take_instant(cursor, &effect->at);
    case 'e': return take_instant(cursor, &effect->stage.at);
    case 'p': return take_deadline(cursor, &effect->at);
    case 'o': return cursor->next == cursor->end || take_deadline(cursor, &effect->at);
    case 'r': return take_range(cursor, effect);
    case 'g': return take_stage(cursor, &effect->stage);
    case 'c':
        return take_literal(cursor, LIT("DB")) && take_within(cursor, 0, INT32_MAX, &effect->to) &&
               take_literal(cursor, LIT("REPLACE"));
    case 'l': return take_library(cursor, effect);
    case 'P': return take_policy(cursor, effect);
    default: return take_stream_operand(cursor, letter, effect);
    }
}

static bool take_operands(struct cursor *cursor, const char *letters, struct effect *effect)
{
    for (; *letters != '\0'; letters++)
        if (!take_operand(cursor, *letters, effect)) return false;
    return true;
}

/* ---- commands -------------------------------------------------------------------------------- */

/* Refuse longer member names than a collection can hold, which would abort the process. */
static bool member_fits(const struct effect *effect)
{
    return effect->a.len <= INT32_MAX || !effect_names_member(effect);
}

/* Takes the operands after the elements first, because each element's effect has them. */
static bool take_tail(struct cursor *cursor, const char *letters, struct effect *effect)
{
    if (cursor->end - cursor->next < CLAIM_ARGUMENTS) return false;
    struct cursor tail = { .next = cursor->end - CLAIM_ARGUMENTS, .end = cursor->end };
    cursor->end = tail.next;
    return take_operands(&tail, letters, effect);
}

static bool take_elements(struct cursor *cursor, const struct effect_form *form,
                          struct effect *effect, bool (*visit)(void *ctx, const struct effect *),
                          void *ctx)
{
    int64_t counted = -1, count = 0;
    if (form->counts.len > 0 &&
        (!take_literal(cursor, form->counts) || !take_number(cursor, &counted)))
        return false;
    do {
        if (!take_operands(cursor, form->element, effect)) return false;
        if (!member_fits(effect) || !visit(ctx, effect)) return false;
        count++;
    } while (cursor->next < cursor->end);
    return counted < 0 ? form->counts.len == 0 : counted == count;
}

/* Takes the subcommand, if the form has one, and finds its form. False: there is no such one. */
static bool take_subcommand(struct cursor *cursor, unsigned *index)
{
    const struct effect_form *form = effect_form_at(*index);
    struct bytes word;
    if (form->word.len == 0) return true;
    if (!take_argument(cursor, &word)) return false;
    for (; *index < EFFECT_FORMS; *index += 2) {
        const struct effect_form *next = effect_form_at(*index);
        if (!bytes_equal(next->name, form->name)) return false;
        if (bytes_equal(next->word, word)) return true;
    }
    return false;
}

static bool read_command(struct cursor *cursor, struct effect_reader *reader,
                         bool (*visit)(void *ctx, const struct effect *effect), void *ctx)
{
    unsigned index = reader->last;
    if (!take_subcommand(cursor, &index)) return false;
    const struct effect_form *form = effect_form_at(index);
    struct effect effect = { .kind = index / 2, .db = reader->db, .at = NEVER };
    if (effect.kind == EFFECT_LIST_INSERT && index % 2 == 1) effect.to = -1;
    if (!take_operands(cursor, form->head, &effect)) return false;
    if (form->tail != NULL && !take_tail(cursor, form->tail, &effect)) return false;
    if (form->element != NULL) return take_elements(cursor, form, &effect, visit, ctx);
    if (cursor->next < cursor->end) return false;
    if (effect.kind != EFFECT_NONE) return visit(ctx, &effect);
    reader->db = effect.db;
    return true;
}

bool effect_text_read(int argc, const struct bytes *argv, struct effect_reader *reader,
                      bool (*visit)(void *ctx, const struct effect *effect), void *ctx)
{
    if (argc < 1 || !find_form(reader, argv[0])) return false;
    struct policy policy;
    struct library_header header;
    struct cursor cursor = { argv + 1, argv + argc, &policy, &header, false };
    bool good = read_command(&cursor, reader, visit, ctx);
    if (cursor.has_header) library_header_drop(&header);
    return good;
}
