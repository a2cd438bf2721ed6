/* packed: a few records in one allocation, one behind another: what small collections are made of.
 * Knows records and their order in memory; refuses to know what a value means and who orders them.
 *
 * The room of the allocation is what the allocator says it is: it gives more than was asked for, so
 * that most changes need no other block. */
#include "store/packed.h"

#include <endian.h>
#include <string.h>

#include "store/ensure.h"
#include "store/mem.h"

enum {
    DEADLINE_SIZE = 8,
    RECORD_MAX = 2 + 2 + DEADLINE_SIZE + 2 * PACKED_MAX_PART, /* parts' lengths take two bytes */
    SLACK = 32, /* room beyond twice the records that is not worth giving back */
};

/* ---- one record ---- */

/* A record as it stands, before anybody wants its deadline. */
struct view {
    const char *at; /* the 8 bytes, or NULL */
    const char *member;
    uint32_t member_len, value_len;
};

static uint32_t varint_size(uint32_t value)
{
    uint32_t size = 1;
    for (; value >= 0x80; value >>= 7)
        size++;
    return size;
}

static char *varint_put(char *p, uint32_t value)
{
    for (; value >= 0x80; value >>= 7)
        *p++ = (char)(value | 0x80);
    *p++ = (char)value;
    return p;
}

static inline const char *varint_get(const char *p, uint32_t *value)
{
    uint32_t byte = (unsigned char)*p++;
    *value = byte & 0x7f;
    for (unsigned shift = 7; byte >= 0x80; shift += 7) {
        byte = (unsigned char)*p++;
        *value |= (byte & 0x7f) << shift;
    }
    return p;
}

static inline msec deadline_get(const char *p)
{
    uint64_t at;
    memcpy(&at, p, sizeof(at));
    return (msec)le64toh(at);
}

static char *deadline_put(char *p, msec at)
{
    for (unsigned i = 0; i < DEADLINE_SIZE; i++)
        *p++ = (char)((uint64_t)at >> (8 * i));
    return p;
}

static char *bytes_put(char *p, struct bytes text)
{
    if (text.len > 0) memcpy(p, text.data, text.len);
    return p + text.len;
}

static inline bool is_timed(const struct packed_record *record)
{
    return record->at != NEVER;
}

static uint32_t head_of(const struct packed_record *record)
{
    return (uint32_t)record->member.len << 1 | is_timed(record);
}

static bool is_small(const struct packed_record *record)
{
    return record->member.len <= PACKED_MAX_PART && record->value.len <= PACKED_MAX_PART;
}

/* Of a small one. */
static uint32_t size_of(const struct packed_record *record)
{
    uint32_t member_len = (uint32_t)record->member.len, value_len = (uint32_t)record->value.len;
    return varint_size(head_of(record)) + varint_size(value_len) +
           (is_timed(record) ? DEADLINE_SIZE : 0) + member_len + value_len;
}

static void encode(char *p, const struct packed_record *record)
{
    p = varint_put(p, head_of(record));
    p = varint_put(p, (uint32_t)record->value.len);
    if (is_timed(record)) p = deadline_put(p, record->at);
    p = bytes_put(p, record->member);
    bytes_put(p, record->value);
}

/* Returns the next place. */
static inline uint32_t decode(const struct packed *packed, uint32_t place, struct view *view)
{
    uint32_t head;
    const char *p = varint_get(packed->data + place, &head);
    p = varint_get(p, &view->value_len);
    view->member_len = head >> 1;
    view->at = (head & 1) != 0 ? p : NULL;
    view->member = p + (head & 1) * DEADLINE_SIZE;
    return (uint32_t)(view->member - packed->data) + view->member_len + view->value_len;
}

static uint32_t size_at(const struct packed *packed, uint32_t place, bool *timed)
{
    struct view view;
    uint32_t next = decode(packed, place, &view);
    *timed = view.at != NULL;
    return next - place;
}

/* ---- memory ---- */

static void reserve(struct packed *packed, uint32_t len)
{
    if (packed->data == NULL || len > mem_size(packed->data))
        packed->data = mem_realloc(packed->data, len);
}

