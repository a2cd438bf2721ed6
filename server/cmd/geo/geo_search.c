/* geo_search: GEOSEARCH, GEORADIUS and their forms, which return or store the members within a
 * shape. geo_found finds these members and sorts them. */
#include "server/cmd/call/args.h"
#include "server/cmd/geo/geo.h"
#include "server/cmd/geo/geo_found.h"
#include "store/base/number.h"

enum form {
    RADIUS,        /* key longitude latitude radius unit ... */
    RADIUS_MEMBER, /* key member radius unit ... */
    SEARCH,        /* key ... */
    SEARCH_STORE,  /* destination key ... */
};

enum order { AS_FOUND, NEAREST_FIRST, FARTHEST_FIRST };

struct search {
    enum form form;
    const struct zset *in; /* NULL if the key is missing */
    struct geo_shape shape;
    bool from_member, from_point, by_radius, by_box;
    bool with_distance, with_hash, with_point;
    enum order order;
    int64_t count; /* most members to return; 0 for all */
    bool any;
    int destination; /* argument of the key to store in; 0 to reply */
    bool store_distance;
};

static bool arg_length(struct call *call, int i, double *length, enum error error)
{
    if (number_parse_double(call->argv[i].data, call->argv[i].len, length)) return true;
    return fail(call, error);
}

static bool arg_radius(struct call *call, int i, struct geo_shape *shape)
{
    if (!arg_length(call, i, &shape->radius, ERR_GEO_RADIUS)) return false;
    if (shape->radius < 0) return fail(call, ERR_GEO_RADIUS_NEGATIVE);
    shape->is_box = false;
    return arg_unit(call, i + 1, &shape->unit);
}

static bool arg_box(struct call *call, int i, struct geo_shape *shape)
{
    if (!arg_length(call, i, &shape->width, ERR_GEO_WIDTH)) return false;
    if (!arg_length(call, i + 1, &shape->height, ERR_GEO_HEIGHT)) return false;
    if (shape->width < 0 || shape->height < 0) return fail(call, ERR_GEO_BOX_NEGATIVE);
    shape->is_box = true;
    return arg_unit(call, i + 2, &shape->unit);
}

static bool set_center_member(struct call *call, struct search *s, int i)
{
    double score;
    s->from_member = true;
    if (s->in == NULL) return true;
    if (!zset_score(s->in, call->argv[i], &score)) return fail(call, ERR_GEO_MEMBER);
    s->shape.center = geohash_decode(score);
    return true;
}

static enum arg_taken taken_or_failed(bool well)
{
    return well ? ARG_TAKEN : ARG_FAILED;
}

/* Of GEORADIUS' STORE and STOREDIST, the last one counts. */
static enum arg_taken take_search_option(struct call *call, int *i, struct search *s)
{
    const struct {
        const char *word;
        bool *flag;
    } flags[] = {
        { "WITHDIST", &s->with_distance },
        { "WITHHASH", &s->with_hash },
        { "WITHCOORD", &s->with_point },
        { "ANY", &s->any },
    };
    for (size_t f = 0; f < sizeof(flags) / sizeof(flags[0]); f++) {
        if (!arg_is(call, *i, flags[f].word)) continue;
        *flags[f].flag = true;
        return ARG_TAKEN;
    }
    if (arg_is(call, *i, "ASC") || arg_is(call, *i, "DESC")) {
        s->order = arg_is(call, *i, "ASC") ? NEAREST_FIRST : FARTHEST_FIRST;
        return ARG_TAKEN;
    }
    bool valued = call->argc - *i > 1;
    if (valued && arg_is(call, *i, "COUNT")) {
        if (!arg_int64(call, ++*i, &s->count)) return ARG_FAILED;
        return taken_or_failed(s->count > 0 || fail(call, ERR_GEO_COUNT));
    }
    bool distance = arg_is(call, *i, "STOREDIST"),
         by_form = s->form == RADIUS || s->form == RADIUS_MEMBER;
    if (by_form && (call->command.row->flags & WRITE)) {
        if (!valued || !(distance || arg_is(call, *i, "STORE"))) return ARG_OTHER;
        s->store_distance = distance;
        s->destination = ++*i;
        return ARG_TAKEN;
    }
    if (s->form == SEARCH_STORE && distance) {
        s->store_distance = true;
        return ARG_TAKEN;
    }
    if (by_form) return ARG_OTHER;

