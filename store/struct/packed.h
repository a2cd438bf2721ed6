/* packed: a few records in one allocation, one behind another: what small collections are made of.
 * Knows records and their order in memory; refuses to know what a value means and who orders them.
 *
 * A record is a member, a value (perhaps empty) and perhaps a deadline. It begins with one byte if
 * the member has at most 15 bytes, the value at most 7, and there is no deadline; else with two:
 *
 *     0 (1 bit)   value length (3 bits)   member length (4 bits)
 *     1 (1 bit)   member length (7 bits)   has a deadline (1 bit)   value length (7 bits)
 *
 * Then come the deadline (8 bytes, little endian, only if it has one), the member and the value. To
 * change the layout change this comment, packed_head_at() here, size_of() and encode() of packed.c:
 * nothing else knows it.
 *
 * A place is a record's offset. A change behind a place leaves it valid; views into the records are
 * valid until the next change of any kind. All work is O(bytes): keep it small (PACKED_MAX_BYTES).
 */
#ifndef STORE_STRUCT_PACKED_H
#define STORE_STRUCT_PACKED_H

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/base/bytes.h"
#include "store/base/instant.h"
#include "store/mem/relocate.h"

enum {
    PACKED_MAX_COUNT = 64,   /* beyond any of these a collection takes its large form */
    PACKED_MAX_PART = 64,    /* bytes of one member or value */
    PACKED_MAX_BYTES = 2048, /* of all records */
};

struct packed {
    char *data;          /* NULL when empty */
    uint16_t len;        /* bytes of records */
    uint16_t room;       /* bytes of the allocation */
    uint16_t last;       /* the last record's place; 0 when empty */
    uint8_t count;       /* records */
    uint8_t count_timed; /* of them with a deadline */
};

struct packed_record {
    struct bytes member, value;
    msec at; /* NEVER: no deadline */
};

static inline void packed_init(struct packed *packed)
{
    *packed = (struct packed){ .data = NULL };
}
void packed_drop(struct packed *packed); /* and it is empty */

/* Would the records still be few and small with this one more? What does not fit must not come in.
 */
bool packed_fits(const struct packed *packed, const struct packed_record *record);
/* And with this one instead of the one there? */
bool packed_fits_instead(const struct packed *packed, uint32_t place,
                         const struct packed_record *record);

/* How a record begins: lengths, and the member's distance from its place. */
struct packed_head {
    uint8_t member_at, member_len, value_len;
    bool timed;
};

static inline struct packed_head packed_head_at(const char *p)
{
    unsigned char first = (unsigned char)p[0];
    if (first < 0x80)
        return (struct packed_head){ .member_at = 1,
                                     .member_len = first & 0xf,
                                     .value_len = (unsigned char)(first >> 4) };
    unsigned char second = (unsigned char)p[1];
    bool timed = second >= 0x80;
    return (struct packed_head){ timed ? 2 + sizeof(msec) : 2, first & 0x7f, second & 0x7f, timed };
}

static inline uint32_t packed_size_of_head(struct packed_head head)
{
    return (uint32_t)head.member_at + head.member_len + head.value_len;
}

/* The deadline stands right ahead of the member. */
static inline msec packed_deadline_at(const char *p, struct packed_head head)
{
    uint64_t at;
    if (!head.timed) return NEVER;
    memcpy(&at, p + head.member_at - sizeof(at), sizeof(at));
    return (msec)le64toh(at);
}

/* The record at a place; returns the next place. place < len. */
static inline uint32_t packed_get(const struct packed *packed, uint32_t place,
                                  struct packed_record *record)
{
    const char *p = packed->data + place;
    struct packed_head head = packed_head_at(p);
    record->member = bytes_of(p + head.member_at, head.member_len);
    record->value = bytes_of(p + head.member_at + head.member_len, head.value_len);
    record->at = packed_deadline_at(p, head);
    return place + packed_size_of_head(head);
}

/* The record's place, or len. A pointer scan over equal lengths: O(bytes). */
uint32_t packed_find(const struct packed *packed, struct bytes member);
/* And the record itself; false: there is none. */
bool packed_lookup(const struct packed *packed, struct bytes member, struct packed_record *record);
uint32_t packed_nth(const struct packed *packed, unsigned n); /* its place; n < count */
/* All places in order, `count` of them: for jumping, and for going backwards. */
void packed_places(const struct packed *packed, uint16_t places[PACKED_MAX_COUNT]);
/* Begins to bring the records into the cache. */
void packed_hint(const struct packed *packed);

/* A new record at this place, what was there behind it; len: at the end. The texts may not be the
 * packed's own. */
void packed_insert(struct packed *packed, uint32_t place, const struct packed_record *record);
void packed_remove(struct packed *packed, uint32_t place);
void packed_remove_some(struct packed *packed, uint32_t place, unsigned count); /* from there on */
/* The record there becomes this one. The texts may be the packed's own. */
void packed_replace(struct packed *packed, uint32_t place, const struct packed_record *record);

/* ---- deadlines ---- */

/* The record there has this deadline (NEVER: none) from now on; false: there is no room for it. */
bool packed_expire(struct packed *packed, uint32_t place, msec at);
/* The member that ends first, the first in memory of equal ones; false: none has a deadline. */
bool packed_first(const struct packed *packed, struct bytes *member, msec *at);
msec packed_latest(const struct packed *packed); /* INT64_MIN: none has a deadline */
/* Those with a deadline <= until. Return false to stop. */
void packed_each_until(const struct packed *packed, msec until,
                       bool (*visit)(void *ctx, struct bytes member, msec at), void *ctx);

static inline void packed_relocate(struct packed *packed, struct relocation *relocation)
{
    packed->data = relocation_block(relocation, packed->data);
}
size_t packed_bytes(const struct packed *packed); /* without the struct itself */
void packed_check(const struct packed *packed);   /* lengths and counts add up */

#endif