static void trim(struct packed *packed)
{
    if (packed->len == 0) {
        mem_free(packed->data);
        packed->data = NULL;
    } else if (mem_size(packed->data) > 2 * (size_t)packed->len + SLACK) {
        packed->data = mem_realloc(packed->data, packed->len);
    }
}

/* What took `from` bytes there takes `to` now, and what is behind it moves. */
static void resize_at(struct packed *packed, uint32_t place, uint32_t from, uint32_t to)
{
    ensure(place + from <= packed->len, "%u + %u of %u", place, from, packed->len);
    uint32_t behind = packed->len - place - from;
    packed->len = packed->len - from + to;
    if (to > from) reserve(packed, packed->len);
    if (to != from && behind > 0)
        memmove(packed->data + place + to, packed->data + place + from, behind);
    if (to < from) trim(packed);
}

void packed_drop(struct packed *packed)
{
    mem_free(packed->data);
    packed_init(packed);
}

size_t packed_bytes(const struct packed *packed)
{
    return mem_size(packed->data);
}

/* ---- reading ---- */

bool packed_fits(const struct packed *packed, const struct packed_record *record)
{
    return packed->count < PACKED_MAX_COUNT && is_small(record) &&
           packed->len + size_of(record) <= PACKED_MAX_BYTES;
}

bool packed_fits_instead(const struct packed *packed, uint32_t place,
                         const struct packed_record *record)
{
    bool timed;
    if (!is_small(record)) return false;
    return packed->len - size_at(packed, place, &timed) + size_of(record) <= PACKED_MAX_BYTES;
}

uint32_t packed_get(const struct packed *packed, uint32_t place, struct packed_record *record)
{
    struct view view;
    uint32_t next = decode(packed, place, &view);
    record->member = bytes_of(view.member, view.member_len);
    record->value = bytes_of(view.member + view.member_len, view.value_len);
    record->at = view.at != NULL ? deadline_get(view.at) : NEVER;
    return next;
}

_Static_assert(PACKED_MAX_BYTES <= UINT16_MAX, "a place is 16 bits");

/* Does a record begin as the one before it, with heads of a byte each, and so has its size? Records
 * are mostly alike, and where the next one stands is then known before this one has been read. */
static inline bool is_alike(const char *record, const char *before)
{
    return memcmp(record, before, 2) == 0 && ((record[0] | record[1]) & 0x80) == 0;
}

/* The end of a text, up to eight bytes of it: tells most members of one length apart. */
static inline uint64_t tail_of(const char *text, size_t len)
{
    uint64_t tail = 0;
    if (len >= sizeof(tail))
        memcpy(&tail, text + len - sizeof(tail), sizeof(tail));
    else if (len > 0)
        tail = (unsigned char)text[len - 1];
    return tail;
}

uint32_t packed_find(const struct packed *packed, struct bytes member)
{
    if (member.len > PACKED_MAX_PART) return packed->len;
    uint64_t tail = tail_of(member.data, member.len);
    uint32_t size = 0;
    struct view view = { 0 };
    for (uint32_t place = 0; place < packed->len; place += size) {
        const char *record = packed->data + place;
        if (size > 0 && is_alike(record, record - size))
            view.member += size;
        else
            size = decode(packed, place, &view) - place;
        if (view.member_len != member.len || tail_of(view.member, member.len) != tail) continue;
        if (member.len == 0 || memcmp(view.member, member.data, member.len) == 0) return place;
    }
    return packed->len;
}

uint32_t packed_nth(const struct packed *packed, unsigned n)
{
    ensure(n < packed->count, "record %u of %u", n, packed->count);
    struct view view;
    uint32_t place = 0;
    for (; n > 0; n--)
        place = decode(packed, place, &view);
    return place;
}

void packed_places(const struct packed *packed, uint16_t places[PACKED_MAX_COUNT])
{
    bool timed;
    uint32_t place = 0, size = 0;
    for (unsigned i = 0; i < packed->count; i++, place += size) {
        const char *record = packed->data + place;
        places[i] = (uint16_t)place;
        if (i == 0 || !is_alike(record, record - size)) size = size_at(packed, place, &timed);
    }
}

