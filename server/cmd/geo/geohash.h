/* geohash: encodes a point on the earth as a number of 52 bits, and finds the ranges of numbers
 * that cover a shape. Depends on arithmetic only.
 *
 * Longitude and latitude each become an offset of 26 bits within the ranges of Web Mercator
 * (EPSG:3857). Their bits alternate in the number, the longitude's first:
 *
 *     x25 y25 x24 y24 ... x0 y0
 *
 * So the rectangle that remains after halving both ranges k times is a single range of numbers:
 * those that share their first 2k bits. Points close to each other mostly have close numbers. The
 * idea is Gustavo Niemeyer's geohash (2008), on G. M. Morton's order (1966). Distances use the
 * haversine formula on a sphere. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct geo_point {
    double longitude, latitude; /* degrees */
};

/* Can the point be encoded? The longitude must lie within 180 degrees, the latitude within
 * 85.05112878 degrees. */
bool geohash_has(struct geo_point point);
/* Encodes a point that geohash_has accepts. */
uint64_t geohash_encode(struct geo_point point);
/* Returns the centre of the cell that the score denotes. Any score decodes to some point, because
 * members may have scores that geohash_encode never returns. */
struct geo_point geohash_decode(double score);

/* The standard geohash text (geohash.org) of a score's point. */
enum { GEOHASH_TEXT_LEN = 11 };
void geohash_text(double score, char text[GEOHASH_TEXT_LEN]);

double geohash_distance(struct geo_point a, struct geo_point b); /* metres */

/* A circle, or a box along the meridians and parallels. */
struct geo_shape {
    struct geo_point center;
    bool is_box;
    double radius;        /* of a circle */
    double width, height; /* of a box */
    double unit;          /* metres in the unit of radius, width and height */
};

/* Does the point lie within the shape? If so, *distance is its distance from the centre in
 * metres. */
bool geo_shape_has(const struct geo_shape *shape, struct geo_point point, double *distance);

/* Scores in [min, max). */
struct score_range {
    double min, max;
};

/* Stores the cells that cover the shape, and returns their number: the cell of the centre, then its
 * neighbours to the north, south, east, west, north-east, north-west, south-east and south-west,
 * without those that lie outside the shape's bounding box. */
enum { GEO_CELLS_MAX = 9 };
size_t geo_shape_cells(const struct geo_shape *shape, struct score_range cells[GEO_CELLS_MAX]);
