/* effect_read: the reader of effect_text.h: converts a command to effects. Looks up the command's
 * name in the table of effect kinds (store/txn/effect_row.h), and reads the words that the form
 * found there lists. Refuses unknown names, missing or additional words and invalid values. */
#include <string.h>

#include "server/disk/effect/effect_text.h"
#include "server/disk/effect/effect_words.h"
#include "store/policy/policy.h"

enum {
    NAME_MIN = 3,
    SLOT_MASK = EFFECT_READER_SLOTS - 1,
    FORMS = 2 * EFFECT_KINDS, /* two forms per kind */
};

_Static_assert(FORMS < SLOT_MASK, "a slot is a byte, and some must be free");

/* ---- names ----------------------------------------------------------------------------------- */

/* A form without a name does not exist. */
static const struct effect_form *form_at(unsigned index)
{
    const struct effect_row *row = &effect_rows[index / 2];
    return index % 2 == 0 ? &row->form : &row->other;
}

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
    return (mixed * 0xc2b2ae3du) >> 24;
}

_Static_assert(EFFECT_READER_SLOTS == 1 << (32 - 24), "a slot's number has 8 bits");

static void add_name(struct effect_reader *reader, struct bytes name, unsigned form)
{
    unsigned slot = first_slot(name);
    while (reader->slots[slot] != 0)
        slot = (slot + 1) & SLOT_MASK;
    reader->slots[slot] = (uint8_t)(form + 1);
}

void effect_reader_init(struct effect_reader *reader)
{
    *reader = (struct effect_reader){ 0 };
    for (unsigned i = 0; i < FORMS; i++) {
        const struct effect_form *form = form_at(i);
        /* Forms with the same name but different subcommands are adjacent. Only the first of them
         * is in the hash table; read_command finds the others. */
        bool is_first = i < 2 || !bytes_equal(form_at(i - 2)->name, form->name);
        if (form->name.len == 0 || !is_first) continue;
        add_name(reader, form->name, i);
        if (form->many.len > 0) add_name(reader, form->many, i);
    }
}

static bool has_name(unsigned form, struct bytes name)
{
    return bytes_equal(form_at(form)->name, name) || bytes_equal(form_at(form)->many, name);
}

static bool find_form(struct effect_reader *reader, struct bytes name)
{
    /* Try the last command's row first, because commands often repeat. */
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

/* ---- commands -------------------------------------------------------------------------------- */

static bool read_command(struct cursor *cursor, struct effect_reader *reader,
                         bool (*visit)(void *ctx, const struct effect *effect), void *ctx)
{
    unsigned index = reader->last;
    const struct effect_form *form = form_at(index);
    struct bytes name = form->name;
    /* A literal at the beginning is a subcommand: find the form with the same name whose subcommand
     * is the next word. */
    while (form->head.count > 0 && form->head.at[0].type == WORD_LITERAL) {
        struct cursor ahead = *cursor;
        if (take_words(&ahead, &(struct words){ form->head.at, 1 }, NULL)) break;
        index += 2;
        if (index >= FORMS || !bytes_equal(form_at(index)->name, name)) return false;
        form = form_at(index);
    }
    struct effect effect = { .kind = index / 2, .db = reader->db, .at = NEVER };
    if (!take_words(cursor, &form->head, &effect)) return false;
    if (form->tail.count > 0) {
        /* Read the words after the elements first, because they belong to the effect of every
         * element. */
        if (cursor->end - cursor->next < form->tail.count) return false;
        struct cursor tail = { .next = cursor->end - form->tail.count, .end = cursor->end };
        cursor->end = tail.next;
        if (!take_words(&tail, &form->tail, &effect)) return false;
    }
    if (form->element.count == 0) {
        if (cursor->next < cursor->end) return false;
        if (effect.kind != EFFECT_NONE) return visit(ctx, &effect);
        reader->db = effect.db;
        return true;
    }

    int64_t counted = -1, count = 0;
    if (form->counts.len > 0 &&
        (!take_literal(cursor, form->counts) || !take_int64(cursor, &counted)))
        return false;
    do {
        if (!take_words(cursor, &form->element, &effect)) return false;
        /* Refuse a member whose name is too long for a collection: adding such a member would abort
         * the process. */
        if (effect.a.len > INT32_MAX && effect_names_member(&effect)) return false;
        if (!visit(ctx, &effect)) return false;
        count++;
    } while (cursor->next < cursor->end);
    return counted < 0 ? form->counts.len == 0 : counted == count;
}

bool effect_text_is_plain(struct effect_reader *reader, struct bytes name)
{
    if (!find_form(reader, name)) return false;
    unsigned kind = reader->last / 2;
    return kind != EFFECT_POLICY_SET && kind != EFFECT_LIBRARY_SET;
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
