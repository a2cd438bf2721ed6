/* input: see input.h. */
#include "server/net/input.h"

#include "store/mem/mem.h"

enum {
    SMALLEST = 256,           /* bytes of a buffer */
    SMALL = 64 * 1024,        /* a buffer up to this size is not shrunk */
    TRUSTED_AFTER = BLOB_BIG, /* bytes that must arrive before the announced length is allocated */
};

static bool resize(struct input *input, size_t cap)
{
    char *resized = mem_try_realloc(input->data, cap);
    if (resized == NULL) return false;
    input->data = resized;
    input->cap = cap;
    return true;
}

static void drop_big(struct input *input)
{
    blob_free(input->big);
    input->big = NULL;
    input->big_len = 0;
}

void input_drop(struct input *input)
{
    mem_free(input->data);
    blob_free(input->big);
    *input = (struct input){ 0 };
}

size_t input_memory(const struct input *input)
{
    return mem_size(input->data) + mem_size(input->big);
}

static void move_to_front(struct input *input)
{
    if (input->start > 0) memmove(input->data, input->data + input->start, input->len);
    input->start = 0;
}

bool input_reserve(struct input *input, size_t room, size_t ahead)
{
    if (input->cap - input->start - input->len >= room) return true;
    move_to_front(input);
    if (input->cap - input->len >= room) return true;

    /* The buffer doubles as bytes arrive, whatever length was announced: an announcement alone must
     * not allocate memory. Once TRUSTED_AFTER bytes have arrived, it grows to the announced length
     * at once, because copying that much at each doubling would delay other clients. */
    size_t needed = input->len + room, whole = input->len + ahead;
    size_t size = 2 * input->cap > SMALLEST ? 2 * input->cap : SMALLEST;
    if (whole > needed && (size > whole || input->len >= TRUSTED_AFTER)) size = whole;
    return resize(input, size > needed ? size : needed);
}

void input_added(struct input *input, size_t len)
{
    input->len += len;
}

bool input_append(struct input *input, const char *data, size_t len)
{
    if (len == 0) return true;
    if (!input_reserve(input, len, len)) return false;
    memcpy(input_data(input) + input->len, data, len);
    input->len += len;
    return true;
}

void input_consume(struct input *input, size_t used)
{
    if (used == 0) return;
    drop_big(input); /* the big argument belongs to the first request */
    input->start += used;
    input->len -= used;
    if (input->len == 0) {
        mem_free(input->data);
        *input = (struct input){ 0 };
    } else if (input->cap > SMALL && input->len < input->cap / 8) {
        move_to_front(input);
        resize(input, input->len);
    }
}

bool input_lift(struct input *input, struct resp_reader *reader, size_t wants)
{
    if (input->big != NULL || input->len - reader->parsed < TRUSTED_AFTER) return true;
    size_t most = input->len - reader->parsed + wants;
    input->big = blob_try_new(most - 2); /* without the line end */
    if (input->big == NULL) return false;
    struct resp_lifted lifted = resp_reader_lift(reader);
    input->big_at = lifted.offset;
    input->big_arg = lifted.arg;
    input->big_len = input->len - lifted.offset;
    memcpy(input->big->data, input_data(input) + lifted.offset, input->big_len);
    input->len = lifted.offset;
    return true;
}

char *input_big_room(const struct input *input)
{
    return input->big->data + input->big_len;
}

void input_big_added(struct input *input, size_t len)
{
    input->big_len += len;
}

void input_place_big(const struct input *input, struct bytes *argv)
{
    if (input->big != NULL) argv[input->big_arg] = blob_view(input->big);
}

bool input_join(struct input *input)
{
    if (input->big == NULL) return true;
    bool fits = input_reserve(input, input->big_len, input->big_len);
    if (fits) {
        char *at = input_data(input) + input->big_at;
        memmove(at + input->big_len, at, input->len - input->big_at);
        memcpy(at, input->big->data, input->big_len);
        input->len += input->big_len;
    }
    drop_big(input);
    return fits;
}
