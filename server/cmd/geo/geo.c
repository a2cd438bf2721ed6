/* geo: GEOADD, GEOPOS, GEODIST and GEOHASH. A position is a member of a sorted set, whose score
 * geohash computes from longitude and latitude. geo_search.c implements the searches. */
#include "server/cmd/geo/geo.h"

#include <stdio.h>

#include "server/cmd/call/args.h"
#include "store/mem/mem.h"

/* ---- arguments and replies ------------------------------------------------------------------- */

bool arg_point(struct call *call, int i, struct geo_point *point)
{
    if (!arg_double(call, i, &point->longitude)) return false;
    if (!arg_double(call, i + 1, &point->latitude)) return false;
    if (geohash_has(*point)) return true;
    return failf(call, ERR_GEO_PAIR, point->longitude, point->latitude);
}

bool arg_unit(struct call *call, int i, double *metres)
{
    static const struct {
        const char *name;
        double metres;
    } units[] = { { "m", 1 }, { "km", 1000 }, { "ft", 0.3048 }, { "mi", 1609.34 } };
    for (size_t u = 0; u < sizeof(units) / sizeof(units[0]); u++) {
        if (!arg_is(call, i, units[u].name)) continue;
        *metres = units[u].metres;
        return true;
    }
    return fail(call, ERR_GEO_UNIT);
}

void reply_point(struct call *call, struct geo_point point)
{
    resp_array(call->out, 2);
    resp_long_double(call->out, point.longitude);
    resp_long_double(call->out, point.latitude);
}

void reply_distance(struct call *call, double distance)
{
    char text[64]; /* the longest distance, half the earth's circumference in feet, has 8 digits */
    int len = snprintf(text, sizeof(text), "%.4f", distance);
    resp_bulk(call->out, text, (size_t)len);
}

/* ---- commands -------------------------------------------------------------------------------- */

static void cmd_geoadd(struct call *call)
{
    struct zput put = { .event = EVENT_ZADD, .life = LIFE(ADD) };
    bool count_moved = false;
    int first = 2; /* index of the argument with the first longitude */
    for (;; first++) {
        if (arg_is(call, first, "NX"))
            put.only_new = true;
        else if (arg_is(call, first, "XX"))
            put.only_present = true;
        else if (arg_is(call, first, "CH"))
            count_moved = true;
        else
            break;
    }
    int rest = call->argc - first, count = rest / 3;
    if (fail_if(call, rest == 0 || rest % 3 != 0 || (put.only_new && put.only_present), ERR_SYNTAX))
        return;

    double *scores = mem_alloc((size_t)count * sizeof(*scores));
    struct entry *entry;
    int64_t counted = 0;
    bool good = true;
    for (int i = 0; i < count && good; i++) {
        struct geo_point point;
        good = arg_point(call, first + 3 * i, &point);
        if (good) scores[i] = (double)geohash_encode(point);
    }
    good = good && find_typed(call, 1, TYPE_ZSET, &entry);
    if (good && (entry != NULL || !put.only_present)) {
        entry = entry_or_new(call, 1, entry, TYPE_ZSET);
        for (int i = 0; i < count; i++) {
            struct bytes member = call->argv[first + 3 * i + 2];
            enum zput_result result = txn_zset_put(call->txn, entry, member, &scores[i], &put);
            counted += result == ZPUT_ADDED || (count_moved && result == ZPUT_MOVED);
        }
    }
    if (good) resp_integer(call->out, counted);
    mem_free(scores);
}

static bool find_score(const struct entry *entry, struct bytes member, double *score)
{
    return entry != NULL && zset_score(entry->object.zset, member, score);
}

static void cmd_geopos(struct call *call)
{
    struct entry *entry;
    double score;
    if (!find_typed_counted(call, 1, TYPE_ZSET, &entry)) return;
    resp_array(call->out, (size_t)call->argc - 2);
    for (int i = 2; i < call->argc; i++)
        if (find_score(entry, call->argv[i], &score))
            reply_point(call, geohash_decode(score));
        else
            resp_null_array(call->out);
}

static void cmd_geohash(struct call *call)
{
    struct entry *entry;
    double score;
    char text[GEOHASH_TEXT_LEN];
    if (!find_typed_counted(call, 1, TYPE_ZSET, &entry)) return;
    resp_array(call->out, (size_t)call->argc - 2);
    for (int i = 2; i < call->argc; i++) {
        if (!find_score(entry, call->argv[i], &score)) {
            resp_null(call->out);
            continue;
        }
        geohash_text(score, text);
        resp_bulk(call->out, text, sizeof(text));
    }
}

static void cmd_geodist(struct call *call)
{
    struct entry *entry;
    double unit = 1, from, to;
    if (call->argc == 5 && !arg_unit(call, 4, &unit)) return;
    if (fail_if(call, call->argc > 5, ERR_SYNTAX)) return;
    if (!find_typed_counted(call, 1, TYPE_ZSET, &entry)) return;
    if (!find_score(entry, call->argv[2], &from) || !find_score(entry, call->argv[3], &to)) {
        resp_null(call->out);
        return;
    }
    reply_distance(call, geohash_distance(geohash_decode(from), geohash_decode(to)) / unit);
}

static const struct command rows[] = {
    ROW("GEOADD", cmd_geoadd, -5, WRITE | GROWS, .keys = KEY_FIRST, .since = "3.2.0",
        .replies = REPLIES("integer: the number of members added; with CH of those added or moved"),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_SYNTAX, ERR_NOT_FLOAT, ERR_GEO_PAIR),
        .complexity = "O(M*log(N)) where M is the number of members given and N the number in the "
                      "sorted set.",
        .syntax = "key [NX|XX] [CH] longitude latitude member [longitude latitude member ...]",
        .summary =
            "Adds members with their longitude and latitude to a sorted set, or updates their "
            "positions."),
    ROW("GEOPOS", cmd_geopos, -2, READONLY | NAMES_MEMBERS, .keys = KEY_FIRST, .since = "3.2.0",
        .replies = REPLIES("[[double double]|null-array ...]: longitude and latitude; null where "
                           "there is no such member"),
        .errors = ERRORS(ERR_WRONGTYPE),
        .complexity = "O(M) where M is the number of members given.",
        .syntax = "key [member [member ...]]",
        .summary = "Returns the longitudes and latitudes of members."),
    ROW("GEODIST", cmd_geodist, -4, READONLY | NAMES_MEMBERS, .keys = KEY_FIRST, .since = "3.2.0",
        .replies = REPLIES("bulk: the distance, in metres if no unit is given",
                           "null: there is no such key or member"),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_SYNTAX, ERR_GEO_UNIT), .complexity = "O(1)",
        .syntax = "key member1 member2 [M|KM|FT|MI]",
        .summary = "Returns the distance between two members."),
    ROW("GEOHASH", cmd_geohash, -2, READONLY | NAMES_MEMBERS, .keys = KEY_FIRST, .since = "3.2.0",
        .replies = REPLIES(
            "[bulk|null ...]: the hashes, 11 characters each; null where there is no such member"),
        .errors = ERRORS(ERR_WRONGTYPE),
        .complexity = "O(M) where M is the number of members given.",
        .syntax = "key [member [member ...]]",
        .summary = "Returns the geohash strings of members."),
};

const struct command_group geo_commands = COMMAND_GROUP("geo", rows);
