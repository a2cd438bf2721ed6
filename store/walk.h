/* walk: the effects that build a value, or the whole store, from nothing. Snapshots, COPY, stored
 * results and payloads in this server's own format are all made from these effects, so that each
 * type is described once. */
#pragma once

#include "store/effect.h"
#include "store/type/object.h"

struct store;

/* Visits the effects, at least one for each element, in an order that builds an equal value. Kind
 * and operands are set; the visitor sets key and database. A string yields one EFFECT_SET without
 * the key's deadline, and EFFECT_SOFT if it has a soft deadline. The `at` of an EFFECT_CONSUMER_ADD
 * is the instant at which the consumer was last seen. O(n) */
void walk_object(const struct object *object, void (*visit)(void *ctx, struct effect *effect),
                 void *ctx);

/* As walk_object, but visits whole blocks of a stream's entries where that is possible, as
 * EFFECT_STREAM_BLOCK. */
void walk_blocks(const struct object *object, void (*visit)(void *ctx, struct effect *effect),
                 void *ctx);

/* Applies an effect of walk_object or walk_blocks to a value of the same type that the effects
 * before it have built. Such an effect always fits. For an operand from outside that does not fit a
 * dehydrator, stream or lease, returns false and leaves the value unchanged. Does not check the
 * bytes of an EFFECT_STREAM_BLOCK: call stream_packed_check before. */
bool walk_put(struct object *to, const struct effect *effect);

/* Returns the operands of the effect that adds this member of a set, hash, sorted set or lease,
 * with its value, score or token and with the deadline `at`; the caller sets the kind. Borrowed
 * from the object. O(1) */
struct effect walk_member(const struct object *object, struct bytes member, msec at);

/* Returns a deep copy with the same encoding. O(n) */
struct object walk_copy(const struct object *object);

/* How much is about to be visited. */
struct store_size {
    bool is_database; /* the keys of database `db`; otherwise elements of the next effect's key */
    unsigned db;
    size_t count;
};

struct store_visitor {
    void (*effect)(void *ctx, const struct effect *effect);
    bool (*key_done)(void *ctx); /* after the effects of each key; return false to stop */
    void *ctx;
    /* Called before the effects of a database with keys, and before those of a large collection.
     * May be NULL. */
    void (*size)(void *ctx, const struct store_size *size);
    bool in_blocks; /* visit values with walk_blocks instead of walk_object */
};

/* Visits the last token, the libraries and the policies, then every key of each database with its
 * value and deadline, including expired keys, until key_done returns false. The store must not
 * change meanwhile. O(n) */
void walk_store(const struct store *store, const struct store_visitor *to);
