/* stream_entry: one entry of a stream, and positions between entries. The functions are in
 * stream_block.c, because they must know how entries are packed. */
#pragma once

#include "store/base/bytes.h"
#include "store/type/stream/stream_id.h"

struct stream_block;

/* One entry, borrowed until the next change of the stream. */
struct stream_entry {
    struct stream_id id;
    size_t count; /* pairs of name and value */

    /* private: where the next field is */
    const unsigned char *names, *values;
    size_t given;
};
/* Reads the next field, in the order in which they were added. Returns false after the last. */
bool stream_entry_next(struct stream_entry *entry, struct bytes *name, struct bytes *value);

/* Private: a position between the entries of one block. */
struct stream_cursor {
    const struct stream_block *block;
    const unsigned char *next, *names; /* the next entry, the names in force before it */
    struct stream_id id;               /* ID of the entry before the next one */
    uint32_t index;
};

struct stream_note {
    struct stream_id id;
    uint32_t next, names;
};
