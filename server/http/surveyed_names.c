/* surveyed_names: see surveyed_names.h. */
#include "server/http/surveyed_names.h"

#include "store/base/utf8.h"
#include "store/mem/mem.h"

void surveyed_names_init(struct surveyed_names *names, const char *pattern, size_t most)
{
    *names = (struct surveyed_names){ .pattern = blob_new(bytes_of(pattern, strlen(pattern))),
                                      .most = most };
}

void surveyed_names_drop(struct surveyed_names *names)
{
    for (size_t i = 0; i < names->count; i++)
        blob_free(names->at[i].key);
    mem_free(names->at);
    blob_free(names->pattern);
    *names = (struct surveyed_names){ 0 };
}

static int compare(const struct surveyed_name *name, unsigned db, struct bytes key)
{
    int order = bytes_compare(blob_view(name->key), key);
    if (order != 0) return order;
    return name->db < db ? -1 : name->db > db;
}

/* Returns the position of the first name that is not before this one. */
static size_t index_of(const struct surveyed_names *names, unsigned db, struct bytes key)
{
    size_t low = 0, high = names->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare(&names->at[middle], db, key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool is_at(const struct surveyed_names *names, size_t index, unsigned db, struct bytes key)
{
    return index < names->count && compare(&names->at[index], db, key) == 0;
}

bool surveyed_names_has(const struct surveyed_names *names, unsigned db, struct bytes key)
{
    return is_at(names, index_of(names, db, key), db, key);
}

static bool matches(const struct surveyed_names *names, struct bytes key)
{
    return names->pattern != NULL && bytes_match(blob_view(names->pattern), key);
}

static bool is_readable(struct bytes key)
{
    return key.len <= SURVEY_NAME_MAX && utf8_valid(key);
}

bool surveyed_names_fit(const struct surveyed_names *names, struct bytes key)
{
    return matches(names, key) && is_readable(key);
}

void surveyed_names_note(struct surveyed_names *names, unsigned db, struct bytes key)
{
    if (!matches(names, key)) return;
    size_t index = index_of(names, db, key);
    if (is_at(names, index, db, key)) return;
    if (index == names->most || !is_readable(key)) {
        names->omitted++;
        return;
    }
    if (names->count == names->most) { /* drop the last one */
        blob_free(names->at[--names->count].key);
        names->omitted++;
    } else {
        names->at = mem_grow(names->at, names->count, &names->cap, sizeof(*names->at));
    }
    memmove(&names->at[index + 1], &names->at[index], (names->count - index) * sizeof(*names->at));
    names->at[index] = (struct surveyed_name){ blob_new(key), db };
    names->count++;
}
