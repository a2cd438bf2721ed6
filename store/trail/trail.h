/* trail: what set, moved and removed the deadlines of keys and members, and what ended them, for
 * EXPIRY WHY. It is not part of the data: it is neither written to files nor copied, and empty
 * after a start.
 *
 * Keys and members are known only by their hashes (trail_hash), so neither their names nor values
 * are kept. Of a client its id, name and user are kept, but not its address. Memory is allocated
 * once and never grows. A record takes 32 bytes:
 *
 *     bytes    word   high 48 bits                    low 16 bits
 *     0-7      hash   all 64 bits: of the name and its database
 *     8-15     when   instant                         what (5), policy's option + 1 (4), by (3)
 *     16-23    until  deadline; NEVER for none        author, or 0 for unknown
 *     24-31    rest   deadline before, or `extra`     script (1), command (15)
 *
 * There are two tables of records, each divided by hash:
 *
 *     last     one record for each slot: who set the deadline that the name has now. A refresh
 *              by the same setter overwrites it. The same setter means the same command of
 *              clients with one name and user, the same option of a policy, or the master. A
 *              name whose slot another name takes loses its record.
 *     rings    eight records each: everything else. A record of `last` moves here when another
 *              setter sets the deadline, or when the deadline ends.
 *
 * What a new record overwrites in a full ring:
 *
 *     an end       the oldest record
 *     another      if its name has three records here, the oldest of these; else the oldest
 *                  record that is no end; if there is none, the new record is dropped
 *
 * A command that empties a database, or changes all of it, is one record in a list of its own. The
 * last one of each database and kind stays there longest. Authors are the clients that records
 * refer to. They are in a ring of their own, because their names and users are texts, for which a
 * record has no room.
 *
 * Folder store/trail: the record of deadlines and ends. txn/txn_trail.c adds to it, for each
 * mutator. Start here.
 *
 * May use: store/base store/mem. */
#pragma once

#include "store/base/bytes.h"
#include "store/base/instant.h"
#include "store/base/prefetch.h"

enum {
    TRAIL_RING = 8,                                  /* records of a ring */
    TRAIL_WHOLES = 40,                               /* records about whole databases */
    TRAIL_MIN_BYTES = 64 * 1024,                     /* of trail_new */
    TRAIL_FOUND_MAX = 1 + TRAIL_RING + TRAIL_WHOLES, /* events that trail_find returns */
    TRAIL_NAME_MAX = 47,                             /* longer names of clients and users are cut */
    TRAIL_USER_MAX = 31,
};

#define TRAIL_ALL_DATABASES UINT32_MAX

/* The deadline before is not known, because no record of it is left. */
#define TRAIL_UNKNOWN (-1)

enum trail_what {
    TRAIL_NONE,
    TRAIL_SET,         /* the deadline was set or moved */
    TRAIL_REMOVED,     /* the deadline was removed */
    TRAIL_TRIMMED,     /* entries of a stream expired */
    TRAIL_OVERWRITTEN, /* a new value took the key's place, and the deadline of the old one ended */
    /* Ends, after which the name is missing: */
    TRAIL_EXPIRED,
    TRAIL_EVICTED, /* extra: KiB of memory in use */
    TRAIL_DELETED,
    TRAIL_EMPTIED, /* the last member was removed; extra: 1 if it had expired */
    TRAIL_RENAMED, /* extra: trail_extra of the new name's hash */
    TRAIL_MOVED,   /* extra: the database */
    TRAIL_TAKEN,   /* an element was delivered, or acknowledged, and removed */
    TRAIL_DEAD,    /* an element was delivered too often, and moved to the policy's target */
    TRAIL_FLUSHED, /* its database was emptied */
    /* About all keys of the database, which may exist afterwards: */
    TRAIL_SWAPPED,  /* extra: the other database */
    TRAIL_REPLACED, /* by a full copy of the master's data */
    TRAIL_WHATS,
};

static inline bool trail_is_end(enum trail_what what)
{
    return what >= TRAIL_EXPIRED && what <= TRAIL_FLUSHED;
}

/* Did the name expire, by its own deadline or together with its last member? */
static inline bool trail_is_expiry(enum trail_what what, uint64_t extra)
{
    return what == TRAIL_EXPIRED || (what == TRAIL_EMPTIED && extra != 0);
}

enum trail_by {
    TRAIL_BY_COMMAND, /* of a client */
    TRAIL_BY_EXPIRY,  /* a deadline has passed */
    TRAIL_BY_EVICTION,
    TRAIL_BY_POLICY, /* `option` of a policy; extra: trail_extra of the policy's name's hash */
    TRAIL_BY_MASTER,
    TRAIL_BYS,
};

/* A record, unpacked. */
struct trail_event {
    enum trail_what what;
    enum trail_by by;
    unsigned option; /* TRAIL_BY_POLICY: number of the option + 1 */
    msec at;
    msec deadline; /* TRAIL_SET: the new one; otherwise the one until then; NEVER for none */
    msec before;   /* TRAIL_SET, not by a policy: the deadline before, NEVER or TRAIL_UNKNOWN */
    uint64_t extra;
    uint16_t author;
    uint16_t command; /* its number; TRAIL_SCRIPT is set if a script called it */
};

