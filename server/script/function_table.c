/* function_table: see function_table.h. */
#include "server/script/function_table.h"

#include "store/mem/mem.h"

/* ---- names ---------------------------------------------------------------------------------- */

static struct bytes lower_name(const struct function *function)
{
    return bytes_of(function->text, function->name_len);
}

struct bytes function_name(const struct function *function)
{
    return bytes_of(function->text + function->name_len, function->name_len);
}

struct bytes function_description(const struct function *function)
{
    return bytes_of(function->text + 2 * function->name_len + 1, function->description_len);
}

struct bytes function_library_name(const struct function_library *library)
{
    return bytes_of(library->name, library->name_len);
}

static void copy_lower(char *to, struct bytes from)
{
    for (size_t i = 0; i < from.len; i++) {
        char c = from.data[i];
        to[i] = c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
    }
}

static struct bytes function_key(const void *element)
{
    return lower_name(element);
}

static struct bytes library_key(const void *element)
{
    return function_library_name(element);
}

static const struct dict_type functions_by_name = { .key = function_key };
static const struct dict_type libraries_by_name = { .key = library_key };

/* ---- libraries ------------------------------------------------------------------------------ */

struct function_library *function_library_new(struct bytes name)
{
    struct function_library *library = mem_zalloc(sizeof(*library) + name.len);
    library->name_len = name.len;
    library->bytes = mem_size(library);
    dict_init(&library->functions, &functions_by_name);
    if (name.len > 0) memcpy(library->name, name.data, name.len);
    return library;
}

void function_library_free(const struct function_table *table, struct function_library *library)
{
    for (struct function *function = library->first, *next; function != NULL; function = next) {
        next = function->next;
        table->release(table->ctx, function->callback);
        mem_free(function);
    }
    dict_drop(&library->functions);
    mem_free(library);
}

bool function_library_register(struct function_library *library, const struct function_spec *spec)
{
    size_t name = spec->name.len, len = 2 * name + 1 + spec->description.len;
    struct function *function = mem_zalloc(sizeof(*function) + len);
    function->flags = spec->flags;
    function->callback = spec->callback;
    function->described = spec->description.data != NULL;
    function->name_len = name;
    function->description_len = spec->description.len;
    copy_lower(function->text, spec->name);
    memcpy(function->text + name, spec->name.data, name);
    if (spec->description.data != NULL)
        memcpy(function->text + 2 * name + 1, spec->description.data, spec->description.len);
    if (dict_find(&library->functions, lower_name(function)) != NULL) {
        mem_free(function);
        return false;
    }
    function->library = library;
    if (library->last != NULL)
        library->last->next = function;
    else
        library->first = function;
    library->last = function;
    dict_add(&library->functions, function);
    library->bytes += mem_size(function);
    return true;
}

/* ---- the table ------------------------------------------------------------------------------ */

void function_table_init(struct function_table *table, void (*release)(void *ctx, int callback),
                         void *ctx)
{
    *table = (struct function_table){ .release = release, .ctx = ctx };
    dict_init(&table->libraries, &libraries_by_name);
    dict_init(&table->functions, &functions_by_name);
}

void function_table_drop(struct function_table *table)
{
    function_table_clear(table);
    dict_drop(&table->libraries);
    dict_drop(&table->functions);
}

struct function_library *function_table_library(const struct function_table *table,
                                                struct bytes name)
{
    return dict_find(&table->libraries, name);
}

struct function *function_table_find(const struct function_table *table, struct bytes name)
{
    char lower[256];
    if (dict_count(&table->functions) == 0) return NULL;
    char *text = name.len <= sizeof(lower) ? lower : mem_alloc(name.len);
    copy_lower(text, name);
    struct function *found = dict_find(&table->functions, bytes_of(text, name.len));
    if (text != lower) mem_free(text);
    return found;
}

const struct function *function_table_clash(const struct function_table *table,
                                            const struct function_library *library)
{
    const struct function *function = library != NULL ? library->first : NULL;
    while (function != NULL && function_table_find(table, function_name(function)) == NULL)
        function = function->next;
    return function;
}

void function_table_add(struct function_table *table, struct function_library *library)
{
    dict_add(&table->libraries, library);
    table->bytes += library->bytes;
    for (struct function *function = library->first; function != NULL; function = function->next)
        dict_add(&table->functions, function);
}

void function_table_take(struct function_table *table, struct function_library *library)
{
    table->bytes -= library->bytes;
    dict_remove(&table->libraries, function_library_name(library));
    for (struct function *function = library->first; function != NULL; function = function->next)
        dict_remove(&table->functions, lower_name(function));
}

void function_table_remove(struct function_table *table, struct function_library *library)
{
    function_table_take(table, library);
    function_library_free(table, library);
}

void function_table_clear(struct function_table *table)
{
    while (dict_count(&table->functions) > 0)
        dict_take(&table->functions);
    while (dict_count(&table->libraries) > 0)
        function_library_free(table, dict_take(&table->libraries));
    table->bytes = 0;
}
