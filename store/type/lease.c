/* lease: see lease.h. */
#include "store/type/lease.h"

#include "store/base/ensure.h"
#include "store/base/little_endian.h"
#include "store/mem/mem.h"

enum {
    SEARCHED_MAX = 16,    /* with more holders there is an index by token */
    TOKEN_BYTES = 8,      /* little-endian */
    PART_BY_TOKEN = 1000, /* of a relocation; smaller numbers are those of hash_relocate */
};

struct lease {
    struct hash *holders;  /* by owner; the value is the token */
    struct hash *by_token; /* the value is the owner; NULL: search `holders` */
    uint32_t permits;
};

struct lease *lease_new(void)
{
    struct lease *lease = mem_zalloc(sizeof(*lease));
    lease->holders = hash_new();
    return lease;
}

void lease_free(struct lease *lease)
{
    size_t work = SIZE_MAX;
    lease_free_some(lease, &work);
}

bool lease_free_some(struct lease *lease, size_t *work)
{
    if (lease->by_token != NULL && !hash_free_some(lease->by_token, work)) return false;
    lease->by_token = NULL;
    if (!hash_free_some(lease->holders, work)) return false;
    mem_free(lease);
    return true;
}

size_t lease_count(const struct lease *lease)
{
    return hash_count(lease->holders);
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
    struct bytes value;
    msec end;
    if (!hash_lookup(lease->holders, owner, &value, &end)) return false;
    *holder = (struct holder){ owner, token_of(value), end };
    return true;
}

bool lease_find_token(const struct lease *lease, int64_t token, struct holder *holder)
{
    char text[TOKEN_BYTES];
    struct bytes owner;
    if (lease->by_token != NULL)
        return hash_get(lease->by_token, token_bytes(text, token), &owner) &&
               lease_find_owner(lease, owner, holder);
    struct lease_iter iter;
    lease_iter_begin(&iter, lease);
    while (lease_iter_next(&iter, holder))
        if (holder->token == token) return true;
    return false;
}

static void index_holder(struct lease *lease, const struct holder *holder)
{
    char text[TOKEN_BYTES];
    hash_set(lease->by_token, token_bytes(text, holder->token), holder->owner, NEVER);
}

static void index_all(struct lease *lease)
{
    struct lease_iter iter;
    struct holder holder;
    lease->by_token = hash_new();
    lease_iter_begin(&iter, lease);
    while (lease_iter_next(&iter, &holder))
        index_holder(lease, &holder);
}

static void unindex_owner(struct lease *lease, struct bytes owner)
{
    char text[TOKEN_BYTES];
    struct holder old;
    if (lease->by_token != NULL && lease_find_owner(lease, owner, &old))
        hash_remove(lease->by_token, token_bytes(text, old.token));
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

void lease_put(struct lease *lease, const struct holder *holder, uint32_t permits)
{
    lease->permits = permits;
    char text[TOKEN_BYTES];
    unindex_owner(lease, holder->owner);
    hash_set(lease->holders, holder->owner, token_bytes(text, holder->token), holder->end);
    if (lease->by_token != NULL)
        index_holder(lease, holder);
    else if (lease_count(lease) > SEARCHED_MAX)
        index_all(lease);
}

bool lease_remove(struct lease *lease, struct bytes owner)
{
    struct holder old;
    char text[TOKEN_BYTES];
    if (lease->by_token == NULL) return hash_remove(lease->holders, owner);
    if (!lease_find_owner(lease, owner, &old)) return false;
    hash_remove(lease->holders, owner); /* first: `owner` may point into the index */
    hash_remove(lease->by_token, token_bytes(text, old.token));
    return true;
}

void lease_iter_begin(struct lease_iter *iter, const struct lease *lease)
{
    hash_iter_begin(&iter->in, lease->holders);
}

bool lease_iter_next(struct lease_iter *iter, struct holder *holder)
{
    struct bytes value;
    if (!hash_iter_next(&iter->in, &holder->owner, &value)) return false;
    holder->token = token_of(value);
    holder->end = iter->in.at;
    return true;
}

/* ---- deadlines ------------------------------------------------------------------------------- */

bool lease_deadline(const struct lease *lease, struct bytes owner, msec *at)
{
    return hash_deadline(lease->holders, owner, at);
}

bool lease_expire(struct lease *lease, struct bytes owner, msec at)
{
    return hash_expire(lease->holders, owner, at);
}

struct expiring lease_expiring(const struct lease *lease)
{
    return hash_expiring(lease->holders);
}

/* ---- encoding, memory, self-check ------------------------------------------------------------ */

const char *lease_encoding(const struct lease *lease)
{
    (void)lease;
    return "raw";
}

struct lease *lease_relocate(struct lease *lease, struct relocation_place *place,
                             struct relocation *relocation)
{
    if (relocation_begins(place)) lease = relocation_block(relocation, lease);
    if (place->part < PART_BY_TOKEN) {
        lease->holders = hash_relocate(lease->holders, place, relocation);
        if (relocation_begins(place) && lease->by_token != NULL) place->part = PART_BY_TOKEN;
        return lease;
    }
    if (lease->by_token == NULL) { /* the holders have left meanwhile */
        *place = (struct relocation_place){ 0 };
        return lease;
    }
    place->part -= PART_BY_TOKEN;
    lease->by_token = hash_relocate(lease->by_token, place, relocation);
    if (!relocation_begins(place)) place->part += PART_BY_TOKEN;
    return lease;
}

size_t lease_bytes(const struct lease *lease)
{
    return mem_size(lease) + hash_bytes(lease->holders) +
           (lease->by_token != NULL ? hash_bytes(lease->by_token) : 0);
}

void lease_check(const struct lease *lease)
{
    struct lease_iter iter;
    struct holder holder, found;
    hash_check(lease->holders);
    if (lease->by_token != NULL) hash_check(lease->by_token);
    ensure(lease->by_token == NULL || hash_count(lease->by_token) == lease_count(lease),
           "%zu holders, %zu tokens", lease_count(lease), hash_count(lease->by_token));
    ensure(lease->by_token != NULL || lease_count(lease) <= SEARCHED_MAX, "%zu holders no index",
           lease_count(lease));
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