enum { TRAIL_SCRIPT = 1 << 15 };

/* A client that records name. */
struct trail_author {
    uint64_t id;
    char name[TRAIL_NAME_MAX + 1];
    char user[TRAIL_USER_MAX + 1];
};

struct trail_record;
struct trail_slot;
struct trail_whole;

/* Finds the author and command of a transaction's caller. */
struct trail_asker {
    /* Returns the author of the next records of this caller: the result of trail_add_author. */
    uint16_t (*author)(void *ctx, void *caller, msec now);
    /* Writes the name of the command with this number, as in ACL rules, and returns its length;
     * returns 0 if the number is not known. */
    size_t (*command)(void *ctx, unsigned number, char *to, size_t size);
    void *ctx;
};

struct trail {
    struct trail_record *last;
    struct trail_record *rings;
    msec *ring_since;   /* of each ring: later than all dropped records of its names */
    uint8_t *heads;     /* of each ring: number of records that were added, modulo 256 */
    uint64_t last_mask; /* maps a hash to the offset of its record in `last`, in bytes */
    uint32_t last_count, ring_count;
    uint64_t changed_when; /* `when` of the last record about a whole database */
    msec since;            /* nothing was recorded before */
    msec wholes_since;     /* later than all dropped records about whole databases */
    struct trail_asker asker;
    struct trail_whole *wholes;
    uint32_t whole_count;
    struct trail_slot *authors;
    uint32_t author_count;
    uint64_t authors_added;
    size_t wanted; /* what trail_new was asked for */
};

/* Allocates at most `bytes`, which must be TRAIL_MIN_BYTES or more. Returns NULL if memory runs
 * out. */
struct trail *trail_new(size_t bytes, msec now);
void trail_free(struct trail *trail); /* may be NULL. Clears the authors of all sessions */

/* Computes the hash that identifies a key of a database; trail_member_hash does so for a member. */
static inline uint64_t trail_hash(uint64_t key_hash, unsigned db)
{
    return key_hash ^ db * UINT64_C(0x9e3779b97f4a7c15);
}
static inline uint64_t trail_member_hash(uint64_t hash_of_key, uint64_t member_hash)
{
    return (hash_of_key ^ member_hash >> 7) * UINT64_C(0x9e3779b97f4a7c15) + member_hash;
}
/* Returns the part of a hash that an event's `extra` keeps. */
static inline uint64_t trail_extra(uint64_t hash)
{
    return hash >> 16;
}

/* Adds an author, sets *owner to its number and returns that. Keeps the address `owner`, and sets
 * *owner to 0 when another author takes the slot; call trail_leave before *owner is freed. */
uint16_t trail_add_author(struct trail *trail, uint16_t *owner, uint64_t id, struct bytes name,
                          struct bytes user, msec now);
void trail_leave(struct trail *trail, uint16_t *owner);
/* Returns the author of an event, or NULL if the trail does not know it. */
const struct trail_author *trail_author(const struct trail *trail, const struct trail_event *event);

/* Prefetches what the next trail_set of this name reads and writes. */
static inline void trail_hint(const struct trail *trail, uint64_t hash)
{
    prefetch((const char *)trail->last + (hash & trail->last_mask));
}

/* Records that a deadline was set. If event->before is TRAIL_UNKNOWN, looks it up in the trail.
 * O(1) */
void trail_set(struct trail *trail, uint64_t hash, unsigned db, const struct trail_event *event);
/* As trail_set for a command, but faster. `by` is the author, which must not be 0, in the high
 * half, and the command in the low half. O(1) */
void trail_set_by(struct trail *trail, uint64_t hash, unsigned db, msec now, msec at, uint32_t by);
/* Records anything else about one name. O(1) */
void trail_add(struct trail *trail, uint64_t hash, const struct trail_event *event);
/* Records an event that leaves the name and its deadline unchanged. If the newest record of the
 * ring is of the same event, replaces it, so that repeated trims of a stream keep one. O(1) */
void trail_add_again(struct trail *trail, uint64_t hash, const struct trail_event *event);
/* Records a change of all keys of a database, or of TRAIL_ALL_DATABASES. O(1) */
void trail_add_whole(struct trail *trail, unsigned db, const struct trail_event *event);

/* Records that a full copy of the master's data replaced everything. `trail` may be NULL. */
void trail_replaced(struct trail *trail, msec now);

/* Writes the events of a name, newest first, at most TRAIL_FOUND_MAX, including those of the whole
 * database `db`. Returns their number. *since is the instant from which on no event of the name is
 * missing but refreshes that the same setter has repeated. *shared is true if a record of another
 * name was found whose hash agrees with this one in its low 32 bits. */
size_t trail_find(const struct trail *trail, uint64_t hash, unsigned db, struct trail_event *events,
                  msec *since, bool *shared);
/* Returns what ended a name that is missing, or TRAIL_NONE if that is not known. A key whose last
 * member expired counts as TRAIL_EXPIRED. O(1) */
enum trail_what trail_end_of(const struct trail *trail, uint64_t hash, unsigned db);
