/* geohash: places on the earth as 52-bit numbers, and which of those may lie within a shape.
 * Knows WGS84 coordinates and arithmetic; refuses to know sorted sets, arguments and replies.
 *
 * The number interleaves the bits of two 26-bit offsets, longitude's being the odd (higher) ones,
 * in the ranges of Web Mercator (EPSG:3857): so that near places mostly have near numbers, and a
 * cell of any size is one range of them. The idea is Gustavo Niemeyer's geohash (2008) and G. M.
 * Morton's order (1966); distances follow the haversine formula on a sphere. */
#ifndef SERVER_CMD_GEO_GEOHASH_H
#define SERVER_CMD_GEO_GEOHASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct place {
    double longitude, latitude; /* degrees */
};

/* Can it be encoded as a number? Longitude within 180 degrees, latitude within 85.05112878. */
bool geohash_has(struct place place);
/* Of a place that it has. */
uint64_t geohash_encode(struct place place);
/* The middle of the smallest cell. Any score has one; what no encoding gave lies somewhere. */
struct place geohash_decode(double score);

/* The standard geohash text (geohash.org) of a score's place. */
enum { GEOHASH_TEXT_LEN = 11 };
void geohash_text(double score, char text[GEOHASH_TEXT_LEN]);

double geohash_distance(struct place a, struct place b); /* metres */

/* A circle, or a box along the meridians and parallels. */
struct geo_shape {
    struct place center;
    bool is_box;
    double radius;        /* of a circle */
    double width, height; /* of a box */
    double unit;          /* metres in one of the above */
};

/* Does the place lie within? *distance is its way to the centre, in metres, if so. */
bool geo_shape_has(const struct geo_shape *shape, struct place place, double *distance);

/* Scores from min to below max. */
struct score_range {
    double min, max;
};

/* The cells that cover the shape: the centre's own, then those north, south, east and west of it,
 * then north-east, north-west, south-east and south-west, without those that cannot matter.
 * Returns how many. */
enum { GEO_CELLS_MAX = 9 };
size_t geo_shape_cells(const struct geo_shape *shape, struct score_range cells[GEO_CELLS_MAX]);

#endif
