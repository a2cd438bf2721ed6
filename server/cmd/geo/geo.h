/* Folder server/cmd/geo: geographic positions, which are members of sorted sets with a geohash as
 * score. geo adds and measures; geo_search searches, with geo_found for the matches; geohash
 * computes. Start with geo.c.
 *
 * May use: proto/resp server/cmd/call server/cmd store/. */
#pragma once

#include "server/cmd/call/call.h"
#include "server/cmd/geo/geohash.h"

/* GEOADD GEOPOS GEODIST GEOHASH. */
extern const struct command_group geo_commands;
/* GEOSEARCH GEORADIUS and their forms. */
extern const struct command_group geo_search_commands;

/* ---- shared by the files of this folder ---- */

/* An arg_ function that returns false has sent the error. */
/* Parses a longitude at i and a latitude at i + 1. */
bool arg_point(struct call *call, int i, struct geo_point *point);
/* Parses the unit m, km, ft or mi; *metres is its length. */
bool arg_unit(struct call *call, int i, double *metres);
/* Replies with [longitude, latitude]. */
void reply_point(struct call *call, struct geo_point point);
/* Replies with the distance as text with four decimals. */
void reply_distance(struct call *call, double distance);
