/* geo_args: see geo_args.h. */
#include "server/cmd/geo/geo_args.h"

#include <stdio.h>

#include "server/cmd/call/args.h"
#include "server/cmd/call/error.h"
#include "store/base/number.h"

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

static bool arg_length(struct call *call, int i, double *length, enum error error)
{
    if (number_parse_double(call->argv[i].data, call->argv[i].len, length)) return true;
    return fail(call, error);
}

bool arg_radius(struct call *call, int i, struct geo_shape *shape)
{
    if (!arg_length(call, i, &shape->radius, ERR_GEO_RADIUS)) return false;
    if (shape->radius < 0) return fail(call, ERR_GEO_RADIUS_NEGATIVE);
    shape->is_box = false;
    return arg_unit(call, i + 1, &shape->unit);
}

bool arg_box(struct call *call, int i, struct geo_shape *shape)
{
    if (!arg_length(call, i, &shape->width, ERR_GEO_WIDTH)) return false;
    if (!arg_length(call, i + 1, &shape->height, ERR_GEO_HEIGHT)) return false;
    if (shape->width < 0 || shape->height < 0) return fail(call, ERR_GEO_BOX_NEGATIVE);
    shape->is_box = true;
    return arg_unit(call, i + 2, &shape->unit);
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
