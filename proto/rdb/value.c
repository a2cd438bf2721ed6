/* value: reads the value of a key, of which the caller has read the type. Unknown types, duplicate
 * members, and empty collections other than streams and dehydrators are damage. */
#include "proto/rdb/reader.h"

enum {
    PLAIN_NODE = 1,  /* a node of a quicklist: one element */
    PACKED_NODE = 2, /* a node of a quicklist: a ziplist or listpack of elements */
};

struct kind {
    enum rdb_type type;
    bool (*read)(struct rdb_reader *reader,
                 const struct kind *kind); /* NULL if there is no such type */
    enum rdb_packing packing;
    enum rdb_shape shape;
    bool has_earliest; /* the earliest deadline of a field comes first */
    bool binary_scores;
};

static bool read_string(struct rdb_reader *reader, const struct kind *kind)
{
    struct bytes value;
    (void)kind;
    return rdb_get_string(reader, &reader->first, &value) && RDB_VISIT(reader, string, value);
}

static bool get_count(struct rdb_reader *reader, uint64_t *count)
{
    if (!rdb_get_length(reader, count)) return false;
    return *count > 0 || rdb_damaged(reader, "an empty collection");
}

static bool read_list(struct rdb_reader *reader, const struct kind *kind)
{
    uint64_t count;
    struct bytes element;
    (void)kind;
    if (!get_count(reader, &count)) return false;
    for (; count > 0; count--)
        if (!rdb_get_string(reader, &reader->first, &element) ||
            !RDB_VISIT(reader, list_element, element))
            return false;
    return true;
}

static bool read_set(struct rdb_reader *reader, const struct kind *kind)
{
    uint64_t count;
    struct bytes member;
    (void)kind;
    if (!get_count(reader, &count)) return false;
    for (; count > 0; count--)
        if (!rdb_get_string(reader, &reader->first, &member) || !rdb_unique_visit(reader, member) ||
            !RDB_VISIT_MEMBER(reader, set_member, member))
            return false;
    return true;
}

static bool read_zset(struct rdb_reader *reader, const struct kind *kind)
{
    uint64_t count;
    struct bytes member;
    double score;
    if (!get_count(reader, &count)) return false;
    for (; count > 0; count--) {
        if (!rdb_get_string(reader, &reader->first, &member) || !rdb_unique_visit(reader, member))
            return false;
        if (kind->binary_scores ? !rdb_get_score(reader, &score)
                                : !rdb_get_text_score(reader, &score))
            return false;
        if (!RDB_VISIT_MEMBER(reader, zset_member, member, score)) return false;
    }
    return true;
}

static bool read_field(struct rdb_reader *reader, int64_t at)
{
    struct bytes field, value;
    return rdb_get_string(reader, &reader->first, &field) && rdb_unique_visit(reader, field) &&
           rdb_get_string(reader, &reader->second, &value) &&
           RDB_VISIT_MEMBER(reader, hash_field, field, value, at);
}

static bool read_hash(struct rdb_reader *reader, const struct kind *kind)
{
    uint64_t count;
    (void)kind;
    if (!get_count(reader, &count)) return false;
    for (; count > 0; count--)
        if (!read_field(reader, RDB_NEVER)) return false;
    return true;
}

static bool get_earliest(struct rdb_reader *reader, const struct kind *kind, uint64_t *earliest)
{
    *earliest = 1;
    if (!kind->has_earliest) return true;
    if (!rdb_get_number(reader, 8, earliest)) return false;
    /* RDB_LATEST_FIELD + 1 means that no field has a deadline. */
    return *earliest <= RDB_LATEST_FIELD + 1 ||
           rdb_damaged(reader, "an invalid deadline of a field");
}

/* Reads a hash of Redis 7.4 or later whose fields may have deadlines. A field stores 0 for no
 * deadline, otherwise its deadline minus the earliest deadline plus 1. Types without an earliest
 * deadline store the deadline itself; that is the same formula with an earliest deadline of 1. */
