/* geo_args: arguments and replies that the geo commands share. A function that returns false has
 * sent the error. */
#pragma once

#include "server/cmd/call/call.h"
#include "server/cmd/geo/geohash.h"

/* Parses a longitude at i and a latitude at i + 1. */
bool arg_point(struct call *call, int i, struct geo_point *point);
/* Parses the unit m, km, ft or mi; *metres is its length. */
bool arg_unit(struct call *call, int i, double *metres);
/* Parses a radius at i and its unit at i + 1. */
bool arg_radius(struct call *call, int i, struct geo_shape *shape);
/* Parses a width at i, a height at i + 1 and their unit at i + 2. */
bool arg_box(struct call *call, int i, struct geo_shape *shape);

/* Replies with [longitude, latitude]. */
void reply_point(struct call *call, struct geo_point point);
/* Replies with the distance as text with four decimals. */
void reply_distance(struct call *call, double distance);
