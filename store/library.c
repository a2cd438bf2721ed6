/* library: a table of blocks, each with the name and the code of one library. */
#include "store/library.h"

#include "store/base/ensure.h"
#include "store/mem/mem.h"

struct library {
    uint64_t stamp;
    size_t name_len, code_len;
    char text[]; /* the name, then the code */
};

struct bytes library_name(const struct library *library)
{
    return bytes_of(library->text, library->name_len);
}

struct bytes library_code(const struct library *library)
{
    return bytes_of(library->text + library->name_len, library->code_len);
}

uint64_t library_stamp(const struct library *library)
{
    return library->stamp;
}

static struct bytes key_of(const void *element)
{
    return library_name(element);
}

static const struct dict_type by_name = { .key = key_of };

bool library_name_ok(struct bytes name)
{
    for (size_t i = 0; i < name.len; i++) {
        char c = name.data[i];
        bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        if (!is_letter && !(c >= '0' && c <= '9') && c != '_') return false;
    }
    return name.len > 0;
}

/* ---- memory --------------------------------------------------------------------------------- */

static void library_free(struct libraries *libraries, struct library *library)
{
    libraries->bytes -= mem_size(library);
    mem_free(library);
}

void libraries_init(struct libraries *libraries)
{
    *libraries = (struct libraries){ .bytes = 0 };
    dict_init(&libraries->dict, &by_name);
}

void libraries_drop(struct libraries *libraries)
{
    while (dict_count(&libraries->dict) > 0)
        library_free(libraries, dict_take(&libraries->dict));
    dict_drop(&libraries->dict);
}

void libraries_replace(struct libraries *libraries, struct libraries *other)
{
    uint64_t version = libraries->version;
    struct dict_iter iter;
    libraries_drop(libraries);
    *libraries = *other;
    libraries_init(other);
    dict_iter_begin(&iter, &libraries->dict);
    for (struct library *library; (library = dict_iter_next(&iter)) != NULL;)
        library->stamp = ++version;
    libraries->version = version + 1;
}

/* ---- the table ------------------------------------------------------------------------------ */

const struct library *libraries_find(const struct libraries *libraries, struct bytes name)
{
    return dict_find(&libraries->dict, name);
}

const struct library *libraries_set(struct libraries *libraries, struct bytes name,
                                    struct bytes code)
{
    ensure(library_name_ok(name), "a library's name of %zu bytes", name.len);
    /* Copy first: name and code may point into the library that is replaced. */
    struct library *library = mem_alloc(sizeof(*library) + name.len + code.len);
    library->name_len = name.len;
    library->code_len = code.len;
    memcpy(library->text, name.data, name.len);
    if (code.len > 0) memcpy(library->text + name.len, code.data, code.len);
    libraries->bytes += mem_size(library);
    struct library *old = dict_remove(&libraries->dict, name);
    if (old != NULL) library_free(libraries, old);
    dict_add(&libraries->dict, library);
    library->stamp = ++libraries->version;
    return library;
}

bool libraries_remove(struct libraries *libraries, struct bytes name)
{
    struct library *library = dict_remove(&libraries->dict, name);
    if (library == NULL) return false;
    library_free(libraries, library);
    libraries->version++;
    return true;
}

void libraries_each(const struct libraries *libraries,
                    void (*visit)(void *ctx, const struct library *library), void *ctx)
{
    struct dict_iter iter;
    dict_iter_begin(&iter, &libraries->dict);
    for (const struct library *library; (library = dict_iter_next(&iter)) != NULL;)
        visit(ctx, library);
}

static void add_bytes(void *ctx, const struct library *library)
{
    ensure(library->stamp > 0, "a library without a stamp");
    ensure(library_name_ok(library_name(library)), "a library's name of %zu bytes",
           library->name_len);
    *(size_t *)ctx += mem_size(library);
}

void libraries_check(const struct libraries *libraries)
{
    size_t bytes = 0;
    dict_check(&libraries->dict);
    libraries_each(libraries, add_bytes, &bytes);
    ensure(bytes == libraries->bytes, "libraries of %zu bytes, and %zu are counted", bytes,
           libraries->bytes);
}
