/* packed: a few records in one allocation, one behind another: what small collections are made of.
 * Knows records and their order in memory; refuses to know what a value means and who orders them.
 *
 * A record is a member, a value (perhaps empty) and perhaps a deadline:
 *
 *     varint (member length << 1 | has a deadline)   varint value length
 *     deadline (8 bytes, little endian, only if it has one)   member   value
 *
 * A varint has 7 bits to a byte, the lowest first, the high bit on all but the last. To change the
 * layout change this comment, size_of(), encode() and decode() of packed.c: nothing else knows it.
 *
 * A place is a record's offset. A change behind a place leaves it valid; views into the records are
 * valid until the next change of any kind. All work is O(bytes): keep it small (PACKED_MAX_BYTES).
 */
#ifndef STORE_PACKED_H
#define STORE_PACKED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/bytes.h"
#include "store/instant.h"

enum {
    PACKED_MAX_COUNT = 64,   /* beyond any of these a collection takes its large form */
    PACKED_MAX_PART = 64,    /* bytes of one member or value */
    PACKED_MAX_BYTES = 2048, /* of all records */
};

struct packed {
    char *data;           /* NULL when empty */
    uint32_t len;         /* bytes of records */
    uint16_t count;       /* records */
    uint16_t count_timed; /* of them with a deadline */
};

struct packed_record {
    struct bytes member, value;
    msec at; /* NEVER: no deadline */
};

static inline void packed_init(struct packed *packed)
{
    *packed = (struct packed){ NULL, 0, 0, 0 };
}
void packed_drop(struct packed *packed); /* and it is empty */

/* Would the records still be few and small with this one more? What does not fit must not come in.
 */
bool packed_fits(const struct packed *packed, const struct packed_record *record);
/* And with this one instead of the one there? */
bool packed_fits_instead(const struct packed *packed, uint32_t place,
                         const struct packed_record *record);

/* The record at a place; returns the next place. place < len. */
uint32_t packed_get(const struct packed *packed, uint32_t place, struct packed_record *record);
/* The record's place, or len. A pointer scan over equal lengths: O(bytes). */
uint32_t packed_find(const struct packed *packed, struct bytes member);
uint32_t packed_nth(const struct packed *packed, unsigned n); /* its place; n < count */
/* All places in order, `count` of them: for jumping, and for going backwards. */
void packed_places(const struct packed *packed, uint16_t places[PACKED_MAX_COUNT]);

/* A new record at this place, what was there behind it; len: at the end. The texts may not be the
 * packed's own. */
void packed_insert(struct packed *packed, uint32_t place, const struct packed_record *record);
void packed_remove(struct packed *packed, uint32_t place);
void packed_remove_some(struct packed *packed, uint32_t place, unsigned count); /* from there on */
/* The record there becomes this one. The texts may be the packed's own. */
void packed_replace(struct packed *packed, uint32_t place, const struct packed_record *record);

/* The place of the earliest deadline, the first in memory of equal ones; len: there is none. */
uint32_t packed_earliest(const struct packed *packed, msec *at);

size_t packed_bytes(const struct packed *packed); /* without the struct itself */
void packed_check(const struct packed *packed);   /* lengths and counts add up */

#endif
