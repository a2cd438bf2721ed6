/* input: the bytes of one connection that have arrived but whose requests are incomplete or have
 * not run. Depends on the RESP parser and store/mem; allocates nothing while empty.
 *
 * A big argument is read into a block of its own, which can become a value without a copy. Anybody
 * can announce a large length, so the first megabyte arrives in the usual buffer, which grows with
 * what is received; then the argument moves to a block of the announced length. Only the first
 * request in the buffer can have such an argument. */
#pragma once

#include "proto/resp/resp_read.h"
#include "store/base/bytes.h"
#include "store/mem/blob.h"

/* Only input.c and the functions below may use the fields. */
struct input {
    char *data;
    size_t start, len, cap; /* data[start .. start + len) */
    struct blob *big;       /* the big argument, or NULL */
    size_t big_len;         /* bytes of it that have arrived */
    size_t big_at;          /* its offset from `start` */
    int big_arg;            /* its index in the request */
};

void input_drop(struct input *input); /* zeros are an empty input */

/* Returns the bytes, not counting a big argument. */
static inline char *input_data(const struct input *input)
{
    return input->data + input->start;
}
static inline size_t input_len(const struct input *input)
{
    return input->len;
}
/* Returns the number of bytes that have arrived, including a big argument. */
static inline size_t input_total(const struct input *input)
{
    return input->len + input->big_len;
}
static inline size_t input_capacity(const struct input *input)
{
    return input->cap;
}
size_t input_memory(const struct input *input);

/* Makes room for `room` bytes at the end. `ahead` is the number of bytes that the sender has
 * announced: once a megabyte has arrived, the buffer grows for all of them at once. Returns false
 * if memory runs out. */
bool input_reserve(struct input *input, size_t room, size_t ahead);
/* Counts this many bytes, written into the reserved room, as arrived. */
void input_added(struct input *input, size_t len);
bool input_append(struct input *input, const char *data, size_t len); /* false if memory runs out */
/* Removes `used` bytes of requests from the front and, unless that is 0, the big argument. */
void input_consume(struct input *input, size_t used);

/* ---- a big argument -------------------------------------------------------------------------- */

/* Moves the argument that the reader is reading into a block of its own, if a megabyte of it has
 * arrived; otherwise has no effect. `wants` is the result of resp_reader_wants. Returns false if
 * memory runs out. */
bool input_lift(struct input *input, struct resp_reader *reader, size_t wants);
/* input_big_wants returns the number of bytes that the big argument lacks: 0 if it is complete or
 * there is none. If there is one, input_big_room returns the address at which to store these bytes,
 * and input_big_added counts those that were stored. */
static inline size_t input_big_wants(const struct input *input)
{
    return input->big != NULL ? input->big->len - input->big_len : 0;
}
char *input_big_room(const struct input *input);
void input_big_added(struct input *input, size_t len);
/* Sets the item of `argv`, the arguments of the first request, that is the big argument, if any. */
void input_place_big(const struct input *input, struct bytes *argv);
/* Copies a big argument back between the other bytes, so that its request can be parsed again.
 * If memory runs out, loses the argument and returns false. */
bool input_join(struct input *input);
