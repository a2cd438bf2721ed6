/* Folder server/cmd/geo: geographic positions, which are members of sorted sets with a geohash as
 * score. geo adds and measures; geo_search searches, with geo_found for the matches; geohash
 * computes; geo_args parses. Start with geo.c.
 *
 * May use: proto/resp server/cmd/call server/cmd store/. */
#pragma once

#include "server/cmd/call/command.h"

/* GEOADD GEOPOS GEODIST GEOHASH. */
extern const struct command_group geo_commands;
/* GEOSEARCH GEORADIUS and their forms. */
extern const struct command_group geo_search_commands;