static bool read_hash_with_expiry(struct rdb_reader *reader, const struct kind *kind)
{
    uint64_t count, earliest, distance;
    if (!get_earliest(reader, kind, &earliest) || !get_count(reader, &count)) return false;
    for (; count > 0; count--) {
        if (!rdb_get_length(reader, &distance)) return false;
        int64_t at = RDB_NEVER;
        if (distance > 0) {
            if (distance > RDB_LATEST_FIELD + 1 || earliest + (distance - 1) > RDB_LATEST_FIELD)
                return rdb_damaged(reader, "an invalid deadline of a field");
            at = (int64_t)(earliest + (distance - 1));
        }
        if (!read_field(reader, at)) return false;
    }
    return true;
}

/* Reads a hash of Valkey 9. A field's deadline follows its value, in 8 bytes; -1 for none. */
static bool read_valkey_hash(struct rdb_reader *reader, const struct kind *kind)
{
    struct bytes field, value;
    uint64_t count, number;
    (void)kind;
    if (!get_count(reader, &count)) return false;
    for (; count > 0; count--) {
        if (!rdb_get_string(reader, &reader->first, &field) || !rdb_unique_visit(reader, field) ||
            !rdb_get_string(reader, &reader->second, &value) || !rdb_get_number(reader, 8, &number))
            return false;
        int64_t at = number == UINT64_MAX ? RDB_NEVER : (int64_t)number;
        if (at < 0 || (at > RDB_LATEST && at != RDB_NEVER))
            return rdb_damaged(reader, "an invalid deadline of a field");
        if (!RDB_VISIT_MEMBER(reader, hash_field, field, value, at)) return false;
    }
    return true;
}

static bool read_packed(struct rdb_reader *reader, const struct kind *kind)
{
    uint64_t earliest;
    struct bytes packed;
    return get_earliest(reader, kind, &earliest) &&
           rdb_get_string(reader, &reader->first, &packed) &&
           rdb_visit_packed(reader, packed, kind->packing, kind->shape);
}

static bool read_quicklist(struct rdb_reader *reader, const struct kind *kind)
{
    uint64_t count, container = PACKED_NODE;
    bool empty = true;
    struct bytes node;
    if (!get_count(reader, &count)) return false;
    for (; count > 0; count--) {
        if (kind->packing == RDB_LISTPACK && !rdb_get_length(reader, &container)) return false;
        if (container != PACKED_NODE && container != PLAIN_NODE)
            return rdb_damaged(reader, "a list node of unknown kind");
        if (!rdb_get_string(reader, &reader->first, &node)) return false;
        /* A bug of Redis 5 and 6 left nodes without items; Redis skips them. */
        if (container == PACKED_NODE && rdb_packing_is_empty(node, kind->packing)) continue;
        empty = false;
        if (container == PLAIN_NODE
                ? !RDB_VISIT(reader, list_element, node)
                : !rdb_visit_packed(reader, node, kind->packing, RDB_ITEMS_LIST))
            return false;
    }
    return !empty || rdb_damaged(reader, "an empty collection");
}

/* How to read each type. The indexes are the numbers of Redis' rdb.h. rdb_read_value handles the
 * types that are missing here: streams (15, 19, 21, 26, 27), modules (6, 7), arrays (28) and hashes
 * with templates (29 to 32). */
