/* lease: see lease.h. */
#include "store/type/lease.h"

#include "store/base/ensure.h"
#include "store/base/little_endian.h"
#include "store/mem/mem.h"

enum {
    SMALL_MAX = 16,        /* holders of the small form */
    TOKEN_BYTES = 8,       /* little-endian */
    PHASE_BY_TOKEN = 1000, /* phase of a relocation; hash_relocate uses the smaller numbers */
};

/* A lock has one holder, so most leases are small: one allocation for the lease and one for its
 * holders. A lease becomes large when a holder does not fit, and stays large. */
struct lease {
    union {
        struct packed packed;  /* if small: tokens by owner */
        struct hash *by_owner; /* if large: the value is the token */
    };
    struct hash *by_token; /* the value is the owner; NULL if the lease is small */
    uint32_t permits;
};

static inline bool is_small(const struct lease *lease)
{
    return lease->by_token == NULL;
}

struct lease *lease_new(void)
{
    struct lease *lease = mem_alloc(sizeof(*lease));
    packed_init(&lease->packed);
    lease->by_token = NULL;
    lease->permits = 0;
    return lease;
}

void lease_free(struct lease *lease)
{
    size_t work = SIZE_MAX;
    lease_free_some(lease, &work);
}

bool lease_free_some(struct lease *lease, size_t *work)
{
    if (is_small(lease) && lease->packed.count > 0) {
        if (*work == 0) return false;
        packed_drop(&lease->packed);
        --*work;
    } else if (!is_small(lease)) {
        if (lease->by_owner != NULL && !hash_free_some(lease->by_owner, work)) return false;
        lease->by_owner = NULL;
        if (!hash_free_some(lease->by_token, work)) return false;
    }
    mem_free(lease);
    return true;
}

size_t lease_count(const struct lease *lease)
{
    return is_small(lease) ? lease->packed.count : hash_count(lease->by_owner);
}

uint32_t lease_permits(const struct lease *lease)
{
    return lease->permits;
}

/* ---- holders --------------------------------------------------------------------------------- */

static int64_t token_of(struct bytes value)
{
    ensure(value.len == TOKEN_BYTES, "token of %zu bytes", value.len);
    return (int64_t)get_u64(value.data);
}

static struct bytes token_bytes(char *to, int64_t token)
{
    put_u64(to, (uint64_t)token);
    return bytes_of(to, TOKEN_BYTES);
}

bool lease_find_owner(const struct lease *lease, struct bytes owner, struct holder *holder)
{
    struct packed_record record;
    if (is_small(lease) ? !packed_lookup(&lease->packed, owner, &record)
                        : !hash_lookup(lease->by_owner, owner, &record.value, &record.at))
        return false;
    *holder = (struct holder){ owner, token_of(record.value), record.at };
    return true;
}

bool lease_find_token(const struct lease *lease, int64_t token, struct holder *holder)
{
    char text[TOKEN_BYTES];
    struct bytes owner;
    if (is_small(lease)) {
        struct lease_iter iter;
        lease_iter_begin(&iter, lease);
        while (lease_iter_next(&iter, holder))
            if (holder->token == token) return true;
        return false;
    }
    return hash_get(lease->by_token, token_bytes(text, token), &owner) &&
           lease_find_owner(lease, owner, holder);
}

bool lease_fits(const struct lease *lease, const struct holder *holder, uint32_t permits)
{
    struct holder old, other;
    if (lease->permits != 0 && lease->permits != permits) return false;
    bool is_new = !lease_find_owner(lease, holder->owner, &old);
    if (is_new && lease_count(lease) >= permits) return false;
    return !lease_find_token(lease, holder->token, &other) ||
           bytes_equal(other.owner, holder->owner);
}

static void put_large(struct lease *lease, const struct packed_record *record)
{
    struct bytes old;
    msec end;
    if (hash_lookup(lease->by_owner, record->member, &old, &end)) hash_remove(lease->by_token, old);
    hash_set(lease->by_owner, record->member, record->value, record->at);
    hash_set(lease->by_token, record->value, record->member, NEVER);
}

void lease_put(struct lease *lease, const struct holder *holder, uint32_t permits)
{
    char text[TOKEN_BYTES];
    struct packed_record record = { holder->owner, token_bytes(text, holder->token), holder->end };
    lease->permits = permits;
    if (is_small(lease)) {
        struct packed *packed = &lease->packed;
        uint32_t found = packed_find(packed, record.member);
        if (found < packed->len && packed_fits_instead(packed, found, &record)) {
            packed_replace(packed, found, &record);
            return;
        }
        if (found == packed->len && packed->count < SMALL_MAX && packed_fits(packed, &record)) {
            packed_insert(packed, found, &record);
            return;
        }

        struct packed small = lease->packed;
        struct packed_record old;
        lease->by_owner = hash_new();
        lease->by_token = hash_new();
        for (uint32_t offset = 0; offset < small.len;) {
            offset = packed_get(&small, offset, &old);
            put_large(lease, &old);
        }
        packed_drop(&small);
    }
    put_large(lease, &record);
}