    /* GEOSEARCH's options for the centre and the shape. */
    int at = *i, left = call->argc - at - 1;
    if (left >= 1 && !s->from_point && arg_is(call, at, "FROMMEMBER")) {
        *i += 1;
        return taken_or_failed(set_center_member(call, s, at + 1));
    }
    if (left >= 2 && !s->from_member && arg_is(call, at, "FROMLONLAT")) {
        *i += 2;
        s->from_point = true;
        return taken_or_failed(arg_point(call, at + 1, &s->shape.center));
    }
    if (left >= 2 && !s->by_box && arg_is(call, at, "BYRADIUS")) {
        *i += 2;
        s->by_radius = true;
        return taken_or_failed(arg_radius(call, at + 1, &s->shape));
    }
    if (left >= 3 && !s->by_radius && arg_is(call, at, "BYBOX")) {
        *i += 3;
        s->by_box = true;
        return taken_or_failed(arg_box(call, at + 1, &s->shape));
    }
    return ARG_OTHER;
}

static bool check_search_options(struct call *call, const struct search *s)
{
    bool is_search = s->form == SEARCH || s->form == SEARCH_STORE;
    if (s->destination != 0 && (s->with_distance || s->with_hash || s->with_point))
        failf(call, ERR_GEO_STORE_WITH,
              s->form == SEARCH_STORE ? "GEOSEARCHSTORE" : "STORE option in GEORADIUS");
    else if (is_search && !s->from_member && !s->from_point)
        failf(call, ERR_GEO_FROM, arg_width(call, 0), call->argv[0].data);
    else if (is_search && !s->by_radius && !s->by_box)
        failf(call, ERR_GEO_BY, arg_width(call, 0), call->argv[0].data);
    else if (s->any && s->count == 0)
        fail(call, ERR_GEO_ANY);
    else
        return true;
    return false;
}

static void reply_found(struct call *call, const struct search *s, const struct geo_found *found,
                        size_t count)
{
    size_t extras = (size_t)s->with_distance + s->with_hash + s->with_point;
    resp_array(call->out, count);
    for (size_t i = 0; i < count; i++) {
        const struct geo_match *match = &found->matches[i];
        if (extras > 0) resp_array(call->out, 1 + extras);
        reply_bytes(call, match->member);
        if (s->with_distance) reply_distance(call, match->distance / s->shape.unit);
        if (s->with_hash) resp_integer(call->out, (int64_t)match->score);
        if (s->with_point) reply_point(call, match->point);
    }
}

static void run_geo_search(struct call *call)
{
    enum form form = (enum form)call_variant(call);
    struct search s = { .form = form };
    struct entry *entry;
    struct geo_found found = { 0 };
    if (!find_typed_counted(call, form == SEARCH_STORE ? 2 : 1, TYPE_ZSET, &entry)) return;
    if (entry != NULL) s.in = entry->object.zset;
    int i = 2; /* the first option */
    switch (form) {
    case RADIUS:
        if (!arg_point(call, 2, &s.shape.center) || !arg_radius(call, 4, &s.shape)) return;
        i = 6;
        break;
    case RADIUS_MEMBER:
        if (s.in != NULL && (!set_center_member(call, &s, 2) || !arg_radius(call, 3, &s.shape)))
            return;
        i = 5;
        break;
    case SEARCH: break;
    case SEARCH_STORE:
        s.destination = 1;
        i = 3;
        break;
    }
    for (; i < call->argc; i++) {
        enum arg_taken taken = take_search_option(call, &i, &s);
        if (taken == ARG_OTHER) fail(call, ERR_SYNTAX);
        if (taken != ARG_TAKEN) return;
    }
    if (!check_search_options(call, &s)) return;
    if (s.in != NULL && !geo_find(&found, s.in, &s.shape, s.any ? (size_t)s.count : 0)) {
        geo_found_drop(&found);
        fail(call, ERR_OOM);
        return;
    }
    size_t count = found.count;
    if (s.count > 0 && (uint64_t)s.count < count) count = (size_t)s.count;
    /* COUNT without ANY or an order means the nearest matches. */
    if (s.count > 0 && s.order == AS_FOUND && !s.any) s.order = NEAREST_FIRST;
    if (s.order != AS_FOUND) geo_found_sort(&found, count, s.order == FARTHEST_FIRST);
    if (s.destination != 0) {
        struct object result = object_new(TYPE_ZSET);
        for (const struct geo_match *m = found.matches; m < found.matches + count; m++)
            zset_put(result.zset, m->member,
                     s.store_distance ? m->distance / s.shape.unit : m->score, NEVER);
        enum event event = form == SEARCH_STORE ? EVENT_GEOSEARCHSTORE : EVENT_GEORADIUSSTORE;
        txn_key_store(call->txn, call->argv[s.destination], result, event);
        resp_integer(call->out, (int64_t)count);
    } else {
        reply_found(call, &s, &found, count);
    }
    geo_found_drop(&found);
}

