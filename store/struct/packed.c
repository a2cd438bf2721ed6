/* packed: see packed.h. `cap` is the usable size that the allocator reports, which may exceed the
 * requested size. */
#include "store/struct/packed.h"

#include "store/base/ensure.h"
#include "store/base/prefetch.h"
#include "store/mem/mem.h"

enum {
    BRIEF_MEMBER = 15, /* the greatest lengths in a head of one byte */
    BRIEF_VALUE = 7,
    RECORD_MAX = 2 + sizeof(msec) + 2 * PACKED_MAX_TEXT,
    SLACK = 32, /* shrink only if room exceeds twice the records plus this */
    LINE = 64,  /* bytes of a cache line */
};

_Static_assert(PACKED_MAX_BYTES <= UINT16_MAX, "an offset has 16 bits");
_Static_assert(PACKED_MAX_COUNT < 1 << 7, "count_expiring has 7 bits");
_Static_assert(PACKED_MAX_FRONT <= UINT8_MAX, "the length of a front is 8 bits");
_Static_assert(PACKED_MAX_TEXT < 0x80, "a text's length is 7 bits");

/* ---- one record ---- */

static inline bool has_expiry(const struct packed_record *record)
{
    return record->at != NEVER;
}

static bool is_small(const struct packed_record *record)
{
    return record->member.len <= PACKED_MAX_TEXT && record->value.len <= PACKED_MAX_TEXT;
}

static bool is_brief(const struct packed_record *record)
{
    return record->member.len <= BRIEF_MEMBER && record->value.len <= BRIEF_VALUE &&
           !has_expiry(record);
}

/* Member and value must be within PACKED_MAX_TEXT. */
static uint32_t record_size(const struct packed_record *record)
{
    uint32_t texts = (uint32_t)(record->member.len + record->value.len);
    if (is_brief(record)) return 1 + texts;
    return 2 + (has_expiry(record) ? (uint32_t)sizeof(msec) : 0) + texts;
}

static char *bytes_put(char *p, struct bytes text)
{
    if (text.len > 0) memcpy(p, text.data, text.len);
    return p + text.len;
}

static void encode(char *p, const struct packed_record *record)
{
    size_t member_len = record->member.len, value_len = record->value.len;
    if (is_brief(record)) {
        *p++ = (char)(value_len << 4 | member_len);
    } else {
        *p++ = (char)(0x80 | member_len);
        *p++ = (char)((has_expiry(record) ? 0x80 : 0) | value_len);
    }
    if (has_expiry(record)) {
        uint64_t at = htole64((uint64_t)record->at);
        p = bytes_put(p, bytes_of((const char *)&at, sizeof(at)));
    }
    p = bytes_put(p, record->member);
    bytes_put(p, record->value);
}

static struct packed_head head_at(const struct packed *packed, uint32_t offset)
{
    return packed_head_at(packed->data + offset);
}

static uint32_t next_offset(const struct packed *packed, uint32_t offset)
{
    return offset + packed_size_of_head(head_at(packed, offset));
}

/* ---- memory ---- */

static size_t front_size(const struct packed *packed)
{
    return packed->has_front ? (unsigned char)packed->data[-1] : 0;
}

static char *block_of(const struct packed *packed)
{
    return packed->has_front ? packed->data - front_size(packed) : packed->data;
}

static void set_block(struct packed *packed, char *block, size_t front)
{
    size_t cap = mem_size(block) - front;
    packed->data = block + front;
    packed->cap = cap < UINT16_MAX ? (uint16_t)cap : UINT16_MAX;
}

static void resize(struct packed *packed, uint32_t size)
{
    size_t front = front_size(packed);
    set_block(packed, mem_realloc(block_of(packed), front + size), front);
}

static void shrink_if_sparse(struct packed *packed)
{
    if (packed->len == 0)
        packed_drop(packed);
    else if (packed->cap > 2 * packed->len + SLACK)
        resize(packed, packed->len);
}

/* Changes the size of the `from` bytes at an offset to `to`, moving the bytes after them. */
static void resize_at(struct packed *packed, uint32_t offset, uint32_t from, uint32_t to)
{
    ensure(offset + from <= packed->len, "%u bytes at %u of %u", from, offset, packed->len);
    uint32_t behind = packed->len - offset - from, len = packed->len - from + to;
    if (len > packed->cap) resize(packed, len);
    if (behind > 0) memmove(packed->data + offset + to, packed->data + offset + from, behind);
    packed->len = (uint16_t)len;
}

void packed_drop(struct packed *packed)
{
    mem_free(block_of(packed));
    packed_init(packed);
}

void packed_begin(struct packed *packed, struct bytes front, uint32_t cap)
{
    ensure(packed->data == NULL, "%u records precede the front", packed->count);
    ensure(front.len < PACKED_MAX_FRONT, "a front of %zu bytes", front.len);
    char *block = mem_alloc(front.len + 1 + cap);
    *bytes_put(block, front) = (char)(front.len + 1);
    packed->has_front = true;
    set_block(packed, block, front.len + 1);
}