uint32_t packed_earliest(const struct packed *packed, msec *at)
{
    uint32_t earliest = packed->len;
    unsigned left = packed->count_timed;
    struct view view;
    for (uint32_t place = 0, next; left > 0; place = next) {
        next = decode(packed, place, &view);
        if (view.at == NULL) continue;
        left--;
        msec its = deadline_get(view.at);
        if (earliest != packed->len && its >= *at) continue;
        earliest = place;
        *at = its;
    }
    return earliest;
}

/* ---- changing ---- */

void packed_insert(struct packed *packed, uint32_t place, const struct packed_record *record)
{
    ensure(packed_fits(packed, record), "%zu + %zu bytes more than %u of %u records",
           record->member.len, record->value.len, packed->len, packed->count);
    resize_at(packed, place, 0, size_of(record));
    encode(packed->data + place, record);
    packed->count++;
    if (is_timed(record)) packed->count_timed++;
}

void packed_remove(struct packed *packed, uint32_t place)
{
    bool timed;
    uint32_t size = size_at(packed, place, &timed);
    packed->count--;
    if (timed) packed->count_timed--;
    resize_at(packed, place, size, 0);
}

void packed_remove_some(struct packed *packed, uint32_t place, unsigned count)
{
    uint32_t end = place;
    for (unsigned i = 0; i < count; i++) {
        bool timed;
        end += size_at(packed, end, &timed);
        if (timed) packed->count_timed--;
    }
    packed->count = (uint16_t)(packed->count - count);
    resize_at(packed, place, end - place, 0);
}

void packed_replace(struct packed *packed, uint32_t place, const struct packed_record *record)
{
    ensure(packed_fits_instead(packed, place, record), "%zu + %zu bytes among %u",
           record->member.len, record->value.len, packed->len);
    char text[RECORD_MAX]; /* the old one may be read until the new one is complete */
    encode(text, record);
    bool was_timed;
    uint32_t from = size_at(packed, place, &was_timed), to = size_of(record);
    packed->count_timed = (uint16_t)(packed->count_timed - was_timed + is_timed(record));
    resize_at(packed, place, from, to);
    memcpy(packed->data + place, text, to);
}

/* ---- self-check ---- */

static uint32_t check_record(const struct packed *packed, uint32_t place,
                             struct packed_record *record)
{
    char text[RECORD_MAX];
    uint32_t next = packed_get(packed, place, record);
    ensure(is_small(record), "%zu and %zu bytes at %u", record->member.len, record->value.len,
           place);
    ensure(next <= packed->len, "from %u to %u of %u", place, next, packed->len);
    ensure(size_of(record) == next - place, "%u bytes at %u, not %u", next - place, place,
           size_of(record));
    encode(text, record);
    ensure(memcmp(text, packed->data + place, next - place) == 0, "written otherwise at %u", place);
    ensure(packed_find(packed, record->member) == place, "the member of %u is also at %u", place,
           packed_find(packed, record->member));
    return next;
}

void packed_check(const struct packed *packed)
{
    unsigned count = 0, count_timed = 0;
    struct packed_record record;
    ensure((packed->data == NULL) == (packed->len == 0), "%u bytes at %p", packed->len,
           (void *)packed->data);
    ensure(packed->len <= mem_size(packed->data), "%u bytes in a block of %zu", packed->len,
           mem_size(packed->data));
    ensure(packed->len <= PACKED_MAX_BYTES && packed->count <= PACKED_MAX_COUNT,
           "%u bytes, %u records", packed->len, packed->count);
    for (uint32_t place = 0; place < packed->len;) {
        place = check_record(packed, place, &record);
        count++;
        if (is_timed(&record)) count_timed++;
    }
    ensure(count == packed->count, "%u records, count %u", count, packed->count);
    ensure(count_timed == packed->count_timed, "%u with a deadline, count %u", count_timed,
           packed->count_timed);
}