bool lease_remove(struct lease *lease, struct bytes owner)
{
    struct holder old;
    char text[TOKEN_BYTES];
    if (is_small(lease)) {
        uint32_t offset = packed_find(&lease->packed, owner);
        if (offset == lease->packed.len) return false;
        packed_remove(&lease->packed, offset);
        return true;
    }
    if (!lease_find_owner(lease, owner, &old)) return false;
    hash_remove(lease->by_owner, owner); /* first: `owner` may point into by_token */
    hash_remove(lease->by_token, token_bytes(text, old.token));
    return true;
}

void lease_iter_begin(struct lease_iter *iter, const struct lease *lease)
{
    iter->lease = lease;
    iter->offset = 0;
    if (!is_small(lease)) hash_iter_begin(&iter->in, lease->by_owner);
}

bool lease_iter_next(struct lease_iter *iter, struct holder *holder)
{
    const struct packed *packed = &iter->lease->packed;
    struct packed_record record;
    if (is_small(iter->lease)) {
        if (iter->offset == packed->len) return false;
        iter->offset = packed_get(packed, iter->offset, &record);
    } else {
        if (!hash_iter_next(&iter->in, &record.member, &record.value)) return false;
        record.at = iter->in.at;
    }
    *holder = (struct holder){ record.member, token_of(record.value), record.at };
    return true;
}

/* ---- deadlines ------------------------------------------------------------------------------- */

bool lease_deadline(const struct lease *lease, struct bytes owner, msec *at)
{
    struct holder holder;
    if (!lease_find_owner(lease, owner, &holder)) return false;
    *at = holder.end;
    return true;
}

bool lease_expire(struct lease *lease, struct bytes owner, msec at)
{
    if (!is_small(lease)) return hash_expire(lease->by_owner, owner, at);
    uint32_t offset = packed_find(&lease->packed, owner);
    if (offset == lease->packed.len) return false;
    bool fits = packed_expire(&lease->packed, offset, at);
    ensure(fits, "the end of a lease in place of another needs room: %u bytes", lease->packed.len);
    return true;
}

struct expiring lease_expiring(const struct lease *lease)
{
    if (is_small(lease)) return (struct expiring){ .packed = &lease->packed };
    return hash_expiring(lease->by_owner);
}

/* ---- encoding, memory, self-check ------------------------------------------------------------ */

struct lease *lease_relocate(struct lease *lease, struct relocation_cursor *cursor,
                             struct relocation *relocation)
{
    if (relocation_begins(cursor)) lease = relocation_block(relocation, lease);
    if (is_small(lease)) {
        packed_relocate(&lease->packed, relocation);
        *cursor = (struct relocation_cursor){ 0 };
        return lease;
    }
    if (cursor->phase < PHASE_BY_TOKEN) {
        lease->by_owner = hash_relocate(lease->by_owner, cursor, relocation);
        if (relocation_begins(cursor)) cursor->phase = PHASE_BY_TOKEN;
        return lease;
    }
    cursor->phase -= PHASE_BY_TOKEN;
    lease->by_token = hash_relocate(lease->by_token, cursor, relocation);
    if (!relocation_begins(cursor)) cursor->phase += PHASE_BY_TOKEN;
    return lease;
}

size_t lease_bytes(const struct lease *lease)
{
    return mem_size(lease) + (is_small(lease)
                                  ? packed_bytes(&lease->packed)
                                  : hash_bytes(lease->by_owner) + hash_bytes(lease->by_token));
}

void lease_check(const struct lease *lease)
{
    struct lease_iter iter;
    struct holder holder, found;
    if (is_small(lease)) {
        packed_check(&lease->packed);
        ensure(lease->packed.count <= SMALL_MAX, "%u packed holders", lease->packed.count);
    } else {
        hash_check(lease->by_owner);
        hash_check(lease->by_token);
        ensure(hash_count(lease->by_token) == lease_count(lease), "%zu holders, %zu tokens",
               lease_count(lease), hash_count(lease->by_token));
    }
    ensure(lease_count(lease) <= lease->permits, "%zu holders of %u permits", lease_count(lease),
           lease->permits);
    lease_iter_begin(&iter, lease);
    while (lease_iter_next(&iter, &holder)) {
        ensure(holder.token > 0 && holder.end != NEVER, "token %lld until %lld",
               (long long)holder.token, (long long)holder.end);
        bool is_found = lease_find_token(lease, holder.token, &found);
        ensure(is_found && bytes_equal(found.owner, holder.owner), "token %lld of another owner",
               (long long)holder.token);
    }
}