/* Finds the key of argument 1 and the destinations: first those of STORE, then those of STOREDIST,
 * as in Redis. Options begin at argument `options`.
 * DIFFERS: Redis finds only the first destination of each option. (doc/differs.md) */
static int find_destinations(int options, int argc, const struct bytes *argv, int *positions)
{
    static const char *const words[] = { "STORE", "STOREDIST" };
    const struct call call = { .argc = argc, .argv = argv };
    int count = 0;
    positions[count++] = 1;
    for (unsigned word = 0; word < 2; word++)
        for (int i = options; i + 1 < argc; i++) {
            if (!arg_is(&call, i, words[0]) && !arg_is(&call, i, words[1])) continue;
            if (arg_is(&call, i++, words[word])) positions[count++] = i;
        }
    return count;
}

static int find_radius_keys(int argc, const struct bytes *argv, int *positions)
{
    return find_destinations(6, argc, argv, positions);
}

static int find_member_radius_keys(int argc, const struct bytes *argv, int *positions)
{
    return find_destinations(5, argc, argv, positions);
}

#define COST                                                                                       \
    "O(log(N)+M+K*log(K)) where N is the number of members in the sorted set, M the number in "    \
    "the geohash cells that the area touches and K the number found."
#define UNIT   "<M|KM|FT|MI>"
#define CHOICE "[COUNT count [ANY]] [ASC|DESC]"
#define WITH   "[WITHCOORD] [WITHDIST] [WITHHASH]"
#define FROM   "<FROMMEMBER member|FROMLONLAT longitude latitude>"
#define BY     "<BYRADIUS radius " UNIT "|BYBOX width height " UNIT ">"
#define CIRCLE "key longitude latitude radius " UNIT " " WITH " " CHOICE
#define AROUND "key member radius " UNIT " " WITH " " CHOICE
#define STORE  " [STORE key] [STOREDIST key]"
#define REPLY_MEMBERS                                                                              \
    "[bulk ...]: the members",                                                                     \
        "[[bulk bulk|integer|[double double]]|[bulk bulk integer]|[bulk bulk|integer [double "     \
        "double]]|[bulk bulk integer [double double]] ...]: with WITHDIST, WITHHASH or "           \
        "WITHCOORD: each member with its distance, hash, longitude and latitude, in this order"

