/* template: reads hashes whose field names are stored apart from their values. In Redis 8.10 many
 * hashes can share one list of names, a template.
 *
 * Layouts, by the type of the key:
 *
 *     29    names, then a listpack: an integer without meaning, and a value for each name
 *     30    a listpack: the ID of a template, and a value for each name
 *     31    names, then a string for each value
 *     32    the ID of a template, then a string for each value
 *
 *     names     the byte 0 and a listpack; or the byte 1, their number, and a string for each
 *     template  a record before the keys: its ID, the number of names, a string for each name
 *
 * A payload of DUMP contains no templates, so that types 30 and 32 are damage there. Redis sorts
 * the names; this reader requires only that they differ. */
#include <string.h>

#include "proto/rdb/reader.h"
#include "store/base/siphash.h"
#include "store/mem/mem.h"

enum { MIN_SIZE = 16, NAMES_PACKED = 0, NAMES_AS_STRINGS = 1 };

/* ---- names ----------------------------------------------------------------------------------- */

static void names_drop(struct rdb_names *names)
{
    buffer_drop(&names->text);
    buffer_drop(&names->ends);
}

static size_t names_count(const struct rdb_names *names)
{
    return names->ends.len / sizeof(size_t);
}

static size_t end_of_name(const struct rdb_names *names, size_t i)
{
    size_t end;
    memcpy(&end, names->ends.data + i * sizeof(end), sizeof(end));
    return end;
}

static struct bytes name_at(const struct rdb_names *names, size_t i)
{
    size_t start = i == 0 ? 0 : end_of_name(names, i - 1);
    struct bytes all = buffer_bytes(&names->text);
    return (struct bytes){ all.data + start, end_of_name(names, i) - start };
}

static bool add_name(struct rdb_reader *reader, struct rdb_names *names, struct bytes name)
{
    if (!rdb_unique(reader, name)) return false;
    size_t end = names->text.len + name.len;
    return (buffer_try_append(&names->text, name.data, name.len) &&
            buffer_try_append(&names->ends, &end, sizeof(end))) ||
           rdb_fail(reader, RDB_TOO_LARGE, "out of memory");
}

static bool read_names(struct rdb_reader *reader, struct rdb_names *names)
{
    uint64_t count;
    struct bytes name;
    if (!rdb_get_length(reader, &count)) return false;
    if (count == 0) return rdb_damaged(reader, "a template without fields");
    for (; count > 0; count--)
        if (!rdb_get_string(reader, &reader->first, &name) || !add_name(reader, names, name))
            return false;
    return true;
}

static bool read_own_names(struct rdb_reader *reader)
{
    uint64_t form;
    buffer_clear(&reader->names.text);
    buffer_clear(&reader->names.ends);
    if (!rdb_get_number(reader, 1, &form)) return false;
    switch (form) {
    case NAMES_PACKED: break;
    case NAMES_AS_STRINGS: return read_names(reader, &reader->names);
    default: return rdb_damaged(reader, "names of fields in an unknown form");
    }

    struct rdb_walk walk;
    struct rdb_item item;
    enum rdb_step step;
    struct bytes packed;
    if (!rdb_get_string(reader, &reader->first, &packed)) return false;
    rdb_walk_begin(&walk, RDB_LISTPACK, packed);
    while ((step = rdb_walk_next(&walk, &item)) == RDB_ITEM)
        if (!add_name(reader, &reader->names, item.text)) return false;
    if (step == RDB_BROKEN) return rdb_damaged(reader, walk.wrong);
    return walk.count > 0 || rdb_damaged(reader, "a template without fields");
}

/* ---- templates ------------------------------------------------------------------------------- */

/* Returns the slot of this ID, or the free slot where it belongs. */
static struct rdb_template *find_template_slot(const struct rdb_templates *all, uint64_t id)
{
    size_t at = siphash(&id, sizeof(id)) & (all->size - 1);
    while (all->slots[at].names != NULL && all->slots[at].id != id)
        at = (at + 1) & (all->size - 1);
    return &all->slots[at];
}