void packed_relocate(struct packed *packed, struct relocation *relocation)
{
    size_t front = front_size(packed);
    char *block = relocation_block(relocation, block_of(packed));
    if (block != NULL) packed->data = block + front;
}

size_t packed_bytes(const struct packed *packed)
{
    return mem_size(block_of(packed));
}

void packed_hint(const struct packed *packed)
{
    for (uint32_t i = 0; i < packed->len; i += LINE)
        prefetch(packed->data + i);
}

/* ---- reading ---- */

bool packed_fits(const struct packed *packed, const struct packed_record *record)
{
    return packed->count < PACKED_MAX_COUNT && is_small(record) &&
           packed->len + record_size(record) <= PACKED_MAX_BYTES;
}

bool packed_fits_instead(const struct packed *packed, uint32_t offset,
                         const struct packed_record *record)
{
    if (!is_small(record)) return false;
    uint32_t old = next_offset(packed, offset) - offset;
    return packed->len - old + record_size(record) <= PACKED_MAX_BYTES;
}

/* Returns true if two records have equal heads, and so equal sizes. Neighbours often do. The CPU
 * predicts this branch, and then need not wait for the head of one record before it finds the next
 * record. */
static inline bool is_alike(const char *record, const char *other)
{
    return record[0] == other[0] && ((record[0] & 0x80) == 0 || record[1] == other[1]);
}

/* Returns the last eight bytes of a text, or all bytes of a shorter one, as a number. Two texts of
 * equal length mostly differ there, so that comparing these numbers saves comparing the texts. */
static inline uint64_t tail_of(const char *text, size_t len)
{
    uint64_t tail = 0;
    uint32_t first, last;
    if (len >= sizeof(tail)) {
        memcpy(&tail, text + len - sizeof(tail), sizeof(tail));
    } else if (len >= sizeof(first)) {
        memcpy(&first, text, sizeof(first));
        memcpy(&last, text + len - sizeof(last), sizeof(last));
        tail = (uint64_t)last << 32 | first;
    } else if (len > 0) {
        tail = (uint64_t)(unsigned char)text[len - 1] << 16 |
               (uint64_t)(unsigned char)text[len / 2] << 8 | (unsigned char)text[0];
    }
    return tail;
}

uint32_t packed_find(const struct packed *packed, struct bytes member)
{
    /* If empty, data is NULL, and NULL + 0 is undefined. */
    if (member.len > PACKED_MAX_TEXT || packed->len == 0) return packed->len;
    const char *p = packed->data, *end = p + packed->len;
    uint64_t tail = tail_of(member.data, member.len);
    size_t ahead = member.len > sizeof(tail) ? member.len - sizeof(tail) : 0; /* before the tail */
    while (p < end) {
        const char *alike = p;
        struct packed_head head = packed_head_at(p);
        uint32_t size = packed_size_of_head(head);
        bool is_of_length = head.member_len == member.len;
        do {
            const char *own = p + head.member_at;
            if (is_of_length && tail_of(own, member.len) == tail &&
                (ahead == 0 || memcmp(own, member.data, ahead) == 0))
                return (uint32_t)(p - packed->data);
            p += size;
        } while (p < end && is_alike(p, alike));
    }
    return packed->len;
}

bool packed_lookup(const struct packed *packed, struct bytes member, struct packed_record *record)
{
    uint32_t offset = packed_find(packed, member);
    if (offset == packed->len) return false;
    packed_get(packed, offset, record);
    return true;
}

uint32_t packed_nth(const struct packed *packed, unsigned n)
{
    ensure(n < packed->count, "record %u of %u", n, packed->count);
    uint32_t offset = 0;
    for (; n > 0; n--)
        offset = next_offset(packed, offset);
    return offset;
}

void packed_offsets(const struct packed *packed, uint16_t offsets[PACKED_MAX_COUNT])
{
    uint16_t *to = offsets;
    const uint32_t len = packed->len;
    const char *data = packed->data;
    for (uint32_t offset = 0; offset < len;) {
        const char *alike = data + offset;
        uint32_t size = packed_size_of_head(packed_head_at(alike));
        do {
            *to++ = (uint16_t)offset;
            offset += size;
        } while (offset < len && is_alike(data + offset, alike));
    }
}

/* ---- changing ---- */

void packed_insert(struct packed *packed, uint32_t offset, const struct packed_record *record)
{
    ensure(packed_fits(packed, record), "%zu + %zu bytes do not fit with %u bytes, %u records",
           record->member.len, record->value.len, packed->len, packed->count);
    uint32_t size = record_size(record);
    packed->last = (uint16_t)(offset == packed->len ? offset : packed->last + size);
    resize_at(packed, offset, 0, size);
    encode(packed->data + offset, record);
    packed->count++;
    if (has_expiry(record)) packed->count_expiring++;
}

