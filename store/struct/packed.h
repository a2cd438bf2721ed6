/* packed: a few records, one after another in one allocation: the form of small collections. The
 * caller decides what values mean and how records are ordered.
 *
 * A record is a member, a value (may be empty) and an optional deadline:
 *
 *     bytes     content
 *     1         short head, from the highest bit: 0, value length (3), member length (4)
 *     or 2      long head: 1, member length (7); has a deadline (1), value length (7)
 *     0 or 8    deadline, little endian
 *     ...       member
 *     ...       value
 *
 * The short head is for members of at most 15 bytes, values of at most 7 and no deadline. To change
 * the layout, change this comment, packed_head_at() and packed_get() here, and is_brief(),
 * record_size(), encode() and is_alike() in packed.c.
 *
 * The caller may store a few bytes of its own before the first record, for example what all records
 * have in common. The last byte of this front is its length, and `data` points behind the front:
 *
 *     front (caller's bytes, then its whole length in one byte) | record | record ...
 *
 * An offset is where a record begins. It stays valid when only later records change. Views into
 * records stay valid until the next change of any kind. Every operation is O(bytes), at most
 * PACKED_MAX_BYTES. */
#pragma once

#include <endian.h>

#include "store/base/bytes.h"
#include "store/base/instant.h"
#include "store/mem/relocate.h"

enum {
    PACKED_MAX_COUNT = 64,   /* records; a collection that exceeds any limit takes its large form */
    PACKED_MAX_TEXT = 64,    /* bytes of one member or value */
    PACKED_MAX_BYTES = 2048, /* bytes of all records */
    PACKED_MAX_FRONT = 96,   /* bytes of the front, including its length */
};

struct packed {
    char *data;                 /* the records; NULL if empty */
    uint16_t len;               /* bytes of records */
    uint16_t cap;               /* usable bytes for records */
    uint16_t last;              /* offset of the last record; 0 if empty */
    uint8_t count;              /* records */
    uint8_t count_expiring : 7; /* records with a deadline */
    bool has_front : 1;
};

struct packed_record {
    struct bytes member, value;
    msec at; /* NEVER without a deadline */
};

static inline void packed_init(struct packed *packed)
{
    *packed = (struct packed){ .data = NULL };
}
void packed_drop(struct packed *packed); /* frees records and front, and leaves it empty */

/* Begins an empty packed with a front, and reserves `cap` bytes for records. The next call must
 * insert a record. Removing the last record frees the front too. */
void packed_begin(struct packed *packed, struct bytes front, uint32_t cap);
/* Returns the caller's bytes of the front, which must exist (has_front). Valid as long as views
 * into records. */
static inline struct bytes packed_front(const struct packed *packed)
{
    size_t len = (unsigned char)packed->data[-1];
    return bytes_of(packed->data - len, len - 1);
}

/* Would the records stay within the limits if this one were added? packed_insert requires it. */
bool packed_fits(const struct packed *packed, const struct packed_record *record);
/* Would the records stay within the limits if this one replaced the one at `offset`? */
bool packed_fits_instead(const struct packed *packed, uint32_t offset,
                         const struct packed_record *record);

/* A decoded head: lengths, and where the member begins in the record. */
struct packed_head {
    uint8_t member_at, member_len, value_len;
    bool has_expiry;
};

static inline struct packed_head packed_head_at(const char *p)
{
    unsigned char first = (unsigned char)p[0];
    if (first < 0x80)
        return (struct packed_head){ .member_at = 1,
                                     .member_len = first & 0xf,
                                     .value_len = (unsigned char)(first >> 4) };
    unsigned char second = (unsigned char)p[1];
    bool has_expiry = second >= 0x80;
    return (struct packed_head){ has_expiry ? 2 + sizeof(msec) : 2, first & 0x7f, second & 0x7f,
                                 has_expiry };
}

static inline uint32_t packed_size_of_head(struct packed_head head)
{
    return (uint32_t)head.member_at + head.member_len + head.value_len;
}

/* Reads the record at offset < len; returns the next offset. */
static inline uint32_t packed_get(const struct packed *packed, uint32_t offset,
                                  struct packed_record *record)
{
    const char *p = packed->data + offset;
    struct packed_head head = packed_head_at(p);
    record->member = bytes_of(p + head.member_at, head.member_len);
    record->value = bytes_of(p + head.member_at + head.member_len, head.value_len);
    record->at = NEVER;
    if (head.has_expiry) { /* the deadline is right before the member */
        uint64_t at;
        memcpy(&at, p + head.member_at - sizeof(at), sizeof(at));
        record->at = (msec)le64toh(at);
    }
    return offset + packed_size_of_head(head);
}

/* Returns the member's offset, or len if it is absent. O(bytes) */
uint32_t packed_find(const struct packed *packed, struct bytes member);
/* Finds and reads a record; returns false if it is absent. */
bool packed_lookup(const struct packed *packed, struct bytes member, struct packed_record *record);
uint32_t packed_nth(const struct packed *packed, unsigned n); /* the n-th offset; n < count */
/* Writes all `count` offsets in order, for random access and going backwards. */
void packed_offsets(const struct packed *packed, uint16_t offsets[PACKED_MAX_COUNT]);
/* Prefetches the records. */
void packed_hint(const struct packed *packed);

/* Inserts a record before the one at this offset, or after the last record if the offset is `len`.
 * The record must fit (packed_fits). Its member and value must not point into this packed. */
void packed_insert(struct packed *packed, uint32_t offset, const struct packed_record *record);
void packed_remove(struct packed *packed, uint32_t offset);
/* Removes `count` records from this offset on. */
void packed_remove_some(struct packed *packed, uint32_t offset, unsigned count);
/* Replaces the record at an offset. The new record must fit (packed_fits_instead). Its member and
 * value may point into this packed. */
void packed_replace(struct packed *packed, uint32_t offset, const struct packed_record *record);

/* ---- deadlines ---- */

/* Sets the record's deadline (NEVER for none). If the longer record does not fit, returns false and
 * changes nothing. */
bool packed_expire(struct packed *packed, uint32_t offset, msec at);
/* Finds the member with the earliest deadline; of equal ones, the first in memory. Returns false if
 * no member has a deadline. */
bool packed_earliest(const struct packed *packed, struct bytes *member, msec *at);
msec packed_latest(const struct packed *packed); /* INT64_MIN without deadlines */
/* Visits members with a deadline <= until. The visitor returns false to stop. */
void packed_each_until(const struct packed *packed, msec until,
                       bool (*visit)(void *ctx, struct bytes member, msec at), void *ctx);

void packed_relocate(struct packed *packed, struct relocation *relocation);
size_t packed_bytes(const struct packed *packed); /* memory, without the struct itself */
void packed_check(const struct packed *packed);   /* lengths, counts, limits */