static const struct command rows[] = {
    ROW("GEORADIUS", run_geo_search, -6, WRITE | GROWS | MOVABLE_KEYS | COPIES, .variant = RADIUS,
        .keys = KEY_FIRST, .find_keys = find_radius_keys,
        .specs = { KEY_AT(1, KEY_RO | KEY_ACCESS), KEY_AFTER("STORE", 6, KEY_OW | KEY_UPDATE),
                   KEY_AFTER("STOREDIST", 6, KEY_OW | KEY_UPDATE) },
        .since = "3.2.0",
        .replies = REPLIES(REPLY_MEMBERS,
                           "integer: with STORE or STOREDIST: the number of members stored"),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_SYNTAX, ERR_OOM, ERR_NOT_INTEGER, ERR_NOT_FLOAT,
                         ERR_GEO_PAIR, ERR_GEO_UNIT, ERR_GEO_RADIUS, ERR_GEO_RADIUS_NEGATIVE,
                         ERR_GEO_COUNT, ERR_GEO_ANY, ERR_GEO_STORE_WITH),
        .complexity = COST, .syntax = CIRCLE STORE,
        .summary = "Returns or stores the members within a radius around a position."),
    ROW("GEORADIUS_RO", run_geo_search, -6, READONLY, .variant = RADIUS, .keys = KEY_FIRST,
        .since = "3.2.10", .replies = REPLIES(REPLY_MEMBERS),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_SYNTAX, ERR_OOM, ERR_NOT_INTEGER, ERR_NOT_FLOAT,
                         ERR_GEO_PAIR, ERR_GEO_UNIT, ERR_GEO_RADIUS, ERR_GEO_RADIUS_NEGATIVE,
                         ERR_GEO_COUNT, ERR_GEO_ANY),
        .complexity = COST, .syntax = CIRCLE,
        .summary = "Returns the members within a radius around a position."),
    ROW("GEORADIUSBYMEMBER", run_geo_search, -5, WRITE | GROWS | MOVABLE_KEYS | COPIES,
        .variant = RADIUS_MEMBER, .keys = KEY_FIRST, .find_keys = find_member_radius_keys,
        .specs = { KEY_AT(1, KEY_RO | KEY_ACCESS), KEY_AFTER("STORE", 5, KEY_OW | KEY_UPDATE),
                   KEY_AFTER("STOREDIST", 5, KEY_OW | KEY_UPDATE) },
        .since = "3.2.0",
        .replies = REPLIES(REPLY_MEMBERS,
                           "integer: with STORE or STOREDIST: the number of members stored"),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_SYNTAX, ERR_OOM, ERR_NOT_INTEGER, ERR_GEO_UNIT,
                         ERR_GEO_RADIUS, ERR_GEO_RADIUS_NEGATIVE, ERR_GEO_MEMBER, ERR_GEO_COUNT,
                         ERR_GEO_ANY, ERR_GEO_STORE_WITH),
        .complexity = COST, .syntax = AROUND STORE,
        .summary = "Returns or stores the members within a radius around another member."),
    ROW("GEORADIUSBYMEMBER_RO", run_geo_search, -5, READONLY, .variant = RADIUS_MEMBER,
        .keys = KEY_FIRST, .since = "3.2.10", .replies = REPLIES(REPLY_MEMBERS),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_SYNTAX, ERR_OOM, ERR_NOT_INTEGER, ERR_GEO_UNIT,
                         ERR_GEO_RADIUS, ERR_GEO_RADIUS_NEGATIVE, ERR_GEO_MEMBER, ERR_GEO_COUNT,
                         ERR_GEO_ANY),
        .complexity = COST, .syntax = AROUND,
        .summary = "Returns the members within a radius around another member."),
    ROW("GEOSEARCH", run_geo_search, -7, READONLY, .variant = SEARCH, .keys = KEY_FIRST,
        .since = "6.2.0", .replies = REPLIES(REPLY_MEMBERS),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_SYNTAX, ERR_OOM, ERR_NOT_INTEGER, ERR_NOT_FLOAT,
                         ERR_GEO_PAIR, ERR_GEO_UNIT, ERR_GEO_RADIUS, ERR_GEO_RADIUS_NEGATIVE,
                         ERR_GEO_WIDTH, ERR_GEO_HEIGHT, ERR_GEO_BOX_NEGATIVE, ERR_GEO_MEMBER,
                         ERR_GEO_COUNT, ERR_GEO_ANY, ERR_GEO_FROM, ERR_GEO_BY),
        .complexity = COST, .syntax = "key " FROM " " BY " [ASC|DESC] [COUNT count [ANY]] " WITH,
        .summary = "Returns the members within a circle or a box."),
    ROW("GEOSEARCHSTORE", run_geo_search, -8, WRITE | GROWS | COPIES, .variant = SEARCH_STORE,
        .keys = { .first = 1, .last = 2, .step = 1 },
        .specs = { KEY_AT(1, KEY_OW | KEY_UPDATE), KEY_AT(2, KEY_RO | KEY_ACCESS) },
        .since = "6.2.0", .replies = REPLIES("integer: the number of members stored"),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_SYNTAX, ERR_OOM, ERR_NOT_INTEGER, ERR_NOT_FLOAT,
                         ERR_GEO_PAIR, ERR_GEO_UNIT, ERR_GEO_RADIUS, ERR_GEO_RADIUS_NEGATIVE,
                         ERR_GEO_WIDTH, ERR_GEO_HEIGHT, ERR_GEO_BOX_NEGATIVE, ERR_GEO_MEMBER,
                         ERR_GEO_COUNT, ERR_GEO_ANY, ERR_GEO_STORE_WITH, ERR_GEO_FROM, ERR_GEO_BY),
        .complexity = COST,
        .syntax = "destination source " FROM " " BY " [ASC|DESC] [COUNT count [ANY]] [STOREDIST]",
        .summary =
            "Stores the members of a sorted set within a circle or a box as another sorted set."),
};

const struct command_group geo_search_commands = COMMAND_GROUP("geo", rows);