bool rdb_read_template(struct rdb_reader *reader)
{
    struct rdb_templates *all = &reader->templates;
    uint64_t id;
    if (!rdb_get_length(reader, &id)) return false;
    if (2 * (all->count + 1) > all->size) {
        struct rdb_templates bigger = { .count = all->count,
                                        .size = all->size > 0 ? 2 * all->size : MIN_SIZE };
        size_t bytes = bigger.size * sizeof(*bigger.slots);
        bigger.slots = mem_try_alloc(bytes);
        if (bigger.slots == NULL) return rdb_fail(reader, RDB_TOO_LARGE, "out of memory");
        memset(bigger.slots, 0, bytes);
        for (size_t i = 0; i < all->size; i++)
            if (all->slots[i].names != NULL)
                *find_template_slot(&bigger, all->slots[i].id) = all->slots[i];
        mem_free(all->slots);
        *all = bigger;
    }
    struct rdb_template *slot = find_template_slot(all, id);
    if (slot->names != NULL) return rdb_damaged(reader, "a template with the ID of another one");
    struct rdb_names *names = mem_try_alloc(sizeof(*names));
    if (names == NULL) return rdb_fail(reader, RDB_TOO_LARGE, "out of memory");
    *names = (struct rdb_names){ 0 };
    *slot = (struct rdb_template){ id, names };
    all->count++;
    if (!read_names(reader, names)) return false;
    rdb_seen_clear(&reader->seen);
    return true;
}

static const struct rdb_names *find_names(struct rdb_reader *reader, uint64_t id)
{
    const struct rdb_templates *all = &reader->templates;
    const struct rdb_names *names = all->size > 0 ? find_template_slot(all, id)->names : NULL;
    if (names == NULL) rdb_damaged(reader, "a hash whose template is missing");
    return names;
}

void rdb_templates_drop(struct rdb_reader *reader)
{
    struct rdb_templates *all = &reader->templates;
    for (size_t i = 0; i < all->size; i++) {
        if (all->slots[i].names == NULL) continue;
        names_drop(all->slots[i].names);
        mem_free(all->slots[i].names);
    }
    mem_free(all->slots);
    names_drop(&reader->names);
}

/* ---- values ---------------------------------------------------------------------------------- */

/* Reads values in a listpack. `owns_names` is true if the key's names precede the listpack, false
 * if its first item is the ID of a template. Checks the listpack to its end before the visitor sees
 * its first value. */
static bool read_packed_values(struct rdb_reader *reader, bool owns_names)
{
    struct rdb_walk walk;
    struct rdb_item item;
    struct bytes packed;
    enum rdb_step step;
    uint64_t id = 0;
    if (!rdb_get_string(reader, &reader->first, &packed)) return false;
    rdb_walk_begin(&walk, RDB_LISTPACK, packed);
    while ((step = rdb_walk_next(&walk, &item)) == RDB_ITEM) {
        if (walk.count > 1) continue;
        if (!item.is_integer) return rdb_damaged(reader, "a template's ID that is no integer");
        id = (uint64_t)item.integer;
    }
    if (step == RDB_BROKEN) return rdb_damaged(reader, walk.wrong);
    if (walk.count == 0) return rdb_damaged(reader, "values without a template's ID");

    uint64_t count = walk.count - 1;
    const struct rdb_names *names = owns_names ? &reader->names : find_names(reader, id);
    if (names == NULL) return false;
    if (count != names_count(names))
        return rdb_damaged(reader, "another number of values than of fields");
    rdb_walk_begin(&walk, RDB_LISTPACK, packed);
    rdb_walk_next(&walk, &item);
    for (size_t i = 0; i < count && rdb_walk_next(&walk, &item) == RDB_ITEM; i++)
        if (!RDB_VISIT(reader, hash_field, name_at(names, i), item.text, RDB_NEVER)) return false;
    return true;
}

static bool read_values(struct rdb_reader *reader, const struct rdb_names *names)
{
    struct bytes value;
    for (size_t i = 0; i < names_count(names); i++)
        if (!rdb_get_string(reader, &reader->first, &value) ||
            !RDB_VISIT(reader, hash_field, name_at(names, i), value, RDB_NEVER))
            return false;
    return true;
}

bool rdb_read_templated(struct rdb_reader *reader, unsigned type)
{
    uint64_t id;
    if (!rdb_begin_key(reader, RDB_HASH)) return false;
    switch (type) {
    case 29: return read_own_names(reader) && read_packed_values(reader, true);
    case 30: return read_packed_values(reader, false);
    case 31: return read_own_names(reader) && read_values(reader, &reader->names);
    }
    if (!rdb_get_length(reader, &id)) return false;
    const struct rdb_names *names = find_names(reader, id);
    return names != NULL && read_values(reader, names);
}