void packed_remove(struct packed *packed, uint32_t offset)
{
    packed_remove_some(packed, offset, 1);
}

void packed_remove_some(struct packed *packed, uint32_t offset, unsigned count)
{
    uint32_t end = offset;
    for (unsigned i = 0; i < count; i++) {
        struct packed_head head = head_at(packed, end);
        if (head.has_expiry) packed->count_expiring--;
        end += packed_size_of_head(head);
    }
    bool with_last = end == packed->len;
    packed->count = (uint8_t)(packed->count - count);
    resize_at(packed, offset, end - offset, 0);
    packed->last = (uint16_t)(with_last ? 0 : packed->last - (end - offset));
    if (with_last && packed->count > 0)
        packed->last = (uint16_t)packed_nth(packed, packed->count - 1u);
    shrink_if_sparse(packed);
}

void packed_replace(struct packed *packed, uint32_t offset, const struct packed_record *record)
{
    ensure(packed_fits_instead(packed, offset, record), "%zu + %zu bytes do not fit with %u bytes",
           record->member.len, record->value.len, packed->len);
    char text[RECORD_MAX]; /* encode first: the new record's texts may lie in the old one */
    encode(text, record);
    struct packed_head old = head_at(packed, offset);
    uint32_t from = packed_size_of_head(old), to = record_size(record);
    packed->count_expiring -= old.has_expiry;
    packed->count_expiring += has_expiry(record);
    if (offset != packed->last) packed->last = (uint16_t)(packed->last - from + to);
    resize_at(packed, offset, from, to);
    memcpy(packed->data + offset, text, to);
    shrink_if_sparse(packed);
}

/* ---- deadlines ---- */

bool packed_expire(struct packed *packed, uint32_t offset, msec at)
{
    struct packed_record record;
    packed_get(packed, offset, &record);
    record.at = at;
    if (!packed_fits_instead(packed, offset, &record)) return false;
    packed_replace(packed, offset, &record);
    return true;
}

bool packed_earliest(const struct packed *packed, struct bytes *member, msec *at)
{
    struct packed_record record;
    unsigned left = packed->count_expiring;
    bool found = false;
    for (uint32_t offset = 0; left > 0;) {
        offset = packed_get(packed, offset, &record);
        if (!has_expiry(&record)) continue;
        left--;
        if (found && record.at >= *at) continue;
        found = true;
        *member = record.member;
        *at = record.at;
    }
    return found;
}

msec packed_latest(const struct packed *packed)
{
    struct packed_record record;
    msec latest = INT64_MIN;
    for (uint32_t offset = 0; offset < packed->len;) {
        offset = packed_get(packed, offset, &record);
        if (has_expiry(&record) && record.at > latest) latest = record.at;
    }
    return latest;
}

void packed_each_until(const struct packed *packed, msec until,
                       bool (*visit)(void *ctx, struct bytes member, msec at), void *ctx)
{
    struct packed_record record;
    for (uint32_t offset = 0; offset < packed->len;) {
        offset = packed_get(packed, offset, &record);
        if (has_expiry(&record) && record.at <= until && !visit(ctx, record.member, record.at))
            return;
    }
}

/* ---- self-check ---- */

void packed_check(const struct packed *packed)
{
    unsigned count = 0, count_expiring = 0;
    uint32_t last = 0;
    struct packed_record record;
    ensure((packed->data == NULL) == (packed->len == 0), "%u bytes at %p", packed->len,
           (void *)packed->data);
    ensure(packed->len <= packed->cap &&
               packed->cap + front_size(packed) <= mem_size(block_of(packed)),
           "%u bytes, room for %u, a block of %zu", packed->len, packed->cap,
           mem_size(block_of(packed)));
    ensure(packed->len <= PACKED_MAX_BYTES && packed->count <= PACKED_MAX_COUNT,
           "%u bytes, %u records", packed->len, packed->count);
    for (uint32_t offset = 0; offset < packed->len;) {
        char text[RECORD_MAX];
        uint32_t next = packed_get(packed, offset, &record);
        ensure(is_small(&record), "record at %u has %zu and %zu bytes", offset, record.member.len,
               record.value.len);
        ensure(next <= packed->len, "record from %u to %u of %u", offset, next, packed->len);
        ensure(record_size(&record) == next - offset, "%u bytes at %u, not %u", next - offset,
               offset, record_size(&record));
        encode(text, &record);
        ensure(memcmp(text, packed->data + offset, next - offset) == 0,
               "record at %u is not canonical", offset);
        ensure(packed_find(packed, record.member) == offset, "members at %u and %u are equal",
               offset, packed_find(packed, record.member));
        last = offset;
        offset = next;
        count++;
        if (has_expiry(&record)) count_expiring++;
    }
    ensure(last == packed->last, "the last record is at %u, not %u", last, packed->last);
    ensure(count == packed->count, "%u records, count %u", count, packed->count);
    ensure(count_expiring == packed->count_expiring, "%u deadlines, count %u", count_expiring,
           packed->count_expiring);
}
