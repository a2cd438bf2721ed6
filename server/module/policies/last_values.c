/* last_values: see last_values.h. */
#include "server/module/policies/last_values.h"

#include <stdio.h>

#include "store/mem/mem.h"

static struct bytes name_of(const void *element)
{
    const struct last_value *value = element;
    return bytes_of(value->bytes, value->name_len);
}

static const struct dict_type by_name = { .key = name_of };

/* ---- parts ----------------------------------------------------------------------------------- */

void last_value_add_joined(struct last_value_draft *draft, struct bytes begin, struct bytes end)
{
    size_t len = begin.len + end.len;
    buffer_append(&draft->text, &len, sizeof(len));
    buffer_append(&draft->text, begin.data, begin.len);
    buffer_append(&draft->text, end.data, end.len);
    draft->parts++;
}

void last_value_add(struct last_value_draft *draft, struct bytes part)
{
    last_value_add_joined(draft, part, (struct bytes){ 0 });
}

void last_value_add_number(struct last_value_draft *draft, uint64_t number)
{
    char text[24];
    int len = snprintf(text, sizeof(text), "%llu", (unsigned long long)number);
    last_value_add(draft, bytes_of(text, (size_t)len));
}

void last_value_clear(struct last_value_draft *draft)
{
    buffer_clear(&draft->text);
    *draft = (struct last_value_draft){ .text = draft->text };
}

struct bytes last_value_next(const struct last_value *value, size_t *position)
{
    const char *at = value->bytes + value->name_len + *position;
    size_t len;
    memcpy(&len, at, sizeof(len));
    *position += sizeof(len) + len;
    return bytes_of(at + sizeof(len), len);
}

/* ---- copies ---------------------------------------------------------------------------------- */

void last_values_init(struct last_values *values)
{
    *values = (struct last_values){ 0 };
}

void last_values_drop(struct last_values *values)
{
    last_values_flush(values, -1);
    last_values_reclaim(values, SIZE_MAX);
    for (unsigned db = 0; db < values->count; db++)
        dict_drop(&values->all[db]);
    mem_free(values->all);
    last_values_init(values);
}

static struct dict *database_at(struct last_values *values, unsigned db)
{
    if (db >= values->count) {
        values->all = mem_realloc(values->all, (db + 1) * sizeof(*values->all));
        while (values->count <= db)
            dict_init(&values->all[values->count++], &by_name);
    }
    return &values->all[db];
}

const struct last_value *last_values_find(const struct last_values *values, unsigned db,
                                          struct bytes name)
{
    return db < values->count ? dict_find(&values->all[db], name) : NULL;
}

void last_values_put(struct last_values *values, unsigned db, struct bytes name, msec at,
                     const struct last_value_draft *draft)
{
    struct last_value *value = mem_alloc(sizeof(*value) + name.len + draft->text.len);
    *value = (struct last_value){
        .at = at, .name_len = name.len, .parts = draft->parts, .left_out = draft->left_out
    };
    if (name.len > 0) memcpy(value->bytes, name.data, name.len);
    if (draft->text.len > 0) memcpy(value->bytes + name.len, draft->text.data, draft->text.len);
    values->bytes += mem_size(value);
    dict_add(database_at(values, db), value);
}

struct last_value *last_values_take(struct last_values *values, unsigned db, struct bytes name)
{
    if (db >= values->count || dict_count(&values->all[db]) == 0) return NULL;
    return dict_remove(&values->all[db], name);
}

void last_values_free(struct last_values *values, struct last_value *value)
{
    if (value == NULL) return;
    values->bytes -= mem_size(value);
    mem_free(value);
}

/* ---- whole databases ------------------------------------------------------------------------- */

void last_values_flush(struct last_values *values, int db)
{
    for (unsigned i = 0; i < values->count; i++) {
        struct dict *database = &values->all[i];
        if ((db >= 0 && i != (unsigned)db) || dict_count(database) == 0) continue;
        values->flushed =
            mem_realloc(values->flushed, (values->flushes + 1) * sizeof(*values->flushed));
        values->flushed[values->flushes++] = *database;
        dict_init(database, &by_name);
    }
}

bool last_values_reclaim(struct last_values *values, size_t work)
{
    while (values->flushes > 0 && work > 0) {
        struct dict *last = &values->flushed[values->flushes - 1];
        for (; dict_count(last) > 0 && work > 0; work--)
            last_values_free(values, dict_take(last));
        if (dict_count(last) > 0) return true;
        dict_drop(last);
        values->flushes--;
    }
    if (values->flushes > 0) return true;
    mem_free(values->flushed);
    values->flushed = NULL;
    return false;
}

void last_values_swap(struct last_values *values, unsigned a, unsigned b)
{
    database_at(values, a > b ? a : b);
    struct dict kept = values->all[a];
    values->all[a] = values->all[b];
    values->all[b] = kept;
}