static const struct kind kinds[] = {
    [0] = { RDB_STRING, read_string, 0, 0, 0, 0 },
    [1] = { RDB_LIST, read_list, 0, 0, 0, 0 },
    [2] = { RDB_SET, read_set, 0, 0, 0, 0 },
    [3] = { RDB_ZSET, read_zset, 0, 0, 0, 0 },
    [4] = { RDB_HASH, read_hash, 0, 0, 0, 0 },
    [5] = { RDB_ZSET, read_zset, .binary_scores = true },
    [9] = { RDB_HASH, read_packed, RDB_ZIPMAP, RDB_ITEMS_HASH, 0, 0 },
    [10] = { RDB_LIST, read_packed, RDB_ZIPLIST, RDB_ITEMS_LIST, 0, 0 },
    [11] = { RDB_SET, read_packed, RDB_INTSET, RDB_ITEMS_SET, 0, 0 },
    [12] = { RDB_ZSET, read_packed, RDB_ZIPLIST, RDB_ITEMS_ZSET, 0, 0 },
    [13] = { RDB_HASH, read_packed, RDB_ZIPLIST, RDB_ITEMS_HASH, 0, 0 },
    [14] = { RDB_LIST, read_quicklist, RDB_ZIPLIST, RDB_ITEMS_LIST, 0, 0 },
    [16] = { RDB_HASH, read_packed, RDB_LISTPACK, RDB_ITEMS_HASH, 0, 0 },
    [17] = { RDB_ZSET, read_packed, RDB_LISTPACK, RDB_ITEMS_ZSET, 0, 0 },
    [18] = { RDB_LIST, read_quicklist, RDB_LISTPACK, RDB_ITEMS_LIST, 0, 0 },
    [20] = { RDB_SET, read_packed, RDB_LISTPACK, RDB_ITEMS_SET, 0, 0 },
    [22] = { RDB_HASH, read_hash_with_expiry, 0, 0, 0, 0 },
    [23] = { RDB_HASH, read_packed, RDB_LISTPACK, RDB_ITEMS_WITH_EXPIRY, 0, 0 },
    [24] = { RDB_HASH, read_hash_with_expiry, .has_earliest = true },
    [25] = { RDB_HASH, read_packed, RDB_LISTPACK, RDB_ITEMS_WITH_EXPIRY, .has_earliest = true },
};

/* The numbers of Valkey's rdb.h, from the first one whose meaning differs from Redis'. */
static const struct kind valkey_kinds[] = {
    { RDB_HASH, read_valkey_hash, 0, 0, 0, 0 }, /* 22 */
};

enum {
    KINDS = sizeof(kinds) / sizeof(kinds[0]),
    FIRST_OWN = 22,
    VALKEY_KINDS = sizeof(valkey_kinds) / sizeof(valkey_kinds[0]),
};

static bool fail_unknown(struct rdb_reader *reader, unsigned type)
{
    char name[48];
    bool valkey = reader->file_version >= RDB_VALKEY;
    const char *known = valkey && type == 23    ? " (a path hash)"
                        : !valkey && type == 33 ? " (a bitmap or a rate limit)"
                                                : "";
    if (reader->is_payload)
        return rdb_fail(reader, RDB_DAMAGED, "a value of unknown type %u%s", type, known);
    rdb_show(name, sizeof(name), reader->key.name);
    return rdb_fail(reader, RDB_DAMAGED,
                    "the key '%s' has the unknown type %u%s of %s. Delete it there, and save again",
                    name, type, known, valkey ? "Valkey" : "Redis");
}

bool rdb_read_value(struct rdb_reader *reader, unsigned type)
{
    const struct kind *kind = NULL;
    bool of_valkey = reader->file_version >= RDB_VALKEY && type >= FIRST_OWN;
    if (of_valkey && type - FIRST_OWN < VALKEY_KINDS) kind = &valkey_kinds[type - FIRST_OWN];
    if (!of_valkey && type < KINDS && kinds[type].read != NULL) kind = &kinds[type];
    if (kind != NULL) return rdb_begin_key(reader, kind->type) && kind->read(reader, kind);
    if (of_valkey) return fail_unknown(reader, type);
    switch (type) {
    case 6: return rdb_read_module(reader, false);
    case 7: return rdb_read_module(reader, true);
    case 15:
    case 19:
    case 21:
    case 26:
    case 27: return rdb_read_stream(reader, type);
    case 28: return rdb_skip_array(reader);
    case 29:
    case 30:
    case 31:
    case 32: return rdb_read_templated(reader, type);
    default: return fail_unknown(reader, type);
    }
}
