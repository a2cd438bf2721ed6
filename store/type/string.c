/* string: see string.h. Invariant: a text that fits in the object is stored there. */
#include "store/type/string.h"

#include "store/base/ensure.h"
#include "store/mem/mem.h"
#include "store/type/canonical_integer.h"

enum { EMBSTR_MAX = 44, SIZE_CLASS = 8 };

static void put_small(struct object *object, struct bytes text)
{
    /* memmove: `text` may be part of the old value. */
    if (text.len > 0) memmove(object->small, text.data, text.len);
    object->small_len = (uint8_t)text.len;
    object->is_small = true;
}

/* A big text that is a blob already is not copied. */
static struct blob *blob_for(struct bytes text)
{
    struct blob *shared = text.len >= BLOB_BIG ? blob_share(text) : NULL;
    return shared != NULL ? shared : blob_new(text);
}

struct object string_new(struct bytes text)
{
    struct object object = { .type = TYPE_STRING };
    if (text.len <= OBJECT_SMALL)
        put_small(&object, text);
    else
        object.string = blob_for(text);
    return object;
}

struct object string_of_blob(struct blob *blob)
{
    if (blob->len > OBJECT_SMALL) return (struct object){ .string = blob, .type = TYPE_STRING };
    struct object object = string_new(blob_view(blob));
    blob_free(blob);
    return object;
}

/* Would a block allocated for a text of `len` bytes have about the size of this one? Never for big
 * texts: they have blobs of their own, which may be shared (blob.h). */
static bool block_fits(const struct blob *blob, size_t len)
{
    if (len >= BLOB_BIG || blob->len >= BLOB_BIG) return false;
    size_t has = mem_size(blob), needs = sizeof(*blob) + len;
    return needs <= has && (has - needs < SIZE_CLASS || has - needs <= has / 8);
}

/* ---- soft deadlines -------------------------------------------------------------------------- */

static struct object *text_object(struct object *object)
{
    return object->is_soft ? &object->soft->text : object;
}

msec string_soft_deadline(const struct object *object)
{
    return object->is_soft ? object->soft->at : NEVER;
}

void string_soften(struct object *object, msec at)
{
    struct object text = *text_object(object);
    struct soft_string *soft = object->is_soft ? object->soft : NULL;
    if (at == NEVER) {
        text.raw = object->raw;
        text.text = object->text;
        object_assign(object, text);
        mem_free(soft);
        return;
    }
    if (soft == NULL) soft = mem_alloc(sizeof(*soft));
    *soft = (struct soft_string){ at, text };
    object->soft = soft;
    object->is_soft = true;
    object->is_small = false;
}

/* ---- changing -------------------------------------------------------------------------------- */

void string_set(struct object *object, struct bytes text)
{
    object = text_object(object);
    struct blob *old = object->is_small ? NULL : object->string;
    if (text.len <= OBJECT_SMALL) {
        put_small(object, text);
    } else if (old != NULL && block_fits(old, text.len)) {
        memmove(old->data, text.data, text.len);
        old->len = (uint32_t)text.len;
        return;
    } else {
        object->string = blob_for(text);
        object->is_small = false;
    }
    blob_free(old);
}

static char *data_of(struct object *object)
{
    return object->is_small ? object->small : object->string->data;
}

bool string_overwrite(struct object *object, size_t offset, struct bytes data)
{
    object = text_object(object);
    size_t len = object_text(object).len, end = offset + data.len;
    if (len >= BLOB_BIG && (data.len > 0 || end > len) && blob_is_shared(object->string)) {
        struct blob *shared = object->string, *own = blob_try_new(end > len ? end : len);
        if (own == NULL) return false;
        memcpy(own->data, shared->data, shared->len);
        object->string = own;
        blob_free(shared);
    } else if (end > len && end <= OBJECT_SMALL) {
        object->small_len = (uint8_t)end;
    } else if (end > len) {
        struct blob *old = object->is_small ? NULL : object->string;
        struct blob *blob = blob_try_resize(old, end);
        if (blob == NULL) return false;
        if (old == NULL) memcpy(blob->data, object->small, object->small_len);
        object->string = blob;
        object->is_small = false;
    }
    if (offset > len) memset(data_of(object) + len, 0, offset - len);
    if (data.len > 0) memcpy(data_of(object) + offset, data.data, data.len);
    return true;
}

/* ---- for type_rows.c ------------------------------------------------------------------------- */

void string_free(struct object *object)
{
    struct object *text = text_object(object);
    if (!text->is_small) blob_free(text->string);
    if (object->is_soft) mem_free(object->soft);
}

size_t string_bytes(const struct object *object)
{
    if (object->is_soft) return mem_size(object->soft) + string_bytes(&object->soft->text);
    return object->is_small ? 0 : mem_size(object->string);
}

const char *string_encoding(const struct object *object)
{
    struct bytes text = object_text(object);
    if (object->raw) return "raw";
    if (!object->text && is_canonical_integer(text)) return "int";
    return text.len <= EMBSTR_MAX ? "embstr" : "raw";
}

void string_check(const struct object *object)
{
    if (object->is_soft) {
        ensure(!object->is_small && !object->soft->text.is_soft, "a soft string has two forms");
        ensure(instant_ok(object->soft->at), "stale at %lld", (long long)object->soft->at);
        object = &object->soft->text;
    }
    size_t len = object_text(object).len;
    ensure(object->is_small == (len <= OBJECT_SMALL), "%zu bytes, but is_small is %d", len,
           object->is_small);
    size_t has = string_bytes(object), needs = sizeof(*object->string) + len;
    ensure(object->is_small || has >= needs, "%zu bytes in a block of %zu bytes", needs, has);
}
