/* geohash: encodes points on the earth as 52-bit numbers, and finds the ranges of numbers that
 * cover a shape. Depends on arithmetic only.
 *
 * The number interleaves the bits of two 26-bit offsets in the ranges of Web Mercator (EPSG:3857);
 * the longitude supplies the odd (higher) bits. A cell of any size is one range of numbers, and
 * points close to each other mostly have close numbers. The idea is Gustavo Niemeyer's geohash
 * (2008) and G. M. Morton's order (1966). Distances use the haversine formula on a sphere. */
#ifndef SERVER_CMD_GEO_GEOHASH_H
#define SERVER_CMD_GEO_GEOHASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct geo_point {
    double longitude, latitude; /* degrees */
};

/* Returns whether the point can be encoded: longitude within 180 degrees, latitude within
 * 85.05112878 degrees. */
bool geohash_has(struct geo_point point);
/* Encodes a point that geohash_has accepts. */
uint64_t geohash_encode(struct geo_point point);
/* Returns the centre of the cell that the score denotes. Every score decodes to some point, even
 * one that geohash_encode never returns. */
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
    double unit;          /* metres in one of the above */
};

/* Returns whether the point lies within the shape; *distance is then its distance from the centre
 * in metres. */
bool geo_shape_has(const struct geo_shape *shape, struct geo_point point, double *distance);

/* Scores in [min, max). */
struct score_range {
    double min, max;
};

/* Finds the cells that cover the shape: the centre's cell, then its neighbours to the north, south,
 * east, west, north-east, north-west, south-east and south-west, leaving out those outside the box
 * around the shape. Returns their number. */
enum { GEO_CELLS_MAX = 9 };
size_t geo_shape_cells(const struct geo_shape *shape, struct score_range cells[GEO_CELLS_MAX]);

#endif
