/* lease: the holders of a lock or of a number of permits, each with an end and a fencing token.
 *
 * A holder is a member with a deadline: the member is the owner's name, and its value the token. A
 * few holders are packed. More are in a hash, and a second hash finds the owner of a token. A
 * holder whose lease has ended stays until the caller removes it. Cost: O(1) for finding, O(log n)
 * for changing. */
#pragma once

#include "store/base/bytes.h"
#include "store/base/instant.h"
#include "store/mem/relocate.h"
#include "store/struct/expiring.h"
#include "store/type/hash.h"

enum { LEASE_PERMITS_MAX = 1000 * 1000 };

struct lease;

struct holder {
    struct bytes owner; /* borrowed */
    int64_t token;
    msec end; /* held until then, free one millisecond later */
};

struct lease *lease_new(void);
void lease_free(struct lease *lease);
bool lease_free_some(struct lease *lease, size_t *work); /* as list_free_some */

size_t lease_count(const struct lease *lease);     /* holders */
uint32_t lease_permits(const struct lease *lease); /* the most holders; 0 before the first */

/* Find a holder; return false if there is none. */
bool lease_find_owner(const struct lease *lease, struct bytes owner, struct holder *holder);
bool lease_find_token(const struct lease *lease, int64_t token, struct holder *holder);
/* Returns false if the holder must not be put: if others hold all permits, if the lease has another
 * number of permits, or if another owner has the same token. */
bool lease_fits(const struct lease *lease, const struct holder *holder, uint32_t permits);
/* Adds a holder that fits, or changes token and end of the holder of this owner; sets the number of
 * permits. The end must not be NEVER. */
void lease_put(struct lease *lease, const struct holder *holder, uint32_t permits);
/* Removes the holder; returns false if there is none. `owner` may point into the lease. */
bool lease_remove(struct lease *lease, struct bytes owner);

struct lease_iter {
    const struct lease *lease;
    struct hash_iter in; /* if large: the position in the table */
    uint32_t offset;     /* if small: offset of the next holder */
};
void lease_iter_begin(struct lease_iter *iter, const struct lease *lease);
bool lease_iter_next(struct lease_iter *iter, struct holder *holder);

/* ---- deadlines: the ends of the holders ---- */

/* Find and set the end of a holder, which is never NEVER. Both return false if there is no such
 * holder. */
bool lease_deadline(const struct lease *lease, struct bytes owner, msec *at);
bool lease_expire(struct lease *lease, struct bytes owner, msec at);
struct expiring lease_expiring(const struct lease *lease);

struct lease *lease_relocate(struct lease *lease, struct relocation_cursor *cursor,
                             struct relocation *relocation); /* as hash_relocate */
size_t lease_bytes(const struct lease *lease);
void lease_check(const struct lease *lease);
