/* element: the memory of one element of a dehydrator. Private to dehydrator.c, elements.c and their
 * check; dehydrator.h declares what other code may ask an element.
 *
 *     8 bytes    struct element
 *     8          if is_long: two uint32_t, the lengths of id and payload
 *     8          if was_claimed: struct claim
 *     8          if has_token: the token, an int64_t
 *     32         if has_options: struct kept_options
 *     ...        id, payload
 *
 * A short element without any of the optional parts thus takes 8 bytes in addition to id and
 * payload. */
#pragma once

#include <string.h>

#include "store/base/bytes.h"
#include "store/base/instant.h"
#include "store/struct/timeline.h"

enum {
    SHORT_ID = (1 << 12) - 1, /* longest id and payload whose lengths fit struct element */
    SHORT_PAYLOAD = (1 << 16) - 1,
};

struct element {
    struct timeline_node deadline;
    uint32_t id_len : 12, payload_len : 16;
    uint32_t is_long : 1, was_claimed : 1, has_token : 1, has_options : 1;
    char data[];
};

/* struct push_options as an element stores it: with the number of the schedule (schedules.h) in
 * place of its text. */
struct kept_options {
    msec first, remember;
    msec every; /* an interval, or -1 - the number of a schedule */
    msec phase;
};

struct claim {
    uint32_t deliveries;
    struct timeline_node lease; /* armed if and only if the element is claimed */
};

/* ---- offsets in element.data ----------------------------------------------------------------- */

static inline size_t lengths_size(bool is_long)
{
    return is_long ? 2 * sizeof(uint32_t) : 0;
}

static inline size_t token_offset(const struct element *element)
{
    return lengths_size(element->is_long) + (element->was_claimed ? sizeof(struct claim) : 0);
}

static inline size_t options_offset(const struct element *element)
{
    return token_offset(element) + (element->has_token ? sizeof(int64_t) : 0);
}

static inline size_t texts_offset(const struct element *element)
{
    return options_offset(element) + (element->has_options ? sizeof(struct kept_options) : 0);
}

/* ---- parts ----------------------------------------------------------------------------------- */

static inline uint32_t element_word(const struct element *element, unsigned i)
{
    uint32_t word;
    memcpy(&word, element->data + i * sizeof(word), sizeof(word));
    return word;
}

static inline struct bytes id_of_element(const struct element *element)
{
    return bytes_of(element->data + texts_offset(element),
                    element->is_long ? element_word(element, 0) : element->id_len);
}

static inline struct bytes payload_of_element(const struct element *element)
{
    struct bytes id = id_of_element(element);
    return bytes_of(id.data + id.len,
                    element->is_long ? element_word(element, 1) : element->payload_len);
}

/* Returns the claim, or NULL if the element was never claimed. The claim is aligned, because the
 * size of everything before it is a multiple of 4. */
static inline struct claim *claim_of(const struct element *element)
{
    if (!element->was_claimed) return NULL;
    return (struct claim *)(void *)((char *)(uintptr_t)element->data +
                                    lengths_size(element->is_long));
}

static inline bool is_claimed(const struct element *element)
{
    const struct claim *claim = claim_of(element);
    return claim != NULL && timeline_node_armed(&claim->lease);
}

static inline int64_t stored_token(const struct element *element)
{
    int64_t token = 0;
    if (element->has_token) memcpy(&token, element->data + token_offset(element), sizeof(token));
    return token;
}

static inline void put_token(struct element *element, int64_t token)
{
    if (element->has_token) memcpy(element->data + token_offset(element), &token, sizeof(token));
}

static inline struct kept_options kept_options(const struct element *element)
{
    struct kept_options kept = { 0 };
    if (element->has_options) memcpy(&kept, element->data + options_offset(element), sizeof(kept));
    return kept;
}
