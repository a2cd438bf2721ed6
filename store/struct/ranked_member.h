/* ranked_member: a member of a ranked tree: its score, its bytes, and perhaps a deadline.
 *
 * A short member, below RANKED_LONG bytes and without a deadline:
 *
 *     8    the score
 *     1    the length
 *     ...  the member's bytes
 *
 * Any other member:
 *
 *     8    the score
 *     1    RANKED_LONG, or RANKED_EXPIRING if it has a deadline
 *     3    the length, or RANKED_LEN24 if it does not fit into 24 bits
 *     4    the deadline; unused without one
 *     4    the length, only if it did not fit
 *     ...  the member's bytes
 *
 * Members are allocated in steps of four bytes (mem_alloc_tight), so a score need not be aligned to
 * eight. */
#pragma once

#include "store/base/bytes.h"
#include "store/struct/agenda.h"

enum {
    RANKED_ALIGN = 4,
    RANKED_LONG = 254, /* kinds: long, and with a deadline */
    RANKED_EXPIRING = 255,
    RANKED_LEN24 = (1 << 24) - 1,
};
#define RANKED_LEN_MAX ((UINT32_C(1) << 31) - 1)

struct ranked_member {
    double score; /* never NaN */
    uint8_t kind; /* or the length of a short member */
    char data[];
} __attribute__((packed, aligned(RANKED_ALIGN)));

/* The head of a member that is not short. */
struct ranked_long {
    double score;
    uint32_t kind : 8, len : 24;
    struct deadline deadline;
    char data[];
} __attribute__((packed, aligned(RANKED_ALIGN)));

_Static_assert(offsetof(struct ranked_long, deadline) % _Alignof(struct deadline) == 0,
               "a deadline is aligned");

static inline bool ranked_has_expiry(const struct ranked_member *m)
{
    return m->kind == RANKED_EXPIRING;
}

static inline struct bytes ranked_bytes(const struct ranked_member *m)
{
    if (m->kind < RANKED_LONG) return bytes_of(m->data, m->kind);
    const struct ranked_long *wide = (const struct ranked_long *)(const void *)m;
    uint32_t len = wide->len;
    if (len < RANKED_LEN24) return bytes_of(wide->data, len);
    memcpy(&len, wide->data, sizeof(len));
    return bytes_of(wide->data + sizeof(len), len);
}

static inline size_t ranked_size(size_t len, bool has_expiry)
{
    if (len < RANKED_LONG && !has_expiry) {
        size_t size = offsetof(struct ranked_member, data) + len;
        return size < sizeof(struct ranked_member) ? sizeof(struct ranked_member) : size;
    }
    return offsetof(struct ranked_long, data) + (len < RANKED_LEN24 ? 0 : sizeof(uint32_t)) + len;
}

/* Convert a member with expiry to its deadline, and back. */
static inline struct deadline *ranked_deadline(const struct ranked_member *m)
{
    return (struct deadline *)((uintptr_t)m + offsetof(struct ranked_long, deadline));
}
static inline struct ranked_member *ranked_of_deadline(struct deadline *d)
{
    return (struct ranked_member *)((uintptr_t)d - offsetof(struct ranked_long, deadline));
}

/* Makes a member of ranked_size() bytes; len is at most RANKED_LEN_MAX. A deadline is idle. */
static inline void ranked_member_init(struct ranked_member *m, double score, struct bytes member,
                                      bool has_expiry)
{
    char *data = m->data;
    m->score = score;
    m->kind = (uint8_t)member.len;
    if (member.len >= RANKED_LONG || has_expiry) {
        struct ranked_long *wide = (struct ranked_long *)(void *)m;
        uint32_t len = (uint32_t)member.len;
        bool fits = len < RANKED_LEN24;
        wide->kind = has_expiry ? RANKED_EXPIRING : RANKED_LONG;
        wide->len = (fits ? len : RANKED_LEN24) & RANKED_LEN24;
        deadline_init(ranked_deadline(m));
        data = wide->data;
        if (!fits) data = (char *)memcpy(data, &len, sizeof(len)) + sizeof(len);
    }
    if (member.len > 0) memcpy(data, member.data, member.len);
}
